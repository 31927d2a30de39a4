"""The noise of a Toeplitz counter's answers, and its tails.

At step t the counter releases (Cx)_t with discrete Gaussian noise N_t on a lattice. The noise of a
running sum is that of B = A C^-1 applied to what was released: (BN)_t, rounded. `roots` says what
the matrices are. Reads no data.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
from flint import arb

from mechanisms.counters.coefficients import running_sum
from mechanisms.counters.roots import LATTICE, sum_of_squares
from mechanisms.counters.sums import chernoff
from mechanisms.sampling.laws import DiscreteGaussian
from queryable.losses.numbers import at_least_one, natural, positive, round_up
from queryable.randomness.laws import FairBits, Law

_ONE = Fraction(1)
_CONTINUOUS = 1 << 20  # from this variance on, in units of the lattice, a Gaussian is close enough
_MOVED = 4  # the part of that variance that moves a continuous Gaussian to the lattice


def step_variance(unit: Fraction, horizon: int | None) -> Fraction:
    """The variance of each N_t: `unit` times the sum of squares of the c_k."""
    return unit * sum_of_squares(horizon)


def step_law(unit: Fraction, horizon: int | None) -> DiscreteGaussian:
    """The law of each N_t, in units of 2**-LATTICE."""
    return DiscreteGaussian(step_variance(unit, horizon) * (1 << (2 * LATTICE)))


def noise_at(noise: Sequence[int], horizon: int | None) -> int:
    """The noise of a running sum, from all N_t so far, in units of 2**-LATTICE."""
    return running_sum(len(noise), horizon is None).of(noise) if noise else 0


def _unit(value: Any) -> Fraction:
    return positive(value, "unit")


def _horizon(value: Any) -> int | None:
    return None if value is None else at_least_one(value, "horizon")


def _natural(value: Any) -> int:
    return natural(value, "step")


@attrs.frozen(cache_hash=True)
class ToeplitzNoise(Law[int]):
    """The noise of a Toeplitz counter's sum over steps `start` + 1 to `end`.

    Args:
        unit: l2^2 / (2 rho).
        horizon: of the counter.
    """

    unit: Fraction = attrs.field(converter=_unit)
    horizon: int | None = attrs.field(converter=_horizon)
    start: int = attrs.field(converter=_natural)
    end: int = attrs.field(converter=_natural)

    def __attrs_post_init__(self) -> None:
        """Check that the steps are in order, and before the horizon.

        Raises:
            ValueError: they are not.
        """
        if not self.start <= self.end or (self.horizon is not None and self.end > self.horizon):
            raise ValueError(
                f"start is {self.start} and end is {self.end}; they should be in order, and within "
                f"the horizon {self.horizon}"
            )

    def sample(self, source: FairBits) -> int:
        """One draw."""
        noise = step_law(self.unit, self.horizon).sample_many(source, self.end).tolist()
        return noise_at(noise, self.horizon) - noise_at(noise[: self.start], self.horizon)

    def variance(self) -> Fraction:
        """The variance of the noise, rounded up, without that of rounding."""
        return _variance(self)

    def beyond(self, magnitude: int) -> Fraction:
        """The smaller of Chernoff's bound and one from continuous Gaussians."""
        if not self.start < self.end:
            return Fraction(0)
        variance, narrowest = _variance(self), step_law(self.unit, self.horizon).variance
        rounded = 2 if self.start else 1  # totals, each by at most 1/2
        least = magnitude + 1 - Fraction(rounded, 2)
        tail = chernoff(variance, least)
        if not narrowest >= _CONTINUOUS or not least > 0:
            return tail
        return min(tail, round_up(_continuous, variance, least, narrowest, self.end))


@lru_cache(maxsize=1024)
def _variance(law: ToeplitzNoise) -> Fraction:
    if not law.start < law.end:
        return Fraction(0)
    running = running_sum(law.end, law.horizon is None)
    last = law.end - law.start if law.start else None
    return step_variance(law.unit, law.horizon) * running.most(law.end, last)


def _continuous(variance: arb, least: arb, narrowest: arb, terms: arb) -> arb:
    """F^n (erfc((x - y) / sqrt(2 v)) + 2 F^n exp(-128)), y = 16 sqrt(4 v / narrowest).

    F = (1 + k)/(1 - k), where k is 2 (q + q^4 + ...) at q = exp(-8 pi^2).
    """
    q = (-2 * arb.pi() ** 2 * _MOVED).exp()
    k = 2 * q / (1 - q)
    ratio = ((1 + k) / (1 - k)) ** terms
    moved = 16 * (_MOVED * variance / narrowest).sqrt()
    return ratio * (((least - moved) / (2 * variance).sqrt()).erfc() + 2 * ratio * arb(-128).exp())
