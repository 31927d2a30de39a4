"""The theorems that turn one privacy loss into another, each rounded against the analyst.

Responsible for formulas on exact rationals (docs/theory.md, conversions). Knows no `Loss` class.
Arguments are Fractions, natural logarithms throughout; every result is at or above the true bound.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, log, log1p

from flint import arb

from queryable.losses.numbers import round_down, round_up

_remember = lru_cache(maxsize=4096)

_ENDLESS = 2**64
"""Where a search for the greatest stops: nothing worth having is beyond."""


@_remember
def pure_to_zcdp(epsilon: Fraction) -> Fraction:
    """epsilon*tanh(epsilon/2): the KL divergence of randomized response, tight."""
    return round_up(lambda e: e * (e / 2).tanh(), epsilon)


@_remember
def pure_to_rdp(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """The Renyi divergence of order alpha of randomized response at epsilon, tight."""

    def divergence(e: arb, a: arb) -> arb:
        # log of sigma(e)^a sigma(-e)^(1-a) + sigma(-e)^a sigma(e)^(1-a), over a - 1
        up, down = -(-e).exp().log1p(), -(e.exp().log1p())
        moment = (a * up + (1 - a) * down).exp() + (a * down + (1 - a) * up).exp()
        return moment.log() / (a - 1)

    return min(round_up(divergence, epsilon, alpha), epsilon)


@_remember
def pure_to_gdp(epsilon: Fraction) -> Fraction:
    """mu = 2*Phi^-1(e^eps / (1 + e^eps)): randomized response lies above G_mu."""

    def mu(e: arb) -> arb:
        # Phi^-1(p) = sqrt(2) erfcinv(2(1 - p)): in this form exact for large epsilon too
        return 2 * arb(2).sqrt() * (2 / (1 + e.exp())).erfcinv()

    return round_up(mu, epsilon)


@_remember
def zcdp_to_approx(rho: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon over all orders of the conversion of (alpha, rho*alpha)-RDP.

    Any order gives a valid bound, so the best one is looked for in floats and then used exactly.
    """
    if rho == 0 or distance_squared(rho) <= delta * delta:
        return Fraction(0)
    log_delta = log(delta.numerator) - log(delta.denominator)
    alpha = _best_order(float(min(rho, Fraction(10**100))), log_delta)
    return rdp_to_approx(alpha, rho * alpha, delta)


def _best_order(rho: float, log_delta: float) -> Fraction:
    from scipy.optimize import minimize_scalar

    def bound(log_excess: float) -> float:
        excess = exp(log_excess)
        alpha = 1 + excess
        return rho * alpha + log1p(-1 / alpha) - (log_delta + log(alpha)) / excess

    best = minimize_scalar(bound, bounds=(-14, 40), method="bounded", options={"xatol": 1e-12})
    return 1 + Fraction(exp(best.x))


@_remember
def largest_zcdp(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho (from below) that gives (epsilon, delta)-DP by that conversion.

    At a fixed order the conversion is rho*alpha + constant; the best order is looked for in floats.
    A rho that keeps the total variation distance within delta gives any epsilon.
    """
    from scipy.optimize import minimize_scalar

    log_delta = log(delta.numerator) - log(delta.denominator)
    aim = float(min(epsilon, Fraction(10**100)))

    def minus_rho(log_excess: float) -> float:
        excess = exp(log_excess)
        alpha = 1 + excess
        constant = log1p(-1 / alpha) - (log_delta + log(alpha)) / excess
        return (constant - aim) / alpha

    best = minimize_scalar(minus_rho, bounds=(-14, 40), method="bounded", options={"xatol": 1e-12})
    order = 1 + Fraction(exp(best.x))

    def rho(a: arb, e: arb, d: arb) -> arb:
        return (e - (1 - 1 / a).log() + (d * a).log() / (a - 1)) / a

    return max(2 * delta * delta, round_down(rho, order, epsilon, delta))


@_remember
def distance_squared(divergence: Fraction) -> Fraction:
    """The square of the total variation distance that a KL divergence allows, from above.

    KL/2 (Pinsker) and 1 - e^-KL (Bretagnolle, Huber 1979). Renyi divergences of every order above 1
    are at least KL.
    """
    return min(divergence / 2, round_up(lambda r: -(-r).expm1(), divergence))


@_remember
def rdp_to_approx(alpha: Fraction, loss: Fraction, delta: Fraction) -> Fraction:
    """r + log(1 - 1/alpha) - log(delta*alpha)/(alpha - 1) (Canonne et al. 2020, Prop 12).

    0 where the total variation distance, which is the least delta at epsilon = 0, is within delta.
    """
    if distance_squared(loss) <= delta * delta:
        return Fraction(0)
    return max(
        Fraction(0),
        round_up(
            lambda a, r, d: r + (1 - 1 / a).log() - (d * a).log() / (a - 1), alpha, loss, delta
        ),
    )


def normal_below(x: arb) -> arb:
    """Phi(x), accurate in both tails."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gdp_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of mu-GDP: Phi(-eps/mu + mu/2) - e^eps * Phi(-eps/mu - mu/2)."""
    if mu == 0:
        return Fraction(0)

    def delta(m: arb, e: arb) -> arb:
        return normal_below(m / 2 - e / m) - e.exp() * normal_below(-m / 2 - e / m)

    return min(Fraction(1), round_up(delta, mu, epsilon))


@_remember
def gdp_to_approx(mu: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon (from above) with delta(epsilon) <= delta."""
    return least(lambda epsilon: gdp_delta(mu, epsilon) <= delta)


@_remember
def largest_gdp(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu (from below) that gives (epsilon, delta)-DP."""
    return greatest(lambda mu: gdp_delta(mu, epsilon) <= delta)


def least(holds: Callable[[Fraction], bool], start: Fraction = Fraction(1)) -> Fraction:
    """A value where `holds` is true, within 2**-60 of the least; `holds` is false, then true."""
    if holds(Fraction(0)):
        return Fraction(0)
    low, high = Fraction(0), start
    while not holds(high):
        low, high = high, 2 * high
    while not high - low <= high / 2**60:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def greatest(holds: Callable[[Fraction], bool], start: Fraction = Fraction(1)) -> Fraction:
    """A value within 2**-60 of the greatest where `holds`, which is true, then false; else 0."""
    low, high = Fraction(0), start
    while high < _ENDLESS and holds(high):
        low, high = high, 2 * high
    for _ in range(400):
        if high - low <= low / 2**60:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@_remember
def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """delta of (epsilon, delta)-DP for `size` records: delta*(e^(k eps) - 1)/(e^eps - 1)."""
    if epsilon == 0:
        return min(Fraction(1), size * delta)
    if delta > 0 and (size - 1) * epsilon >= log_up(1 / delta):
        return Fraction(1)  # the formula is at least delta*e^((k-1) eps), which may be astronomic
    grown = round_up(lambda e, d: d * (size * e).expm1() / e.expm1(), epsilon, delta)
    return min(Fraction(1), grown)


@_remember
def discrete_laplace_to_zcdp(sensitivity: Fraction, scale: Fraction) -> Fraction:
    """zCDP of integer Laplace noise: eps - (1 - e^-eps)*s/sinh(s), s = 1/scale, eps = width*s.

    Convex in the width (the sensitivity) and zero at zero, so the bound for a vector, whose
    coordinates move by integers that sum to at most the width, is the bound for one coordinate
    moving by all.
    The smaller formula for continuous noise does not hold on the integers.
    """
    if sensitivity == 0:
        return Fraction(0)

    def rho(width: arb, b: arb) -> arb:
        s = 1 / b
        return width * s - (-(-width * s).expm1()) * s / s.sinh()

    return round_up(rho, sensitivity, scale)


@_remember
def log_up(value: Fraction) -> Fraction:
    """The natural logarithm of a rational >= 1, from above."""
    return round_up(arb.log, value)


@_remember
def log_down(value: Fraction) -> Fraction:
    """The natural logarithm of a rational >= 1, from below."""
    return round_down(arb.log, value)
