"""Columns of Python objects as columns of text, each cell converted on its own.

A library would infer one type from all cells of such a column, so that one cell could decide about
the others.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from types import NoneType
from typing import Any

import numpy as np

from queryable.data.guarded import safely
from queryable.data.keys import plain_cell

_EXACT = 2**53
_MICROSECOND = dt.timedelta(microseconds=1)


_BLOCK = 2**16


def as_text(cells: Iterable[Any], unread: list[int] | None = None) -> Any:
    """A chunked Arrow column of text, with null for a cell that is missing or has no text.

    Args:
        unread: gets the number of cells that have no text and are not missing. Private.
    """
    import pyarrow as pa

    unread = [] if unread is None else unread
    if type(cells).__module__.startswith("pandas.") and hasattr(cells, "to_numpy"):
        cells = cells.to_numpy(dtype=object)
    blocks = _of_array(cells) if type(cells) is np.ndarray and cells.ndim == 1 else _blocks(cells)
    return chunked((_as_text(block, unread) for block in blocks), pa.string())


def categories_as_text(column: Any, unread: list[int]) -> Any:
    """A categorical of pandas as a column of text, as the column of its cells would be.

    Its categories are no public form: `astype("category")` takes them from the cells.
    """
    import pyarrow as pa

    texts = as_text(column.cat.categories.to_numpy(dtype=object)).combine_chunks()
    codes = column.cat.codes.to_numpy()
    given = texts.is_valid().to_numpy(zero_copy_only=False)
    unread.append(int(np.count_nonzero(~given[codes[codes >= 0]])))
    blocks = (codes[i : i + _BLOCK].astype(np.int64) for i in range(0, len(codes), _BLOCK))
    return chunked((texts.take(pa.array(each, mask=each < 0)) for each in blocks), pa.string())


def chunked(arrays: Iterable[Any], kind: Any) -> Any:
    """One column of several arrays, some of which are in chunks themselves."""
    import pyarrow as pa

    chunks = (array.chunks if isinstance(array, pa.ChunkedArray) else [array] for array in arrays)
    return pa.chunked_array(chain.from_iterable(chunks), kind)


def _of_array(cells: Any) -> Iterator[list[Any]]:
    return (cells[i : i + _BLOCK].tolist() for i in range(0, len(cells), _BLOCK))


def _blocks(cells: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(cells)
    while block := list(islice(rest, _BLOCK)):
        yield block


def _as_text(cells: list[Any], unread: list[int]) -> Any:
    """The cells of a block. Arrow converts the usual types at once, as `_text` one by one."""
    import pyarrow as pa

    try:
        kinds = set(map(id, map(type, cells)))  # a metaclass may define its own hash
        if kinds <= _TEXTS:
            return pa.array(cells, pa.string(), from_pandas=id(float) in kinds)  # NaN is missing
        if kinds <= _INTEGERS:
            return pa.array(cells, pa.int64()).cast(pa.string())
    except (TypeError, ValueError, OverflowError):  # of Arrow too; a float, or a lone surrogate
        pass
    texts = list(map(_text, cells))
    unread.append(
        sum(text is None and not _is_missing(cell) for text, cell in zip(texts, cells, strict=True))
    )
    return pa.array(texts, pa.string())


def _is_missing(cell: Any) -> bool:
    """Whether a cell without a text is None, NaN, NaT or a library's own missing value.

    Only its type is looked at, since its own code could do anything.
    """
    kind = type(cell)
    return id(kind) in _NULLABLE or type.__dict__["__name__"].__get__(kind) in ("NaTType", "NAType")


def _text(cell: Any) -> str | None:
    """The text of a cell, as a CSV file would have it.

    Equal numbers have the same text if they are whole and below 2^53. Times with a zone are written
    in UTC, bytes in hexadecimal digits and durations in microseconds, as the types BLOB and
    INTERVAL read them. What has no key (`queryable.data.keys`) has no text.
    """
    plain = plain_cell(cell)
    text: str | None = None if plain is None else safely(_written, plain)
    return text


def _written(cell: Any) -> str | None:
    if isinstance(cell, np.datetime64):
        return str(cell)
    if isinstance(cell, np.timedelta64):
        cell = cell.astype("m8[us]").item()
    match cell:
        case str():
            if not cell.isascii():
                cell.encode()
            return cell
        case bool():
            return "true" if cell else "false"
        case int():
            return int.__repr__(cell)
        case float() | Decimal() | Fraction() | np.floating():
            return _number(cell)
        case bytes():
            return "".join(f"\\x{byte:02X}" for byte in cell)
        case dt.datetime(tzinfo=None):
            return cell.isoformat()
        case dt.datetime():
            return cell.astimezone(dt.UTC).isoformat()
        case dt.date():
            return cell.isoformat()
        case dt.timedelta():
            return f"{cell // _MICROSECOND} microseconds"
    return None


def _number(cell: Any) -> str:
    if abs(cell) < _EXACT and cell == int(cell):
        return int.__repr__(int(cell))
    return str(cell) if isinstance(cell, Decimal) else float.__repr__(float(cell))


_NULLABLE = frozenset(map(id, (NoneType, float, Decimal, np.datetime64, np.timedelta64)))
_NULLABLE |= {id(np.dtype(code).type) for code in "efdg"}
_TEXTS = frozenset(map(id, (str, float, NoneType)))
_INTEGERS = frozenset(map(id, (int, NoneType)))
