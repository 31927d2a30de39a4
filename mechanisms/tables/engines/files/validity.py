"""Cells of Arrow columns and of Parquet files that are not valid for their type become missing.

Such a cell is text that is not UTF-8, a time of day beyond 24 hours, or a timestamp with more
microseconds than 64 bits hold. An engine would fail on it. Each cell is decided on its own.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

_ROWS = 2**12  # of a Parquet file, checked at once


def valid_cells(table: Any) -> Any:
    """An Arrow table with null for each invalid cell."""
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if _finer(column.type) is not None or not all(map(_is_valid, column.chunks)):
            table = table.set_column(position, field.name, valid_column(column))
    return table


def valid_column(column: Any, *, naive: bool = False) -> Any:
    """A chunked column with null for each invalid cell.

    A dictionary is decoded, because Arrow validates it only as a whole.
    """
    import pyarrow as pa

    finer = _finer(column.type, naive=naive)
    if finer is not None:
        return _in_microseconds(column, finer)
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array(
            [chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type
        )
    return pa.chunked_array([_mended(chunk) for chunk in column.chunks], column.type)


def _finer(kind: Any, *, naive: bool = False) -> Any:
    """The type in microseconds, for a type that an engine would convert to them cell by cell.

    With `naive`, for a Parquet file, this includes timestamps without a zone.
    """
    import pyarrow as pa

    moment = pa.types.is_timestamp(kind) and (naive or kind.tz is not None)
    if not (moment or pa.types.is_duration(kind)) or kind.unit not in ("s", "ms"):
        return None
    return pa.timestamp("us", kind.tz) if moment else pa.duration("us")


def _in_microseconds(column: Any, finer: Any) -> Any:
    """The column in microseconds; a cell that overflows becomes missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = 1000 if column.type.unit == "ms" else 10**6
    most, counts = (2**63 - 2) // times, column.cast(pa.int64())
    fits = pc.and_(pc.less_equal(counts, most), pc.greater_equal(counts, -most))
    counts = pc.if_else(fits, counts, pa.scalar(None, pa.int64()))
    return pc.multiply(counts, times).cast(finer)


def _mended(array: Any) -> Any:
    import pyarrow as pa

    places = list(range(len(array)))
    for invalid in _invalid(array, places):
        places[invalid] = None  # type: ignore[call-overload]
    return array.take(pa.array(places, pa.int64())) if None in places else array


def _invalid(array: Any, places: list[int]) -> list[int]:
    """The places among these that hold invalid cells, found by bisection.

    The cells are copied, because Arrow validates all cells of nested columns behind a slice.
    """
    import pyarrow as pa

    if not places or _is_valid(array.take(pa.array(places, pa.int64()))):
        return []
    if len(places) == 1:
        return places
    half = len(places) // 2
    return _invalid(array, places[:half]) + _invalid(array, places[half:])


def _is_valid(array: Any) -> bool:
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def cells_are_valid(path: str | Path, columns: Sequence[int]) -> bool:
    """Whether each cell of some columns of a Parquet file is valid."""
    return all(map(_keeps_all, chain.from_iterable(_batches(path, columns, checked=True))))


def _keeps_all(array: Any) -> bool:
    import pyarrow as pa

    if _finer(array.type, naive=True) is None:
        return _is_valid(array)
    valid = valid_column(pa.chunked_array([array]), naive=True)
    return bool(valid.null_count == array.null_count)


def write_valid_cells(path: str | Path, columns: Sequence[int], to: str | Path) -> list[int]:
    """Write some columns of a Parquet file, named 0, 1, ..., with null for invalid cells.

    Returns:
        How many cells of each column were invalid.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, missing = None, [0] * len(columns)
    for batch in _batches(path, columns):
        valid = [valid_column(pa.chunked_array([column]), naive=True) for column in batch]
        for i, (before, after) in enumerate(zip(batch, valid, strict=True)):
            missing[i] += after.null_count - before.null_count
        table = pa.table(valid, names=[str(i) for i in range(len(valid))])
        writer = writer or pq.ParquetWriter(str(to), table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return missing


def _batches(
    path: str | Path, columns: Sequence[int], *, checked: bool = False
) -> Iterator[list[Any]]:
    """Batches of columns of a Parquet file; with `checked`, only those that may be invalid.

    An ENUM, which Arrow reads as bytes, is text here.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(str(path), pre_buffer=False) as file:
        fields = [file.schema_arrow.field(i) for i in columns]
        if checked:  # finer moments are valid, whatever they count
            fine = [
                pa.types.is_timestamp(it.type) and not _finer(it.type, naive=True) for it in fields
            ]
            fields = [field for field, is_fine in zip(fields, fine, strict=True) if not is_fine]
            if not fields:
                return
        names = [field.name for field in fields]
        for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
            read = [batch.column(name) for name in names]
            read = [c.storage if isinstance(c, pa.ExtensionArray) else c for c in read]
            yield [c.view(pa.string()) if pa.types.is_binary(c.type) else c for c in read]
