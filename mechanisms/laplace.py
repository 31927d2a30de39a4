"""The Laplace mechanism on the integers (Dwork et al. 2006; Ghosh et al. 2009)."""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.additive import drawing, integer_statistic, is_entry, noisy
from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.sampling.noise_curves import laplace_curve, moves_one_number
from queryable.answers.noisy import Noise, NoisyArray, NoisyInt
from queryable.effort import Effort
from queryable.events.laws import LaplaceEvent, Sensitivity
from queryable.losses import FDP, Loss, Measure, PureDP
from queryable.losses.conversions import discrete_laplace_to_zcdp
from queryable.losses.numbers import Number, positive
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted


@attrs.frozen(init=False)
class Laplace(Measurement[NoisyInt | NoisyArray]):
    """An integer statistic with exact discrete Laplace noise on each coordinate.

    Answers a `NoisyInt`, or a read-only `NoisyArray` if the statistic has a shape. Both have
    `.interval(confidence)`.

    Privacy:
        Claim: PureDP(l1 * d_in / scale). In zCDP and RDP the bound of discrete Laplace noise itself
            is used if it is below the conversion from pure DP.
        Theorem: if integers move by at most l1 * d_in in L1, the probability of each answer changes
            by a factor of at most e^(l1 * d_in / scale); zCDP:
            `conversions.discrete_laplace_to_zcdp`.
        Assumes: the statistic's declared `l1`.
        Checked by: tests/unit/mechanisms/test_additive.py

    Args:
        statistic: integer-valued, with declared sensitivities. A `Sum` is in its `unit`; `release`
            answers the sum itself.
        scale: the scale of the noise. Give exactly one of `scale` and `epsilon`.
        epsilon: in nats (natural logarithm), at d_in=1; the scale is then l1 / epsilon.
    """

    statistic: IntegerStatistic
    scale: Fraction

    def __init__(
        self, statistic: Any, *, scale: Number | None = None, epsilon: Number | None = None
    ) -> None:
        checked = integer_statistic(statistic)
        self.__attrs_init__(checked, _scale(checked.l1, scale, epsilon))

    def loss(self, d_in: int) -> PureDP:
        """l1 * d_in / scale."""
        return PureDP(self.statistic.l1 * d_in / self.scale)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; in zCDP and RDP the smaller of two bounds."""
        converted = super().privacy_map(d_in, measure)
        width = self.statistic.l1 * d_in
        if measure is FDP and width > 1 and moves_one_number(self.statistic, width):
            return laplace_curve(self.scale, int(width)) or converted
        return with_zcdp(converted, lambda: discrete_laplace_to_zcdp(width, self.scale), measure)

    @property
    def effort(self) -> Effort:
        """Noise for each coordinate."""
        return drawing(self.statistic, self.scale, int(self.scale))

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is an entry of the statistic."""
        return is_entry(of, self.statistic.shape)

    def release(self, dataset: Any, coins: Coins) -> NoisyInt | NoisyArray:
        """The statistic with discrete Laplace noise."""
        return noisy(self.statistic, dataset, DiscreteLaplace(self.scale), coins)

    @property
    def public_name(self) -> str:
        """`Laplace of` and what the statistic asks."""
        return f"Laplace of {self.statistic.asked}"

    @property
    def answer_unit(self) -> Fraction | None:
        """The step of the statistic."""
        return self.statistic.step

    def events(self) -> tuple[LaplaceEvent]:
        """The noise, with the statistic's sensitivities."""
        return (LaplaceEvent(self.scale, Sensitivity.of(self.statistic)),)

    def added_noise(self) -> Noise:
        """Discrete Laplace noise of the same scale on each coordinate."""
        return Noise(DiscreteLaplace(self.scale), self.statistic.shape)


def _scale(l1: Fraction, scale: Number | None, epsilon: Number | None) -> Fraction:
    if (scale is None) == (epsilon is None):
        raise ValueError(
            f"give exactly one of scale and epsilon; scale is {quoted(scale)} and epsilon is "
            f"{quoted(epsilon)}"
        )
    if scale is not None:
        return positive(scale, "scale")
    if not l1 > 0:
        raise ValueError(
            f"give a scale; the statistic's l1 is 0, so epsilon={epsilon} implies none"
        )
    return l1 / positive(epsilon, "epsilon")
