"""Formulas of Gaussian, Renyi and zero-concentrated DP, as balls (docs/theory/conversions.md)."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, log, log1p

from flint import arb

from composition.rules.checks.compare import Verdict, ball, within


def log_of(value: Fraction) -> float:
    """The logarithm of a rational, also of one that is no float."""
    return log(value.numerator) - log(value.denominator) if value else -inf


def below(x: arb) -> arb:
    """The standard normal distribution function."""
    return (-x / arb(2).sqrt()).erfc() / 2


def profile(mu: arb, epsilon: arb) -> arb:
    """The delta of mu-GDP at epsilon, for any real epsilon."""
    return below(mu / 2 - epsilon / mu) - epsilon.exp() * below(-mu / 2 - epsilon / mu)


def gaussian_within(square: Fraction, epsilon: Fraction, delta: Fraction) -> Verdict:
    """Whether mu-GDP is (epsilon, delta)-DP, for mu squared."""
    if square == 0:
        return True
    return within(lambda: profile(ball(square).sqrt(), ball(epsilon)), delta)


def converted(rho: arb, order: arb, delta: arb) -> arb:
    """The epsilon at delta of rho-zCDP, by one order."""
    bound = rho * order + (1 - 1 / order).log() - (delta * order).log() / (order - 1)
    return bound.max(arb(0))


def concentrated_within(rho: Fraction, epsilon: Fraction, delta: Fraction) -> Verdict:
    """Whether rho-zCDP is (epsilon, delta)-DP by some order, or by its total variation distance.

    The order is searched in floats. A search that ends beside the best order finds a slightly
    larger epsilon, so epsilon may be exceeded by 2**-36 of it.
    """
    if rho <= 2 * delta * delta or rho == 0:
        return True
    order = 1 + Fraction(exp(_log_excess(float(rho), log_of(delta))))

    def at_order() -> arb:
        return converted(ball(rho), ball(order), ball(delta))

    found = within(at_order, epsilon * (1 + Fraction(1, 2**36))) if epsilon else None
    near = within(lambda: -(-ball(rho)).expm1(), delta * delta)
    return None if found is False and near is not False else found


def _log_excess(rho: float, log_delta: float) -> float:
    """The logarithm of the best order less 1, by ternary search of a function with one minimum."""

    def bound(at: float) -> float:
        excess = exp(at)
        alpha = 1 + excess
        return rho * alpha + log1p(-1 / alpha) - (log_delta + log(alpha)) / excess

    low, high = -30.0, 60.0
    for _ in range(200):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if bound(one) <= bound(other) else (one, high)
    return (low + high) / 2


def renyi_within(
    orders: Sequence[Fraction],
    weights: Sequence[Fraction],
    losses: Sequence[Fraction],
    epsilon: Fraction,
    delta: Fraction,
) -> Verdict:
    """Whether 1 - e^(epsilon - l) <= delta * m(l) for all l > epsilon (weighted Renyi filter).

    log(1 - e^(epsilon - l)) - log m(l) is concave in l. Its maximum is searched in floats, and the
    two sides are compared there.
    """
    if not any(losses):
        return True
    terms = [
        (float(order - 1), log_of(weight), float(loss))
        for order, weight, loss in zip(orders, weights, losses, strict=True)
        if weight
    ]

    def slope(beyond: float) -> float:
        level = float(epsilon) + beyond
        parts = [weight + rate * (level - loss) for rate, weight, loss in terms]
        top = max(parts)
        masses = [exp(part - top) for part in parts]
        mean = sum(m * rate for m, (rate, _, _) in zip(masses, terms, strict=True)) / sum(masses)
        return (1 / (exp(beyond) - 1) if beyond < 700 else 0.0) - mean

    low, high = -60.0, 12.0  # of log(l - epsilon)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(exp(middle)) > 0 else (low, middle)
    beyond = Fraction(exp(low))

    def surplus() -> arb:
        level = ball(epsilon) + ball(beyond)
        mass = arb(0)
        for order, weight, loss in zip(orders, weights, losses, strict=True):
            mass += ball(weight) * (ball(order - 1) * (level - ball(loss))).exp()
        return (-(-ball(beyond)).expm1()) / mass

    return within(surplus, delta)
