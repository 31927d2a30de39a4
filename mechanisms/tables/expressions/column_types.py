"""The kind (type) of a table's column, and constants moved into its domain by exact arithmetic.

An engine compares a cell with a value of the cell's own type, so that no engine's conversion rules
decide an answer: `column("age") >= 29.5` asks an integer column for `>= 30`. All of this depends on
public types and constants only.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.corrections import no_comparison
from mechanisms.tables.expressions.lattice import is_power_of_two
from mechanisms.tables.expressions.scalars import Scalar
from queryable.wording.quoting import quoted

DAY = 86_400 * 10**9  # nanoseconds
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (naive, as the columns it is compared with)
_NANOSECONDS = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60 * 10**9, "s": 10**9}
_NANOSECONDS |= {"ms": 10**6, "us": 1000, "ns": 1}
_TO_FAMILY = {
    "boolean": "number",
    "integer": "number",
    "decimal": "number",
    "multiple": "number",
    "float": "number",
    "date": "moment",
    "timestamp": "moment",
}


@attrs.frozen
class Kind:
    """The type of a column.

    A cell is a whole multiple of `step`, unless it is a float, text, bytes or of another type. The
    step is 1 for integers, a power of ten for decimals, and in nanoseconds for dates, times and
    durations.

    Args:
        name: boolean, integer, decimal, float, text, bytes, date, timestamp (without a time zone),
            instant (with a time zone), duration, other, written: text of a CSV file without a
            declared type, which is read as the type of the constant that it is compared with, any:
            objects of an array, each of which is of a type of its own, or multiple: whole numbers
            that stand for that many steps.
        step: what a cell is a multiple of; None if it is of nothing.
        low, high: the smallest and the largest multiple that the type holds.
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
        """Kinds and constants of the same family compare with each other."""
        return _TO_FAMILY.get(self.name, self.name)

    @property
    def computed_family(self) -> str | None:
        """Cells of the same family are computed with each other; None if nothing is computed.

        Truth values are no numbers here.
        """
        if self.name in ("bytes", "duration", "multiple", "other", "written"):
            return None
        return self.name if self.name == "boolean" else self.family


BOOLEAN = Kind("boolean", Fraction(1), 0, 1)
TEXT = Kind("text")
BYTES = Kind("bytes")
DATE = Kind("date", Fraction(DAY))
OTHER = Kind("other")
WRITTEN = Kind("written")
ANY = Kind("any")


def integer(bits: int, *, signed: bool = True) -> Kind:
    """An integer column of this many bits."""
    return Kind(
        "integer",
        Fraction(1),
        *((-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)),
    )


def decimal(precision: int, scale: int) -> Kind:
    """A decimal column of `precision` digits, `scale` of them after the point."""
    largest = 10**precision - 1
    return Kind("decimal", Fraction(1, 10**scale), -largest, largest)


def multiples(step: Fraction, low: int, high: int) -> Kind:
    """Whole numbers between two ends, which stand for so many steps; integers if the step is 1."""
    if step == 1:
        return Kind("integer", step, low, high, declared="BIGINT")
    return Kind("multiple", step, low, high, declared=f"multiples of {step}")


def real(bits: int) -> Kind:
    """A column of floats of 32 or 64 bits."""
    return Kind("float", single=bits == 32)


def moments(name: str, nanoseconds: int | Fraction, most: int = 2**63 - 1) -> Kind:
    """A column of timestamps, instants or durations: whole multiples of this many nanoseconds.

    Args:
        most: the largest multiple, before 1970 or after, that an engine can write as a constant.
            Constants beyond it are beyond every cell.
    """
    return Kind(name, Fraction(nanoseconds), -most, most)


def united(names: Iterable[str]) -> str:
    """The name of the kind that holds the cells of several kinds of one family.

    Objects are read as floats or timestamps beside these. Otherwise they stay what they are.
    """
    found = set(names)
    if found & {"float", "decimal"}:
        return "float"
    if "timestamp" in found:
        return "timestamp"
    return "any" if "any" in found else found.pop()


@attrs.frozen
class Constant:
    """A public constant: its family, and an exact value.

    Numbers are Fractions or an infinity, timestamps and instants nanoseconds since 1970, durations
    nanoseconds.
    """

    family: str
    value: Any
    whole_days: bool = False


def constant(scalar: Scalar) -> Constant:
    """Read a scalar exactly.

    Raises:
        TypeError: no column of a table compares with a scalar of this type.
    """
    match scalar:
        case bool() | int():
            return Constant("number", Fraction(int(scalar)))
        case float():
            return Constant("number", scalar if scalar in (inf, -inf) else Fraction(scalar))
        case str():
            if not scalar.isascii() and any("\ud800" <= each <= "\udfff" for each in scalar):
                raise ValueError(
                    "leave lone surrogates (half characters) out of a constant of text"
                )
            return Constant("text", scalar)
        case bytes():
            return Constant("bytes", scalar)
        case np.datetime64():
            return Constant("moment", _nanoseconds(scalar), are_dates(scalar.dtype))
        case np.timedelta64():
            return Constant("duration", _nanoseconds(scalar))
        case timedelta():
            return Constant("duration", _elapsed(scalar))
        case datetime(tzinfo=None):
            return Constant("moment", _since(scalar))
        case datetime():
            offset = scalar.utcoffset()
            assert offset is not None
            return Constant("instant", _since(scalar.replace(tzinfo=None)) - _elapsed(offset))
        case date():
            return Constant("moment", _since(datetime(*scalar.timetuple()[:3])), True)  # noqa: DTZ001
    raise TypeError(
        "compare columns with a number, a string, bytes, a date, a time or a duration, not with "
        f"{type(scalar).__name__}"
    )


def _since(moment: datetime) -> Fraction:
    return _elapsed(moment - _EPOCH)


def _elapsed(duration: timedelta) -> Fraction:
    return Fraction(duration // timedelta(microseconds=1) * 1000)


def _nanoseconds(value: Any) -> Fraction:
    unit, count = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value = value.astype("M8[D]")
        unit, count = "D", 1
    if unit not in _NANOSECONDS:
        raise TypeError(f"give times in W, D, h, m, s, ms, us or ns, not in {unit!r}")
    return Fraction(int(value.astype(np.int64)) * count * _NANOSECONDS[unit])


def resolution(dtype: Any) -> Fraction | None:
    """The nanoseconds between neighbouring values of a numpy time type; None if they vary."""
    unit, count = np.datetime_data(dtype)
    return Fraction(count * _NANOSECONDS[unit]) if unit in _NANOSECONDS else None


def are_dates(dtype: Any) -> bool:
    """Whether a numpy type of times holds dates, without a time of day."""
    return np.datetime_data(dtype)[0] in ("Y", "M", "W", "D")


def kind_of(dtype: Any) -> Kind:
    """The kind of an array's cells, by its numpy type alone."""
    match dtype.kind:
        case "f" | "c":
            return real(32 if dtype.itemsize < 8 else 64)
        case "i" | "u":
            return integer(8 * dtype.itemsize, signed=dtype.kind == "i")
        case "M":
            return Kind("date" if are_dates(dtype) else "timestamp", resolution(dtype))
        case "m":
            return Kind("duration", resolution(dtype))
    return {"b": BOOLEAN, "U": TEXT, "S": BYTES, "O": ANY}.get(dtype.kind, OTHER)


Placed: TypeAlias = tuple[str, Any]
"""An operator, and a value of the column's domain: a multiple of its step, a float, text or bytes.
"""


def placed(kind: Kind, operator: str, scalar: Scalar) -> Placed | bool:
    """The same comparison within the column's domain, or its constant result for every cell.

    Raises:
        TypeError: cells of this kind do not compare with such a constant.
    """
    # quickly, as there may be many
    if type(scalar) is int and kind.name == "integer" and kind.low <= scalar <= kind.high:
        return operator, scalar
    exact = type(scalar) is float or (type(scalar) is int and -(2**53) <= scalar <= 2**53)
    if exact and kind.name == "float" and not kind.single:
        return operator, scalar + 0.0  # type: ignore[operator]
    return _placed(kind, operator, constant(scalar), scalar)


def _placed(kind: Kind, operator: str, given: Constant, scalar: Scalar) -> Placed | bool:
    if given.family != kind.family or kind.name == "other":
        raise TypeError(no_comparison(kind.family, kind.declared or kind.name, scalar))
    if kind.step is not None:
        value = given.value
        if isinstance(value, Fraction) and type(scalar) is float and not is_power_of_two(kind.step):
            value = Fraction(beside_decimals(scalar))
        return _on_lattice(kind, operator, value)
    if kind.name != "float":
        return operator, given.value
    return _among_floats(kind, operator, given.value)


def beside_decimals(scalar: Scalar) -> Any:
    """What a constant is beside decimals, where a float stands for its shortest decimal.

    It does in parameters and sums too: 49.99, whose exact value is a little more, is 4,999
    hundredths.
    """
    return Decimal(float.__repr__(scalar)) if type(scalar) is float else scalar


_WHOLE_NUMBERS = ", or for whole numbers column({0!r}).cast('integer')"
_MONTHS = ", or for months column({0!r}).truncate('month')"
_INSTEAD_OF_KEYS = {
    "float": _WHOLE_NUMBERS,
    "decimal": _WHOLE_NUMBERS,
    "written": _WHOLE_NUMBERS + " or types={{{0!r}: 'BIGINT'}}",
    "timestamp": _MONTHS,
    "instant": _MONTHS,
    "duration": "",
    "multiple": "",
}


def require_keys(kind: Kind, name: str, values: Sequence[Scalar]) -> None:
    """Check that cells of a kind can equal the keys of a group-by or a histogram.

    A number that is not whole, or a time, hardly ever equals a key. The counts would be near zero
    without a sign that the question was wrong.

    Args:
        name: of the column.
        values: the keys.

    Raises:
        TypeError: the kind has to be grouped by intervals, or no cell of it equals any of the keys.
    """
    described = f"{name!r}, a column of {kind.declared or kind.name}"
    if not values or kind == ANY:
        return  # no groups, such as where no key was found; or each cell is of its own type
    if kind.name in ("float", "written") and all(isinstance(value, bool) for value in values):
        return  # 1 and 0 are exact
    if kind.name == "written" and all(_is_exact(constant(value)) for value in values):
        return
    if kind.name in _INSTEAD_OF_KEYS and not (kind.name == "decimal" and kind.step == 1):
        instead = _INSTEAD_OF_KEYS[kind.name].format(name)
        if kind.name == "written":
            rare = "numbers that are not whole"
            if all(constant(value).family in ("moment", "instant") for value in values):
                instead, rare = _MONTHS.format(name), "times"
            raise TypeError(
                f"write bins=[..] for intervals (in a group-by Keys.bins){instead}: column "
                f"{name!r} has no declared type, and {rare} rarely equal a key"
            )
        raise TypeError(
            f"write bins=[..] for intervals (in a group-by Keys.bins){instead}: hardly any cell of "
            f"{described}, equals a key exactly"
        )
    if all(member(kind, value) is None for value in values):
        raise TypeError(
            f"give keys that cells of {described}, can equal: they are {quoted(list(values))}"
        )


def _is_exact(given: Constant) -> bool:
    """Whether text that is read as such a key equals it exactly or not at all."""
    return given.family in ("text", "bytes") or given.whole_days


def member(kind: Kind, scalar: Scalar) -> Any | None:
    """The cell that equals a category as Python values do; None if no cell can."""
    if kind.name == "integer" and type(scalar) is int:  # quickly, as there may be many
        return scalar if kind.low <= scalar <= kind.high else None
    given = constant(scalar)
    if given.family != kind.family or kind.name == "other":
        return None
    if given.family == "moment" and given.whole_days != (kind.name == "date"):
        return None  # a date does not equal a datetime, not even at midnight
    if kind.name == "float":
        cell = _nearest(given.value, single=kind.single)
        return cell if cell == given.value else None
    outcome = _placed(kind, "==", given, scalar)
    return None if isinstance(outcome, bool) else outcome[1]


def members(kind: Kind, scalars: Sequence[Scalar]) -> list[Any | None]:
    """The cell that equals each category, as `member` finds it."""
    if (
        kind.name == "integer"
        and set(map(type, scalars)) == {int}
        and kind.low <= min(scalars)  # type: ignore[type-var, operator]
        and max(scalars) <= kind.high  # type: ignore[type-var, operator]
    ):
        return list(scalars)  # quickly, as there may be many
    return [member(kind, scalar) for scalar in scalars]


def _on_lattice(kind: Kind, operator: str, value: Any) -> Placed | bool:
    assert kind.step is not None
    if isinstance(value, float):  # an infinity
        below = value > 0
        return {"==": False, "!=": True, "<": below, "<=": below, ">": not below, ">=": not below}[
            operator
        ]
    steps = value if kind.step == 1 else value / kind.step
    floor = steps.__floor__()
    ceiling = floor if steps.denominator == 1 else floor + 1
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
    """Compare 32-bit floats with the nearest 32-bit float, as numpy does; 64-bit floats exactly."""
    nearest = _nearest(value, single=kind.single)
    if kind.single or nearest == value:
        return operator, nearest
    if operator in ("==", "!="):
        return operator == "!="
    if operator in ("<", "<="):
        return ("<=" if nearest < value else "<"), nearest
    return (">" if nearest < value else ">="), nearest
