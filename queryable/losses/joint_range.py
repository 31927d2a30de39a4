"""The least epsilon that a Renyi divergence of one order implies at a delta.

Responsible for the joint range of Renyi and hockey-stick divergences (Asoodeh, Liao, Calmon, Kosut,
Sankar 2021). Proof: docs/theory.md, one Renyi order.

Theory of operation: no event has probabilities p and q with p > e^epsilon*q + delta if the order's
divergence of every such pair (p, q) is too large. For q = (p - delta)/e^epsilon the moment
p^alpha*q^(1-alpha) + (1-p)^alpha*(1-q)^(1-alpha) is convex in p, so its tangent at any p bounds it
from below everywhere. Floats propose epsilon and p; the tangent is evaluated in ball arithmetic.
"""

from fractions import Fraction
from math import exp, inf, log, log1p

from flint import arb

from queryable.losses.numbers import round_down

_MARGINS = (Fraction(1, 2**32), Fraction(1, 2**24), Fraction(1, 2**16))
_STEPS, _GOLDEN, _NEWTON = 48, 44, 6


def least_epsilon(alpha: Fraction, loss: Fraction, delta: Fraction, most: Fraction) -> Fraction:
    """Return a bound near the least epsilon of (alpha, loss)-Renyi DP at delta, and at most `most`.

    Args:
        alpha: the order, above 1.
        loss: the Renyi divergence.
        delta: above 0.
        most: an epsilon that is known to hold.
    """
    try:
        numbers = float(alpha - 1), float(loss), _log(delta)
        epsilon, odds = _proposed(*numbers, float(most))
    except (OverflowError, ValueError):
        return most
    for margin in _MARGINS:
        found = min(most, Fraction(epsilon) * (1 + margin))
        if found == most or _holds(alpha, loss, delta, found, odds):
            return found
    return most


def _log(value: Fraction) -> float:
    return log(value.numerator) - log(value.denominator)


def _proposed(excess: float, loss: float, log_delta: float, most: float) -> tuple[float, float]:
    """In floats, the least epsilon and log((p - delta)/(1 - p)) at the p that decides."""
    low, high, odds = 0.0, most, 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        odds, moment = _least_moment(excess, log_delta, middle)
        low, high = (low, middle) if moment >= excess * loss else (middle, high)
    return high, odds


def _least_moment(excess: float, log_delta: float, epsilon: float) -> tuple[float, float]:
    """The log of the least moment over p, and where it is, by golden section search."""
    delta = exp(log_delta)

    def moment(odds: float) -> float:
        share = 1 / (1 + exp(-odds)) if odds > 0 else exp(odds) / (1 + exp(odds))
        log_p = _log_sum(log_delta, odds) - _log_sum(0.0, odds)
        log_rest = log1p(-delta) - _log_sum(0.0, odds)
        log_q = log1p(-delta) + log(share) - epsilon
        true = log_p + excess * (log_p - log_q)
        false = log_rest + excess * (log_rest - log1p(-exp(log_q)))
        return _log_sum(true, false)

    low, high, golden = log_delta - 60.0, 60.0, (5**0.5 - 1) / 2
    for _ in range(_GOLDEN):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if moment(left) <= moment(right) else (left, high)
    odds = (low + high) / 2
    return odds, moment(odds)


def _log_sum(one: float, other: float) -> float:
    top, low = max(one, other), min(one, other)
    return top + log1p(exp(low - top)) if low > -inf else top


def _holds(
    alpha: Fraction, loss: Fraction, delta: Fraction, epsilon: Fraction, odds: float
) -> bool:
    """Whether the tangent at some p shows that the moment is large enough at every p."""

    def least(a: arb, r: arb, d: arb, e: arb) -> arb:
        ratio, x = e.exp(), arb(odds).exp()
        p = ((d + x) / (1 + x)).mid()
        for _ in range(_NEWTON):
            _, slope, bend = _moment(a, d, ratio, p)
            following = (p - slope / bend).mid()
            p = following if d < following < 1 else p
        moment, slope, _ = _moment(a, d, ratio, p)
        fall = (slope * (p - d)).max(-slope * (1 - p)).max(arb(0))
        return (moment - fall) / ((a - 1) * r).exp()

    try:
        return round_down(least, alpha, loss, delta, epsilon) >= 1
    except ArithmeticError:
        return False


def _moment(a: arb, d: arb, ratio: arb, p: arb) -> tuple[arb, arb, arb]:
    """The moment at p with its first and second derivative in p."""
    q = (p - d) / ratio
    t, s = p / q, (1 - p) / (1 - q)
    high, low = t ** (a - 1), s ** (a - 1)
    slope = high * (t / ratio + a * (1 - t / ratio)) - low * (s / ratio + a * (1 - s / ratio))
    bends = high / t * (1 - t / ratio) ** 2 / q, low / s * (1 - s / ratio) ** 2 / (1 - q)
    return p * high + (1 - p) * low, slope, a * (a - 1) * (bends[0] + bends[1])
