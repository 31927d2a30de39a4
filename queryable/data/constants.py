"""Public constants as values of exactly Python's own types.

Responsible for one thing: a constant that is compared with cells has no methods of the analyst's,
which would be handed the cells. Knows no data.
"""

from datetime import date, datetime, timedelta, timezone
from types import NoneType
from typing import Any

import numpy as np

_EXACT = (bool, int, float, str, bytes, date, timedelta, np.datetime64, np.timedelta64)


def plain(value: Any) -> Any:
    """The same value as an exact bool, int, float, str, bytes, date, datetime or timedelta.

    numpy's moments and durations are left as they are, its other scalars become Python's. A time
    zone becomes its offset at that moment.

    Raises:
        TypeError: a value of another type.
        ValueError: a value that these types do not hold, such as a part of a microsecond.
    """
    kind = type(value)
    if kind in _EXACT:
        return value
    if kind is datetime:
        return value if type(value.tzinfo) in (NoneType, timezone) else _with_offset(value)
    if isinstance(value, np.generic) and not isinstance(value, float | str | bytes):
        item = np.generic.item(value)
        if type(item) not in _EXACT:
            raise TypeError(f"{kind.__name__} is no number, string or date")
        return item
    rebuilt = _of_subclass(value)
    if not value == rebuilt:
        raise ValueError(
            f"it is a {kind.__name__} that no {type(rebuilt).__name__} equals; give parts of a "
            "microsecond as numpy.datetime64 or numpy.timedelta64"
        )
    return plain(rebuilt)


def _of_subclass(value: Any) -> Any:
    """A value of the builtin type, read with that type's own methods."""
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
    raise TypeError(f"{type(value).__name__} is no number, string or date")


def _with_offset(value: datetime) -> datetime:
    """The moment at a fixed offset: a `tzinfo` of the analyst's would be asked for every cell."""
    offset = value.utcoffset()
    if offset is None:
        return value.replace(tzinfo=None)
    return value.replace(tzinfo=timezone(timedelta.__add__(offset, timedelta())), fold=0)
