"""A time-uniform odometer over Renyi losses, one bound for each order.

Responsible for the union of these bounds. It is no function of the variance, as `boundaries` are.
The proof, for interleaved interactive children, is in docs/theory.md.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self

import attrs

from composition.rules.checks.compare import Verdict
from composition.rules.checks.odometers import some_order_within
from composition.rules.odometers.chances import open_unit
from composition.rules.odometers.time_uniform import TimeUniform
from queryable.losses import RDP, ApproxZCDP, Measure, Parts
from queryable.losses.numbers import (
    Number,
    positive,
    round_down,
    round_up,
    several,
    shown,
    sqrt_down,
)
from queryable.losses.renyi import orders_of


def _weights(values: Iterable[Any] | None) -> tuple[Fraction, ...] | None:
    if values is None:
        return None
    return tuple(positive(value, "weight") for value in several(values, "weights"))


@attrs.frozen
class RenyiOdometer(TimeUniform):
    """The least over orders alpha_j of R_j + log(1/(w_j delta))/(alpha_j - 1).

    R_j is the sum of the Renyi losses at alpha_j. Launches state Renyi privacy at these orders,
    `RDP.at(*orders)`; with a share for deltas they state approximate zCDP, and R_j = alpha_j*rho.
    It takes children with any Renyi losses. Near V = 2 log(1/delta)/(alpha_j - 1)^2 it is within
    log(1/w_j)/(alpha_j - 1) of the bound for a fixed time.

    Privacy:
        Theorem: docs/theory.md: a union of Ville's inequality at each order, which gets w_j*delta.

    Args:
        orders: rising, above 1, fixed in advance.
        weights: the orders' shares of delta, above 0, with sum 1; equal by default.
    """

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)
    weights: tuple[Fraction, ...] | None = attrs.field(default=None, converter=_weights)
    measure: Measure = attrs.field(init=False, repr=False, eq=False)
    _prices: tuple[Fraction, ...] = attrs.field(init=False, repr=False, eq=False)

    @measure.default
    def _of_the_orders(self) -> Measure:
        return RDP.at(*self.orders) if self.deltas is None else ApproxZCDP

    def __attrs_post_init__(self) -> None:
        count = len(self.orders)
        weights = (Fraction(1, count),) * count if self.weights is None else self.weights
        if len(weights) != count or sum(weights) != 1:
            raise ValueError(
                f"weights is {[shown(weight) for weight in weights]}; it should be one number "
                f"above 0 for each of {count} orders, with sum 1 (as in '1/3')"
            )
        prices = tuple(
            round_up(lambda w, a, d: -(w * d).log() / (a - 1), weight, order, self.delta)
            for weight, order in zip(weights, self.orders, strict=True)
        )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "_prices", prices)

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """Seven orders; 70% of delta is for the best one at this V, 1 + sqrt(2 log(1/delta)/V)."""
        chance, v = open_unit(delta, "delta"), positive(variance, "variance")
        excess = sqrt_down(round_down(lambda d: -2 * d.log(), chance, bits=40) / v)
        factors = ("1/4", "2/5", "5/8", "1", "8/5", "5/2", "4")
        weights = ("0.02", "0.03", "0.1", "0.7", "0.1", "0.03", "0.02")
        return cls(chance, [1 + Fraction(f) * excess for f in factors], weights, **shares)

    @property
    def width(self) -> int:
        """One for each order; with a share for deltas, of rho and of delta."""
        return len(self.orders) if self.deltas is None else 2

    def pure_bound(self, parts: Parts) -> Fraction:
        """The least bound of all orders."""
        return min(spent + price for spent, price in self._spent(parts))

    def keeps(self, parts: Parts, room: Fraction) -> Verdict:
        """Whether the bound of some order is within the room."""
        sums = parts if self.deltas is None else tuple(each * parts[0] for each in self.orders)
        assert self.weights is not None
        return some_order_within(self.orders, self.weights, sums, self.delta, room)

    def room(self, parts: Parts, epsilon: Fraction) -> Parts:
        """The rest of each order; a launch that fits at one order is admitted."""
        left = [max(epsilon - spent - price, Fraction(0)) for spent, price in self._spent(parts)]
        if self.deltas is None:
            return tuple(left)
        return (max(room / order for room, order in zip(left, self.orders, strict=True)),)

    def _spent(self, parts: Parts) -> list[tuple[Fraction, Fraction]]:
        if self.deltas is not None:
            parts = tuple(order * parts[0] for order in self.orders)
        return list(zip(parts, self._prices, strict=True))
