"""What one launch adds to an account, computed from its loss alone."""

from fractions import Fraction
from typing import Any

from composition.rules.checks.compare import ball, share
from queryable.losses import GDP, ZCDP, AdditiveLoss, ApproxDP, ApproxZCDP, Dominated, Parts

_ZERO = Fraction(0)


def parts_of(loss: Any) -> Parts:
    """The coordinates that add up.

    Raises:
        ValueError: the loss has none.
    """
    if not isinstance(loss, AdditiveLoss):
        raise ValueError("which does not add up")
    return loss.parts


def weighed(loss: Any) -> Parts:
    """Epsilon squared, rho or mu squared; and delta.

    Raises:
        ValueError: the loss has another measure.
    """
    match loss:
        case ApproxDP(epsilon, delta):
            return epsilon**2, delta
        case ApproxZCDP(rho, delta):
            return rho, delta
        case GDP(mu):
            return mu**2, _ZERO
    raise ValueError("which this rule does not take")


def beside_a_pool(loss: Any) -> Parts:
    """Epsilon and delta, and the rho of a pool: a launch adds to one or the other.

    Raises:
        ValueError: the loss has another measure.
    """
    match loss:
        case ApproxDP(epsilon, delta):
            return epsilon, delta, _ZERO
        case ZCDP(rho):
            return _ZERO, _ZERO, rho
    raise ValueError("which is no loss of this compositor's measures")


def priced(loss: Any, unit: Fraction, entries: tuple[tuple[int, int], ...]) -> Parts:
    """The cost of the smallest entry, in units, that is at least epsilon; and delta.

    Args:
        entries: (steps, cost) of each, in rising order.

    Raises:
        ValueError: epsilon is above all entries.
    """
    if not loss.epsilon:
        return _ZERO, loss.delta
    for steps, cost in entries:
        if loss.epsilon <= steps * unit:
            return Fraction(cost), loss.delta
    raise ValueError("above every entry of the menu")


def drifting(epsilon: Fraction) -> Parts:
    """Epsilon squared, and epsilon*(e^epsilon - 1)/2 from below."""
    if not epsilon:
        return _ZERO, _ZERO
    square = epsilon**2
    low, _ = share(lambda: ball(epsilon) * ball(epsilon).expm1() / 2, square)
    return square, square * Fraction(low, 2**64)


def delta_alone(loss: Any) -> Parts:
    """Delta, for accounts in which nothing else is a sum."""
    assert isinstance(loss, Dominated)
    return (loss.delta,)
