"""Keys of cells: two cells name the same unit, part or group if their keys are equal.

Python's own `==` and `hash` are no equivalence on cells: `numpy.float64(2**100)` equals integers
that differ from each other, and a class may define both as it likes. A key is made of a cell alone,
from its value and without code of the cell's own class. Keys are Python's own strings, bytes and
numbers, and tuples of a word and a number, so their `==` and `hash` are an equivalence. The rules
are in docs/tables/expressions.md, "Which cells are equal". Reading a key never fails: a cell that
is missing, or of no type that is listed here, has none.
"""

import sys
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from operator import is_
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from queryable.data.guarded import pass_on

Key: TypeAlias = Hashable
"""What stands for all cells that are equal."""

_THEMSELVES = frozenset(map(id, (str, int, bytes, NoneType)))
"""Cells of exactly these types are their own keys."""
_USUAL = frozenset(map(id, (bool, str, int, float, bytes, date, datetime, Decimal)))
_EQUALITY = frozenset({"__eq__", "__hash__"})
_EPOCH, _DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()  # noqa: DTZ001
_MICROSECOND, _TICKS = timedelta(microseconds=1), 10**12
_ATTOSECONDS = {
    unit: 10 ** (18 - 3 * place) for place, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs"))
} | {"as": 1, "m": 60 * 10**18, "h": 3600 * 10**18, "D": 86_400 * 10**18, "W": 604_800 * 10**18}
_LARGEST = 5000
"""A decimal with more digits before or after the point equals decimals only."""


def keys_of(cells: Sequence[Any]) -> Sequence[Key | None]:
    """The key of each cell."""
    kind = common_type(cells)
    if kind is str or kind is int:
        return cells
    if _THEMSELVES.issuperset(map(id, map(type, cells))):
        return cells
    return [key_of(cell) for cell in cells]


def key_of(cell: Any) -> Key | None:
    """The key of a cell; None if it is missing, or no text, number, truth value, bytes or time."""
    kind = type(cell)
    if kind is str or kind is int:
        return cell  # type: ignore[no-any-return]
    plain = plain_cell(cell)
    if plain is None:
        return None
    try:
        return _KEYS[type(plain)](plain)
    except BaseException as error:  # such as a time zone's own
        pass_on(error)
        return None


def common_type(cells: Sequence[Any]) -> type | None:
    """The type of all cells; None if they have several, or if there are no cells.

    Types are compared by `is`: a metaclass may define its own `==` and `hash`.
    """
    kind = type(cells[0]) if len(cells) else None
    return kind if all(map(is_, map(type, cells), repeat(kind))) else None


def plain_cells(cells: Any) -> list[Any]:
    """Each cell of an array of objects as `plain_cell` has it; itself if it holds no such value."""
    listed: list[Any] = cells.tolist()
    kind = common_type(listed)
    if kind is int or kind is str or kind is float:
        return listed
    if _USUAL.issuperset(map(id, map(type, listed))):
        return listed
    found = map(plain_cell, listed)
    return [cell if it is None else it for cell, it in zip(listed, found, strict=True)]


def plain_cell(cell: Any) -> Any:
    """The cell as a value of exactly a type of Python, numpy or pandas; None if it holds none.

    Only the methods of these types are called. An instance of a subclass is read as one of the type
    that it inherits its equality from. If its class defines its own, it holds no such value.
    """
    kind = type(cell)
    try:
        read = _PLAIN.get(id(kind)) or _inherited(kind)
        return None if read is None else read(cell)
    except BaseException as error:
        pass_on(error)
        return None


def _inherited(kind: type) -> Callable[[Any], Any] | None:
    """How an instance is read by the class that its equality is inherited from."""
    _learn()
    for base in type.__dict__["__mro__"].__get__(kind):  # a metaclass may override `__mro__`
        read = _PLAIN.get(id(base))
        if read is not None:
            return read
        if not _EQUALITY.isdisjoint(type.__dict__["__dict__"].__get__(base)):
            return None
    return None


def _float(cell: Any) -> float | None:
    number = float.__float__(cell)
    return None if number != number else number  # noqa: PLR0124 (NaN)


def _decimal(cell: Any) -> Decimal | None:
    number = Decimal(cell)
    return None if number.is_nan() else number


def _fraction(cell: Any) -> Fraction:
    parts = (Fraction.__dict__[name].__get__(cell) for name in ("_numerator", "_denominator"))
    return Fraction(*map(int.__index__, parts))


def _datetime(cell: Any) -> datetime:
    return datetime.combine(datetime.date(cell), datetime.timetz(cell))


def _only(
    kind: type,
    missing: Callable[[Any], Any] = lambda _: False,
    read: Callable[[Any], Any] = lambda cell: cell,
) -> Callable[[Any], Any]:
    """Read a cell of exactly this type, not of a subclass."""

    def value(cell: Any) -> Any:
        return None if type(cell) is not kind or missing(cell) else read(cell)

    return value


_PLAIN: dict[int, Callable[[Any], Any]] = {
    id(NoneType): lambda _: None,
    id(bool): lambda cell: cell,
    id(int): int.__int__,
    id(float): _float,
    id(str): str.__str__,
    id(bytes): bytes.__bytes__,
    id(bytearray): _only(bytearray, read=bytes),
    id(Decimal): _decimal,
    id(Fraction): _fraction,
    id(datetime): _datetime,
    id(date): lambda cell: date.fromordinal(date.toordinal(cell)),
    id(time): _only(time, lambda cell: cell.tzinfo is not None),
    id(timedelta): lambda cell: timedelta.__add__(cell, timedelta()),
    id(np.str_): str.__str__,
    id(np.bytes_): bytes.__bytes__,
    id(np.datetime64): _only(np.datetime64, np.isnat),
    id(np.timedelta64): _only(np.timedelta64, np.isnat),
    id(np.longdouble): _only(np.longdouble, np.isnan),
}
_PLAIN |= {id(np.dtype(code).type): np.generic.item for code in "?bBhHiIlLqQ"}
_PLAIN |= {id(np.dtype(code).type): lambda cell: _float(np.generic.item(cell)) for code in "efd"}
"""How a cell is read, by the identity of its type: a metaclass may define its own hash."""


def _learn() -> None:
    """Add the types of libraries that have been imported; without that, no cell is of them."""
    uuid, pandas = (sys.modules.get(name) for name in ("uuid", "pandas"))
    for kind in (getattr(pandas, name, None) for name in ("Timestamp", "Timedelta")):
        if kind is not None and id(kind) not in _PLAIN:
            _KEYS[kind] = _of_pandas
            _PLAIN[id(kind)] = _only(kind)
    if hasattr(uuid, "UUID"):
        _PLAIN.setdefault(id(uuid.UUID), _only(uuid.UUID, read=str))  # type: ignore[union-attr]
    _PLAIN.setdefault(id(type(getattr(pandas, "NaT", None))), lambda _: None)


def _of_float(number: float) -> Key:
    return int(number) if number.is_integer() else number


def _of_decimal(number: Decimal) -> Key:
    if not number:
        return 0
    if not number.is_finite():
        return float(number)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if exponent >= -_LARGEST and number.adjusted() <= _LARGEST:
        return _of_ratio(number)
    written = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(written)
    if exponent >= -_LARGEST and number.adjusted() <= _LARGEST:
        return _of_ratio(Decimal((sign, tuple(map(int, written)), exponent)))
    return "decimal", sign, written, exponent


def _of_ratio(number: Any) -> Key:
    """The key of a number that is no infinity, from its numerator and denominator."""
    above, below = number.as_integer_ratio()
    if below == 1:
        return int(above)
    try:
        nearest = above / below
    except OverflowError:
        nearest = 0.0
    exact = nearest.as_integer_ratio() == (above, below)
    return nearest if exact else ("ratio", above, below)


def _of_long(number: Any) -> Key:
    return float(number) if np.isinf(number) else _of_ratio(number)


def _of_datetime(moment: datetime) -> Key:
    aware = moment.tzinfo is not None and moment.utcoffset() is not None
    if aware:
        moment = moment.astimezone(UTC)
    elapsed = (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return "instant" if aware else "moment", elapsed * _TICKS


def _of_numpy_time(time: Any) -> Key:
    """A date, if it has no time of day; else a moment or a duration in attoseconds."""
    return _counted(time, "moment" if isinstance(time, np.datetime64) else "duration")


def _counted(time: Any, word: str) -> Key:
    unit, count = np.datetime_data(time.dtype)
    steps = int(time.astype(np.int64)) * count
    if unit in ("Y", "M"):
        months = steps * 12 if unit == "Y" else steps
        if word == "duration" or not -1969 * 12 <= months < 8030 * 12:
            return f"months of a {word}", months
        return "date", date(1970 + months // 12, months % 12 + 1, 1).toordinal() - _DAY
    if unit not in _ATTOSECONDS:
        return "steps", steps
    if word == "moment" and unit in ("W", "D"):
        return "date", steps * (7 if unit == "W" else 1)
    return word, steps * _ATTOSECONDS[unit]


def _of_pandas(time: Any) -> Key:
    """With nanoseconds; in UTC where it has a zone."""
    lasts = isinstance(time, timedelta)
    return _counted(time.asm8, "duration" if lasts else "instant" if time.tzinfo else "moment")


_KEYS: dict[type, Callable[[Any], Key]] = {
    bool: int,
    int: lambda number: number,
    float: _of_float,
    str: lambda text: text,
    bytes: lambda text: text,
    Decimal: _of_decimal,
    Fraction: _of_ratio,
    np.longdouble: _of_long,
    date: lambda day: ("date", day.toordinal() - _DAY),
    datetime: _of_datetime,
    time: lambda hour: ("time", hour.isoformat()),
    timedelta: lambda lasting: ("duration", lasting // _MICROSECOND * _TICKS),
    np.datetime64: _of_numpy_time,
    np.timedelta64: _of_numpy_time,
}
