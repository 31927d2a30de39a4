"""Cells of arrays compared with a constant, exactly.

`compared` evaluates one comparison on an array of cells, none of them missing. It compares
integers with floats, and times of any resolution, as exact numbers: numpy would round them, or
compute modulo 2**64.
"""

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from types import MappingProxyType
from typing import Any, Literal

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import (
    Kind,
    Placed,
    beside_decimals,
    kind_of,
    placed,
)
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.expressions.values import comparable, nearest, numbers, times
from queryable.data.cells import Array, Mask, python_values
from queryable.data.guarded import pass_on, safely
from queryable.data.keys import common_type, plain_cells

OPERATORS: MappingProxyType[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
"""The operators of a `Comparison`, by their symbols."""


def compared(values: Array, operator: str, constant: Scalar) -> Mask:
    """Compare cells, none of them missing, one by one.

    In an object array, a cell that does not compare with the constant gives False, so that no
    single record can make the evaluation fail. In a typed array the same is an error, which
    depends on the column's type alone.

    Raises:
        TypeError: the array's type does not compare with the constant.
    """
    compare = OPERATORS[operator]
    if values.dtype == object:
        return _compared_objects(plain_cells(values), compare, constant)
    kind = kind_of(values.dtype)
    if kind.step is not None or (values.dtype.kind == "f" and values.dtype.itemsize <= 8):
        return _compared_exactly(values, kind, operator, constant)
    if values.dtype.kind in "mM":  # in years or months
        constant = _as_numpy(constant)
    try:
        of_zero = np.asarray(compare(np.zeros(1, dtype=values.dtype), constant))
    except OverflowError:  # by the type and the constant alone
        raise TypeError(f"{values.dtype} does not compare with so large a number") from None
    if of_zero.dtype != np.bool_ or of_zero.shape != (1,):
        raise TypeError(f"{values.dtype} does not compare with {type(constant).__name__}")
    return np.asarray(compare(values, constant))


_ORDERED = ({bool, int, float}, {str}, {bytes}, {date}, {timedelta})
"""Types of constants that Python has in one order, in which no two of them fail to compare."""
_PLAIN = frozenset(map(id, (bool, int, float, str, bytes, date, timedelta, Decimal, Fraction)))
"""Types of cells that such constants compare with either all or not at all."""


def reached(values: Array, steps: Sequence[tuple[str, Scalar]]) -> Array:
    """How many steps each cell has reached: the sum of `compared` over the steps, by bisection.

    A cell has reached a step ">=" for each constant up to it, and ">" for each one below it.

    Args:
        values: cells, none of them missing.
        steps: ">=" or ">" with a constant, in ascending order.

    Raises:
        TypeError: the array's type does not compare with a constant.
    """
    kind, objects = kind_of(values.dtype), values.dtype == object
    if objects and any({type(constant) for _, constant in steps} <= each for each in _ORDERED):
        return _reached_by_objects(plain_cells(values), steps)
    if kind.step is not None or (values.dtype.kind == "f" and values.dtype.itemsize <= 8):
        return _reached_in_domain(values, kind, steps)
    return _reached_one_by_one(values, steps)


def _reached_one_by_one(values: Array, steps: Iterable[tuple[str, Scalar]]) -> Array:
    count = np.zeros(len(values), dtype=np.int64)
    for step in steps:
        count += compared(values, *step)
    return count


def _reached_in_domain(values: Array, kind: Kind, steps: Iterable[tuple[str, Scalar]]) -> Array:
    """As `_compared_exactly` compares, of numbers and times."""
    outcomes = [placed_in_array(kind, *step) for step in steps]
    numbers = values.astype(np.int64) if values.dtype.kind in "bmM" else values
    count = np.full(len(values), sum(each is True for each in outcomes))
    sides: tuple[tuple[str, Literal["left", "right"]], ...] = ((">=", "right"), (">", "left"))
    for symbol, side in sides:
        ends = [each[1] for each in outcomes if not isinstance(each, bool) and each[0] == symbol]
        with np.errstate(over="ignore"):  # numpy rounds a constant to halves, perhaps to infinity
            count += np.searchsorted(np.array(ends, numbers.dtype), numbers, side)
    return count


def _reached_by_objects(cells: list[Any], steps: Sequence[tuple[str, Scalar]]) -> Array:
    """A cell of another type than the constants has reached none."""
    if common_type(cells) is float and steps and type(steps[0][1]) in _ORDERED[0]:
        return _reached_in_domain(np.array(cells), kind_of(np.dtype(float)), steps)
    upto: list[Any] = [constant for symbol, constant in steps if symbol == ">="]
    below: list[Any] = [constant for symbol, constant in steps if symbol == ">"]
    exact = [[beside_decimals(each) for each in ends] for ends in (upto, below)]

    def count(cell: Any) -> int:
        if id(type(cell)) not in _PLAIN:
            return sum(_compares(OPERATORS[each], cell, constant) for each, constant in steps)
        at, under = exact if type(cell) is Decimal else (upto, below)
        try:
            return bisect_right(at, cell) + bisect_left(under, cell)
        except Exception:  # of another kind
            return 0

    return np.fromiter(map(count, cells), dtype=np.int64, count=len(cells))


def compared_columns(left: Array, right: Array, operator: str) -> Mask:
    """Compare cells of one array with those of another, none of them missing, pair by pair.

    Integers are compared exactly, other numbers as the nearest 64-bit floats, and times of
    different resolutions in whole microseconds.

    Raises:
        TypeError: the types of the arrays do not compare.
    """
    compare, types = OPERATORS[operator], (left.dtype, right.dtype)
    families = [kind_of(dtype).computed_family for dtype in types]
    if None in families or (families[0] != families[1] and "any" not in families):
        raise TypeError(f"cells of {types[0]} do not compare with cells of {types[1]}")
    if "any" in families or "text" in families:
        outcomes = (_pair_compares(compare, *pair) for pair in _pairs(left, right))
        return np.fromiter(outcomes, dtype=bool, count=len(left))
    if "moment" in families and types[0] != types[1]:
        mine, theirs = times(left), times(right)
        both = mine.there & theirs.there
        outcome = np.zeros(len(both), dtype=bool)
        outcome[both] = compare(mine.micros[both[mine.there]], theirs.micros[both[theirs.there]])
        return outcome
    if any(dtype.kind in "fc" for dtype in types):
        left, right = numbers(left).values, numbers(right).values
    return np.asarray(compare(left, right))


def _pairs(left: Array, right: Array) -> Iterable[tuple[Any, Any]]:
    return zip(*(map(_family_of, python_values(each)) for each in (left, right)), strict=True)


def _family_of(cell: Any) -> tuple[str, Any] | None:
    found: tuple[str, Any] | None = safely(comparable, cell)
    return found


def _pair_compares(
    compare: Callable[[Any, Any], Any], left: tuple[str, Any] | None, right: tuple[str, Any] | None
) -> bool:
    if left is None or right is None:
        return False
    (mine, a), (theirs, b) = left, right
    if mine != theirs:
        if {mine, theirs} != {"integer", "number"}:
            return False
        a, b = nearest(a), nearest(b)
    return bool(compare(a, b))


def placed_in_array(kind: Kind, operator: str, constant: Scalar) -> Placed | bool:
    """As `placed`. Arrays hold no zone: their times compare with instants, as if in UTC.

    Raises:
        TypeError: cells of this kind do not compare with such a constant.
    """
    zoned = isinstance(constant, datetime) and constant.tzinfo is not None
    if zoned and kind.family == "moment":
        kind = attrs.evolve(kind, name="instant")
    return placed(kind, operator, constant)


def _compared_exactly(values: Array, kind: Kind, operator: str, constant: Scalar) -> Mask:
    """Compare as Python compares integers with floats, and times of any resolution."""
    outcome = placed_in_array(kind, operator, constant)
    if isinstance(outcome, bool):
        return np.full(values.shape, outcome)
    numbers = values.astype(np.int64) if values.dtype.kind in "mM" else values
    with np.errstate(over="ignore"):  # numpy rounds a constant to halves, perhaps to an infinity
        return np.asarray(OPERATORS[outcome[0]](numbers, outcome[1]))


def _as_numpy(constant: Scalar) -> Scalar:
    """The same time as a numpy value: numpy does not compare its nanoseconds with Python's."""
    if isinstance(constant, date):
        return np.datetime64(constant)
    return np.timedelta64(constant) if isinstance(constant, timedelta) else constant


def _compared_objects(
    cells: list[Any], compare: Callable[[Any, Any], Any], constant: Scalar
) -> Mask:
    kind, count = common_type(cells), len(cells)
    if kind is int or kind is str or kind is float:  # of which none has methods of its own
        with suppress(Exception):  # then the cells are compared one by one
            return np.fromiter(map(compare, cells, repeat(constant)), dtype=bool, count=count)
    outcomes = (_compares(compare, cell, constant) for cell in cells)
    return np.fromiter(outcomes, dtype=bool, count=count)


def _compares(compare: Callable[[Any, Any], Any], cell: Any, constant: Scalar) -> bool:
    try:
        if type(cell) is Decimal:
            return bool(compare(cell, beside_decimals(constant)))
        return bool(compare(cell, constant))
    except BaseException as error:  # of another kind, or with methods of its own
        pass_on(error)
        return False
