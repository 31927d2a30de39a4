"""Values and keys of answers: computed with, put into frames, and written as text.

A value is an estimate or an end of an interval. Reads no data.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from html import escape
from math import ceil, floor, isfinite, log10, nextafter
from numbers import Real
from operator import add, sub
from typing import Any, TypeAlias

import numpy as np

from queryable.answers.noisy import narrowed

Value: TypeAlias = Any
"""An estimate or an end of an interval: a number, a date, a text; or a read-only array of them."""

_MOST_DIGITS = 9
_LONGEST_KEY = 60
_INT64 = range(-(2**63), 2**63)


def array_of(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Values as an array: of integers or floats where these hold them exactly, else of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    kinds = {type(each) for each in values}
    if kinds == {int}:
        return narrowed(array)
    if kinds <= {int, float} and all(float(each) == each for each in values):
        return array.astype(float)
    return array


def entries(values: Value) -> list[Any]:
    """The numbers of an array, or the one value."""
    return values.reshape(-1).tolist() if isinstance(values, np.ndarray) else [values]


def joined(
    operation: Callable[[Any, Any], Any], one: Value, other: Value, towards: float | None = None
) -> Value:
    """The sum or difference of values; None where one is None, which is no end.

    Integers stay exact: numpy's would wrap around, and an integer is no float beyond 2^53.

    Args:
        towards: the infinity on whose side a float of the result is; None for the nearest float.
    """

    def of(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return None
        if float in (type(a), type(b)) and isfinite(a) and isfinite(b):
            nearest = float(operation(Fraction(a), Fraction(b)))
            return nearest if towards is None else nextafter(nearest, towards)
        return operation(a, b)

    plain = (np.asarray(each, dtype=object) for each in (one, other))
    found = np.asarray(np.frompyfunc(of, 2, 1)(*plain), dtype=object)
    if not found.ndim:
        return found.item()
    floats = any(type(each) is float for each in found.flat) and None not in found.flat
    return found.astype(float) if floats else array_of(found.ravel().tolist()).reshape(found.shape)


def total(terms: Sequence[tuple[Fraction, Value]], towards: float | None = None) -> Value:
    """The sum of multiples of values; None where one is None. Dates are subtracted only.

    Args:
        terms: a factor, which is not 0, and a value.
        towards: as for `joined`.
    """
    terms = sorted(terms, key=lambda term: term[0] != 1)  # a date, then what is subtracted
    found = _multiplied(*terms[0], towards)
    for factor, value in terms[1:]:
        if factor == -1:
            found = joined(sub, found, value, towards)
        else:
            found = joined(add, found, _multiplied(factor, value, towards), towards)
    return found


def _multiplied(factor: Fraction, value: Value, towards: float | None) -> Value:
    if factor == 1:
        return value

    def of(a: Any) -> Any:
        if a is None:
            return None
        if type(a) is int and factor.denominator == 1:
            return a * factor.numerator
        if not isfinite(a):
            return a if factor > 0 else -a
        nearest = float(factor * Fraction(a))
        return nearest if towards is None else nextafter(nearest, towards)

    found = np.asarray(np.frompyfunc(of, 1, 1)(np.asarray(value, dtype=object)), dtype=object)
    return array_of(found.ravel().tolist()).reshape(found.shape) if found.ndim else found.item()


def frame_numbers(values: list[Any], towards: float | None) -> list[Any]:
    """Integers that frames cannot hold become floats; those of ends are rounded outward."""
    if all(type(each) is not int or each in _INT64 for each in values):
        return values
    floats = [float(each) for each in values]
    if towards is None:
        return floats
    return [
        near if near == each else nextafter(near, towards)
        for near, each in zip(floats, values, strict=True)
    ]


def for_sheets(values: list[Any]) -> list[Any]:
    """Values as spreadsheets have them: times in UTC without a zone, and bytes as texts."""
    return [_for_sheet(each) for each in values]


def _for_sheet(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def html_cells(tag: str, row: Sequence[str]) -> str:
    """A row of an HTML table."""
    return "".join(f"<{tag}>{escape(each)}</{tag}>" for each in row)


def printable(text: str) -> str:
    """A text on one line, without characters that move a terminal's cursor."""
    return "".join(each if each.isprintable() else " " for each in text)


def key_in_words(key: Any) -> str:
    """A key on one line, shortened: it may be a text of the data, and move a terminal's cursor."""
    line = printable(str(key))
    return line if len(line) <= _LONGEST_KEY else f"{line[: _LONGEST_KEY - 3]}..."


def in_words(estimate: Any, *ends: Any) -> tuple[str, ...]:
    """An estimate and its interval as text; floats with two digits of the interval's width.

    Ends are rounded outward, so the printed interval contains the interval.

    Args:
        ends: of one or more intervals, low before high; the first one's width counts.
    """
    values = (estimate, *ends)
    numbers = all(isinstance(each, Real) for each in values)
    whole = all(type(each) is int for each in values)
    digits = _digits(*ends[:2]) if ends and numbers and not whole else None
    texts = (_end(each, digits, up=place % 2 == 1) for place, each in enumerate(ends))
    return (_one_shown(estimate, digits), *texts)


def with_half_width(estimate: Any, low: Any, high: Any) -> str:
    """A number as `estimate ± half-width`; what is printed contains the interval."""
    text, _, _ = in_words(estimate, low, high)
    if not all(map(isfinite, (estimate, low, high))):
        return f"{text} ± inf"
    middle = _exact(text.replace(",", ""))
    half = max(_exact(high) - middle, middle - _exact(low))
    return f"{text} ± {_end(half, _digits(low, high), up=True)}"


def _digits(low: Any, high: Any) -> int | None:
    """How many digits after the point show two of the width; None if it is not finite.

    An interval of one number is shown with the digits of that number.
    """
    width = float(high) - float(low)
    if not isfinite(width) or width < 0:
        return None
    if width:
        return min(max(1 - floor(log10(width)), 0), _MOST_DIGITS)
    exact = _exact(low)
    return next((at for at in range(_MOST_DIGITS) if not exact * 10**at % 1), _MOST_DIGITS)


def _one_shown(value: Any, digits: int | None = None) -> str:
    if digits is not None:
        return f"{float(value):z,.{digits}f}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if type(value) is int else str(value)


def _end(value: Any, digits: int | None, *, up: bool) -> str:
    """An end of an interval, or a half-width, as text: it is rounded outward.

    Args:
        digits: after the point; None for six in all, and for integers as they are.
    """
    if value is None:  # of values without an infinity, such as dates
        return "inf" if up else "-inf"
    if type(value) is int and digits is None:
        return _one_shown(value)
    if not isinstance(value, Real) or not isfinite(value):
        return _one_shown(value)
    exact = _exact(value)
    if digits is None:
        context = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
        found = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        return _one_shown(float(found))
    count = ceil(exact * 10**digits) if up else floor(exact * 10**digits)
    before, after = divmod(abs(count), 10**digits)
    return f"{'-' * (count < 0)}{before:,}{f'.{after:0{digits}}' * (digits > 0)}"


def _exact(value: Any) -> Fraction:
    """The number that is written; of a float, its shortest text."""
    return Fraction(repr(float(value)) if isinstance(value, float) else value)
