"""Stores of records that only grow: of lists, of arrays and of dicts of columns.

A store has the first `count` records for good. `put` writes a batch behind them. If it is
interrupted, what it has written is behind `count`, and the next `put` replaces it. Does not know
which values share the store: `growing` does. Stores of frames are in `pieces`, and `forms` chooses
one. All functions but `fitted` touch data.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from queryable.data.frozen import read_only


class Store(ABC):
    """Records in one form.

    Attributes:
        start: how many records there were before the first batch.
        count: how many records there are.
        last_start, last_stop, last_records: of the last batch: where it is, and the batch itself.
    """

    __slots__ = ("count", "last_records", "last_start", "last_stop", "start")

    def __init__(self, count: int) -> None:
        self.start = self.count = self.last_stop = count
        self.last_start, self.last_records = -1, None

    @abstractmethod
    def fitted(self, records: Any) -> tuple[Any, int]:
        """The batch as `put` takes it, and its length.

        Raises:
            TypeError, ValueError: it has another form; the text says which is right.
        """

    @abstractmethod
    def write(self, start: int, fitted: Any, size: int) -> None:
        """Write a batch at this place; what is behind it is not used any more."""

    @abstractmethod
    def part(self, start: int, stop: int) -> Any:
        """The records from `start` to `stop`, in the form of the data; it never changes."""

    @abstractmethod
    def parts(self, spans: Sequence[tuple[int, int]]) -> Any:
        """The records of several spans, one after the other."""

    @abstractmethod
    def fork(self, count: int) -> "Store":
        """Another store with the first `count` records."""

    def put(self, start: int, fitted: Any, size: int, records: Any) -> None:
        """Write a batch behind all others, and remember it."""
        self.write(start, fitted, size)
        self.last_start = -1  # so that no moment has the old place with the new batch
        self.last_records, self.last_stop = records, start + size
        self.last_start, self.count = start, start + size


class ListedRecords(Store):
    """Records of a list or a tuple; also the cells of a column that is a list."""

    __slots__ = ("kind", "records")

    def __init__(self, kind: type, records: list[Any]) -> None:
        super().__init__(len(records))
        self.kind, self.records = kind, records

    def fitted(self, records: Any) -> tuple[Any, int]:
        """A list or a tuple."""
        if type(records) not in (list, tuple):
            raise TypeError(f"give a list of records, as the data are, not {_kind(records)}")
        return records, len(records)

    def write(self, start: int, fitted: Any, size: int) -> None:
        """Extend the list."""
        if len(self.records) > start:
            del self.records[start:]
        self.records.extend(fitted)

    def part(self, start: int, stop: int) -> Any:
        """A copy, in the form of the data."""
        part = self.records[start:stop]
        return part if self.kind is list else self.kind(part)

    def parts(self, spans: Sequence[tuple[int, int]]) -> Any:
        """One list or tuple."""
        return self.kind(each for start, stop in spans for each in self.records[start:stop])

    def fork(self, count: int) -> "ListedRecords":
        """A copy of the list; the records are shared."""
        return ListedRecords(self.kind, self.records[:count])


class Arrayed(Store):
    """An array with room behind it. Parts are read-only views, so that nothing is copied."""

    __slots__ = ("dtype", "room")

    def __init__(self, values: Any) -> None:
        super().__init__(len(values))
        self.dtype = values.dtype
        self.room = np.array(values)

    def fitted(self, records: Any) -> tuple[Any, int]:
        """An array of the same type, or of numbers that convert without loss; texts may be longer.

        A list has no type: which one numpy gives it depends on its cells.
        """
        if type(records) is not np.ndarray:
            name = {"U": "str", "S": "bytes"}.get(self.dtype.kind, repr(str(self.dtype)))
            raise TypeError(
                f"give an array of {self.dtype}, as the data are, not {_kind(records)}: write "
                f"numpy.array(.., dtype={name})"
            )
        if records.ndim != self.room.ndim or records.shape[1:] != self.room.shape[1:]:
            raise ValueError("the batch has another shape than the data, beyond its length")
        if records.dtype != self.dtype and not _converts(records.dtype, self.dtype):
            raise TypeError(f"give an array of {self.dtype}, not of {records.dtype}")
        return records, len(records)

    def write(self, start: int, fitted: Any, size: int) -> None:
        """Write behind the records; if there is no room, move to a larger array."""
        stop, dtype = start + size, self.room.dtype
        if fitted.dtype != dtype and dtype.kind in "SU":
            dtype = np.promote_types(dtype, fitted.dtype)
        if stop > len(self.room) or dtype != self.room.dtype:
            length = max(stop + stop // 2, 16) if stop > len(self.room) else len(self.room)
            room = np.empty((length, *self.room.shape[1:]), dtype)
            room[:start] = self.room[:start]
            room[start:stop] = fitted
            self.room = room
        else:
            self.room[start:stop] = fitted

    def part(self, start: int, stop: int) -> Any:
        """A read-only view."""
        return read_only(self.room[start:stop])

    def parts(self, spans: Sequence[tuple[int, int]]) -> Any:
        """A view of one span, or a new array of several."""
        if len(spans) == 1:
            return self.part(*spans[0])
        pieces = [self.room[start:stop] for start, stop in spans]
        return read_only(np.concatenate(pieces) if pieces else self.room[:0].copy())

    def fork(self, count: int) -> "Arrayed":
        """A copy of the array."""
        forked = Arrayed(self.room[:count])
        forked.dtype = self.dtype
        return forked


class Columns(Store):
    """A dict of columns, each in a store of its own."""

    __slots__ = ("columns",)

    def __init__(self, columns: dict[str, Store], count: int) -> None:
        super().__init__(count)
        self.columns = columns

    def fitted(self, records: Any) -> tuple[Any, int]:
        """A dict with the same columns, all of one length."""
        if not isinstance(records, dict):
            raise TypeError(f"give a dict of columns, as the data are, not {_kind(records)}")
        if records.keys() != self.columns.keys():
            raise ValueError(f"give the columns of the data: {', '.join(map(str, self.columns))}")
        found = {}
        for name, store in self.columns.items():
            try:
                found[name] = store.fitted(records[name])
            except (TypeError, ValueError) as error:
                raise TypeError(f"column {name!r}: {error.args[0]}") from None
        sizes = {size for _, size in found.values()}
        if len(sizes) > 1:
            raise ValueError("the columns of the batch have different lengths")
        return {name: fitted for name, (fitted, _) in found.items()}, sizes.pop() if sizes else 0

    def write(self, start: int, fitted: Any, size: int) -> None:
        """Write each column."""
        for name, store in self.columns.items():
            store.write(start, fitted[name], size)

    def part(self, start: int, stop: int) -> Any:
        """A dict of the columns' parts."""
        return {name: store.part(start, stop) for name, store in self.columns.items()}

    def parts(self, spans: Sequence[tuple[int, int]]) -> Any:
        """A dict of the columns' parts."""
        return {name: store.parts(spans) for name, store in self.columns.items()}

    def fork(self, count: int) -> "Columns":
        """Copies of all columns."""
        columns = {name: store.fork(count) for name, store in self.columns.items()}
        return Columns(columns, count)


_NUMBERS = "biufc"


def _converts(given: Any, wanted: Any) -> bool:
    """Whether cells of one type become cells of another without loss, and no cell can fail."""
    if given.kind == wanted.kind and wanted.kind in "SU":
        return True
    numbers = given.kind in _NUMBERS and wanted.kind in _NUMBERS
    return numbers and bool(np.can_cast(given, wanted, "safe"))


def _kind(value: object) -> str:
    return type(value).__name__
