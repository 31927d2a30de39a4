"""The noise of a Toeplitz counter's answers, and its tails.

At step t of an epoch the counter releases (Cx)_t with discrete Gaussian noise N_t on a lattice. The
noise of a running sum is that of B = A C^-1 applied to what was released: (BN)_t, rounded.
`coefficients` says what the matrices are. Reads no data.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
from flint import arb

from mechanisms.counters.coefficients import LATTICE, running_sum, sum_of_squares
from mechanisms.counters.epochs import Epoch, parts
from mechanisms.counters.sums import chernoff
from mechanisms.sampling.laws import DiscreteGaussian
from queryable.losses.numbers import at_least_one, natural, positive, round_up
from queryable.randomness.laws import FairBits, Law

_ONE = Fraction(1)
_CONTINUOUS = 1 << 20  # from this variance on, in units of the lattice, a Gaussian is close enough
_MOVED = 4  # the part of that variance that moves a continuous Gaussian to the lattice


def step_variance(unit: Fraction, epoch: Epoch) -> Fraction:
    """The variance of each N_t of an epoch: `unit` times the sum of squares of its c_k."""
    return unit * sum_of_squares(epoch.length)


def step_law(unit: Fraction, epoch: Epoch) -> DiscreteGaussian:
    """The law of each N_t of an epoch, in units of 2**-LATTICE."""
    return DiscreteGaussian(step_variance(unit, epoch) * (1 << (2 * LATTICE)))


def noise_at(noise: Sequence[int]) -> int:
    """The noise of a running sum, from all N_t of its epoch so far, in units of 2**-LATTICE."""
    return running_sum(len(noise)).of(noise) if noise else 0


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
        total = 0
        for epoch, start, end in parts(self.start, self.end, self.horizon):
            law = step_law(self.unit, epoch)
            noise = law.sample_many(source, end).tolist()
            total += noise_at(noise) - noise_at(noise[:start])
        return total

    def variance(self) -> Fraction:
        """The variance of the noise, rounded up, without that of rounding."""
        return _variance(self)

    def beyond(self, magnitude: int) -> Fraction:
        """The smaller of Chernoff's bound and one from continuous Gaussians."""
        if not self.start < self.end:
            return Fraction(0)
        variance, touched = _variance(self), list(parts(self.start, self.end, self.horizon))
        rounded = sum(2 if start else 1 for _, start, _ in touched)  # each by at most 1/2
        least = magnitude + 1 - Fraction(rounded, 2)
        tail = chernoff(variance, least)
        narrowest = min(step_law(self.unit, epoch).variance for epoch, *_ in touched)
        if not narrowest >= _CONTINUOUS or not least > 0:
            return tail
        terms = sum(end for *_, end in touched)
        return min(tail, round_up(_continuous, variance, least, narrowest, terms))


@lru_cache(maxsize=1024)
def _variance(law: ToeplitzNoise) -> Fraction:
    return sum(
        (
            step_variance(law.unit, epoch)
            * running_sum(end).most(end, end - start if start else None)
            for epoch, start, end in parts(law.start, law.end, law.horizon)
        ),
        Fraction(0),
    )


def _continuous(variance: arb, least: arb, narrowest: arb, terms: arb) -> arb:
    """F^n (erfc((x - y) / sqrt(2 v)) + 2 F^n exp(-128)), y = 16 sqrt(4 v / narrowest).

    F = (1 + k)/(1 - k), where k is 2 (q + q^4 + ...) at q = exp(-8 pi^2).
    """
    q = (-2 * arb.pi() ** 2 * _MOVED).exp()
    k = 2 * q / (1 - q)
    ratio = ((1 + k) / (1 - k)) ** terms
    moved = 16 * (_MOVED * variance / narrowest).sqrt()
    return ratio * (((least - moved) / (2 * variance).sqrt()).erfc() + 2 * ratio * arb(-128).exp())
