"""Cells of Arrow columns and of Parquet files that are no value of their type.

Responsible for making such cells missing, each by itself, text that is not UTF-8 above all: an
engine would fail when it meets one. Knows no engine.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_ROWS = 2**16  # of a Parquet file, checked at once


def valid_cells(table: Any) -> Any:
    """An Arrow table with null instead of each cell that Arrow finds invalid."""
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if not all(map(_is_valid, column.chunks)):
            table = table.set_column(position, field.name, valid_column(column))
    return table


def valid_column(column: Any) -> Any:
    """A chunked column with null instead of each invalid cell.

    A dictionary is decoded, because it is invalid as a whole.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array(
            [chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type
        )
    return pa.chunked_array([_mended(chunk) for chunk in column.chunks], column.type)


def _mended(array: Any) -> Any:
    import pyarrow as pa

    places = list(range(len(array)))
    for invalid in _invalid(array, places):
        places[invalid] = None  # type: ignore[call-overload]
    return array.take(pa.array(places, pa.int64())) if None in places else array


def _invalid(array: Any, places: list[int]) -> list[int]:
    """Which of these places hold invalid cells, by halves.

    The cells are copied, because Arrow checks all cells of nested columns behind a slice.
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


def text_is_valid(path: str | Path, columns: Sequence[int]) -> bool:
    """Whether each cell of some columns of a Parquet file is valid as text."""
    return all(_is_valid(column) for batch in _texts(path, columns) for column in batch)


def write_valid_text(path: str | Path, columns: Sequence[int], to: str | Path) -> None:
    """Some columns of a Parquet file, with null instead of invalid cells, named 0, 1, ..."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for batch in _texts(path, columns):
        valid = [valid_column(pa.chunked_array([column])) for column in batch]
        table = pa.table(valid, names=[str(i) for i in range(len(valid))])
        writer = writer or pq.ParquetWriter(str(to), table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _texts(path: str | Path, columns: Sequence[int]) -> Iterable[list[Any]]:
    """Batches of columns of a Parquet file. What Arrow takes for bytes, an ENUM, is text here."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(str(path), pre_buffer=False) as file:
        names = [file.schema_arrow.names[i] for i in columns]
        for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
            read = [batch.column(name) for name in names]
            read = [c.storage if isinstance(c, pa.ExtensionArray) else c for c in read]
            yield [c.view(pa.string()) if pa.types.is_binary(c.type) else c for c in read]
