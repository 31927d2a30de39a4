"""Tables that were joined: a neighbour of the tables before the join, joined again."""

from collections.abc import Hashable, Sequence
from typing import Any

from queryable.audit.rows.forms import AddedRecord, Form, Name


class JoinedForm(Form):
    """The rows of a table before it was joined.

    If it was joined with another private table, its units are those of the first one, and a unit
    that is removed is removed from both tables; what is added is added to the first.

    Args:
        forms: of the tables that were joined: one, or two of one privacy unit.
        join: how they were joined. public: the public table, if there is one.
    """

    def __init__(self, forms: Sequence[Form], join: Any, public: Any) -> None:
        self._first, *self._others = forms
        self._join, self._public = join, public
        self.count, self.names = self._first.count, self._first.names
        self.unit, self.heavy = self._first.unit, self._first.heavy

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        return self._first.values(name)

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the first table's column can hold it."""
        return self._first.admits(name, cell)

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The tables with other rows, joined."""
        first = self._first.edited(removed, added)
        how = self._join
        given = {"on": dict(how.on), "columns": how.columns, "how": how.how}
        given |= {"max_matches": how.max_matches, "max_rows": how.max_rows}
        if not self._others:
            joined = first.join(public=self._public, **given)
        else:
            joined = first.join(self._without(removed), **given)
        joined._source_of = first, self
        return joined

    def _without(self, removed: Sequence[int]) -> Any:
        """The other table without the units that were removed from the first."""
        [other] = self._others
        gone = {_key(self._first.values(self.unit)[place]) for place in removed}
        cells = other.values(other.unit)
        return other.edited([i for i, cell in enumerate(cells) if _key(cell) in gone], [])


def _key(cell: Any) -> Hashable:
    from queryable.data.keys import key_of

    return key_of(cell)
