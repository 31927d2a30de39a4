"""Stores of records that only grow, one class for each form of data.

A store has the first `count` records for good. `put` writes a batch behind them. If it is
interrupted, what it has written is behind `count`, and the next `put` replaces it. Does not know
which values share the store: `growing` does. All functions but `store_of` and `fitted` touch data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from queryable.data.cells import count_records, masked_arrays
from queryable.data.frozen import read_only

_CANNOT = (
    "these data cannot grow: give a list, a tuple, an array, a dict of columns, a frame or a table"
)


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


class Listed(Store):
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

    def fork(self, count: int) -> "Listed":
        """A copy of the list; the records are shared."""
        return Listed(self.kind, self.records[:count])


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


_MOST_PIECES = 256


class Pieces(Store):
    """Frames, or columns of frames, that their library joins when they are read."""

    __slots__ = ("held", "joined", "kind", "same", "slice")

    def __init__(
        self,
        first: Any,
        joined: Callable[[list[Any]], Any],
        cut: Callable[[Any, int, int], Any],
        same: Callable[[Any], Any],
    ) -> None:
        super().__init__(len(first))
        self.held = [first], len(first)  # the pieces, and the records in them
        self.joined, self.slice, self.same = joined, cut, same
        self.kind = same(first)

    def fitted(self, records: Any) -> tuple[Any, int]:
        """The same class, with the same columns and types."""
        first, kind = self.held[0][0], self.same
        if type(records) is not type(first):
            raise TypeError(f"give a {type(first).__name__}, as the data are, not {_kind(records)}")
        if kind(records) != self.kind:
            theirs, ours = _told_apart(kind(records), self.kind)
            raise TypeError(
                f"give the same columns, with the same types: the batch has {theirs}, and the data "
                f"have {ours}"
            )
        return records, len(records)

    def write(self, start: int, fitted: Any, size: int) -> None:
        """Add a piece; many small pieces are joined."""
        pieces, count = self.held
        if count > start:  # an interrupted batch is behind the records
            pieces = [self.part(0, start)]
        pieces = [*pieces, fitted]
        if len(pieces) > _MOST_PIECES:
            pieces = [self.joined(pieces)]
        self.held = pieces, start + size

    def part(self, start: int, stop: int) -> Any:
        """The joined pieces, cut."""
        pieces, count = self.held
        if len(pieces) > 1:
            pieces = [self.joined(pieces)]
            self.held = pieces, count
        return self.slice(pieces[0], start, stop)

    def parts(self, spans: Sequence[tuple[int, int]]) -> Any:
        """The parts, joined."""
        cut = [self.part(*span) for span in spans]
        return self.joined(cut) if len(cut) > 1 else (cut or [self.part(0, 0)])[0]

    def fork(self, count: int) -> "Pieces":
        """The first records, in one piece."""
        return Pieces(self.part(0, count), self.joined, self.slice, self.same)


_NUMBERS = "biufc"


def _converts(given: Any, wanted: Any) -> bool:
    """Whether cells of one type become cells of another without loss, and no cell can fail."""
    if given.kind == wanted.kind and wanted.kind in "SU":
        return True
    numbers = given.kind in _NUMBERS and wanted.kind in _NUMBERS
    return numbers and bool(np.can_cast(given, wanted, "safe"))


def form_of(dataset: Any) -> Store | None:
    """An empty store, which says what a batch for these data looks like; None if they cannot grow.

    The public form of data: that they are a list (or a tuple, which is the same); the type of an
    array, but not the width of its texts, and its dimensions beyond the length; the names of
    columns, and the form of each; the class of a frame, and the names and types of its columns. How
    many records there are is no part of it, nor what is in a list or in a cell of type object.
    """
    try:
        return store_of(_emptied(dataset))
    except TypeError:
        return None


def _emptied(dataset: Any) -> Any:
    """Data of the same form without records; itself if it has no form that grows."""
    kind = type(dataset)
    if kind in (list, tuple):
        return kind()
    if kind is dict:
        return {name: _emptied(column) for name, column in dataset.items()}
    if kind is np.ndarray and not dataset.ndim:
        return dataset
    library = kind.__module__.partition(".")[0]
    if library == "pyarrow" and kind.__name__ == "Table":
        return dataset.slice(0, 0)
    grows = kind in (np.ndarray, *masked_arrays()) or library in ("pandas", "polars")
    return dataset[:0] if grows and kind.__name__ in _SLICED else dataset


_SLICED = ("ndarray", "MaskedArray", "DataFrame", "Series")


def store_of(dataset: Any) -> Store:
    """A store with a data set's records.

    Raises:
        TypeError: it has no form that grows.
    """
    kind = type(dataset)
    if kind in (list, tuple):
        return Listed(kind, list(dataset))
    if kind is np.ndarray and dataset.ndim:
        return Arrayed(dataset)
    if kind is dict:
        columns = {name: store_of(column) for name, column in dataset.items()}
        if any(isinstance(each, Columns) for each in columns.values()):
            raise TypeError(_CANNOT)
        return Columns(columns, count_records(dataset))
    if kind in masked_arrays():
        return Pieces(dataset, np.ma.concatenate, _sliced, _masked_type)
    library = kind.__module__.partition(".")[0]
    if library == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return _of_pandas(dataset)
    if library == "polars" and kind.__name__ in ("DataFrame", "Series"):
        return _of_polars(dataset)
    if library == "pyarrow" and kind.__name__ == "Table":
        return _of_arrow(dataset)
    raise TypeError(_CANNOT)


def _of_pandas(dataset: Any) -> Store:
    import pandas as pd

    def joined(pieces: list[Any]) -> Any:
        return pd.concat([_without_categories(each) for each in pieces], ignore_index=True)

    def same(frame: Any) -> Any:
        if frame.ndim == 1:
            return _public_type(frame.dtype)
        return [*zip(frame.columns, map(_public_type, frame.dtypes), strict=True)]

    return Pieces(dataset, joined, lambda frame, start, stop: frame.iloc[start:stop], same)


def _public_type(dtype: Any) -> Any:
    """The type of a column of pandas; of a categorical, whose categories are cells, of objects."""
    return np.dtype(object) if _is_categorical(dtype) else dtype


def _is_categorical(dtype: Any) -> bool:
    return type(dtype).__name__ == "CategoricalDtype"


def _without_categories(frame: Any) -> Any:
    """Categoricals as objects. Joined with others they would get a type that depends on cells."""
    if frame.ndim == 1:
        return frame.astype(object) if _is_categorical(frame.dtype) else frame
    coded = [name for name, dtype in frame.dtypes.items() if _is_categorical(dtype)]
    return frame.astype(dict.fromkeys(coded, object)) if coded else frame


def _of_polars(dataset: Any) -> Store:
    import polars as pl

    def same(frame: Any) -> Any:
        return [*frame.schema.items()] if isinstance(frame, pl.DataFrame) else frame.dtype

    return Pieces(dataset, pl.concat, _sliced, same)


def _of_arrow(dataset: Any) -> Store:
    import pyarrow as pa

    def cut(table: Any, start: int, stop: int) -> Any:
        return table.slice(start, stop - start)

    def same(table: Any) -> Any:
        return [(each.name, each.type, each.nullable) for each in table.schema]

    return Pieces(dataset, pa.concat_tables, cut, same)


def _masked_type(values: Any) -> str:
    """The type of a masked array, without the width of texts, and its dimensions."""
    kind = {"U": "text", "S": "bytes"}.get(values.dtype.kind, values.dtype)
    return f"{kind} {values.shape[1:]}" if values.ndim > 1 else str(kind)


def _told_apart(theirs: Any, ours: Any) -> tuple[str, str]:
    """Two schemas that differ, as texts that differ."""
    for written in (str, repr, _in_full):
        found = _described(theirs, written), _described(ours, written)
        if found[0] != found[1]:
            break
    return found


def _in_full(value: Any) -> str:
    """A name or a type with its class, and with all that it holds."""
    held = getattr(value, "__dict__", {})
    return f"{type(value).__module__}.{type(value).__name__} {value!r} {held}"


def _described(schema: Any, written: Callable[[Any], str]) -> str:
    """The columns of a frame with their types, or the type of one column."""
    if not isinstance(schema, list):
        return written(schema)
    columns = (
        f"{written(name)}: {written(kind)}{'' if all(nullable) else ' not null'}"
        for name, kind, *nullable in schema
    )
    return ", ".join(columns) or "no column"


def _sliced(values: Any, start: int, stop: int) -> Any:
    return values[start:stop]


def _kind(value: object) -> str:
    return type(value).__name__
