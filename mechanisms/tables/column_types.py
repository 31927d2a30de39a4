"""What a column of a table holds, and constants moved into its domain by exact arithmetic.

Responsible for one thing: an engine compares a cell with a value of the cell's own type, so that
no engine's conversion rules decide an answer. `column("age") >= 29.5` asks an integer column for
`>= 30`. Everything here is about public types and constants. Knows no engine and no data.
"""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.scalars import Scalar

DAY = 86_400 * 10**9  # nanoseconds
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (naive, as the columns it is compared with)
_NANOSECONDS = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60 * 10**9, "s": 10**9}
_NANOSECONDS |= {"ms": 10**6, "us": 1000, "ns": 1}
_TO_FAMILY = {
    "boolean": "number",
    "integer": "number",
    "decimal": "number",
    "float": "number",
    "date": "moment",
    "timestamp": "moment",
}


@attrs.frozen
class Kind:
    """What a column holds.

    A cell is a whole multiple of `step` unless it is a float, text, bytes or something else: one
    for integers, a power of ten for decimals, nanoseconds for dates, times and durations.

    Args:
        name: boolean, integer, decimal, float, text, bytes, date, timestamp (without a time zone),
            instant (with one), duration, other, or written: text of a CSV file or of Python
            objects without a declared type, which each question reads as what it compares it with.
        step: what a cell is a multiple of, None where that is nothing.
        low, high: the least and the largest multiple that the type holds.
        single: whether floats have 32 bits.
        declared: the engine's own name of the type.
    """

    name: str
    step: Fraction | None = attrs.field(default=None, repr=False)
    low: int = attrs.field(default=-(2**63), repr=False)
    high: int = attrs.field(default=2**63 - 1, repr=False)
    single: bool = attrs.field(default=False, repr=False)
    declared: str = attrs.field(default="", eq=False)

    @property
    def family(self) -> str:
        """What compares with what: kinds and constants of one family do."""
        return _TO_FAMILY.get(self.name, self.name)


BOOLEAN = Kind("boolean", Fraction(1), 0, 1)
TEXT = Kind("text")
BYTES = Kind("bytes")
DATE = Kind("date", Fraction(DAY))
OTHER = Kind("other")
WRITTEN = Kind("written")


def integer(bits: int, *, signed: bool = True) -> Kind:
    """An integer column of so many bits."""
    return Kind(
        "integer",
        Fraction(1),
        *((-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)),
    )


def decimal(precision: int, scale: int) -> Kind:
    """A decimal column of so many digits, `scale` of them after the point."""
    largest = 10**precision - 1
    return Kind("decimal", Fraction(1, 10**scale), -largest, largest)


def real(bits: int) -> Kind:
    """A column of floats of 32 or 64 bits."""
    return Kind("float", single=bits == 32)


def moments(name: str, nanoseconds: int | Fraction, most: int = 2**63 - 1) -> Kind:
    """A column of timestamps, instants or durations in whole multiples of so many nanoseconds.

    Args:
        most: how many of them an engine can write as a constant, before 1970 or after; later and
            earlier constants are beyond every cell.
    """
    return Kind(name, Fraction(nanoseconds), -most, most)


@attrs.frozen
class Constant:
    """A public constant: its family, and an exact value.

    Numbers are Fractions or an infinity, moments and instants nanoseconds since 1970, durations
    nanoseconds.
    """

    family: str
    value: Any
    whole_days: bool = False


def constant(scalar: Scalar) -> Constant:
    """Read a scalar as what it means, exactly."""
    match scalar:
        case bool() | int():
            return Constant("number", Fraction(int(scalar)))
        case float():
            return Constant("number", scalar if scalar in (inf, -inf) else Fraction(scalar))
        case str():
            if any("\ud800" <= character <= "\udfff" for character in scalar):
                raise ValueError("a constant of text has half a character, a lone surrogate")
            return Constant("text", scalar)
        case bytes():
            return Constant("bytes", scalar)
        case np.datetime64():
            days = np.datetime_data(scalar.dtype)[0] in ("Y", "M", "W", "D")
            return Constant("moment", _nanoseconds(scalar), days)
        case np.timedelta64():
            return Constant("duration", _nanoseconds(scalar))
        case timedelta():
            return Constant("duration", Fraction(scalar // timedelta(microseconds=1) * 1000))
        case datetime(tzinfo=None):
            return Constant("moment", _since(scalar))
        case datetime():
            return Constant("instant", _since(scalar.astimezone(UTC).replace(tzinfo=None)))
        case date():
            return Constant("moment", _since(datetime(*scalar.timetuple()[:3])), True)  # noqa: DTZ001
    raise TypeError(f"a table compares nothing with {type(scalar).__name__}")


def _since(moment: datetime) -> Fraction:
    return Fraction((moment - _EPOCH) // timedelta(microseconds=1) * 1000)


def _nanoseconds(value: Any) -> Fraction:
    unit, count = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value = value.astype("M8[D]")
        unit, count = "D", 1
    if unit not in _NANOSECONDS:
        raise TypeError(f"a table has no times in {unit!r}")
    return Fraction(int(value.astype(np.int64)) * count * _NANOSECONDS[unit])


def resolution(dtype: Any) -> Fraction | None:
    """The nanoseconds between moments or durations of a numpy type; None where they vary."""
    unit, count = np.datetime_data(dtype)
    return Fraction(count * _NANOSECONDS[unit]) if unit in _NANOSECONDS else None


Placed: TypeAlias = tuple[str, Any]
"""An operator, and a value of the column's own domain: a multiple of its step, a float, text."""


def placed(kind: Kind, operator: str, scalar: Scalar) -> Placed | bool:
    """The same comparison within the column's domain, or what it is for every cell.

    Raises:
        TypeError: cells of this kind do not compare with such a constant.
    """
    given = constant(scalar)
    if given.family != kind.family or kind.name == "other":
        raise TypeError(
            f"a column of {kind.declared or kind.name} does not compare with "
            f"{type(scalar).__name__}"
        )
    if kind.step is not None:
        return _on_lattice(kind, operator, given.value)
    if kind.name != "float":
        return operator, given.value
    return _among_floats(kind, operator, given.value)


def member(kind: Kind, scalar: Scalar) -> Any | None:
    """The cell that equals a category as Python values do, None where no cell can."""
    given = constant(scalar)
    if given.family != kind.family or kind.name == "other":
        return None
    if given.family == "moment" and given.whole_days != (kind.name == "date"):
        return None  # a date is no datetime, not even at midnight
    if kind.name == "float":
        cell = _nearest(given.value, single=kind.single)
        return cell if cell == given.value else None
    outcome = placed(kind, "==", scalar)
    return None if isinstance(outcome, bool) else outcome[1]


def _on_lattice(kind: Kind, operator: str, value: Any) -> Placed | bool:
    assert kind.step is not None
    if isinstance(value, float):  # an infinity
        below = value > 0
        return {"==": False, "!=": True, "<": below, "<=": below, ">": not below, ">=": not below}[
            operator
        ]
    steps = value / kind.step
    floor, ceiling = steps.__floor__(), steps.__ceil__()
    if floor == ceiling and kind.low <= floor <= kind.high:
        return operator, floor
    if operator in ("==", "!="):
        return operator == "!="
    if operator in ("<", "<="):
        return ("<=", floor) if kind.low <= floor < kind.high else floor >= kind.high
    return (">=", ceiling) if kind.low < ceiling <= kind.high else ceiling <= kind.low


def _nearest(value: Any, *, single: bool) -> float:
    try:
        nearest = float(value)
    except OverflowError:
        nearest = inf if value > 0 else -inf
    if not single:
        return nearest
    with np.errstate(over="ignore"):
        return float(np.float32(nearest))


def _among_floats(kind: Kind, operator: str, value: Any) -> Placed | bool:
    """Singles compare with the nearest single, as numpy has it; doubles exactly."""
    nearest = _nearest(value, single=kind.single)
    if kind.single or nearest == value:
        return operator, nearest
    if operator in ("==", "!="):
        return operator == "!="
    if operator in ("<", "<="):
        return ("<=" if nearest < value else "<"), nearest
    return (">" if nearest < value else ">="), nearest
