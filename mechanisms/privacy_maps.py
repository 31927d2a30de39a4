"""The better of two bounds on one mechanism's loss.

Responsible for one choice: a mechanism with a loss of its own and a concentrated bound beside it
states whichever is smaller in the measure asked for. Knows no mechanism.
"""

from collections.abc import Callable
from fractions import Fraction

from queryable.losses import ZCDP, ApproxZCDP, Loss, Measure, RenyiCurve, RenyiOrder, RenyiOrders


def with_zcdp(converted: Loss, rho: Callable[[], Fraction], measure: Measure | None) -> Loss:
    """The loss as converted, or in zCDP and RDP what rho gives, where that is smaller.

    Args:
        converted: a bound in `measure`.
        rho: the mechanism is also zCDP with this; computed only where it is of use.
    """
    if measure not in (ZCDP, ApproxZCDP) and not isinstance(measure, RenyiOrder | RenyiOrders):
        return converted
    own = ZCDP(rho()).to(measure)
    if isinstance(own, RenyiCurve) and isinstance(converted, RenyiCurve):
        return RenyiCurve(own.orders, map(min, own.epsilons, converted.epsilons))
    return own if own <= converted else converted  # noqa: FURB136 (a partial order)
