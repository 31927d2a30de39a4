"""Laws (probability distributions) of exact integer noise.

Their probabilities are irrational, and they are sampled from fair bits with integers alone. No
float is involved, so the sampler has exactly the law that the privacy claim is about. A few draws
are made one by one (`mechanisms.sampling.cks`), many at once by tickets
(`mechanisms.sampling.blocks`); the law is the same.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, ClassVar

import attrs
import numpy as np
from flint import arb

from mechanisms.sampling.blocks import LARGEST_SPREAD, Curve, Tickets
from mechanisms.sampling.cks import coin_exp, laplace
from queryable.losses.conversions import log_up
from queryable.losses.fields import read_epsilon
from queryable.losses.numbers import ball, exact, positive, round_down, round_up, sqrt_up
from queryable.randomness.intervals import Chance, Interval
from queryable.randomness.laws import FairBits, Law


def _exponent(value: Any) -> Fraction:
    return exact(value, "exponent")


def _scale(value: Any) -> Fraction:
    return positive(value, "scale")


def _variance(value: Any) -> Fraction:
    return positive(value, "variance")


@attrs.frozen
class BernoulliExp(Law[bool]):
    """True with probability exp(-exponent), for a rational exponent >= 0."""

    exponent: Fraction = attrs.field(converter=_exponent)

    def sample(self, source: FairBits) -> bool:
        """One draw (Algorithm 1)."""
        return coin_exp(self.exponent.numerator, self.exponent.denominator, source)


@attrs.frozen
class TruthfulAnswer(Law[bool]):
    """True with probability e^epsilon / (1 + e^epsilon): randomized response answers truthfully."""

    epsilon: Fraction = attrs.field(converter=read_epsilon)

    def sample(self, source: FairBits) -> bool:
        """One draw: True with weight 1 and False with weight exp(-epsilon)."""
        while True:
            if source.bits(1):
                return True
            if coin_exp(self.epsilon.numerator, self.epsilon.denominator, source):
                return False

    def outcomes(self) -> tuple[tuple[bool, Chance], ...]:
        """Both answers, with intervals that enclose their irrational probabilities."""
        return (
            (True, _enclosed(lambda e: 1 / (1 + (-e).exp()), self.epsilon)),
            (False, _enclosed(lambda e: 1 / (1 + e.exp()), self.epsilon)),
        )


_MANY = 256  # from so many draws on, tickets are faster than single draws
_STEEPEST = 10**20  # curves whose logarithm falls by more from 0 to 1 get no tickets
_SUMMED = 64  # up to this sigma, tails are summed term by term
_TABLES = 32  # laws whose tickets are cached, each at most half a megabyte


@lru_cache(maxsize=_TABLES)
def _tickets(curve: Curve) -> Tickets:
    return Tickets(curve)


class _BulkLaw(Law[int], Curve):
    """A law proportional to a curve of |x|."""

    drawn_ahead: ClassVar[bool] = True

    def sample_many(self, source: FairBits, count: int) -> np.ndarray[Any, Any]:
        """`count` independent draws. The method depends on the law and the count alone."""
        if count < _MANY or self.spread > LARGEST_SPREAD or self.fall(0) > _STEEPEST:
            return super().sample_many(source, count)
        return _tickets(self).draw(source, count)


@attrs.frozen(cache_hash=True)
class DiscreteLaplace(_BulkLaw):
    """The integers with probability proportional to exp(-|x| / scale), for a rational scale."""

    scale: Fraction = attrs.field(converter=_scale)

    def sample(self, source: FairBits) -> int:
        """One draw (Algorithm 2)."""
        return laplace(self.scale.numerator, self.scale.denominator, source)

    @property
    def laplace_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    @property
    def spread(self) -> int:
        """The scale."""
        return self.scale.__floor__()

    def height(self, magnitude: int) -> arb:
        """exp(-magnitude / scale)."""
        return (-magnitude / ball(self.scale)).exp()

    @property
    def bend(self) -> Fraction:
        """1 / scale^2, since f'' = f / scale^2."""
        return 1 / self.scale**2

    def fall(self, magnitude: int) -> Fraction:
        """1 / scale, for every magnitude."""
        return 1 / self.scale

    def beyond(self, magnitude: int) -> Fraction:
        """2 exp(-(magnitude + 1)/scale) / (1 + exp(-1/scale)), rounded up."""
        chance = round_up(
            lambda t, k: 2 * (-(k + 1) / t).exp() / (1 + (-1 / t).exp()), self.scale, magnitude
        )
        return min(chance, Fraction(1))

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction]:
        """Values up to where 2 exp(-|x|/scale) falls below the tail, and the tail.

        The mass of x is tanh(1/(2 scale)) exp(-|x|/scale); beyond k it is at most exp(-k/scale).
        """
        last = int(self.scale * log_up(2 / tail)) + 1
        chances = [
            _enclosed(lambda t, k=size: (1 / (2 * t)).tanh() * (-k / t).exp(), self.scale)
            for size in range(last + 1)
        ]
        return _two_sided(chances), tail


@attrs.frozen(cache_hash=True)
class DiscreteGaussian(_BulkLaw):
    """The integers with probability proportional to exp(-x^2 / (2 variance)).

    The true variance is a little below the parameter, which has this name in the paper.
    """

    variance: Fraction = attrs.field(converter=_variance)

    def sample(self, source: FairBits) -> int:
        """One draw (Algorithm 3): propose Laplace noise x at a scale near sigma.

        The proposal is kept with probability exp(-(|x| - variance/scale)^2 / (2 variance)).
        """
        top, bottom = self.variance.numerator, self.variance.denominator
        scale = isqrt(top // bottom) + 1
        denominator = 2 * top * bottom * scale * scale
        while True:
            candidate = laplace(scale, 1, source)
            distance = abs(candidate) * bottom * scale - top
            if coin_exp(distance * distance, denominator, source):
                return candidate

    @property
    def gaussian_variance(self) -> Fraction:
        """The parameter."""
        return self.variance

    @property
    def spread(self) -> int:
        """Sigma."""
        return isqrt(self.variance.__floor__())

    def height(self, magnitude: int) -> arb:
        """exp(-magnitude^2 / (2 variance))."""
        return (-magnitude * magnitude / (2 * ball(self.variance))).exp()

    @property
    def bend(self) -> Fraction:
        """1 / variance: |f''| = |x^2 / variance - 1| f / variance is largest at 0."""
        return 1 / self.variance

    def fall(self, magnitude: int) -> Fraction:
        """(2 magnitude + 1) / (2 variance)."""
        return (2 * magnitude + 1) / (2 * self.variance)

    def beyond(self, magnitude: int) -> Fraction:
        """The mass beyond a magnitude, rounded up.

        Summed term by term if sigma is small, else bounded by the integral of the curve f. By
        Poisson's summation formula all terms together are sqrt(2 pi v) (1 + 2q + 2q^4 + ...), with
        q = exp(-2 pi^2 v). Beyond sigma f is convex, so each term is at most its integral over
        [x - 1/2, x + 1/2]. Within sigma f is concave, and each term is at least that integral
        (Hermite, Hadamard).
        """
        if self.spread <= _SUMMED:
            return self._summed_beyond(magnitude)
        if (2 * magnitude + 1) ** 2 >= 4 * self.variance:
            return round_up(lambda v, k: _edge(v, k).erfc(), self.variance, magnitude)

        def mass_inside(v: arb, k: arb) -> arb:
            q = (-2 * arb.pi() ** 2 * v).exp()
            return _edge(v, k).erf() / (1 + 2 * q / (1 - q))

        return 1 - round_down(mass_inside, self.variance, magnitude)

    def _summed_beyond(self, magnitude: int) -> Fraction:
        first, last = magnitude + 1, magnitude + 12 * self.spread + 12

        def tail(v: arb) -> arb:
            term, ratio = (-first * first / (2 * v)).exp(), (-(2 * first + 1) / (2 * v)).exp()
            step, whole = (-1 / v).exp(), arb(0)
            for _ in range(first, last):
                whole += term
                term, ratio = term * ratio, ratio * step
            return 2 * (whole + term / (1 - ratio))

        def near(v: arb) -> arb:
            return 1 + 2 * sum(((-x * x / (2 * v)).exp() for x in range(1, 9)), arb(0))

        def poisson(v: arb) -> arb:
            return (2 * arb.pi() * v).sqrt() * (1 + 2 * (-2 * arb.pi() ** 2 * v).exp())

        least = max(round_down(near, self.variance), round_down(poisson, self.variance))
        return min(round_up(tail, self.variance) / least, Fraction(1))

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction]:
        """Values up to some k, and the tail.

        k is such that 4 exp(-k^2/(2 variance)) (1 + sqrt(variance)) is below the tail. That bounds
        the sum of the terms beyond k: they fall at least as fast as the integral of the curve,
        which is at most sqrt(pi/2) sigma times its height there. All terms sum to more than 1,
        which is the middle one, so it bounds their mass too.
        """
        sigma = sqrt_up(self.variance)
        last = (
            int(sqrt_up(2 * self.variance * log_up(max(Fraction(1), 4 * (1 + sigma) / tail)))) + 1
        )
        terms = [
            _enclosed(lambda v, k=size: (-(k * k) / (2 * v)).exp(), self.variance)
            for size in range(last + 1)
        ]
        least = 2 * sum(term.low for term in terms) - terms[0].high
        most = 2 * sum(term.high for term in terms) - terms[0].low + tail
        chances = [Interval(term.low / most, term.high / least) for term in terms]
        return _two_sided(chances), tail


def _edge(v: arb, k: arb) -> arb:
    """k + 1/2, in units in which the curve is exp(-x^2)."""
    return (k + arb(0.5)) / (2 * v).sqrt()


def _enclosed(formula: Callable[..., arb], *arguments: Fraction) -> Interval:
    return Interval(round_down(formula, *arguments), round_up(formula, *arguments))


def _two_sided(chances: Sequence[Chance]) -> tuple[tuple[int, Chance], ...]:
    """The chances of 0, 1, 2, ..., repeated for -1, -2, ..."""
    return tuple(
        (sign * size, chance)
        for size, chance in enumerate(chances)
        for sign in ((1, -1) if size else (1,))
    )
