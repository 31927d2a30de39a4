"""Brownian noise reduction: only the last, finest estimate is paid for.

A postprocessor (person in the middle) turns every refinement into one Gaussian launch of the
missing precision. It works over any compositor that admits Gaussian measurements.
"""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.gaussian import Gaussian
from mechanisms.refinement.averaging import moved, number, rounding, rounding_moved
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.estimating import Estimating, OpenEstimate, PendingRefinement, refinable
from mechanisms.refinement.refine_queries import Open
from mechanisms.refinement.stopping import Schedule, schedule_of, shortened
from mechanisms.refinement.tails import MeanTails, Reach
from queryable.errors import QueryError
from queryable.losses import ZCDP, AdditiveLoss
from queryable.losses.numbers import shown
from queryable.messages import Refused


@attrs.frozen
class BrownianNoiseReduction(Estimating):
    """Estimates that become finer for the price of the difference; `... @ FiltCon(ZCDP(...))`.

    Under an epsilon and a delta, `... @ ExPost(ApproxDP(...), slack=...)` keeps for other questions
    what it does not use.

    Answers: `Open(statistic, schedule)` with a child. The child answers `Refine(variance)` with an
    `Refined`, `Until(condition)` with a `Stopped`, and `Latest()`, `PrivacyLossQuery`,
    `CanAfford(Refine(...))`. Every other query goes to the mechanism below, so that noise
    reductions interleave with each other and with everything that this mechanism launches. You may
    stop at any time and continue later.

    To refine from variance t1 to t2, it launches an independent Gaussian measurement of variance
    t1 t2 / (t1 - t2), and averages the two, weighted by precision (the inverse of the variance).
    The statistic is therefore evaluated at every step, which takes time on a large table.

    Privacy:
        Claim: what the compositor below is charged. An estimate refined to variance t has been
            charged (l2 d_in)^2 / (2t) in total, exactly, for any number of steps.
        Theorem: docs/theory.md, Brownian noise reduction; a postprocessing of Gaussian launches
            (Haney et al. 2023, Theorems 2.17 and 4.10).
        Assumes: the statistics' declared `l2`.
        Checked by: tests/unit/mechanisms/refinement/test_brownian.py
    """

    def _open(self, query: Open) -> OpenEstimate:
        schedule = () if query.schedule is None else schedule_of(query.schedule)
        return OpenEstimate(refinable(query.statistic), schedule)

    def _measurement(self, opened: OpenEstimate, target: Fraction) -> Gaussian:
        if opened.level is None:
            return Gaussian(opened.statistic, variance=target)
        if not target < opened.level:
            raise QueryError(
                f"the target variance {shown(target)} is not finer than the estimate's, "
                f"{shown(opened.level)}; give a smaller one"
            )
        return Gaussian(opened.statistic, variance=increment(opened.level, target))

    def _whole(self, opened: OpenEstimate, targets: Schedule) -> Gaussian:
        return self._measurement(opened, targets[-1])

    def _combined(self, opened: OpenEstimate, target: Fraction, measured: Any) -> Refined:
        return combined(opened.estimate, target, measured)

    def _loss(self, opened: OpenEstimate, d_in: int) -> ZCDP:
        if opened.level is None:
            return ZCDP(Fraction(0))
        return ZCDP((opened.statistic.l2 * d_in) ** 2 / (2 * opened.level))

    def _affordable(self, refusal: Refused, pending: PendingRefinement) -> str:
        share = _left(refusal)
        if share is None:
            return ""
        if not share:
            return "no finer variance is affordable"
        level, target = pending.opened.level, pending.targets[pending.place]
        precision = Fraction(0) if level is None else 1 / level
        finest = 1 / (precision + share * (1 / target - precision))
        return f"the finest variance affordable is {_quoted(finest)}"


def combined(before: Refined | None, target: Fraction, measured: Any) -> Refined:
    """The mean of an estimate and a measurement that together have the target variance."""
    value = number(measured)
    if before is None:
        return Refined(value, target, reach=Reach(MeanTails(target, target), rounding(value)))
    # The measurement has precision 1/target - 1/variance, the two together 1/target.
    share = 1 - target / before.variance
    mean = moved(before.value, value, share)
    reach = before.reach
    if reach is not None and isinstance(reach.tails, MeanTails):
        rounded = rounding_moved(reach.rounded, before.value, value, mean, share)
        reach = Reach(MeanTails(target, reach.tails.coarsest), rounded)
    return Refined(mean, target, reach=reach)


def increment(coarse: Fraction, fine: Fraction) -> Fraction:
    """coarse * fine / (coarse - fine): the variance whose precision is 1/fine - 1/coarse."""
    top, bottom = coarse.as_integer_ratio()
    to_top, to_bottom = fine.as_integer_ratio()
    return Fraction(top * to_top, top * to_bottom - to_top * bottom)


def _left(refusal: Refused) -> Fraction | None:
    """The remaining share of the requested loss, which is proportional to 1/variance."""
    requested, remaining = refusal.requested, refusal.remaining
    if not (isinstance(requested, AdditiveLoss) and isinstance(remaining, AdditiveLoss)):
        return None
    pairs = zip(requested.parts, remaining.parts, strict=False)
    return min((left / wanted for wanted, left in pairs if wanted > 0), default=None)


def _quoted(variance: Fraction) -> str:
    """A variance as text: exact if that is short, else rounded up to six digits."""
    text = str(variance)
    return text if len(text) <= 12 else shown(shortened(variance))
