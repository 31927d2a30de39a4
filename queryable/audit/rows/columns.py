"""Dicts of columns, each of which is a form of its own: a list, an array or a frame's column."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from queryable.audit.rows.forms import AddedRecord, InMemory, Name
from queryable.data.cells import count_records


class DictForm(InMemory):
    """A dict of columns.

    Args:
        column: makes the form of one column.
    """

    def __init__(self, data: Mapping[Any, Any], column: Callable[[Any], InMemory]) -> None:
        self.data, self.count = data, count_records(data)
        self._columns = {name: column(cells) for name, cells in data.items()}
        self.names: tuple[Name, ...] = tuple(
            name for name, form in self._columns.items() if form.names == (None,)
        )

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        return self._columns[name].values(None)

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the column's type takes the cell."""
        return self._columns[name].admits(None, cell)

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places."""
        return {name: form.taken(data[name], places) for name, form in self._columns.items()}

    def made(self, added: AddedRecord) -> Any:
        """One record."""
        return {
            name: form.made(attrs.evolve(added, cells=_only(added.cells, name)))
            for name, form in self._columns.items()
        }

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        return {
            name: form.joined([part[name] for part in parts])
            for name, form in self._columns.items()
        }


def _only(cells: Mapping[Name, Any], name: Name) -> dict[Name, Any]:
    return {None: cells[name]} if name in cells else {}
