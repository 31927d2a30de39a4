"""`Quantile`: scores that say how well each of some public candidates splits a column.

The exponential mechanism chooses a candidate by these scores.
"""

from fractions import Fraction

import attrs
import numpy as np

from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.expressions.scalars import Scalar, alike
from mechanisms.tables.quantiles.choices import Quantiles
from mechanisms.tables.quantiles.grids import around, grid_field, level_field
from mechanisms.tables.requests.privacy_unit import PrivacyUnit, root
from mechanisms.tables.requests.request import Request, Term
from mechanisms.tables.statistics.aggregates import Aggregate, per_field
from queryable.answers.released import Released
from queryable.data.cells import Array
from queryable.losses import Loss, Measure
from queryable.losses.numbers import Number
from queryable.mechanism import Measurement


@attrs.frozen
class Quantile(Aggregate):
    """For each candidate, how well it splits a column: the scores for a quantile.

    With the level a/b the score of t is -|(b - a) #(cell < t) - a #(cell > t)|, which is 0 if t is
    exactly the quantile. `grid[queryable.launch(ExponentialMechanism(quantile, epsilon))]` is a
    private quantile. `Queryable.release` answers a value instead, with an interval if a confidence
    is asked, from the counts of `Quantiles`. Missing cells are not counted.

    Privacy:
        Claim: one row moves every score by at most max(a, b - a), which is `linf`; a privacy unit
            moves it by as much for each of its rows that is counted. Bounds on groups do not
            matter.
        Theorem: a row adds to at most one of the two counts, and the absolute value moves by no
            more than its argument (Smith 2011).
        Checked by: tests/unit/mechanisms/tables/quantiles/test_quantile.py

    Args:
        column: its name, or `column(name)`.
        level: 0 to 1, a rational: "1/2" for the median. A short fraction keeps scores small.
        grid: the public candidates, ascending: numbers, dates, or other constants that compare with
            cells.
        where: which records, as for `Count`.
        per: the privacy unit, as for `Count`.
    """

    column: Operand = attrs.field(converter=operand_of)
    level: Fraction = attrs.field(converter=level_field)
    grid: tuple[Scalar, ...] = attrs.field(converter=grid_field, eq=alike)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    groupable = False
    batches_add_up = False

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One score per candidate."""
        return (len(self.grid),)

    @property
    def linf(self) -> Fraction:
        """The most that one score moves."""
        above, all_of = self.level.as_integer_ratio()
        rows = self.request.contribution.l1
        return Fraction(rows * max(above, all_of - above))

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """`linf` for every candidate."""
        return self.linf * len(self.grid)

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The same in the L2 norm."""
        return root(int(self.linf) ** 2 * len(self.grid))

    @property
    def largest(self) -> tuple[int, ...]:
        """The most that one row moves each score."""
        above, all_of = self.level.as_integer_ratio()
        return (max(above, all_of - above),) * len(self.grid)

    @property
    def public_name(self) -> str:
        """`Quantile` and the column."""
        return f"Quantile({operand_name(self.column)})"

    @property
    def request(self) -> Request:
        """The number of cells between the candidates, and at each candidate."""
        return Request((Term(),), self.where, (around(self.column, self.grid),), self.per)

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> Measurement[Released]:
        """The mechanism that answers this quantile's value, see `Quantiles.measurement`."""
        counts = Quantiles(self.column, self.level, self.grid, self.where, per=self.per)
        return counts.measurement(measure, d_in, within=within, confidence=confidence, loss=loss)

    def combined(self, totals: Array) -> Array:
        """The scores; totals 2 i and 2 i + 1 count cells below candidate i and at it."""
        counts = totals[..., 0]
        upto = np.cumsum(counts)
        below, above = upto[:-1:2], upto[-1] - upto[1::2]
        over, all_of = self.level.as_integer_ratio()
        return np.asarray(-abs((all_of - over) * below - over * above))
