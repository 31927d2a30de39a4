"""Renyi differential privacy: at one order (`RDP`), and at several orders at once (`RenyiCurve`).

A curve is within another curve if it is within it at every order, so a budget must hold at every
order. A filter that only checks that *some* order still fits is not valid.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import attrs

from queryable.losses import conversions
from queryable.losses.fields import quoted_exactly, read_epsilon, read_order
from queryable.losses.loss import (
    AdditiveLoss,
    Loss,
    Measure,
    ParametricMeasure,
    Parts,
    family,
    required_delta,
    sealed,
)
from queryable.losses.measures import ZCDP, ApproxDP, PureDP
from queryable.losses.numbers import Number, named, several, shown

_REFINED = 4
"""So many orders of a curve are converted, those that are best by a nearly tight formula."""


@sealed
@family("RDP.at(8)")
@attrs.frozen(order=False)
class RDP(AdditiveLoss):
    """(alpha, epsilon)-Renyi differential privacy at a fixed order alpha > 1 (Mironov 2017).

    For interactive mechanisms it is Haney et al. 2023, Definition 4.2.
    """

    alpha: Fraction = attrs.field(converter=read_order, repr=quoted_exactly)
    epsilon: Fraction = attrs.field(converter=read_epsilon, repr=quoted_exactly)

    @staticmethod
    def at(alpha: Number, *more: Number) -> ParametricMeasure:
        """Return the measure of Renyi privacy at one order, or at each of several orders."""
        return RenyiOrders((alpha, *more)) if more else RenyiOrder(alpha)

    @property
    def measure(self) -> Measure:
        """RDP at this order."""
        return RenyiOrder(self.alpha)

    @property
    def parts(self) -> Parts:
        """(epsilon,)."""
        return (self.epsilon,)

    def of_parts(self, parts: Parts) -> Self:
        """Return the loss of this order."""
        return type(self)(self.alpha, *parts)

    def room(self, parts: Parts) -> Self:
        """Return the loss of this order; nothing has to be rounded."""
        return self.of_parts(parts)

    def __le__(self, other: object) -> bool:
        if isinstance(other, RDP):  # across measures: a bound at a higher order holds at a lower
            return self.alpha >= other.alpha and self.epsilon <= other.epsilon
        return super().__le__(other)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if isinstance(measure, RenyiOrder) and measure.alpha <= self.alpha:
            return RDP(measure.alpha, self.epsilon)
        if measure is ApproxDP:
            chosen = required_delta(delta, self)
            return ApproxDP(conversions.rdp_to_approx(self.alpha, self.epsilon, chosen), chosen)
        return None

    def __str__(self) -> str:
        return f"RDP({named('alpha', self.alpha)}, {named('epsilon', self.epsilon)})"


@sealed
@attrs.frozen
class RenyiOrder(ParametricMeasure):
    """The measure of Renyi differential privacy at one order; write `RDP.at(order)`."""

    alpha: Fraction = attrs.field(converter=read_order)

    def from_loss(self, loss: Loss) -> Loss | None:
        """Return the bound at this order for pure DP and zCDP."""
        match loss:
            case PureDP(epsilon):
                return RDP(self.alpha, conversions.pure_to_rdp(epsilon, self.alpha))
            case ZCDP(rho):
                return RDP(self.alpha, self.alpha * rho)
        return None

    def __str__(self) -> str:
        return f"RDP.at({shown(self.alpha)})"


def orders_of(values: Iterable[Any]) -> tuple[Fraction, ...]:
    """Read Renyi orders.

    Raises:
        ValueError: there are none, one is not above 1, or they do not increase.
    """
    orders = tuple(read_order(value) for value in several(values, "orders"))
    if not orders:
        raise ValueError("orders is empty; name at least one order above 1")
    if any(not low < high for low, high in pairwise(orders)):
        raise ValueError(f"orders is {[shown(order) for order in orders]}; it should rise")
    return orders


def orders_in(loss: Loss) -> tuple[Fraction, ...]:
    """The orders at which a Renyi loss is stated; () for any other loss."""
    match loss:
        case RDP(alpha):
            return (alpha,)
        case RenyiCurve(orders):
            return orders
    return ()


def common_orders(losses: Iterable[Loss]) -> tuple[Fraction, ...]:
    """The orders at which all Renyi losses among these are stated; () if there are none."""
    given = list(losses)
    curves = [{*loss.orders} for loss in given if isinstance(loss, RenyiCurve)]
    single = [loss.alpha for loss in given if isinstance(loss, RDP)]
    found = set.intersection(*curves) if curves else {*single}
    return tuple(sorted(order for order in found if all(order <= most for most in single)))


def _epsilons(values: Iterable[Any]) -> tuple[Fraction, ...]:
    return tuple(read_epsilon(value) for value in several(values, "epsilons"))


@sealed
@attrs.frozen
class RenyiOrders(ParametricMeasure):
    """The measure of Renyi privacy at each of several orders; write `RDP.at(2, 8, 32)`."""

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)

    def from_loss(self, loss: Loss) -> Loss | None:
        """Return the bounds at these orders. A curve converts only to orders that it has."""
        if isinstance(loss, RenyiCurve):
            known = dict(zip(loss.orders, loss.epsilons, strict=True))
            if not set(self.orders) <= known.keys():
                return None
            return RenyiCurve(self.orders, tuple(known[order] for order in self.orders))
        stated = [loss.to(RDP.at(order)) for order in self.orders]
        return RenyiCurve(self.orders, [each.epsilon for each in stated if isinstance(each, RDP)])

    def __str__(self) -> str:
        return f"RDP.at({', '.join(map(shown, self.orders))})"


@sealed
@family("RDP.at(2, 8, 32)")
@attrs.frozen(order=False)
class RenyiCurve(AdditiveLoss):
    """(alpha, epsilon(alpha))-Renyi privacy at every one of several fixed orders."""

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)
    epsilons: tuple[Fraction, ...] = attrs.field(converter=_epsilons)

    @epsilons.validator
    def _one_each(self, attribute: object, epsilons: tuple[Fraction, ...]) -> None:
        if len(epsilons) != len(self.orders):
            raise ValueError(f"{len(epsilons)} epsilons for {len(self.orders)} orders")

    @property
    def measure(self) -> Measure:
        """Renyi privacy at these orders."""
        return RenyiOrders(self.orders)

    @property
    def parts(self) -> Parts:
        """One epsilon for each order."""
        return self.epsilons

    def of_parts(self, parts: Parts) -> Self:
        """Return the curve with these epsilons."""
        return type(self)(self.orders, parts)

    def room(self, parts: Parts) -> Self:
        """Return the curve with these epsilons; nothing has to be rounded."""
        return self.of_parts(parts)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        points = [RDP(*point) for point in zip(self.orders, self.epsilons, strict=True)]
        if measure is ApproxDP:
            chosen = required_delta(delta, self)
            points.sort(
                key=lambda each: conversions.concentrated_to_approx(
                    each.alpha, each.epsilon, chosen
                )
            )
            bounds = [point.to(ApproxDP, delta) for point in points[:_REFINED]]
            return min(bounds, key=lambda bound: getattr(bound, "epsilon", Fraction(0)))
        fitting = [point for point in points if point.measure == measure]
        return fitting[0] if fitting else None

    def __str__(self) -> str:
        points = zip(self.orders, self.epsilons, strict=True)
        return f"RDP({', '.join(f'{shown(a)}: {shown(e, 3)}' for a, e in points)})"
