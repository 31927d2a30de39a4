"""Exact integer noise (Canonne, Kamath, Steinke 2020, section 5).

Responsible for sampling laws whose probabilities are irrational from fair bits, with integers
alone: no float, so what a mechanism claims is what its sampler does. Knows no mechanism.

Theory of operation: exp(-x) for x in [0, 1] is the probability that the first k for which a coin
of probability x/k shows tails is odd. Everything else is accepted or rejected by such coins. How
long a draw takes depends on the draw.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import attrs
from flint import arb

from queryable.coins import FairBits, Law
from queryable.conversions import log_up
from queryable.intervals import Chance, Interval
from queryable.numbers import exact, positive, round_down, round_up, sqrt_up


def _exponent(value: Any) -> Fraction:
    return exact(value, "exponent")


def _scale(value: Any) -> Fraction:
    return positive(value, "scale")


def _variance(value: Any) -> Fraction:
    return positive(value, "variance")


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


@attrs.frozen
class BernoulliExp(Law[bool]):
    """True with probability exp(-exponent), for a rational exponent >= 0."""

    exponent: Fraction = attrs.field(converter=_exponent)

    def sample(self, source: FairBits) -> bool:
        """One draw (Algorithm 1)."""
        return _coin_exp(self.exponent.numerator, self.exponent.denominator, source)


@attrs.frozen
class TruthfulAnswer(Law[bool]):
    """True with probability e^epsilon / (1 + e^epsilon): randomized response tells the truth."""

    epsilon: Fraction = attrs.field(converter=_epsilon)

    def sample(self, source: FairBits) -> bool:
        """One draw: of true with weight 1 and false with weight exp(-epsilon)."""
        while True:
            if source.bits(1):
                return True
            if _coin_exp(self.epsilon.numerator, self.epsilon.denominator, source):
                return False

    def outcomes(self) -> tuple[tuple[bool, Chance], ...]:
        """Both answers; their probabilities are irrational, and enclosed."""
        return (
            (True, _enclosed(lambda e: 1 / (1 + (-e).exp()), self.epsilon)),
            (False, _enclosed(lambda e: 1 / (1 + e.exp()), self.epsilon)),
        )


@attrs.frozen
class DiscreteLaplace(Law[int]):
    """The integers with probability proportional to exp(-|x| / scale), for a rational scale."""

    scale: Fraction = attrs.field(converter=_scale)

    def sample(self, source: FairBits) -> int:
        """One draw (Algorithm 2)."""
        return _laplace(self.scale.numerator, self.scale.denominator, source)

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction]:
        """Values up to where 2 exp(-|x|/scale) falls below the tail.

        The mass of x is tanh(1/(2 scale)) exp(-|x|/scale); beyond k it is at most exp(-k/scale).
        """
        last = int(self.scale * log_up(2 / tail)) + 1
        chances = [
            _enclosed(lambda t, k=size: (1 / (2 * t)).tanh() * (-k / t).exp(), self.scale)
            for size in range(last + 1)
        ]
        return _two_sided(chances), tail


@attrs.frozen
class DiscreteGaussian(Law[int]):
    """The integers with probability proportional to exp(-x^2 / (2 variance)).

    The true variance is a little below the parameter, which is called so as in the paper.
    """

    variance: Fraction = attrs.field(converter=_variance)

    def sample(self, source: FairBits) -> int:
        """One draw (Algorithm 3): Laplace noise x at a scale near sigma, corrected.

        It is kept with probability exp(-(|x| - variance/scale)^2 / (2 variance)).
        """
        top, bottom = self.variance.numerator, self.variance.denominator
        scale = isqrt(top // bottom) + 1
        denominator = 2 * top * bottom * scale * scale
        while True:
            candidate = _laplace(scale, 1, source)
            distance = abs(candidate) * bottom * scale - top
            if _coin_exp(distance * distance, denominator, source):
                return candidate

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction]:
        """Values up to k with 4 exp(-k^2/(2 variance)) (1 + sqrt(variance)) below the tail.

        That bounds the terms beyond k: they fall at least as fast as the integral of the curve,
        which is within sqrt(pi/2) sigma of its height there. Against all terms, which sum to more
        than 1 (the middle one alone), it bounds their mass.
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


def _enclosed(formula: Callable[..., arb], *arguments: Fraction) -> Interval:
    return Interval(round_down(formula, *arguments), round_up(formula, *arguments))


def _two_sided(chances: Sequence[Chance]) -> tuple[tuple[int, Chance], ...]:
    """The chances of 0, 1, 2, ... also for -1, -2, ..."""
    return tuple(
        (sign * size, chance)
        for size, chance in enumerate(chances)
        for sign in ((1, -1) if size else (1,))
    )


def _coin_exp(numerator: int, denominator: int, source: FairBits) -> bool:
    while numerator > denominator:
        if not _coin_exp_to_one(1, 1, source):
            return False
        numerator -= denominator
    return _coin_exp_to_one(numerator, denominator, source)


def _coin_exp_to_one(numerator: int, denominator: int, source: FairBits) -> bool:
    """True with probability exp(-numerator/denominator), for a ratio in [0, 1]."""
    k = 1
    while source.below(k * denominator) < numerator:
        k += 1
    return k % 2 == 1


def _laplace(top: int, bottom: int, source: FairBits) -> int:
    """Discrete Laplace of scale top/bottom.

    remainder + top*quotient is geometric at scale `top`; divided by `bottom`, rounded down, it is
    geometric at scale top/bottom. A random sign makes it two-sided, where zero may come but once.
    """
    while True:
        remainder = source.below(top)
        if not _coin_exp_to_one(remainder, top, source):
            continue
        quotient = 0
        while _coin_exp_to_one(1, 1, source):
            quotient += 1
        magnitude = (remainder + top * quotient) // bottom
        negative = source.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude
