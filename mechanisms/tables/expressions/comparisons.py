"""Cells of arrays compared with a constant, exactly.

`compared` evaluates one comparison on an array of cells, none of them missing. It compares
integers with floats, and times of any resolution, as exact numbers: numpy would round them, or
compute modulo 2**64.
"""

import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import repeat
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import (
    BOOLEAN,
    Kind,
    integer,
    moments,
    placed,
    real,
    resolution,
)
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.expressions.values import comparable, nearest, times
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
    kind = _kind(values.dtype)
    if kind is not None:
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


def compared_columns(left: Array, right: Array, operator: str) -> Mask:
    """Compare cells of one array with those of another, none of them missing, pair by pair.

    Integers are compared exactly, other numbers as the nearest 64-bit floats, and times of
    different resolutions in whole microseconds.

    Raises:
        TypeError: the types of the arrays do not compare.
    """
    compare, types = OPERATORS[operator], (left.dtype, right.dtype)
    families = [_FAMILIES.get(dtype.kind) for dtype in types]
    if None in families or (families[0] != families[1] and "object" not in families):
        raise TypeError(f"cells of {types[0]} do not compare with cells of {types[1]}")
    if "object" in families or "text" in families:
        outcomes = (_pair_compares(compare, *pair) for pair in _pairs(left, right))
        return np.fromiter(outcomes, dtype=bool, count=len(left))
    if "moment" in families and types[0] != types[1]:
        mine, theirs = times(left), times(right)
        both = mine.there & theirs.there
        outcome = np.zeros(len(both), dtype=bool)
        outcome[both] = compare(mine.micros[both[mine.there]], theirs.micros[both[theirs.there]])
        return outcome
    if any(dtype.kind == "f" for dtype in types):
        left, right = left.astype(np.float64), right.astype(np.float64)
    return np.asarray(compare(left, right))


_FAMILIES = {"O": "object", "b": "boolean", "U": "text", "M": "moment"}
_FAMILIES |= dict.fromkeys("iuf", "number")


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


def _kind(dtype: Any) -> Kind | None:
    """The kind of a column whose comparisons numpy would round, or do modulo 2**64."""
    if dtype.kind in "mM":
        step, name = resolution(dtype), "timestamp" if dtype.kind == "M" else "duration"
        return None if step is None else moments(name, step)
    if dtype.kind in "iu":
        return integer(8 * dtype.itemsize, signed=dtype.kind == "i")
    if dtype == np.bool_:
        return BOOLEAN
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return real(64 if dtype == np.float64 else 32)
    return None


def _compared_exactly(values: Array, kind: Kind, operator: str, constant: Scalar) -> Mask:
    """Compare as Python compares integers with floats, and times of any resolution."""
    if isinstance(constant, datetime) and constant.tzinfo is not None and kind.name == "timestamp":
        kind = attrs.evolve(kind, name="instant")  # arrays hold no zone
    outcome = placed(kind, operator, constant)
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
        return bool(compare(cell, constant))
    except BaseException as error:  # of another kind, or with methods of its own
        pass_on(error)
        return False
