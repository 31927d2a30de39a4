"""Tables that were joined: a neighbour of the first table before the join, joined again."""

from collections.abc import Sequence
from typing import Any

from queryable.audit.rows.forms import AddedRecord, Form, Name


class JoinedForm(Form):
    """The rows of a table before it was joined.

    If it was joined with another private table, the privacy unit is one of the keys. So a unit that
    is removed from the first table is in no joined row, as if it were removed from both.

    Args:
        first: the form of the first table.
        table: after the join.
    """

    def __init__(self, first: Form, table: Any) -> None:
        self._first, self._others = first, table.made_of[1:]
        self._join, self._public = table._public
        self.count, self.names = first.count, first.names
        self.unit, self.heavy = first.unit, first.heavy

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        return self._first.values(name)

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the first table's column can hold it."""
        return self._first.admits(name, cell)

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The first table with other rows, joined."""
        first, how = self._first.edited(removed, added), self._join
        given = {"on": dict(how.on), "columns": how.columns, "how": how.how}
        given |= {"max_matches": how.max_matches, "max_rows": how.max_rows}
        given |= {"name": how.name, "implied": how.implied}
        if self._others:
            return first.join(*self._others, **given)
        return first.join(public=self._public, **given)
