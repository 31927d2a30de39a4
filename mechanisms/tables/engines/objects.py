"""Columns of Python objects as columns of text, each cell converted on its own.

A library would infer one type from all cells of such a column, so that one cell could decide about
the others.
"""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_EXACT = 2**53
_MICROSECOND = dt.timedelta(microseconds=1)


def as_text(cells: Iterable[Any]) -> Any:
    """An Arrow column of text, with null for a cell that is missing or has no text."""
    import pyarrow as pa

    return pa.array(map(_text, cells), pa.string())


def _text(cell: Any) -> str | None:
    """The text of a cell that equals itself, as a CSV file would have it.

    Equal numbers have the same text if they are whole and below 2^53. Times with a zone are written
    in UTC, bytes in hexadecimal digits and durations in microseconds, as the types BLOB and
    INTERVAL read them. Containers, arrays and other objects have no text.
    """
    if type(cell) is str and cell.isascii():  # the usual case, faster
        return cell
    try:
        return _written(cell) if cell == cell else None  # noqa: PLR0124 (NaN does not)
    except Exception:  # a cell's own methods may raise anything
        return None


def _written(cell: Any) -> str | None:
    if isinstance(cell, np.datetime64):
        return str(cell)
    if isinstance(cell, np.timedelta64):
        cell = cell.astype("m8[us]").item()
    elif isinstance(cell, np.generic) and not isinstance(cell, str | bytes):
        cell = cell.item()  # its own comparisons may warn
    match cell:
        case bool():
            return "true" if cell else "false"
        case int():
            return int.__repr__(cell)
        case float() | Decimal() | Fraction() | np.floating():
            return _number(cell)
        case str():
            text = str.__str__(cell)
            text.encode()
            return text
        case bytes() | bytearray():
            return "".join(f"\\x{byte:02X}" for byte in bytes(cell))
        case dt.datetime(tzinfo=None):
            return cell.isoformat()
        case dt.datetime():
            return cell.astimezone(dt.UTC).isoformat()
        case dt.date():
            return dt.date.isoformat(cell)
        case dt.timedelta():
            return f"{cell // _MICROSECOND} microseconds"
    return None


def _number(cell: Any) -> str:
    if abs(cell) < _EXACT and cell == int(cell):
        return int.__repr__(int(cell))
    return str(cell) if isinstance(cell, Decimal) else float.__repr__(float(cell))
