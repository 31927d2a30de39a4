"""Stores of frames and masked arrays, whose libraries join them.

Responsible for batches that are kept in pieces until they are read, and for what is public about a
frame: its class, and the names and types of its columns. All functions but `fitted` touch data.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from queryable.data.stores import Store

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
            raise TypeError(
                f"give a {type(first).__name__}, as the data are, not {type(records).__name__}"
            )
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


def of_pandas(dataset: Any) -> Store:
    """A store for a frame or a column of pandas."""
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


def of_polars(dataset: Any) -> Store:
    """A store for a frame or a column of polars."""
    import polars as pl

    def same(frame: Any) -> Any:
        return [*frame.schema.items()] if isinstance(frame, pl.DataFrame) else frame.dtype

    return Pieces(dataset, pl.concat, _sliced, same)


def of_arrow(dataset: Any) -> Store:
    """A store for an Arrow table."""
    import pyarrow as pa

    def cut(table: Any, start: int, stop: int) -> Any:
        return table.slice(start, stop - start)

    def same(table: Any) -> Any:
        return [(each.name, each.type, each.nullable) for each in table.schema]

    return Pieces(dataset, pa.concat_tables, cut, same)


def of_masked(dataset: Any) -> Store:
    """A store for a masked array of numpy."""
    return Pieces(dataset, np.ma.concatenate, _sliced, _masked_type)


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
