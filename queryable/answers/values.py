"""Values and keys of answers: computed with, put into frames, and written as text.

A value is an estimate or an end of an interval. Reads no data.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from math import floor, isfinite, log10, nextafter
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


def in_words(*values: Any) -> tuple[str, ...]:
    """An estimate and its interval as text; floats with two digits of the interval's width."""
    if len(values) > 1 and all(isinstance(each, Real) for each in values):
        width = float(values[2]) - float(values[1])
        if any(isinstance(each, float) for each in values) and isfinite(width) and width > 0:
            digits = min(max(1 - floor(log10(width)), 0), _MOST_DIGITS)
            return tuple(f"{each:z,.{digits}f}" for each in values)
    ends = {1: "-inf", 2: "inf"}  # of values without an infinity, such as dates
    return tuple(
        ends[place] if each is None and place in ends else _one_shown(each)
        for place, each in enumerate(values)
    )


def _one_shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if type(value) is int else str(value)
