"""Converts public constants to values of exactly Python's own types.

A constant is compared with cells. If its class were the analyst's, its methods would receive the
cells.
"""

from datetime import date, datetime, timedelta, timezone
from types import NoneType
from typing import Any

import numpy as np

_EXACT = (bool, int, float, str, bytes, date, timedelta, np.datetime64, np.timedelta64)


def python_constant(value: Any) -> Any:
    """Return an equal value of type bool, int, float, str, bytes, date, datetime or timedelta.

    numpy's datetime64 and timedelta64 are kept, and its other scalars become Python's. A time zone
    becomes its UTC offset at that moment.

    Raises:
        TypeError: a value of another type.
        ValueError: a value that these types cannot represent, such as a fraction of a microsecond.
    """
    kind = type(value)
    if kind in _EXACT:
        return value
    if kind is datetime:
        return value if type(value.tzinfo) in (NoneType, timezone) else _with_offset(value)
    if isinstance(value, np.generic) and not isinstance(value, float | str | bytes):
        item = np.generic.item(value)
        if type(item) not in _EXACT:
            raise TypeError(f"{kind.__name__} is not a number, string or date")
        return item
    rebuilt = _of_subclass(value)
    if not value == rebuilt:
        raise ValueError(
            "give fractions of a microsecond as numpy.datetime64 or numpy.timedelta64: this "
            f"{kind.__name__} is not equal to any {type(rebuilt).__name__}"
        )
    return python_constant(rebuilt)


def _of_subclass(value: Any) -> Any:
    """Return a value of the builtin type, read with the methods of the builtin type."""
    match value:
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case str():
            return str.__str__(value)
        case bytes():
            return bytes.__bytes__(value)
        case datetime():
            return datetime.combine(datetime.date(value), datetime.timetz(value))
        case date():
            return date.fromordinal(date.toordinal(value))
        case timedelta():
            return timedelta.__add__(value, timedelta())
    raise TypeError(f"{type(value).__name__} is not a number, string or date")


def _with_offset(value: datetime) -> datetime:
    """Return the moment at a fixed offset; a `tzinfo` of the analyst would be called for cells."""
    offset = value.utcoffset()
    if offset is None:
        return value.replace(tzinfo=None)
    return value.replace(tzinfo=timezone(timedelta.__add__(offset, timedelta())), fold=0)
