"""Brownian noise reduction, ex post: one statistic at falling variances, the last one is paid for.

`mechanisms.refinement.brownian` charges a zCDP filter for each step. Here one child of `ExPost` is
charged an epsilon that depends on the last release, and a delta that is fixed at its launch.
"""

from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any, ClassVar

import attrs
import numpy as np
from flint import arb

from mechanisms.additive import drawing, integer_statistic
from mechanisms.refinement.brownian import combined, increment
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.estimate import value_dependent as marked
from mechanisms.refinement.reducing import NoiseReduction, ReductionState
from mechanisms.refinement.stopping import in_order
from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteGaussian
from queryable.effort import Effort
from queryable.losses import ZCDP
from queryable.losses.lines import shortened, start
from queryable.losses.numbers import probability, round_down, round_up, shown
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic

_MOST_LINES = 16


def _missed(value: Any) -> Fraction:
    missed = probability(value, "missed")
    if not 0 < missed < 1:
        raise ValueError(f"missed is {shown(missed)}; it should be above 0 and below 1")
    return missed


@attrs.frozen(init=False)
class GaussianNoiseReduction(NoiseReduction):
    """An integer statistic with Gaussian noise at falling variances, each release finer.

    Answers `Refine`, `Until` and `Latest` as `LaplaceNoiseReduction`, with variances in place of
    scales. The answers are `Refined`s, as of `BrownianNoiseReduction`: each is the mean, weighted
    by precision, of independent measurements.

    Privacy:
        Claim: ex post, with rho = (l2 d_in)^2 / (2 t) at the variance t of the last release, an
            epsilon of rho + lambda rho + log(k m / missed) / lambda with
            k = lambda^lambda / (1+lambda)^(1+lambda), the least of m such lines, and the delta
            `missed`, at whatever step the analyst stops. In advance zCDP at the rho of the
            schedule's last variance.
        Theorem: docs/theory.md, Gaussian noise reduction ex post; Rogers et al. 2023, Definition
            4.1, for stops that are chosen by values.
        Assumes: the statistic's declared `l2`.
        Checked by: tests/audit/test_gaussian_reduction.py

    Args:
        statistic: integer-valued, with declared sensitivities. It is evaluated at the first
            release, the first query that costs anything.
        variances: the schedule of the noise: public, positive and falling.
        missed: the delta that is charged at the launch, whatever is released.
    """

    level_name: ClassVar[str] = "variance"
    statistic: IntegerStatistic
    variances: tuple[Fraction, ...]
    missed: Fraction
    slopes: tuple[Fraction, ...] = attrs.field(init=False, repr=False, eq=False)
    """The lambdas of the lines, of which each is the least somewhere on the schedule."""

    def __init__(self, statistic: Any, *, variances: Any, missed: Any) -> None:
        checked = integer_statistic(statistic)
        self.__attrs_init__(checked, in_order(variances, "variances"), _missed(missed))

    @slopes.default
    def _lines(self) -> tuple[Fraction, ...]:
        """From the best slope at the schedule's end, by factors of 2, to that at its begin."""
        if not self.statistic.l2 > 0:
            return (Fraction(1),)
        first, last = (self._best(self.variances[place]) for place in (0, -1))
        found = [last]
        while 2 * found[-1] ** 2 < first**2 and len(found) < _MOST_LINES:
            found.append(2 * found[-1])
        return tuple(found)

    def _best(self, variance: Fraction) -> Fraction:
        """About sqrt(log(1/delta) / rho) at one record; any positive number gives a bound."""
        rho = self.statistic.l2**2 / (2 * variance)
        return shortened(round_down(lambda d, r: (-d.log() / r).sqrt(), self.missed, rho))

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The variances."""
        return self.variances

    @property
    def size(self) -> Fraction:
        """l2."""
        return self.statistic.l2

    def loss(self, d_in: int) -> ZCDP:
        """(l2 * d_in)^2 / (2 t), at the schedule's last variance t."""
        return ZCDP((self.statistic.l2 * d_in) ** 2 / (2 * self.variances[-1]))

    def delta(self, d_in: int) -> Fraction:
        """`missed`, at any number of records."""
        return self.missed

    def spent(self, level: Fraction, moved: Fraction) -> Fraction:
        """The least of the lines at rho."""
        rho, each = moved**2 / (2 * level), self.missed / len(self.slopes)

        def line(slope: arb, rho: arb, missed: arb) -> arb:
            return rho * (1 + slope) + start(slope, missed)

        return max(min(round_up(line, slope, rho, each) for slope in self.slopes), Fraction(0))

    def variance_at(self, level: Fraction) -> Fraction:
        """The variance itself."""
        return level

    @property
    def effort(self) -> Effort:
        """Noise for each coordinate at each variance."""
        finest = max(self._increments, key=lambda each: each.denominator * each.numerator)
        each = drawing(self.statistic, finest, isqrt(int(finest)))
        return Effort(len(self.variances) * (100 + each.steps))

    @property
    def drawn(self) -> Effort:
        """A mean for each coordinate."""
        return drawing(self.statistic, self.variances[-1], isqrt(int(self.variances[0])))

    @property
    def _increments(self) -> tuple[Fraction, ...]:
        """The variances of the measurements: 1/t is the sum of their precisions until there."""
        return (self.variances[0], *(increment(*pair) for pair in pairwise(self.variances)))

    def noise(self, coins: Coins) -> tuple[Any, ...]:
        """The noise of each measurement."""
        shape, laws = self.statistic.shape, map(DiscreteGaussian, self._increments)
        return tuple(coins.draw(law) if shape is None else coins.draw(law, shape) for law in laws)

    def estimated(self, state: ReductionState, place: int, *, value_dependent: bool) -> Refined:
        """The mean of all measurements until there."""
        estimate = state.latest
        for each in range(state.passed, place + 1):
            measured: Any = state.value + state.noise[each]
            if self.statistic.shape is not None:
                measured = added(np.asarray(state.value), np.asarray(state.noise[each]))
            estimate = combined(estimate, self.variances[each], measured)
        assert estimate is not None
        return marked(estimate) if value_dependent else estimate
