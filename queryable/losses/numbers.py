"""Exact privacy parameters, and rounding against the analyst.

Responsible for two things: reading a number as the exact rational its writer meant, and turning an
irrational value into a rational on a stated side of it. Knows nothing of privacy measures.

Real functions are evaluated in ball arithmetic (Arb, through python-flint): each result is an
interval that provably holds the true value, and `round_up` or `round_down` takes its safe end.
Soundness therefore never depends on the working precision, only tightness does.
"""

import re
from collections.abc import Callable, Iterable, Sized
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from threading import RLock
from typing import Any, TypeAlias

import flint
import numpy as np

from queryable.quoting import quoted

Number: TypeAlias = int | Fraction | Decimal | str | float
"""What a user may write for an exact parameter; numpy scalars are taken too."""

LONGEST_TOTAL = 4096
"""Bits beyond which a running total is rounded up."""

_WORKING_BITS = 192
_KEPT_BITS = 96
_LARGEST_MAGNITUDE = 2**14
_LARGEST_EXPONENT = 400
_LONGEST_TEXT = 1024
_MOST_VALUES = 10**7
_EXPECTED = "a finite number >= 0: an int, a Fraction, a Decimal, a float, or a string like '1/20'"
_DECIMAL = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e([+-]?\d{1,6}))?", re.ASCII | re.IGNORECASE)
_RATIO = re.compile(r"\+?(\d+)/(\d+)", re.ASCII)

_precision = RLock()  # flint's working precision belongs to the process


class BeyondReachError(ArithmeticError, ValueError):
    """Parameters are too large or too small for a formula to be computed."""


def exact(value: object, name: str = "value") -> Fraction:
    """Read `value` as the exact non-negative rational it was written as.

    A float stands for its shortest repr, so that `0.1` is one tenth.

    Raises:
        ValueError: bool, NaN, infinite, negative, malformed, or an exponent beyond +-400.
        TypeError: not a number at all.
    """
    if isinstance(value, Fraction):
        rational = _plain(value)
    elif isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is the boolean {value}; it should be {_EXPECTED}")
    elif isinstance(value, int | np.integer):
        rational = _within_range(Fraction(_whole(value)), name)
    elif isinstance(value, float | np.floating):
        rational = _read(repr(float(value)), name)
    elif isinstance(value, Decimal):
        rational = _read(str(value), name)
    elif isinstance(value, str):
        rational = _read(value.strip(), name)
    else:
        raise TypeError(f"{name} is {quoted(value)}; it should be {_EXPECTED}")
    if rational.numerator < 0:
        raise ValueError(f"{name} is {quoted(value)}, negative; it should be {_EXPECTED}")
    return rational


def positive(value: object, name: str = "value") -> Fraction:
    """Like `exact`, and not zero."""
    rational = exact(value, name)
    if not rational.numerator:
        raise ValueError(f"{name} is {quoted(value)}; it should be greater than zero")
    return rational


def probability(value: object, name: str = "delta") -> Fraction:
    """Like `exact`, and at most one."""
    rational = exact(value, name)
    if rational.numerator > rational.denominator:
        raise ValueError(f"{name} is {quoted(value)}; it should be a probability, at most 1")
    return rational


def natural(value: object, name: str = "value") -> int:
    """Read a count: an int >= 0 (numpy's too), never a bool.

    Raises:
        ValueError: a bool or negative.
        TypeError: not an integer.
    """
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is the boolean {value}; it should be an integer >= 0")
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {quoted(value)}; it should be an integer >= 0")
    count = _whole(value)
    if not count >= 0:
        raise ValueError(f"{name} is {count}; it should be an integer >= 0")
    return count


def several(values: Iterable[Any], name: str) -> list[Any]:
    """A list of what is iterated over.

    Raises:
        ValueError: it says that it is longer than any list of parameters.
    """
    if isinstance(values, Sized) and len(values) > _MOST_VALUES:
        raise ValueError(f"{name} has {len(values)} values; it should have {_MOST_VALUES} at most")
    return list(values)


def _whole(value: Any) -> int:
    """A plain int. A class derived from `int` may answer comparisons as it likes."""
    return int.__int__(value) if isinstance(value, int) else int(value)


def _plain(value: Fraction) -> Fraction:
    """A plain Fraction of plain ints, for the same reason."""
    top, bottom = value.numerator, value.denominator
    if type(value) is Fraction and type(top) is int and type(bottom) is int:
        return value
    return Fraction(_whole(top), _whole(bottom))


def _read(text: str, name: str) -> Fraction:
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
    raise ValueError(f"{name} is {quoted(text)}; it should be {_EXPECTED}")


def _within_range(rational: Fraction, name: str) -> Fraction:
    largest = 10**_LARGEST_EXPONENT
    if rational.numerator > largest or rational.denominator > largest:
        raise ValueError(f"{name} has more than {_LARGEST_EXPONENT} digits")
    return rational


def bounded_total(total: Fraction) -> Fraction:
    """`total` itself, or, once longer than `LONGEST_TOTAL` bits, a shorter rational above it."""
    if total.denominator.bit_length() <= LONGEST_TOTAL:
        return total
    return _shortened(total, LONGEST_TOTAL // 2, up=True)


def _shortened(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """The nearest rational with `bits` significant bits that is not below (or above) `value`."""
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    scale = Fraction(2) ** (bits - magnitude)
    scaled = value * scale
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.__floor__()
    return whole / scale


def ball(value: Fraction | int) -> flint.arb:
    """The interval that holds exactly this rational, at the working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def round_up(
    formula: Callable[..., flint.arb], *arguments: Fraction | int, bits: int = _KEPT_BITS
) -> Fraction:
    """A rational at or above `formula` of the arguments, about 2**-bits of it too large."""
    return _rounded(formula, arguments, bits, up=True)


def round_down(
    formula: Callable[..., flint.arb], *arguments: Fraction | int, bits: int = _KEPT_BITS
) -> Fraction:
    """A rational at or below `formula` of the arguments."""
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
    if magnitude < -_LARGEST_MAGNITUDE:  # as a fraction it would fill the memory
        mantissa, exponent = (mantissa > 0) - (not up), -_LARGEST_MAGNITUDE
    exact_end = mantissa * Fraction(2) ** exponent
    return _shortened(exact_end, bits, up=up) if exact_end else exact_end


def _beyond(arguments: Iterable[Fraction | int]) -> str:
    told = ", ".join(shown(Fraction(argument)) for argument in arguments)
    return f"parameters {told} are too extreme: a bound of them cannot be computed"


def enclosed(formula: Callable[[], flint.arb], bits: int) -> tuple[int, int]:
    """Integers low and high, next to each other or nearly, with low <= 2**bits * formula() <= high.

    The formula is called at a working precision far beyond `bits`.
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
    """A rational at or above the square root, exact for perfect squares of short rationals."""
    return _exact_root(value) or round_up(flint.arb.sqrt, value)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational at or below the square root, exact for perfect squares of short rationals."""
    return _exact_root(value) or round_down(flint.arb.sqrt, value)


def _exact_root(value: Fraction) -> Fraction | None:
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    return None


def shown(value: Fraction) -> str:
    """A short decimal for people: exact where it is short, else marked with `~`."""
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
    return f"~{nearest:.6g}"
