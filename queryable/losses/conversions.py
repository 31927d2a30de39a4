"""Formulas that convert one privacy loss into another, rounded against the analyst.

Arguments and results are exact rationals, and logarithms are natural. A converted loss is at or
above the true bound, and a capacity (`largest_*`) at or below it. The theorems are listed in
docs/theory.md, "Conversions".
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, log, log1p, tanh

from flint import arb

from queryable.losses import joint_range
from queryable.losses.numbers import round_down, round_up

_remember = lru_cache(maxsize=4096)

_ENDLESS = 2**64
"""Searches for the greatest value stop here."""


@_remember
def pure_to_zcdp(epsilon: Fraction) -> Fraction:
    """Return epsilon*tanh(epsilon/2), the KL divergence of randomized response; tight."""
    return round_up(lambda e: e * (e / 2).tanh(), epsilon)


def pure_within_zcdp(rho: Fraction) -> Fraction:
    """Return an epsilon with epsilon*tanh(epsilon/2) <= rho, near the largest one."""
    low, high = 0.0, float(max(rho, Fraction(1))) + 2 * float(min(rho, Fraction(1))) ** 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * tanh(middle / 2) <= rho else (low, middle)
    epsilon = Fraction(low) * (1 - Fraction(1, 2**40))
    return epsilon if pure_to_zcdp(epsilon) <= rho else Fraction(0)


@_remember
def pure_to_rdp(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """Return the Renyi divergence of order alpha of randomized response at epsilon; tight."""

    def divergence(e: arb, a: arb) -> arb:
        # log of sigma(e)^a sigma(-e)^(1-a) + sigma(-e)^a sigma(e)^(1-a), over a - 1
        up, down = -(-e).exp().log1p(), -(e.exp().log1p())
        moment = (a * up + (1 - a) * down).exp() + (a * down + (1 - a) * up).exp()
        return moment.log() / (a - 1)

    return min(round_up(divergence, epsilon, alpha), epsilon)


@_remember
def pure_to_gdp(epsilon: Fraction) -> Fraction:
    """Return mu = 2*Phi^-1(e^eps / (1 + e^eps)).

    The trade-off curve of randomized response at epsilon is above G_mu at this mu.
    """

    def mu(e: arb) -> arb:
        # Phi^-1(p) = sqrt(2) erfcinv(2(1 - p)); this form stays precise for large epsilon
        return 2 * arb(2).sqrt() * (2 / (1 + e.exp())).erfcinv()

    return round_up(mu, epsilon)


@_remember
def response_to_approx(epsilon: Fraction, own: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon of (epsilon, own)-DP at a delta of at least `own`; tight.

    It is log(e^epsilon - s*(1 + e^epsilon)), at least 0, with 1 - delta = (1 - own)*(1 - s). Every
    mechanism with the loss is a postprocessing of the randomized response that reveals the bit with
    probability `own` (Kairouz, Oh, Viswanath 2015), and this is the response's own profile.
    """
    if delta == own:
        return epsilon
    left = (1 - delta) / (1 - own)
    if not left or round_up(lambda e: (e / 2).tanh(), epsilon) <= 1 - left:
        return Fraction(0)

    def least_epsilon(e: arb, kept: arb) -> arb:
        return e + (kept - (1 - kept) * (-e).exp()).log()

    return min(epsilon, max(Fraction(0), round_up(least_epsilon, epsilon, left)))


@_remember
def zcdp_to_approx(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon over all orders alpha of converting (alpha, rho*alpha)-RDP.

    Every order gives a valid bound. The best one is searched in floats, then used exactly.
    """
    if rho == 0 or distance_squared(rho) <= delta * delta:
        return Fraction(0)
    log_delta = log(delta.numerator) - log(delta.denominator)
    alpha = _best_order(float(min(rho, Fraction(10**100))), log_delta)
    return concentrated_to_approx(alpha, rho * alpha, delta)


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
    """Return the largest rho, rounded down, that converts to (epsilon, delta)-DP.

    If rho keeps the total variation distance within delta, every epsilon holds.
    """

    def rho(a: arb, e: arb, d: arb) -> arb:
        return (e - (1 - 1 / a).log() + (d * a).log() / (a - 1)) / a

    order = order_within(epsilon, delta)
    return max(2 * delta * delta, round_down(rho, order, epsilon, delta))


@_remember
def order_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which the largest rho converts to (epsilon, delta)-DP.

    At a fixed order the conversion is rho*alpha + constant. The best order is searched in floats.
    """
    from scipy.optimize import minimize_scalar

    log_delta = log(delta.numerator) - log(delta.denominator)
    target = float(min(epsilon, Fraction(10**100)))

    def minus_rho(log_excess: float) -> float:
        excess = exp(log_excess)
        alpha = 1 + excess
        constant = log1p(-1 / alpha) - (log_delta + log(alpha)) / excess
        return (constant - target) / alpha

    best = minimize_scalar(minus_rho, bounds=(-14, 40), method="bounded", options={"xatol": 1e-12})
    return 1 + Fraction(exp(best.x))


@_remember
def distance_squared(divergence: Fraction) -> Fraction:
    """Return an upper bound on the squared total variation distance, given a divergence.

    It is the smaller of KL/2 (Pinsker) and 1 - e^-KL (Bretagnolle, Huber 1979). A Renyi divergence
    of any order above 1 is at least KL, so it may be given instead.
    """
    return min(divergence / 2, round_up(lambda r: -(-r).expm1(), divergence))


@_remember
def rdp_to_approx(alpha: Fraction, loss: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon of (alpha, loss)-Renyi DP at delta, near the tight one.

    It is at most that of `concentrated_to_approx`.
    """
    most = concentrated_to_approx(alpha, loss, delta)
    return joint_range.least_epsilon(alpha, loss, delta, most) if most else most


@_remember
def concentrated_to_approx(alpha: Fraction, loss: Fraction, delta: Fraction) -> Fraction:
    """Return r + log(1 - 1/alpha) - log(delta*alpha)/(alpha - 1) (Canonne et al. 2020, Prop 12).

    The result is 0 if the total variation distance, which is the least delta at epsilon = 0, is at
    most delta. It is nearly tight, and linear in r.
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
    """Return Phi(x), the normal distribution function, precise in both tails."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gdp_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """Return the delta of mu-GDP at epsilon: Phi(-eps/mu + mu/2) - e^eps * Phi(-eps/mu - mu/2)."""
    if mu == 0:
        return Fraction(0)

    def delta(m: arb, e: arb) -> arb:
        return normal_below(m / 2 - e / m) - e.exp() * normal_below(-m / 2 - e / m)

    return min(Fraction(1), round_up(delta, mu, epsilon))


@_remember
def gdp_to_approx(mu: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon, rounded up, at which mu-GDP implies (epsilon, delta)-DP."""
    return least(lambda epsilon: gdp_delta(mu, epsilon) <= delta)


@_remember
def largest_gdp(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest mu, rounded down, that implies (epsilon, delta)-DP."""
    return greatest(lambda mu: gdp_delta(mu, epsilon) <= delta)


def least(holds: Callable[[Fraction], bool], start: Fraction = Fraction(1)) -> Fraction:
    """Return a value that `holds`, above the least such value by a share of at most 2**-60.

    `holds` must be false below some value and true from there on.
    """
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
    """Return a value that `holds`, below the greatest by a share of 2**-60; 0 if none is found.

    `holds` must be true up to some value and false beyond. At most 400 bisections are made.
    """
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
    """Return the delta of (epsilon, delta)-DP for k = `size` records.

    It is delta*(e^(k eps) - 1)/(e^eps - 1), at most 1.
    """
    if epsilon == 0:
        return min(Fraction(1), size * delta)
    if delta > 0 and (size - 1) * epsilon >= log_up(1 / delta):
        return Fraction(1)  # at least delta*e^((k-1) eps), which may be too large to compute
    grown = round_up(lambda e, d: d * (size * e).expm1() / e.expm1(), epsilon, delta)
    return min(Fraction(1), grown)


@_remember
def discrete_laplace_to_zcdp(sensitivity: Fraction, scale: Fraction) -> Fraction:
    """Return the rho of integer Laplace noise: eps - (1 - e^-eps)*s/sinh(s).

    Here s = 1/scale and eps = sensitivity*s. The formula is convex in the sensitivity and zero at
    zero. So it also bounds a vector whose coordinates move by integers of this total size, because
    moving one coordinate by all of it is the worst case. The smaller formula for continuous noise
    does not hold for integer noise.
    """
    if sensitivity == 0:
        return Fraction(0)

    def rho(width: arb, b: arb) -> arb:
        s = 1 / b
        return width * s - (-(-width * s).expm1()) * s / s.sinh()

    return round_up(rho, sensitivity, scale)


@_remember
def discrete_gaussian_to_gdp(variance: Fraction) -> Fraction:
    """Return 2*Phi^-1((1 + p)/2), the mu of integer Gaussian noise that is 0 with probability p.

    It is tight for a sensitivity of 1. If a vector moves by integers of L2 norm D it is D*mu. mu is
    about 1/sigma + 1/(24 sigma^3). Proof: docs/theory.md, the Gaussian DP of integer noise.
    """

    def narrow(v: arb) -> arb:
        beside = 2 * _beside(1 / (2 * v))
        return arb(8).sqrt() * (beside / (1 + beside)).erfcinv()

    def wide(v: arb) -> arb:  # by Poisson's summation formula
        total = (2 * arb.pi() * v).sqrt() * (1 + 2 * _beside(2 * arb.pi() ** 2 * v))
        return arb(8).sqrt() * (1 / total).erfinv()

    return round_up(wide if 2 * variance >= 1 else narrow, variance)


def _beside(x: arb) -> arb:
    """Return the sum of e^(-x k^2) over all k >= 1, for x >= 1."""
    rest = (-169 * x).exp() * arb(1, 1)  # the terms from k = 13 on are at most twice the first
    return sum(((-k * k * x).exp() for k in range(1, 13)), rest)


@_remember
def gdp_to_discrete_gaussian(mu: Fraction) -> Fraction:
    """Return a variance at which integer noise is mu-GDP, near the least one for mu up to 2.

    The noise is 0 with a probability of at most 1/sqrt(2 pi variance), by Poisson's summation.
    """

    def variance(m: arb) -> arb:
        return (1 + arb(2) ** -38) / (2 * arb.pi() * (m / arb(8).sqrt()).erf() ** 2)

    return round_up(variance, mu, bits=40)


@_remember
def log_up(value: Fraction) -> Fraction:
    """Return the natural logarithm of a rational >= 1, rounded up."""
    return round_up(arb.log, value)


@_remember
def log_down(value: Fraction) -> Fraction:
    """Return the natural logarithm of a rational >= 1, rounded down."""
    return round_down(arb.log, value)
