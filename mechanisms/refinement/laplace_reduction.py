"""Laplace noise reduction: one statistic at falling scales; only the last scale is paid for."""

from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from mechanisms.additive import drawing, integer_statistic
from mechanisms.laplace import Laplace
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.reducing import NoiseReduction, ReductionState
from mechanisms.refinement.stopping import in_order
from mechanisms.refinement.tails import Reach, ReleaseTails
from mechanisms.sampling.integers import added
from mechanisms.sampling.laplace_path import laplace_path
from mechanisms.sampling.laws import DiscreteLaplace
from queryable.answers.noisy import NoisyInt, noisy_array
from queryable.data.frozen import read_only
from queryable.effort import Effort
from queryable.losses import Loss, Measure
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic


@attrs.frozen(init=False)
class LaplaceNoiseReduction(NoiseReduction):
    """An integer statistic with Laplace noise at falling scales, each release finer than the last.

    Answers `Refine()` with the statistic at the next scale of the schedule, `Refine(scale)` at a
    later one. `Until(condition)` releases the first scale, from the current one on, at which the
    condition holds for the noisy statistic, or else the last scale. If the condition raises, it
    answers `Undecided`, and the scale at which it raised is released. `Until(condition, scales)`
    tries some scales of the schedule. `Latest()` answers the last release again. The answers are
    `Refined`s: `value` is an int, or a read-only integer array if the statistic has a shape, and
    `variance` is 2 scale^2, a little above the variance of the noise. A value that no condition
    stopped at is a `NoisyInt` or `NoisyArray`, as of `Laplace`. After the finest scale has been
    released, the answer is `Refused`.

    Privacy:
        Claim: PureDP(l1 * d_in / scale) for the scale of the last release, ex post (the realised
            loss); in advance the claim of `Laplace` at the schedule's last scale.
        Theorem: Koufogiannis, Han, Pappas 2017; Ligett et al. 2017; on the integers docs/theory.md,
            the discrete Laplace process: all earlier answers are a postprocessing of the last
            release, which is a `Laplace` answer of that scale. A condition may therefore be
            evaluated on coarser noise.
        Assumes: the statistic's declared `l1`.
        Checked by: tests/unit/mechanisms/refinement/test_releases.py

    Args:
        statistic: integer-valued, with declared sensitivities. It is evaluated at the first
            release, the first query that costs anything.
        scales: the schedule of the noise: public, positive and falling. Give exactly one of
            `scales` and `epsilons`.
        epsilons: the loss after each release, at d_in=1: rising; the scales are l1 / epsilon.
    """

    level_name: ClassVar[str] = "scale"
    statistic: IntegerStatistic
    scales: tuple[Fraction, ...]

    def __init__(self, statistic: Any, *, scales: Any = None, epsilons: Any = None) -> None:
        checked = integer_statistic(statistic)
        self.__attrs_init__(checked, _schedule(checked.l1, scales, epsilons))

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The scales."""
        return self.scales

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss of one `Laplace` answer at the last scale."""
        return Laplace(self.statistic, scale=self.scales[-1]).privacy_map(d_in, measure)

    @property
    def effort(self) -> Effort:
        """Noise for each coordinate at each scale."""
        finest = max(self.scales, key=lambda each: each.denominator * each.numerator)
        each = drawing(self.statistic, finest, int(finest))
        return Effort(len(self.scales) * (100 + each.steps))

    @property
    def drawn(self) -> Effort:
        """A number for each coordinate."""
        return drawing(self.statistic, self.scales[-1], int(self.scales[0]))

    def variance_at(self, level: Fraction) -> Fraction:
        """2 scale^2, that of continuous Laplace noise; on the integers 1/(2 sinh(1/2t)^2)."""
        return 2 * level**2

    @property
    def size(self) -> Fraction:
        """l1."""
        return self.statistic.l1

    def spent(self, level: Fraction, moved: Fraction) -> Fraction:
        """l1 * d_in / scale."""
        return moved / level

    def noise(self, coins: Coins) -> tuple[Any, ...]:
        """Noise at all scales, each coarser one computed from the finer."""
        return laplace_path(self.scales, self.statistic.shape, coins)

    def estimated(self, state: ReductionState, place: int, *, value_dependent: bool) -> Refined:
        """The statistic with the noise of this scale."""
        scale, noise = self.scales[place], state.noise[place]
        law = DiscreteLaplace(scale)
        value: Any
        if self.statistic.shape is None:
            value = NoisyInt(state.value + noise, law)
        else:
            value = noisy_array(added(np.asarray(state.value), noise), law)
        if value_dependent:  # given where it stopped, its noise has another law
            value = _read_only(value)
        reach = Reach(ReleaseTails(law, place + 1), value_dependent=value_dependent)
        return Refined(value, self.variance_at(scale), reach=reach)


def _read_only(value: Any) -> Any:
    return read_only(np.asarray(value)) if isinstance(value, np.ndarray) else int(value)


def _schedule(l1: Fraction, scales: Any, epsilons: Any) -> tuple[Fraction, ...]:
    if (scales is None) == (epsilons is None):
        raise ValueError("give exactly one of scales and epsilons")
    if scales is not None:
        return in_order(scales, "scales")
    if not l1 > 0:
        raise ValueError("give scales; the statistic's l1 is 0, so epsilons imply none")
    return tuple(l1 / epsilon for epsilon in in_order(epsilons, "epsilons", rising=True))
