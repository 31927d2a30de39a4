"""The public parameters of quantiles: levels, a grid of candidates, and the bins around them."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.expressions.scalars import Scalar, scalars
from mechanisms.tables.requests.request import Bins
from queryable.losses.numbers import probability, several
from queryable.wording.quoting import quoted


def level_field(value: Any) -> Fraction:
    """Read a level, from 0 to 1."""
    return probability(value, "level")


def levels_field(value: Any) -> Fraction | tuple[Fraction, ...]:
    """Read one level, or several that differ from each other."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return level_field(value)
    levels = tuple(map(level_field, several(value, "levels")))
    if not levels or len(set(levels)) < len(levels):
        raise ValueError(
            f"levels is {quoted(value)}; it should name at least one, different from each other"
        )
    return levels


def grid_field(values: Any) -> tuple[Scalar, ...]:
    """Read a grid: public candidates in ascending order."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(
            f"grid is {quoted(values)}; it should list the possible answers, such as "
            "range(0, 101, 5)"
        )
    grid = scalars(values, "grid")
    if not grid:
        raise ValueError("grid is empty; it should have at least one candidate")
    try:
        ascending: bool = all(a < b for a, b in pairwise(grid))  # type: ignore[operator]
    except TypeError:
        raise TypeError(f"grid is {quoted(grid)}; it should have values of one kind") from None
    if not ascending:
        raise ValueError("grid should be in ascending order, without repetitions")
    return grid


def around(column: Operand, grid: tuple[Scalar, ...]) -> Bins:
    """Bin 2 i + 1 holds the cells at candidate i; those before and after it the cells between."""
    steps = tuple((operator, value) for value in grid for operator in (">=", ">"))
    return Bins(column, steps, bounded=False)
