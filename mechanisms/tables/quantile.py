"""Quantiles: how well each of some public candidates splits a column, as scores.

Responsible for the scores and their sensitivity; the exponential mechanism chooses by them.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.aggregates import Aggregate, per_field
from mechanisms.tables.predicates import Where, column_name, where_field
from mechanisms.tables.privacy_unit import PrivacyUnit, root
from mechanisms.tables.request import Bins, Request, Term
from mechanisms.tables.scalars import Scalar, scalars
from queryable.data.rows import Array
from queryable.losses.numbers import probability


def _level(value: Any) -> Fraction:
    return probability(value, "level")


def _grid(values: Any) -> tuple[Scalar, ...]:
    grid = scalars(values, "grid")
    if not grid:
        raise ValueError("grid is empty; it should name at least one candidate")
    ascending: bool = all(a < b for a, b in pairwise(grid))  # type: ignore[operator]
    if not ascending:
        raise ValueError("grid should be in ascending order, without repetitions")
    return grid


@attrs.frozen
class Quantile(Aggregate):
    """Of each candidate t how well it splits a column: the scores for a quantile.

    With the level a/b the score is -|(b - a) #(cell < t) - a #(cell > t)|, 0 where t is exactly the
    quantile. `grid[queryable.launch(ExponentialMechanism(quantile, epsilon))]` is a private one.
    Missing cells do not count.

    Privacy:
        Claim: one row moves every score by at most max(a, b - a), which is `linf`; by as much for
            each row of a privacy unit that counts. Bounds on groups do not matter.
        Theorem: a row adds to one of the two counts at most, and | | moves by no more than its
            inside (Smith 2011).
        Checked by: tests/unit/mechanisms/tables/test_quantile.py

    Args:
        column: its name, or `column(name)`.
        level: 0 to 1, a rational: "1/2" for the median. A short fraction keeps scores small.
        grid: the public candidates, ascending: numbers, dates, or what else compares with cells.
        where: which records, as for `Count`.
        per: whose rows, as for `Count`.
    """

    column: str = attrs.field(converter=column_name)
    level: Fraction = attrs.field(converter=_level)
    grid: tuple[Scalar, ...] = attrs.field(converter=_grid)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    groupable = False
    may_be_monotone = False

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One score for each candidate."""
        return (len(self.grid),)

    @property
    def linf(self) -> Fraction:
        """The most that one score moves."""
        above, all_of = self.level.as_integer_ratio()
        rows = 1 if self.per is None else self.per.max_rows
        return Fraction(rows * max(above, all_of - above))

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """As much for every candidate."""
        return self.linf * len(self.grid)

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The same in the L2 norm."""
        return root(int(self.linf) ** 2 * len(self.grid))

    @property
    def largest(self) -> tuple[int, ...]:
        """Of one row, for each candidate."""
        above, all_of = self.level.as_integer_ratio()
        return (max(above, all_of - above),) * len(self.grid)

    @property
    def public_name(self) -> str:
        """`Quantile(column)`."""
        return f"Quantile({self.column})"

    @property
    def request(self) -> Request:
        """How many cells are between the candidates, and at each."""
        steps = tuple((operator, value) for value in self.grid for operator in (">=", ">"))
        per = self.per and attrs.evolve(self.per, max_groups=None, max_rows_per_group=None)
        return Request((Term(),), self.where, (Bins(self.column, steps),), per)

    def combined(self, totals: Array) -> Array:
        """The scores: entry 2 i of the totals is below candidate i, entry 2 i + 1 at it."""
        counts = totals[..., 0]
        upto = np.cumsum(counts)
        below, above = upto[:-1:2], upto[-1] - upto[1::2]
        over, all_of = self.level.as_integer_ratio()
        return np.asarray(-abs((all_of - over) * below - over * above))
