"""Entries of values that are not classes of ours: numbers, dates, lists, measures.

None, booleans, strings, floats, and integers up to 2**53 are JSON's own; see `codec`.
"""

from abc import ABCMeta
from base64 import b64decode, b64encode
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any

from curator.codec.entries import Entry
from curator.codec.fields import (
    TaggedList,
    UnreadableError,
    UnwritableError,
    read_number,
    write_number,
)
from curator.codec.limits import DIGITS, alike
from queryable.losses import (
    FDP,
    GDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    Loss,
    PureDP,
)

_MEASURES: dict[str, type[Loss]] = {
    "approx-dp": ApproxDP,
    "approx-zcdp": ApproxZCDP,
    "dominated": Dominated,
    "fdp": FDP,
    "gdp": GDP,
    "pure-dp": PureDP,
    "zcdp": ZCDP,
}
_NAMES = {measure: name for name, measure in _MEASURES.items()}
_FLOATS = {"inf", "-inf", "nan"}
_ALIKE = 100
_TOO_ALIKE = f"should have at most {_ALIKE} keys with the same hash"
_MICROSECOND = timedelta(microseconds=1)


def _of_measure(measure: Any) -> tuple[Any, ...]:
    if measure not in _NAMES:
        raise UnwritableError(f"the class {measure.__name__} is no measure with a tag")
    return (_NAMES[measure],)


def _measure(name: str) -> type[Loss]:
    if name not in _MEASURES:
        raise UnreadableError(f"should name a measure: {', '.join(_MEASURES)}")
    return _MEASURES[name]


def _of_int(value: int) -> tuple[Any, ...]:
    return (write_number(Fraction(value)).strip('"'),)


def _int(value: str) -> int:
    number = read_number(value)
    if number.denominator != 1:
        raise UnreadableError("should be an integer")
    return number.numerator


def _of_float(value: float) -> tuple[Any, ...]:
    return (repr(value),)


def _float(value: str) -> float:
    if value not in _FLOATS:
        raise UnreadableError("should be inf, -inf or nan")
    return float(value)


def _of_datetime(value: datetime) -> tuple[Any, ...]:
    if type(value.tzinfo) not in (NoneType, timezone):
        raise UnwritableError("give a time at a fixed offset, such as UTC: it has a time zone")
    return (value.isoformat(),)


def _of_decimal(value: Decimal) -> tuple[Any, ...]:
    text = str(value)
    if not len(text) <= DIGITS:
        raise UnwritableError(f"a number has more than {DIGITS} digits")
    return (text,)


def _decimal(value: str) -> Decimal:
    if not len(value) <= DIGITS:
        raise UnreadableError(f"should have {DIGITS} digits at most")
    return Decimal(value)


def _of_dict(value: dict[Any, Any]) -> tuple[Any, ...]:
    if not alike(map(hash, value)) <= _ALIKE:
        raise UnwritableError(_TOO_ALIKE)
    return (tuple(value.items()),)


def _dict(items: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    if not alike(hash(key) for key, _ in items) <= _ALIKE:
        raise UnreadableError(_TOO_ALIKE)
    made = dict(items)
    if len(made) < len(items):
        raise UnreadableError("should have different keys")
    return made


_PAIRS = tuple[tuple[Any, Any], ...]
_ITEMS = tuple[Any, ...]

VALUES = (
    Entry("int/1", (int,), {"value": str}, _of_int, _int),
    Entry("float/1", (float,), {"value": str}, _of_float, _float),
    Entry("fraction/1", (Fraction,), {"value": Fraction}, lambda v: (v,), lambda value: value),
    Entry("decimal/1", (Decimal,), {"value": str}, _of_decimal, _decimal),
    Entry(
        "bytes/1",
        (bytes,),
        {"base64": str},
        lambda v: (b64encode(v).decode(),),
        lambda base64: b64decode(base64, validate=True),
    ),
    Entry(
        "date/1",
        (date,),
        {"value": str},
        lambda v: (v.isoformat(),),
        date.fromisoformat,
    ),
    Entry(
        "datetime/1",
        (datetime,),
        {"value": str},
        _of_datetime,
        datetime.fromisoformat,
    ),
    Entry(
        "timedelta/1",
        (timedelta,),
        {"microseconds": int},
        lambda v: (v // _MICROSECOND,),
        lambda microseconds: timedelta(microseconds=microseconds),
    ),
    Entry("list/1", (list,), {"items": _ITEMS}, lambda v: (tuple(v),), TaggedList),
    Entry(
        "dict/1",
        (dict,),
        {"items": _PAIRS},
        _of_dict,
        _dict,
    ),
    Entry(
        "range/1",
        (range,),
        {"start": int, "step": int, "stop": int},
        lambda v: (v.start, v.step, v.stop),
        lambda start, step, stop: range(start, stop, step),
    ),
    Entry("measure/1", (ABCMeta, type), {"name": str}, _of_measure, _measure),
)
