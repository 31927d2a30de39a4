"""Losses that are a randomized response and a Gaussian at once.

Responsible for the measure `Dominated`, in which (epsilon, delta)-DP and Gaussian DP can both be
stated without loss, for rules that follow the residue of a Gaussian.
"""

from fractions import Fraction
from typing import Any, Self

import attrs

from queryable.losses.measures import (
    GDP,
    AdditiveLoss,
    ApproxDP,
    Loss,
    Measure,
    Parts,
    PureDP,
    sealed,
)
from queryable.losses.numbers import exact, probability, shown, sqrt_down, sqrt_up


def _quoted(value: Fraction) -> str:
    return repr(str(value))


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


def _mu(value: Any) -> Fraction:
    return exact(value, "mu")


def _delta(value: Any) -> Fraction:
    return probability(value, "delta")


@sealed
@attrs.frozen(order=False)
class Dominated(AdditiveLoss):
    """No more telling than RR_epsilon, N(0,1) against N(mu,1), and all with probability delta.

    The three are independent of each other. (epsilon, delta)-DP is this with mu = 0 (Kairouz, Oh,
    Viswanath 2017), mu-GDP with epsilon = delta = 0 (Blackwell 1951). Coordinates add up, mu as its
    square: two responses are no more telling than one at the sum.
    """

    epsilon: Fraction = attrs.field(converter=_epsilon, repr=_quoted)
    mu: Fraction = attrs.field(converter=_mu, repr=_quoted)
    delta: Fraction = attrs.field(converter=_delta, repr=_quoted)

    @property
    def measure(self) -> Measure:
        """This class."""
        return Dominated

    @property
    def parts(self) -> Parts:
        """(epsilon, mu squared, delta)."""
        return (self.epsilon, self.mu**2, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """mu is the square root, rounded up; a delta beyond one says no more than one."""
        return type(self)(parts[0], sqrt_up(parts[1]), min(parts[2], Fraction(1)))

    def room(self, parts: Parts) -> Self:
        """mu is the square root, rounded down."""
        return type(self)(parts[0], sqrt_down(parts[1]), min(parts[2], Fraction(1)))

    @classmethod
    def from_loss(cls, loss: Loss) -> Loss | None:
        """(epsilon, delta)-DP and Gaussian DP, exactly."""
        match loss:
            case PureDP(epsilon):
                return cls(epsilon, 0, 0)
            case ApproxDP(epsilon, delta):
                return cls(epsilon, 0, delta)
            case GDP(mu):
                return cls(0, mu, 0)
        return None

    def _alone(self) -> Loss | None:
        """The same in the measure it came from, if there is only one kind of it."""
        if self.mu == 0:
            return ApproxDP(self.epsilon, self.delta)
        return GDP(self.mu) if self.epsilon == self.delta == 0 else None

    def _group(self, size: int) -> Self:
        alone = self._alone()
        if alone is None:
            raise ValueError(f"no group bound is proven for {self}; state the map at that d_in")
        grown = self.from_loss(alone.group(size))
        assert isinstance(grown, type(self))
        return grown

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        alone = self._alone()
        return None if alone is None else alone.to(measure, delta)

    def __str__(self) -> str:
        values = ("epsilon", "mu", "delta")
        told = [f"{name}={shown(getattr(self, name))}" for name in values]
        return f"Dominated({', '.join(told)})"
