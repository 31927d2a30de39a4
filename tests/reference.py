"""Reference values at 60 digits, which the tests of rounding compare with.

The functions follow the papers' definitions and do not use the code under test. A *hockey stick* at
e^t is the hockey-stick divergence sup P(S) - e^t Q(S), which is the least delta at epsilon = t.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath

DIGITS = 60

mp = mpmath.mp.clone()
mp.dps = DIGITS
"""A separate mpmath context, so that no test changes the precision of another."""


def real(value: Any) -> Any:
    """Convert a value exactly to a rational, and round that to 60 digits."""
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def likelier(epsilon: Any) -> Any:
    """The probability e^epsilon/(1 + e^epsilon) that randomized response tells the truth."""
    return 1 / (1 + mp.exp(-real(epsilon)))


def over(loss: Any) -> Any:
    """(1 - e^loss)+, the hockey stick at e^loss of two equal distributions."""
    return -mp.expm1(loss) if loss < 0 else mp.mpf(0)


def gaussian_profile(mu: Any, t: Any) -> Any:
    """The hockey stick of N(mu,1) against N(0,1) at e^t, for any real t."""
    m, at = mu if isinstance(mu, mp.mpf) else real(mu), mp.mpf(t)
    if m == 0:
        return over(at)
    return mp.ncdf(-at / m + m / 2) - mp.exp(at) * mp.ncdf(-at / m - m / 2)


def response_profile(epsilon: Any, t: Any) -> Any:
    """The hockey stick of randomized response at e^t."""
    p, e, at = likelier(epsilon), real(epsilon), mp.mpf(t)
    return p * over(at - e) + (1 - p) * over(at + e)


def beside_response(epsilon: Any, profile: Any, t: Any) -> Any:
    """The hockey stick at e^t of randomized response composed with a pair that has this profile."""
    p, e, at = likelier(epsilon), real(epsilon), mp.mpf(t)
    return p * profile(at - e) + (1 - p) * profile(at + e)


def response_renyi(epsilon: Any, alpha: Any) -> Any:
    """The Renyi divergence of randomized response."""
    p, a = likelier(epsilon), real(alpha)
    q = 1 - p
    return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)


def root(falls: Callable[[Any], Any], low: Any, high: Any, halvings: int = 220) -> Any:
    """Bisect for the zero of a decreasing function; returns the upper end of the last interval."""
    low, high = mp.mpf(low), mp.mpf(high)
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return high


def lowest(of: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The minimum of a unimodal function, by ternary search."""
    low, high = mp.mpf(low), mp.mpf(high)
    for _ in range(110):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if of(left) < of(right) else (left, high)
    return of((low + high) / 2)


# Conversions. All arguments are reals of `mp`.


def rdp_epsilon(alpha: Any, loss: Any, delta: Any) -> Any:
    """Canonne, Kamath, Steinke 2020, Proposition 12, without the maximum with zero."""
    return loss + mp.log1p(-1 / alpha) - mp.log(delta * alpha) / (alpha - 1)


def renyi_allowed(alpha: Any, delta: Any, epsilon: Any) -> Any:
    """The largest loss of one order at which no two outcomes exceed (epsilon, delta)."""

    def divergence(odds: Any) -> Any:
        x = mp.exp(odds)
        p, q = (delta + x) / (1 + x), x * (1 - delta) / (1 + x) * mp.exp(-epsilon)
        rest = (1 - delta) / (1 + x)
        moment = p**alpha * q ** (1 - alpha) + rest**alpha * (1 - q) ** (1 - alpha)
        return mp.log(moment) / (alpha - 1)

    return lowest(divergence, mp.log(delta) - 30, 30)


def zcdp_epsilon(rho: Any, delta: Any) -> Any:
    """`rdp_epsilon` at the loss rho*alpha and the best alpha, at least zero."""

    def bound(log_excess: Any) -> Any:
        alpha = 1 + mp.exp(log_excess)
        return rdp_epsilon(alpha, rho * alpha, delta)

    return max(mp.mpf(0), lowest(bound, -15, 30))


def zcdp_capacity(epsilon: Any, delta: Any) -> Any:
    """The largest rho whose `zcdp_epsilon` is at most epsilon."""

    def minus_rho(log_excess: Any) -> Any:
        alpha = 1 + mp.exp(log_excess)
        return (rdp_epsilon(alpha, 0, delta) - epsilon) / alpha

    return -lowest(minus_rho, -15, 40)


def laplace_zcdp(width: Any, scale: Any) -> Any:
    """The zCDP of integer Laplace noise of this scale for a statistic of sensitivity `width`."""
    s = 1 / scale
    return width * s + mp.expm1(-width * s) * s / mp.sinh(s)


# Boundaries of time-uniform odometers. Arguments are V = 2*rho, delta and the rule's parameter.


def linear(v: Any, d: Any, target: Any) -> Any:
    """Whitehouse et al. 2023, Theorem 3, with y* corrected."""
    log = mp.log(1 / d)
    y = (mp.sqrt(2 * log + 2 * target) - mp.sqrt(2 * log)) ** 2
    return mp.sqrt(2 * y * log) / 2 + mp.sqrt(2 * log / y) * v / 2 + v / 2


def mixture(v: Any, d: Any, gamma: Any) -> Any:
    """The mixture boundary of the same theorem."""
    return mp.sqrt(2 * (v + gamma) * mp.log(mp.sqrt((v + gamma) / gamma) / d)) + v / 2


def one_sided(v: Any, d: Any, gamma: Any, halvings: int = 260) -> Any:
    """The mixture over positive slopes only, as the root of its defining equation."""
    w = v + gamma

    def lacking(s: Any) -> Any:
        cdf = mp.erfc(-s / mp.sqrt(2 * w)) / 2
        return -mp.log(2 * mp.sqrt(gamma / w) * cdf * d) - s * s / (2 * w)

    return root(lacking, 0, mixture(v, d, gamma) - v / 2, halvings) + v / 2


def stitched(v: Any, d: Any, v0: Any) -> Any:
    """The stitched boundary, constant below v0."""
    w = max(v, v0)
    inner = mp.log(mp.log(2 * w / v0)) + mp.mpf("0.72") * mp.log(mp.mpf("5.2") / d)
    return mp.mpf("1.7") * mp.sqrt(w * inner) + v / 2


def rogers(v: Any, d: Any, n: Any) -> Any:
    """Rogers et al. 2016, Theorem 6.5."""
    if 1 / n**2 <= v <= 1:
        inside = mp.log(110 * mp.e) + 2 * mp.log(mp.log(n) / d)
        return v / 2 + mp.sqrt(2 * v * inside)
    spread = 2 * (1 / n**2 + v) * (1 + mp.log(1 + n**2 * v) / 2)
    return v / 2 + mp.sqrt(spread * mp.log(4 * mp.log(n, 2) / d))


def lemma_64(v: Any, d: Any, x: Any) -> Any:
    """Rogers et al. 2016, Lemma 6.4."""
    spread = 2 * (v + x) * (1 + mp.log(v / x + 1) / 2)
    return v / 2 + mp.sqrt(spread * mp.log(2 / d))


# Worst cases.


def menu_worst_case(
    epsilon: Fraction, step: Fraction, priced: Mapping[int, int], units: int
) -> Any:
    """The worst-case delta of the menu filter by its exact recursion, on an unbounded lattice."""

    @cache
    def worst(left: int, level: int) -> Any:
        best = over(real(epsilon - level * step))
        for move, cost in priced.items():
            if cost <= left:
                p = likelier(move * step)
                up, down = worst(left - cost, level + move), worst(left - cost, level - move)
                best = max(best, p * up + (1 - p) * down)
        return best

    return worst(units, 0)
