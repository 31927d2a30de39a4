"""Lists and tuples: of numbers, of records as dicts or tuples, and of objects."""

from collections.abc import Sequence
from typing import Any

from queryable.audit.rows.forms import AddedRecord, InMemory, Name
from queryable.data.guarded import safely

_SINGLE = (int, float, str, bytes, bool, type(None))
_LOOKED_AT = 1000


class ListForm(InMemory):
    """A list or a tuple of records. It has no schema, so any cell may be in it.

    The records are dicts, whose fields are the columns, or plain cells. Other objects are left out
    and repeated, and not changed.
    """

    def __init__(self, data: Sequence[Any]) -> None:
        self.data, self.count = data, len(data)
        looked = data[:_LOOKED_AT]
        self._dicts = any(type(each) is dict for each in looked)
        if self._dicts:
            fields = (name for each in looked if type(each) is dict for name in each)
            self.names: tuple[Name, ...] = tuple(dict.fromkeys(fields))
        else:
            plain = all(isinstance(each, _SINGLE) or hasattr(each, "dtype") for each in looked)
            self.names = (None,) if plain else ()

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a field."""
        if not self._dicts:
            return list(self.data) if name is None else [None] * self.count
        return [safely(lambda it: it[name], record) for record in self.data]

    def admits(self, name: Name, cell: Any) -> bool:
        """Any cell."""
        return True

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places."""
        return type(data)([data[place] for place in places])

    def made(self, added: AddedRecord) -> Any:
        """One record."""
        base = None if added.base is None else self.data[added.base]
        if None in added.cells and not self._dicts:
            return type(self.data)([added.cells[None]])
        if self._dicts and added.cells:
            base = {**(base if type(base) is dict else {}), **added.cells}
        return type(self.data)([base])

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        return type(self.data)([each for part in parts for each in part])
