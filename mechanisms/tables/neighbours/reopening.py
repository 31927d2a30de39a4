"""A table whose source is opened again with other rows: a frame, or a file in a temporary folder.

So a neighbour is read as the table was, from its first byte.
"""

from collections.abc import Sequence
from typing import Any
from weakref import finalize

from mechanisms.tables.neighbours.parts import PartsForm
from queryable.audit.rows.forms import AddedRecord, Form, Name

_BOUNDS = ("max_rows", "max_groups", "max_rows_per_group")


class ReopenedForm(Form):
    """A table by its source.

    Args:
        table: the table; it is only asked how it was opened.
        source: the form of its source. Its files are in folders of their own.
    """

    def __init__(self, table: Any, source: Form) -> None:
        self._table, self._source, self.count = table, source, source.count
        self._names = {str(name): name for name in source.names if str(name) in table.columns}
        self.names: tuple[Name, ...] = tuple(self._names)
        self.unit = None if table.unit is None else table.unit.column
        self.heavy = None if table.unit is None else table.unit.max_rows
        self.most = source.most

    def quicker(self) -> Form:
        """The rows that the table has read."""
        return PartsForm(self._table)

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column, as its source has them."""
        return self._source.values(self._names[str(name)])

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the source's column can hold it."""
        return self._source.admits(self._names[str(name)], cell)

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The source with other rows, opened with the arguments of the table."""
        renamed = [
            AddedRecord(
                each.base, {self._names[str(it)]: v for it, v in each.cells.items()}, each.place
            )
            for each in added
        ]
        source = self._source.edited(removed, renamed)
        try:
            other = reopened(self._table, source)
        except BaseException:
            self._source.discard(source)
            raise
        finalize(other, self._source.discard, source)
        return other


def reopened(table: Any, source: Any) -> Any:
    """A table over another source, with the arguments of the first one. It tells nobody anything.

    Raises:
        ValueError, TypeError: the source is not read as that of the table.
    """
    unit, bounds = table.unit, {}
    if unit is not None:
        bounds = {name: getattr(unit, name) for name in _BOUNDS} | {"privacy_unit": unit.column}
    if table._root.narrowed:
        bounds["columns"] = list(table.columns)
    chosen = {"seed": table.seed, "keep": table._choice.column}
    given = bounds | chosen | table._opened_with
    return type(table)(source, **given, on_misread=lambda _: None)
