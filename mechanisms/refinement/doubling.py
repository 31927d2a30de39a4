"""Doubling: independent, ever more accurate releases, each paid for in full.

It is the baseline that noise reduction is compared with.
"""

from fractions import Fraction
from itertools import accumulate, repeat
from operator import truediv
from typing import Any

import attrs

from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.refinement.averaging import number, rounding
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.estimating import (
    Estimating,
    OpenEstimate,
    PendingRefinement,
    refinable,
    require_more,
)
from mechanisms.refinement.refine_queries import Open, Refine, Until
from mechanisms.refinement.stopping import LONGEST, Schedule, above_one
from mechanisms.refinement.tails import Reach, ReleaseTails
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.errors import QueryError
from queryable.losses import ZCDP, Loss, PureDP
from queryable.losses.numbers import at_least_one, positive, shown
from queryable.mechanism import Measurement
from queryable.messages import Refused
from queryable.wording.quoting import one_of


def _start(value: Any) -> Fraction:
    return positive(value, "start")


def _releases(value: Any) -> int:
    return at_least_one(value, "releases", LONGEST)


@attrs.frozen
class Doubling(Estimating):
    """Independent releases, each a factor more accurate than the last; `Doubling(...) @ filter`.

    Answers the messages of `BrownianNoiseReduction`, but with a fixed schedule: `Open(statistic)`,
    `Refine()`, `Until(condition)`. An estimate is the last release alone. `Until` continues until
    the condition holds or the filter refuses.

    Privacy:
        Claim: what the compositor below is charged: every release, in full. With Gaussian noise the
            sum is at most factor/(factor - 1) times the loss of the last release.
        Theorem: a postprocessing of launches (Haney et al. 2023, Theorem 2.17); as a method,
            Ligett et al. 2017, and section 7.1 of Rogers et al. 2023.
        Checked by: tests/unit/mechanisms/refinement/test_releases.py

    Args:
        start: the variance of the first Gaussian release; with Laplace noise, its scale.
        factor: the variance or scale is divided by this for each further release; above 1.
        noise: "gaussian", or "laplace" for filters without zCDP, where a factor of 2 doubles
            epsilon.
        releases: the largest number of releases of one estimate.
    """

    start: Fraction = attrs.field(converter=_start)
    factor: Fraction = attrs.field(default=Fraction(2), converter=above_one)
    noise: str = attrs.field(
        kw_only=True, default="gaussian", validator=one_of("gaussian", "laplace")
    )
    releases: int = attrs.field(kw_only=True, default=100, converter=_releases)

    def _open(self, query: Open) -> OpenEstimate:
        _require_none(query.schedule)
        levels = accumulate(repeat(self.factor, self.releases - 1), truediv, initial=self.start)
        return OpenEstimate(refinable(query.statistic), tuple(levels))

    def _target(self, opened: OpenEstimate, query: Refine) -> Fraction:
        _require_none(query.to)
        return super()._target(opened, query)

    def _targets(self, opened: OpenEstimate, query: Until) -> Schedule:
        _require_none(query.schedule)
        require_more(opened)
        return opened.schedule[opened.passed :]

    def _measurement(self, opened: OpenEstimate, target: Fraction) -> Measurement[Any]:
        if self.noise == "laplace":
            return Laplace(opened.statistic, scale=target)
        return Gaussian(opened.statistic, variance=target)

    def _combined(self, opened: OpenEstimate, target: Fraction, measured: Any) -> Refined:
        # Integer Laplace noise has variance 1 / (2 sinh(1/2b)^2), which is below 2 b^2.
        laplace = self.noise == "laplace"
        law = DiscreteLaplace(target) if laplace else DiscreteGaussian(target)
        value = number(measured)
        reach = Reach(ReleaseTails(law, opened.passed + 1), rounding(value))
        return Refined(value, 2 * target**2 if laplace else target, reach=reach)

    def _loss(self, opened: OpenEstimate, d_in: int) -> Loss:
        paid = sum((1 / level for level in opened.schedule[: opened.passed]), Fraction(0))
        if self.noise == "laplace":
            return PureDP(opened.statistic.l1 * d_in * paid)
        return ZCDP((opened.statistic.l2 * d_in) ** 2 * paid / 2)

    def _affordable(self, refusal: Refused, pending: PendingRefinement) -> str:
        what = "scale" if self.noise == "laplace" else "variance"
        return f"the next release would have {what} {shown(pending.targets[pending.place])}"


def _require_none(wish: Any) -> None:
    if wish is not None:
        raise QueryError(
            "write Open(statistic), Refine() or Until(condition), without a schedule or a target: "
            "Doubling has its own schedule"
        )
