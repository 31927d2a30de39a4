"""What a frugal person launches: integer combinations of counts or sums in groups of rows."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import isqrt, prod
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.requests.request import Request
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import Count, Sum
from mechanisms.tables.statistics.group_by import GroupBy
from queryable.data.cells import Array
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted

Factor = tuple[tuple[int, ...], ...]
"""The integer weights of one axis: rows of one number per group."""


def _factors(value: Any) -> tuple[Factor, ...]:
    if not isinstance(value, tuple | list):
        raise TypeError(f"factors is {quoted(value)}; it should be a list of integer matrices")
    return tuple(_factor(each) for each in value)


def _factor(value: Any) -> Factor:
    try:
        rows = tuple(tuple(row) for row in value)
    except TypeError:
        rows = ()
    sizes = set(map(len, rows))
    if len(sizes) != 1 or 0 in sizes or {type(each) for row in rows for each in row} != {int}:
        raise TypeError("each of factors should be a matrix of integers, with rows and columns")
    return rows


def _statistic(value: Any) -> Aggregate:
    inner = value.statistic if type(value) is GroupBy else value
    if type(inner) not in (Count, Sum):
        raise TypeError(
            f"statistic is {quoted(value)}; it should be a Count or a Sum, or a GroupBy of one"
        )
    statistic: Aggregate = value
    return statistic


@attrs.frozen
class Combined(IntegerStatistic):
    """Integer combinations of the entries of a statistic: one matrix for each dimension.

    Privacy:
        Claim: `l2` is what a row or unit adds in the L1 norm, times the largest Euclidean norm of a
            column of the Kronecker product of the matrices, rounded up to an integer.
        Theorem: docs/theory/proofs/frugal.md. A change c of the entries changes the combinations
            by the sum of c_i times column i.
        Checked by: tests/unit/mechanisms/frugal/test_purchases.py

    Args:
        statistic: a `Count` or `Sum` in groups, or without groups with the one entry.
        factors: one matrix of integers for each dimension of its groups; for a statistic without
            groups one matrix with one column.
    """

    statistic: Aggregate = attrs.field(converter=_statistic)
    factors: tuple[Factor, ...] = attrs.field(converter=_factors)

    def __attrs_post_init__(self) -> None:
        """Check that the matrices fit the groups.

        Raises:
            ValueError: they do not.
        """
        if tuple(len(factor[0]) for factor in self.factors) != (self.statistic.shape or (1,)):
            raise ValueError(
                "factors should be one matrix for each dimension of the statistic, with a column "
                f"for each of {self.statistic.shape or (1,)} entries"
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of rows of the matrices."""
        return tuple(len(factor) for factor in self.factors)

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """What a row or unit adds, times the largest L1 norm of a column."""
        columns = [zip(*factor, strict=True) for factor in self.factors]
        most = prod(max(sum(map(abs, column)) for column in each) for each in columns)
        return Fraction(self.statistic.l1 * most)

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """What a row or unit adds, times the largest L2 norm of a column, rounded up."""
        squared = (self.statistic.l1**2).__ceil__() * prod(map(largest_square, self.factors))
        root = isqrt(squared)
        return Fraction(root + (root * root < squared))

    @property
    def linf(self) -> Fraction:
        """What a row or unit adds, times the largest weight."""
        most = prod(max(abs(each) for row in factor for each in row) for factor in self.factors)
        return Fraction(self.statistic.l1 * most)

    @property
    def request(self) -> Request:
        """The statistic's."""
        return self.statistic.request

    @property
    def public_name(self) -> str:
        """`Combinations of` and the statistic."""
        return f"Combinations of {self.statistic.public_name}"

    def value(self, dataset: Any) -> Any:
        """Exact: integer entries times integer weights."""
        entries = np.asarray(self.statistic.value(dataset)).astype(object)
        return along_axes(
            [np.array(f, dtype=object) for f in self.factors],
            entries.reshape(self.statistic.shape or (1,)),
        )


def largest_square(factor: Factor) -> int:
    """The largest squared Euclidean norm of a column."""
    squares = [sum(each * each for each in column) for column in zip(*factor, strict=True)]
    return max(squares, default=0)


def along_axes(matrices: list[Array], tensor: Array) -> Array:
    """Each matrix applied along its dimension: the Kronecker product times the tensor."""
    for place, matrix in enumerate(matrices):
        tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, place)), 0, place)
    return tensor


def kron(matrices: Sequence[Array]) -> Array:
    """The Kronecker product."""
    return reduce(np.kron, matrices)


def outer(vectors: Sequence[Array]) -> Array:
    """The tensor of all products."""
    return reduce(np.multiply.outer, vectors)
