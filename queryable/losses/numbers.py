"""Exact privacy parameters, and rounding against the analyst.

`exact` and its kin read a number as the exact rational that was written. `round_up` and
`round_down` turn an irrational value into a rational above or below it.

Real functions are evaluated in ball arithmetic (Arb, through python-flint). Each result is an
interval that provably contains the true value, and rounding takes its safe end. Soundness therefore
does not depend on the working precision; only tightness does.
"""

import re
from collections.abc import Callable, Iterable, Sized
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd, isqrt
from operator import attrgetter
from threading import RLock
from typing import Any, TypeAlias

import flint
import numpy as np

from queryable.wording.quoting import quoted

Number: TypeAlias = int | Fraction | Decimal | str | float
"""The types accepted for an exact parameter. numpy scalars are accepted too."""

LONGEST_TOTAL = 4096
"""A running total of more bits than this is rounded up."""

_WORKING_BITS = 192
_KEPT_BITS = 96
_LARGEST_MAGNITUDE = 2**14
_LARGEST_EXPONENT = 400
_LONGEST_TEXT = 1024
_MOST_VALUES = 10**7
_WRITTEN = "an int, a Fraction, a Decimal, a float, or a string like '1/20'"
_EXPECTED = f"a finite number >= 0: {_WRITTEN}"
EITHER_SIGN = f"a finite number: {_WRITTEN}"
_ROUNDED = "≈"
_DECIMAL = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e([+-]?\d{1,6}))?", re.ASCII | re.IGNORECASE)
_RATIO = re.compile(r"\+?(\d+)/(\d+)", re.ASCII)

_ratio: Callable[[Fraction], tuple[int, int]] = attrgetter("_numerator", "_denominator")
"""Numerator and denominator, without the calls of two properties."""

_precision = RLock()  # flint's working precision is global to the process


class BeyondReachError(ArithmeticError, ValueError):
    """Raised if parameters are too large or too small for a formula."""


def exact(value: object, name: str = "value", expected: str = _EXPECTED) -> Fraction:
    """Read `value` as an exact non-negative rational.

    A float is read as its shortest repr, so `0.1` is one tenth. Errors say what was `expected`.

    Raises:
        ValueError: a bool, NaN, infinite, negative, malformed, or an exponent beyond +-400.
        TypeError: not a number.
    """
    if type(value) is Fraction:
        top, bottom = _ratio(value)
        if type(top) is int is type(bottom) and top >= 0:
            return value
    if isinstance(value, Fraction):
        rational = _of_plain_ints(value)
    elif isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is the boolean {value}; it should be {expected}")
    elif isinstance(value, int | np.integer):
        rational = _within_range(Fraction(_whole(value)), name)
    elif isinstance(value, float | np.floating):
        rational = _read(repr(float(value)), name, expected)
    elif isinstance(value, Decimal):
        rational = _read(str(value), name, expected)
    elif isinstance(value, str):
        rational = _read(value.strip(), name, expected)
    else:
        raise TypeError(f"{name} is {quoted(value)}; it should be {expected}")
    if rational.numerator < 0:
        raise ValueError(f"{name} is {quoted(value)}, negative; it should be {expected}")
    return rational


def positive(value: object, name: str = "value") -> Fraction:
    """Read an exact rational above zero; see `exact`."""
    rational = exact(value, name)
    if not rational.numerator:
        raise ValueError(f"{name} is {quoted(value)}; it should be greater than zero")
    return rational


def probability(value: object, name: str = "delta") -> Fraction:
    """Read an exact rational in [0, 1]; see `exact`."""
    rational = exact(value, name)
    if rational.numerator > rational.denominator:
        percent = f"; {shown(rational)}% is {shown(rational / 100)}" if rational <= 100 else ""
        raise ValueError(
            f"{name} is {quoted(value)}; it should be a probability, at most 1{percent}"
        )
    return rational


def natural(value: object, name: str = "value") -> int:
    """Read an integer >= 0, also of a numpy type, but not a bool.

    Raises:
        ValueError: a bool or negative.
        TypeError: not an integer.
    """
    if type(value) is int and value >= 0:
        return value
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is the boolean {value}; it should be an integer >= 0")
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {quoted(value)}; it should be an integer >= 0")
    count = _whole(value)
    if not count >= 0:
        raise ValueError(f"{name} is {count}; it should be an integer >= 0")
    return count


def at_least_one(value: object, name: str, most: int | None = None) -> int:
    """Read an integer >= 1, and at most `most`; see `natural`."""
    count = natural(value, name)
    if most is not None and not 1 <= count <= most:
        raise ValueError(f"{name} is {count}; it should be between 1 and {most}")
    if count == 0:
        raise ValueError(f"{name} is 0; it should be at least 1")
    return count


def whole(value: object, name: str) -> int:
    """Read an integer of either sign."""
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {quoted(value)}; it should be an integer")
    return _whole(value)


def several(values: Iterable[Any], name: str) -> list[Any]:
    """Return the values as a list.

    Raises:
        TypeError: it is no list of values.
        ValueError: there are more than 10**7 of them by `len`.
    """
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{name} is {quoted(values)}; it should be a list")
    if isinstance(values, Sized) and len(values) > _MOST_VALUES:
        raise ValueError(f"{name} has {len(values)} values; it should have {_MOST_VALUES} at most")
    return list(values)


def _whole(value: Any) -> int:
    """Return a plain int. A class derived from `int` could override comparisons."""
    return int.__int__(value) if isinstance(value, int) else int(value)


def _of_plain_ints(value: Fraction) -> Fraction:
    """Return a plain Fraction of plain ints, for the same reason."""
    top, bottom = value.numerator, value.denominator
    if type(value) is Fraction and type(top) is int and type(bottom) is int:
        return value
    return Fraction(_whole(top), _whole(bottom))


def _read(text: str, name: str, expected: str) -> Fraction:
    if len(text) <= _LONGEST_TEXT:
        if ratio := _RATIO.fullmatch(text):
            numerator, denominator = int(ratio[1]), int(ratio[2])
            if denominator:
                return _within_range(Fraction(numerator, denominator), name)
        if decimal := _DECIMAL.fullmatch(text):
            if abs(int(decimal[3] or 0)) > _LARGEST_EXPONENT:
                raise ValueError(
                    f"{name} is {quoted(text)}, an exponent beyond +-{_LARGEST_EXPONENT}"
                )
            return _within_range(Fraction(text), name)
    raise ValueError(f"{name} is {quoted(text)}; it should be {expected}")


def _within_range(rational: Fraction, name: str) -> Fraction:
    largest = 10**_LARGEST_EXPONENT
    if rational.numerator > largest or rational.denominator > largest:
        raise ValueError(f"{name} has more than {_LARGEST_EXPONENT} digits")
    return rational


def sum_of(one: Fraction, other: Fraction) -> Fraction:
    """Return the sum as a `bounded_total`; in integers, because every launch adds."""
    (top, bottom), (more, below) = _ratio(one), _ratio(other)
    shared = gcd(bottom, below)
    top = top * (below // shared) + more * (bottom // shared)
    common = gcd(top, shared)  # the two other factors of the denominator have none with the top
    total: Any = object.__new__(Fraction)
    bottom = bottom // shared * (below // common)
    total._numerator, total._denominator = top // common, bottom
    return total if bottom.bit_length() <= LONGEST_TOTAL else bounded_total(total)


def at_most(one: Fraction, other: Fraction) -> bool:
    """Return whether one is at most the other."""
    (top, bottom), (most, below) = _ratio(one), _ratio(other)
    return top * below <= most * bottom


def bounded_total(total: Fraction) -> Fraction:
    """Return `total`, or a shorter rational above it if it has more than `LONGEST_TOTAL` bits."""
    if _ratio(total)[1].bit_length() <= LONGEST_TOTAL:
        return total
    return shortened(total, LONGEST_TOTAL // 2, up=True)


def shortened(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """Round up or down to a rational with `bits` significant bits."""
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    scale = Fraction(2) ** (bits - magnitude)
    scaled = value * scale
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.__floor__()
    return whole / scale


def ball(value: Fraction | int) -> flint.arb:
    """Return the smallest ball around this rational at the working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def round_up(
    formula: Callable[..., flint.arb], *arguments: Fraction | int, bits: int = _KEPT_BITS
) -> Fraction:
    """Return a rational at or above `formula(*arguments)`, too large by about 2**-bits of it."""
    return _rounded(formula, arguments, bits, up=True)


def round_down(
    formula: Callable[..., flint.arb], *arguments: Fraction | int, bits: int = _KEPT_BITS
) -> Fraction:
    """Return a rational at or below `formula(*arguments)`."""
    return _rounded(formula, arguments, bits, up=False)


def _rounded(
    formula: Callable[..., flint.arb],
    arguments: tuple[Fraction | int, ...],
    bits: int,
    *,
    up: bool,
) -> Fraction:
    with _precision, flint.ctx.workprec(max(_WORKING_BITS, bits + 32)):
        value = formula(*(ball(argument) for argument in arguments))
        if not value.is_finite():
            raise BeyondReachError(_beyond(arguments))
        end = value.upper() if up else value.lower()
        mantissa, exponent = (int(part) for part in end.man_exp())
    magnitude = exponent + mantissa.bit_length()
    if magnitude > _LARGEST_MAGNITUDE:
        raise BeyondReachError(_beyond(arguments))
    if magnitude < -_LARGEST_MAGNITUDE:  # its denominator would not fit into memory
        mantissa, exponent = (mantissa > 0) - (not up), -_LARGEST_MAGNITUDE
    exact_end = mantissa * Fraction(2) ** exponent
    return shortened(exact_end, bits, up=up) if exact_end else exact_end


def _beyond(arguments: Iterable[Fraction | int]) -> str:
    values = ", ".join(shown(Fraction(argument)) for argument in arguments)
    return f"parameters {values} are too extreme: their bound cannot be computed"


def enclosed(formula: Callable[[], flint.arb], bits: int) -> tuple[int, int]:
    """Return integers (low, high) with low <= 2**bits * formula() <= high.

    The formula runs at 192 bits of precision beyond `bits`, so low and high are (nearly) adjacent.
    """
    with _precision, flint.ctx.workprec(bits + _WORKING_BITS):
        value = formula() * flint.arb(1 << bits)
        if not value.is_finite():
            raise BeyondReachError("parameters are too extreme: a bound cannot be computed")
        return _integer(value.lower().floor()), _integer(value.upper().ceil())


def _integer(whole: flint.arb) -> int:
    mantissa, exponent = whole.man_exp()
    return int(mantissa) << int(exponent)


def sqrt_up(value: Fraction) -> Fraction:
    """Return the square root, rounded up unless it is rational."""
    return _exact_root(value) or round_up(flint.arb.sqrt, value)


def sqrt_down(value: Fraction) -> Fraction:
    """Return the square root, rounded down unless it is rational."""
    return _exact_root(value) or round_down(flint.arb.sqrt, value)


def _exact_root(value: Fraction) -> Fraction | None:
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    return None


def shown(value: Fraction, digits: int = 6) -> str:
    """Return a short decimal for people: exact if it is short, else rounded and marked with `≈`."""
    if value.denominator == 1 and abs(value.numerator) < 10**12:
        return str(value.numerator)
    try:
        nearest = float(value)
    except OverflowError:
        return "more than 1e308"
    if value and not abs(nearest) >= 1e-300:
        return "less than 1e-300"
    text = repr(nearest)
    if len(text) <= 9 and Fraction(text) == value:
        return text
    return f"{_ROUNDED}{nearest:.{digits}g}"


def shown_below(value: Fraction) -> str:
    """Return a short decimal at or below `value`, for texts such as "at most 0.0141"."""
    context = Context(prec=3, rounding=ROUND_FLOOR)
    below = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{below:f}" if not below or -5 < below.adjusted() < 9 else f"{below:e}"


def named(name: str, value: Fraction, digits: int = 3) -> str:
    """Return a parameter for people: `rho=0.1` if that is exact, else rounded, `rho≈0.0184`."""
    text = shown(value, digits)
    return f"{name}{text}" if text.startswith(_ROUNDED) else f"{name}={text}"
