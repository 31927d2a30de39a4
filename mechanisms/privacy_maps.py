"""The smaller of two bounds on one mechanism's privacy loss.

A mechanism may have a tighter bound in zCDP (zero-concentrated differential privacy) than the one
that follows from its pure loss by conversion. `with_zcdp` returns the smaller one.
"""

from collections.abc import Callable
from fractions import Fraction

from queryable.losses import ZCDP, ApproxZCDP, Loss, Measure, RenyiCurve, RenyiOrder, RenyiOrders


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
