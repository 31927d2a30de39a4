"""The smaller of two bounds on one mechanism's privacy loss, and the epsilon that a loss admits.

A mechanism may have a tighter bound in zCDP (zero-concentrated differential privacy) than the one
that follows from its pure loss by conversion. `with_zcdp` returns the smaller one.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from queryable.losses import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    RenyiCurve,
    RenyiOrder,
    RenyiOrders,
)
from queryable.losses.loss import genuine
from queryable.mechanism import Measurement
from queryable.wording.quoting import quoted

Made = TypeVar("Made", bound=Measurement[Any])


def with_zcdp(converted: Loss, rho: Callable[[], Fraction], measure: Measure | None) -> Loss:
    """Return the converted loss, or in zCDP and RDP the bound given by `rho`, if that is smaller.

    Args:
        converted: a bound in `measure`.
        rho: the mechanism also satisfies rho-zCDP. Called only for zCDP and RDP.
    """
    if measure not in (ZCDP, ApproxZCDP) and not isinstance(measure, RenyiOrder | RenyiOrders):
        return converted
    own = ZCDP(rho()).to(measure)
    if isinstance(own, RenyiCurve) and isinstance(converted, RenyiCurve):
        return RenyiCurve(own.orders, map(min, own.epsilons, converted.epsilons))
    return own if own <= converted else converted  # noqa: FURB136 (a partial order)


_LOWEST = -12  # a power of ten
_DIGITS = 6


def largest_within(
    make: Callable[[Fraction], Made], loss: Loss, measure: Measure, d_in: int
) -> Made:
    """The mechanism with the largest epsilon, to six digits, that loses at most `loss` at `d_in`.

    Args:
        make: the mechanism with an epsilon, which is its pure loss at one record.
        measure: what the launch is charged in. A loss of another measure, unless it is pure, is
            replaced by the largest rho within it.

    Raises:
        TypeError: `loss` is no loss.
        ValueError: it is zero or so small or large that no such epsilon is tried, or no theorem
            states the mechanism's loss in its measure.
    """
    if not isinstance(loss, Loss) or not genuine(loss):
        raise TypeError(f"loss is {quoted(loss)}; it should be a loss, such as ZCDP('1/100')")
    pure = isinstance(loss, PureDP) or (isinstance(loss, ApproxDP) and not loss.delta)
    if not pure and loss.measure != measure:
        loss = ZCDP.within(loss)

    def fits(epsilon: Fraction) -> bool:
        return bool(make(epsilon).privacy_map(d_in, loss.measure) <= loss)

    if isinstance(loss, PureDP | ApproxDP) and loss.epsilon:
        return make(loss.epsilon / d_in)
    power = _LOWEST
    while power < -_LOWEST and fits(Fraction(10) ** power):
        power += 1
    if power in (_LOWEST, -_LOWEST):
        lowest, highest = (
            make(Fraction(10) ** each).privacy_map(d_in, loss.measure)
            for each in (_LOWEST, -_LOWEST - 1)
        )
        raise ValueError(f"loss is {loss}; it should be at least {lowest}, and below {highest}")
    step: Fraction = Fraction(10) ** (power - _DIGITS)
    low, high = 10 ** (_DIGITS - 1), 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return make(low * step)
