"""Laws of sums of exact noise, with proven bounds on their tails, for intervals.

Proofs are in docs/theory.md, tails of counters. Reads no data.
"""

from fractions import Fraction
from functools import lru_cache
from math import cosh, exp, expm1, inf, log1p
from typing import Any

import attrs
from flint import arb

from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.losses.numbers import positive, round_up
from queryable.randomness.laws import FairBits, Law

_ONE = Fraction(1)
_NARROW = Fraction(1, 8)  # below this Chernoff's bound is used


def _each(values: Any, name: str) -> tuple[Fraction, ...]:
    return tuple(positive(each, name) for each in values)


def _variances(values: Any) -> tuple[Fraction, ...]:
    return _each(values, "variances")


def _scales(values: Any) -> tuple[Fraction, ...]:
    return _each(values, "scales")


@attrs.frozen(cache_hash=True)
class GaussianSum(Law[int]):
    """The sum of independent discrete Gaussians with these variances; 0 if there are none."""

    variances: tuple[Fraction, ...] = attrs.field(converter=_variances)

    def sample(self, source: FairBits) -> int:
        """One draw."""
        return sum(DiscreteGaussian(each).sample(source) for each in self.variances)

    def beyond(self, magnitude: int) -> Fraction:
        """The smaller of Chernoff's bound and a multiple of one discrete Gaussian's tail."""
        if not self.variances:
            return Fraction(0)
        whole = sum(self.variances, Fraction(0))
        near = min(self._excess() * DiscreteGaussian(whole).beyond(magnitude), _ONE)
        return min(near, chernoff(whole, Fraction(magnitude + 1)))

    def _excess(self) -> Fraction:
        """At least the largest ratio of the sum's probabilities to one discrete Gaussian's."""
        return _excess(self.variances)


@lru_cache(maxsize=256)
def _excess(variances: tuple[Fraction, ...]) -> Fraction:
    """The product of (1 + e)/(1 - e), e = 2q/(1 - q), q = exp(-2 pi^2 v w/(v + w)), for each sum.

    v is the variance so far and w the next one.
    """
    product, whole = _ONE, Fraction(0)
    for variance in sorted(variances, reverse=True):
        if whole:
            between = whole * variance / (whole + variance)
            if between < _NARROW:
                return Fraction(10**9)
            product *= round_up(_ratio, between)
        whole += variance
    return product


def _ratio(between: arb) -> arb:
    q = (-2 * arb.pi() ** 2 * between).exp()
    e = 2 * q / (1 - q)
    return (1 + e) / (1 - e)


def chernoff(variance: Fraction, least: Fraction) -> Fraction:
    """At least P(|X| >= least) for a sub-Gaussian X with this variance proxy."""
    if not least > 0:
        return _ONE
    return min(_ONE, round_up(lambda v, x: 2 * (-x * x / (2 * v)).exp(), variance, least))


@attrs.frozen(cache_hash=True)
class LaplaceSum(Law[int]):
    """The sum of independent discrete Laplace draws with these scales; 0 if there are none."""

    scales: tuple[Fraction, ...] = attrs.field(converter=_scales)

    def sample(self, source: FairBits) -> int:
        """One draw."""
        return sum(DiscreteLaplace(each).sample(source) for each in self.scales)

    def beyond(self, magnitude: int) -> Fraction:
        """The tail, rounded up, if all scales are equal; else Chernoff's bound."""
        if not self.scales:
            return Fraction(0)
        if len(set(self.scales)) == 1:
            terms = len(self.scales)
            tail = round_up(
                lambda scale, least: _equal_tail(scale, least, terms),
                self.scales[0],
                magnitude + 1,
            )
        else:
            tail = self._chernoff(magnitude + 1)
        return min(tail, _ONE)

    def _chernoff(self, least: int) -> Fraction:
        """2 exp(-s least) E[e^(s X)] for some s: any s is valid, and the best of 64 is taken."""
        largest, scales = max(self.scales), [float(each) for each in self.scales]
        place = min(
            range(1, 64), key=lambda each: _exponent(each / 64 / float(largest), scales, least)
        )

        def bound(s: arb, x: arb, *each: arb) -> arb:
            product = 2 * (-s * x).exp()
            for scale in each:
                product /= 1 - _spread(scale) * (s.cosh() - 1)
            return product

        return round_up(bound, Fraction(place, 64) / largest, least, *self.scales)


def _spread(scale: arb) -> arb:
    """2p/(1 - p)^2 with p = exp(-1/scale): E[e^(sX)] = 1/(1 - this (cosh(s) - 1))."""
    return 1 / (2 * (1 / (2 * scale)).sinh() ** 2)


def _exponent(s: float, scales: list[float], least: int) -> float:
    """The logarithm of Chernoff's bound, about; it only chooses s."""
    try:
        terms = (2 * exp(-1 / each) / expm1(-1 / each) ** 2 * (cosh(s) - 1) for each in scales)
        return -s * least - sum(log1p(-each) for each in terms)
    except (ValueError, OverflowError, ZeroDivisionError):
        return inf


def _equal_tail(scale: arb, least: arb, terms: int) -> arb:
    """P(|X| >= least), for the sum of `terms` draws with one scale and an integer `least` >= 1.

    With p = exp(-1/scale), u = 1 - pz and q = p^2, the generating function of X >= 0 is
    (1 - p)^(2m) times the negative powers of u in u^-m (1 + q/(1 - q - u))^m. A power u^-i is a
    negative binomial law, whose tail is a finite sum.
    """
    p, m = (-1 / scale).exp(), terms
    fail = -((-1 / scale).expm1())
    free = -((-2 / scale).expm1())  # 1 - q
    weights = _weights(free, m)
    tail, whole = arb(0), arb(0)
    term, power = p**least, arb(1)
    for place in range(m):  # P(NB(place + 1) >= least), times fail^-(place + 1)
        tail += term
        term *= fail * (least + place) / (place + 1)
        power /= fail
        whole += weights[m - 1 - place] * tail * power
    return 2 * fail ** (2 * m) * whole


def _weights(free: arb, m: int) -> list[arb]:
    """The first m coefficients in u of ((1 - u)/(free - u))^m."""
    up = [arb(1), *[arb(0)] * (m - 1)]
    for place in range(1, m):
        up[place] = up[place - 1] * -(m - place + 1) / place
    down = [free**-m]
    for place in range(1, m):
        down.append(down[-1] * (m + place - 1) / (place * free))
    return [
        sum((up[one] * down[place - one] for one in range(place + 1)), arb(0)) for place in range(m)
    ]
