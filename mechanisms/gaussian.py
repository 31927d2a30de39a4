"""The Gaussian mechanism on the integers (Canonne, Kamath, Steinke 2020)."""

from fractions import Fraction
from math import isqrt
from typing import Any

import attrs

from mechanisms.additive import drawing, integer_statistic, is_entry, noisy
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.sampling.noise_curves import gaussian_curve, moves_one_number
from queryable.answers.noisy import Noise, NoisyArray, NoisyInt
from queryable.effort import Effort
from queryable.events.laws import GaussianEvent, Sensitivity
from queryable.losses import FDP, GDP, ZCDP, Dominated, Loss, Measure
from queryable.losses.conversions import discrete_gaussian_to_gdp
from queryable.losses.numbers import Number, natural, positive
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic
from queryable.streams.contributions import PerRecord
from queryable.wording.quoting import quoted


@attrs.frozen(init=False)
class Gaussian(Measurement[NoisyInt | NoisyArray]):
    """An integer statistic with exact discrete Gaussian noise on each coordinate.

    Answers a `NoisyInt`, or a read-only `NoisyArray` if the statistic has a shape. Both have
    `.interval(confidence)`.

    Privacy:
        Claim: ZCDP((l2 * d_in)^2 / (2 variance)); RDP and (epsilon, delta) by conversion. In
            Gaussian DP, in `Dominated` and as a trade-off curve, mu = l2 * d_in * m, where m is
            about 1/sigma + 1/(24 sigma^3): discrete Gaussian noise is not mu-GDP for the mu of the
            continuous Gaussian, l2 * d_in / sigma.
        Theorem: Canonne, Kamath, Steinke 2020, Theorem 14 (several coordinates, any shift by
            integers of that L2 norm); docs/theory.md, the Gaussian DP of integer noise.
        Assumes: the statistic's declared `l2`.
        Checked by: tests/unit/mechanisms/test_additive.py

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
        """The loss at `d_in` records; in Gaussian DP and what it converts to, the noise's own."""
        if measure is None or not any(measure is each for each in (GDP, Dominated, FDP)):
            return super().privacy_map(d_in, measure)
        moved = self.statistic.l2 * natural(d_in, "d_in")
        if measure is FDP and moves_one_number(self.statistic, moved):
            curve = gaussian_curve(self.variance, int(moved))
            if curve is not None:
                return curve
        return GDP(moved * discrete_gaussian_to_gdp(self.variance)).to(measure)

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

    @property
    def answer_unit(self) -> Fraction | None:
        """The step of the statistic."""
        return self.statistic.step

    def events(self) -> tuple[GaussianEvent]:
        """The noise, with the statistic's sensitivities."""
        return (GaussianEvent(self.variance, Sensitivity.of(self.statistic)),)

    def added_noise(self) -> Noise:
        """Discrete Gaussian noise of the same variance on each coordinate."""
        return Noise(DiscreteGaussian(self.variance), self.statistic.shape)


def _variance(
    l2: Fraction, scale: Number | None, rho: Number | None, variance: Number | None
) -> Fraction:
    if sum(each is None for each in (scale, rho, variance)) != 2:
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
