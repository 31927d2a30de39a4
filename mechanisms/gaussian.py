"""The Gaussian mechanism on the integers (Canonne, Kamath, Steinke 2020)."""

from fractions import Fraction
from math import isqrt, prod
from typing import Any

import attrs
from flint import arb

from mechanisms.additive import drawing, integer_statistic, is_entry, noisy
from mechanisms.sampling.laws import DiscreteGaussian
from queryable.answers.noisy import Noise, NoisyArray, NoisyInt
from queryable.effort import Effort
from queryable.losses import ZCDP, Dominated, Loss, Measure
from queryable.losses.numbers import Number, natural, positive, round_up, sqrt_up
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic
from queryable.streams.contributions import PerRecord
from queryable.wording.quoting import quoted

SMOOTHED = Fraction(4)
"""The part of the variance that moves a continuous Gaussian to the integers."""


@attrs.frozen(init=False)
class Gaussian(Measurement[NoisyInt | NoisyArray]):
    """An integer statistic with exact discrete Gaussian noise on each coordinate.

    Answers a `NoisyInt`, or a read-only `NoisyArray` if the statistic has a shape. Both have
    `.interval(confidence)`.

    Privacy:
        Claim: ZCDP((l2 * d_in)^2 / (2 variance)); RDP and (epsilon, delta) by conversion. In
            `Dominated`, for the rule `GDPResidue`, mu = l2 * d_in / sqrt(variance - 4) and a delta
            below 1e-33 for each coordinate. Gaussian DP is claimed only with that delta: discrete
            Gaussian noise is not mu-GDP for the mu of the continuous Gaussian.
        Theorem: Canonne, Kamath, Steinke 2020, Theorem 14 (several coordinates, any shift by
            integers of that L2 norm); docs/theory.md, discrete and continuous Gaussians.
        Assumes: the statistic's declared `l2`.
        Checked by: tests/unit/mechanisms/test_gaussian.py

    Args:
        statistic: integer-valued, with declared sensitivities. A `Sum` is in its `unit`; `release`
            answers the sum itself.
        scale: sigma, rational. Give exactly one of `scale`, `rho` and `variance`.
        rho: the zCDP loss at d_in=1; the variance is then l2^2 / (2 rho).
        variance: sigma^2, rational.
    """

    statistic: IntegerStatistic
    variance: Fraction

    def __init__(
        self,
        statistic: Any,
        *,
        scale: Number | None = None,
        rho: Number | None = None,
        variance: Number | None = None,
    ) -> None:
        checked = integer_statistic(statistic)
        self.__attrs_init__(checked, _variance(checked.l2, scale, rho, variance))

    def loss(self, d_in: int) -> ZCDP:
        """(l2 * d_in)^2 / (2 variance)."""
        return ZCDP((self.statistic.l2 * d_in) ** 2 / (2 * self.variance))

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; in `Dominated` that of a smoothed continuous Gaussian."""
        if measure is not Dominated or not self.variance > SMOOTHED:
            return super().privacy_map(d_in, measure)
        moved = self.statistic.l2 * natural(d_in, "d_in")
        return smoothed(moved**2, self.variance, prod(self.statistic.shape or ()))

    @property
    def per_record(self) -> PerRecord | None:  # type: ignore[override]
        """1 / (2 variance) for what a record adds, if the statistic says what that is."""
        statistic = self.statistic
        if not statistic.by_record:
            return None
        return PerRecord(1 / (2 * self.variance), statistic.contributions)

    @property
    def effort(self) -> Effort:
        """Noise for each coordinate."""
        return drawing(self.statistic, self.variance, isqrt(int(self.variance)))

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is an entry of the statistic."""
        return is_entry(of, self.statistic.shape)

    def release(self, dataset: Any, coins: Coins) -> NoisyInt | NoisyArray:
        """The statistic with discrete Gaussian noise."""
        return noisy(self.statistic, dataset, DiscreteGaussian(self.variance), coins)

    @property
    def public_name(self) -> str:
        """`Gaussian of` and what the statistic asks."""
        return f"Gaussian of {self.statistic.asked}"

    def added_noise(self) -> Noise:
        """Discrete Gaussian noise of the same variance on each coordinate."""
        return Noise(DiscreteGaussian(self.variance), self.statistic.shape)


def smoothed(squared: Fraction, variance: Fraction, coordinates: int) -> Dominated:
    """The loss of discrete Gaussian noise as that of a smoothed continuous Gaussian.

    Args:
        squared: by how much the integers move, as a squared L2 norm.
        variance: above `SMOOTHED`.
        coordinates: how many integers move at most.
    """
    if not squared:
        return Dominated(0, 0, 0)
    mu = sqrt_up(squared / (variance - SMOOTHED))
    return Dominated(0, mu, min(coordinates * _missed(), Fraction(1)))


def _missed() -> Fraction:
    """2 kappa: the mass of a coordinate's law outside the smoothed continuous Gaussian."""
    return round_up(lambda v: 4 / ((2 * arb.pi() ** 2 * v).exp() - 1), SMOOTHED)


def _variance(
    l2: Fraction, scale: Number | None, rho: Number | None, variance: Number | None
) -> Fraction:
    if (scale, rho, variance).count(None) != 2:
        raise ValueError(
            f"give exactly one of scale, rho and variance; scale is {quoted(scale)}, rho is "
            f"{quoted(rho)} and variance is {quoted(variance)}"
        )
    if variance is not None:
        return positive(variance, "variance")
    if scale is not None:
        return positive(scale, "scale") ** 2
    if not l2 > 0:
        raise ValueError(f"give a scale; the statistic's l2 is 0, so rho={rho} implies none")
    return l2**2 / (2 * positive(rho, "rho"))
