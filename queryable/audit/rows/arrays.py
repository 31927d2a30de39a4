"""Arrays of numpy: of numbers, texts and times, structured, masked, and of several dimensions."""

from collections.abc import Sequence
from math import prod
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from queryable.audit.rows.forms import AddedRecord, InMemory, Name, is_missing, same_cell
from queryable.data.cells import masked_arrays, python_values
from queryable.data.guarded import safely

_MOST_NAMES = 16


class ArrayForm(InMemory):
    """An array whose first dimension are the records.

    Its columns are the fields of a structured array, or the places in a record of several
    dimensions. The width of a text is no part of its type.
    """

    def __init__(self, data: Any) -> None:
        self.data, self.count = data, len(data)
        self._fields = data.dtype.names
        self._masked = isinstance(data, masked_arrays())
        if self._fields is not None:
            plain = data.ndim == 1
            fields = [name for name in self._fields if plain and not data.dtype[name].shape]
            self.names: tuple[Name, ...] = tuple(fields)
        elif data.ndim == 1:
            self.names = (None,)
        else:
            self.names = tuple(range(min(prod(data.shape[1:]), _MOST_NAMES)))

    def _column(self, data: Any, name: Name) -> Any:
        """The cells of a column: a view of the array."""
        if name is None:
            return data
        if self._fields is not None:
            return data[name]
        places = np.unravel_index(int(name), data.shape[1:])  # type: ignore[call-overload]
        return data[(slice(None), *places)]

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        column = self._column(self.data, name)
        if not self._masked:
            return python_values(column)
        return python_values(column.filled()) if not np.ma.is_masked(column) else column.tolist()

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the type takes the cell as it is."""
        if self._masked and cell is None:
            return True
        made = safely(lambda it: self._written(name, it), cell)
        return made is not None and same_cell(python_values(np.asarray(made))[0], cell)

    def _written(self, name: Name, cell: Any) -> Any:
        """An array of one cell of the column's type."""
        dtype = self._column(self.data[:0], name).dtype
        if dtype.kind == "O":
            return np.array([cell, None], dtype=object)[:1]
        if is_missing(cell) and dtype.kind not in "fcmM":
            raise TypeError("there is no missing cell of this type")
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")  # of a time with a zone
            if dtype.kind in "US":
                return np.array([_of(cell, str if dtype.kind == "U" else bytes)])
            made = np.zeros(1, dtype)
            made[0] = cell
        return made

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places: a new array."""
        return data[np.asarray(places, dtype=np.intp)]

    def made(self, added: AddedRecord) -> Any:
        """One record: a new array, whose texts are as wide as they have to be."""
        if added.base is None:
            record = np.zeros((1, *self.data.shape[1:]), self.data.dtype)
            record = np.ma.array(record) if self._masked else record
        else:
            record = self.taken(self.data, [added.base])
        for name, cell in added.cells.items():
            if self._masked and cell is None:
                self._column(record, name)[0] = np.ma.masked
                continue
            written = self._written(name, cell)
            record = self._widened(record, name, written.dtype)
            self._column(record, name)[0] = written[0]
        return record

    def _widened(self, record: Any, name: Name, dtype: Any) -> Any:
        """The record with at least the width of this type in a column of text."""
        have = self._column(record, name).dtype
        if have.kind not in "US" or have.itemsize >= dtype.itemsize:
            return record
        if self._fields is None:
            return record.astype(dtype)
        fields = [(each, dtype if each == name else record.dtype[each]) for each in self._fields]
        return record.astype(np.dtype(fields))

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        join: Any = np.ma.concatenate if self._masked else np.concatenate
        return join(parts)


def _of(cell: Any, kind: type) -> Any:
    if not isinstance(cell, kind):
        raise TypeError(f"no {kind.__name__}")
    return cell
