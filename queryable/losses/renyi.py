"""Renyi privacy at several orders at once: a measure whose losses are curves.

Responsible for `RDP.at(2, 8, 32)`. The order is that every coordinate is within the other's, so a
budget must hold at every order; that *some* order still fits is no valid filter.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import attrs

from queryable.losses.measures import (
    RDP,
    AdditiveLoss,
    ApproxDP,
    Loss,
    Measure,
    ParametricMeasure,
    Parts,
    sealed,
)
from queryable.losses.numbers import exact, several, shown


def orders_of(values: Iterable[Any]) -> tuple[Fraction, ...]:
    """Read Renyi orders: above 1, rising, at least one.

    Raises:
        ValueError: they are not.
    """
    orders = tuple(RDP(value, Fraction(0)).alpha for value in several(values, "orders"))
    if not orders:
        raise ValueError("orders is empty; name at least one order above 1")
    if any(not low < high for low, high in pairwise(orders)):
        raise ValueError(f"orders is {[shown(order) for order in orders]}; it should rise")
    return orders


def _epsilons(values: Iterable[Any]) -> tuple[Fraction, ...]:
    return tuple(exact(value, "epsilon") for value in several(values, "epsilons"))


@sealed
@attrs.frozen
class RenyiOrders(ParametricMeasure):
    """The measure of Renyi privacy at each of several orders; write `RDP.at(2, 8, 32)`."""

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)

    def from_loss(self, loss: Loss) -> Loss | None:
        """Order by order; a curve must know every order."""
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
@attrs.frozen(order=False)
class RenyiCurve(AdditiveLoss):
    """(alpha, epsilon(alpha))-Renyi privacy at every one of some fixed orders."""

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
        """One epsilon an order."""
        return self.epsilons

    def of_parts(self, parts: Parts) -> Self:
        """The curve with these values."""
        return type(self)(self.orders, parts)

    def room(self, parts: Parts) -> Self:
        """The same."""
        return self.of_parts(parts)

    def _group(self, size: int) -> Self:
        raise ValueError(f"no group bound is proven for {self}; state the map at that d_in")

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        points = [RDP(*point) for point in zip(self.orders, self.epsilons, strict=True)]
        if measure is ApproxDP:
            bounds = [point.to(ApproxDP, delta) for point in points]
            return min(bounds, key=lambda bound: getattr(bound, "epsilon", Fraction(0)))
        fitting = [point for point in points if point.measure == measure]
        return fitting[0] if fitting else None

    def __str__(self) -> str:
        points = zip(self.orders, self.epsilons, strict=True)
        return f"RDP({', '.join(f'{shown(a)}: {shown(e)}' for a, e in points)})"
