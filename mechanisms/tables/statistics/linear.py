"""Enclosures of the solutions of normal equations whose entries are known within ranges.

The equations are M b = v for sums over rows: M has the number of rows, the sums of the columns of x
and of their products, v those with y. Every entry is linear in the sums that were released.

Theory: let b' be any vector and W an enclosure of the inverses of all M in range, by Arb's
preconditioned solver. The solution is b' + W (v - M b'). Here v - M b' is linear in the sums, so it
is its value at the middles of the ranges plus, for each sum, its distance from the middle times a
vector. Each coefficient is evaluated in this form in ball arithmetic, which encloses all values.
Each sum enters once, so its error counts once.
"""

from fractions import Fraction
from math import inf, nextafter
from typing import Any

import attrs
import numpy as np
from flint import arb, arb_mat, fmpq

from queryable.data.cells import Array


@attrs.frozen
class MatrixEntry:
    """A place in M, or in v where `column` is None, and what a sum is multiplied by there."""

    row: int
    column: int | None
    share: Fraction


@attrs.frozen
class Known:
    """A sum that is known to be from `low` to `high`, and its entries in M and v."""

    low: Fraction
    high: Fraction
    entries: tuple[MatrixEntry, ...]

    @property
    def middle(self) -> Fraction:
        """The middle of the ends."""
        return (self.low + self.high) / 2


def rows(low: int, high: int, size: int) -> Known:
    """The number of rows, which is also half of twice every square; `size`: the columns of x."""
    squares = (MatrixEntry(i, i, Fraction(1, 2)) for i in range(1, size + 1))
    return Known(Fraction(low), Fraction(high), (MatrixEntry(0, 0, Fraction(1)), *squares))


def product(i: int, j: int, low: Fraction, high: Fraction, size: int) -> Known:
    """The sum of the products of columns i <= j, or of a square twice it minus the rows.

    Column 0 is the constant 1, then come those of x; y has the number size + 1.
    """
    if j > size:
        return Known(low, high, (MatrixEntry(i, None, Fraction(1)),))
    if i == j:
        return Known(low, high, (MatrixEntry(i, i, Fraction(1, 2)),))
    return Known(low, high, (MatrixEntry(i, j, Fraction(1)), MatrixEntry(j, i, Fraction(1))))


def solved(sums: list[Known], wanted: list[tuple[Fraction, list[Fraction]]]) -> Array:
    """The ends of each wanted combination of the solution; infinite where M may be singular.

    Args:
        wanted: a constant, and what each entry of the solution is multiplied by.
    """
    size = len(wanted)
    near = _near(sums, size)
    inverse = None if near is None else _inverse(sums, size)
    if near is None or inverse is None:
        return np.array([[-inf] * size, [inf] * size])
    exactly = [_ball(each, each) for each in near]
    # what each sum is multiplied by in v - M b'
    vectors = [_vector(each.entries, exactly, size) for each in sums]
    middles = [_ball(each.middle, each.middle) for each in sums]
    residual = [_dot(middles, [vector[i] for vector in vectors]) for i in range(size)]
    ends = []
    for constant, multiples in wanted:
        across = [_ball(each, each) for each in multiples]
        row = [sum((across[k] * inverse[k, i] for k in range(size)), arb(0)) for i in range(size)]
        value = _ball(constant, constant) + _dot(across, exactly) + _dot(row, residual)
        for each, vector in zip(sums, vectors, strict=True):
            value += _ball(each.low - each.middle, each.high - each.middle) * _dot(row, vector)
        ends.append(_ends(value))
    return np.array(ends).T


def _near(sums: list[Known], size: int) -> list[Fraction] | None:
    """A float solution at the middles, as exact numbers."""
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for each in sums:
        for entry in each.entries:
            share = float(each.middle * entry.share)
            if entry.column is None:
                right[entry.row] += share
            else:
                matrix[entry.row, entry.column] += share
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return None
    return [Fraction(float(each)) for each in found] if np.isfinite(found).all() else None


def _inverse(sums: list[Known], size: int) -> Any:
    """An enclosure of the inverses of all matrices in range; None if one may be singular."""
    entries = [[arb(0) for _ in range(size)] for _ in range(size)]
    for each in sums:
        ball = _ball(each.low, each.high)
        for entry in each.entries:
            if entry.column is not None:
                entries[entry.row][entry.column] += ball * _ball(entry.share, entry.share)
    unit = arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
    try:
        inverse = arb_mat(entries).solve(unit, algorithm="precond")
    except ZeroDivisionError:
        return None
    return inverse


def _vector(entries: tuple[MatrixEntry, ...], near: list[Any], size: int) -> list[Any]:
    vector = [arb(0) for _ in range(size)]
    for entry in entries:
        share = _ball(entry.share, entry.share)
        vector[entry.row] += share if entry.column is None else -share * near[entry.column]
    return vector


def _dot(one: list[Any], other: list[Any]) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), arb(0))


def _ball(low: Fraction, high: Fraction) -> Any:
    ends = (arb(fmpq(*each.as_integer_ratio())) for each in (low, high))
    return next(ends).union(next(ends))


def _ends(value: Any) -> tuple[float, float]:
    if not value.is_finite():
        return -inf, inf
    return nextafter(float(value.lower()), -inf), nextafter(float(value.upper()), inf)
