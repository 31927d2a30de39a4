"""The measure `Dominated`: losses with a pure, a Gaussian and a delta part at once.

(epsilon, delta)-DP and Gaussian DP can both be stated in it exactly. The rule `GDPResidue` uses it.
"""

from fractions import Fraction
from typing import Self

import attrs

from queryable.losses import conversions
from queryable.losses.fields import quoted_exactly, read_delta, read_epsilon, read_mu
from queryable.losses.loss import AdditiveLoss, Loss, Measure, Parts, required_delta, sealed
from queryable.losses.measures import GDP, ApproxDP, PureDP
from queryable.losses.numbers import named, shown, sqrt_down, sqrt_up


@sealed
@attrs.frozen(order=False)
class Dominated(AdditiveLoss):
    """A view that can be simulated from three independent sources about the record.

    The sources are randomized response at epsilon, one draw of N(0, 1) or N(mu, 1), and an event of
    probability delta that reveals the record. mu = 0 is (epsilon, delta)-DP (Kairouz, Oh, Viswanath
    2017). epsilon = delta = 0 is mu-GDP (Blackwell 1951). Coordinates add up, mu as its square. For
    epsilon this holds because one randomized response at the sum simulates two.
    """

    epsilon: Fraction = attrs.field(converter=read_epsilon, repr=quoted_exactly)
    mu: Fraction = attrs.field(converter=read_mu, repr=quoted_exactly)
    delta: Fraction = attrs.field(converter=read_delta, repr=quoted_exactly)

    @property
    def measure(self) -> Measure:
        """This class."""
        return Dominated

    @property
    def parts(self) -> Parts:
        """(epsilon, mu squared, delta)."""
        return (self.epsilon, self.mu**2, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """Return the loss. mu is the square root, rounded up; a delta above 1 becomes 1."""
        return type(self)(parts[0], sqrt_up(parts[1]), min(parts[2], Fraction(1)))

    def room(self, parts: Parts) -> Self:
        """Return the loss; mu is the square root, rounded down."""
        return type(self)(parts[0], sqrt_down(parts[1]), min(parts[2], Fraction(1)))

    @classmethod
    def from_loss(cls, loss: Loss) -> Loss | None:
        """Return the exact equivalent of (epsilon, delta)-DP or Gaussian DP."""
        match loss:
            case PureDP(epsilon):
                return cls(epsilon, 0, 0)
            case ApproxDP(epsilon, delta):
                return cls(epsilon, 0, delta)
            case GDP(mu):
                return cls(0, mu, 0)
        return None

    def _alone(self) -> Loss | None:
        """Return the equivalent loss as `ApproxDP` or `GDP`, or None if it has parts of both."""
        if self.mu == 0:
            return ApproxDP(self.epsilon, self.delta)
        return GDP(self.mu) if self.epsilon == self.delta == 0 else None

    def _group(self, size: int) -> Self:
        alone = self._alone()
        if alone is None:
            return super()._group(size)
        grown = self.from_loss(alone.group(size))
        assert isinstance(grown, type(self))
        return grown

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        alone = self._alone()
        if alone is not None:
            return alone.to(measure, delta)
        if measure is not ApproxDP:
            return None
        chosen = required_delta(delta, self)
        if not self.delta < chosen:
            raise ValueError(f"delta is {shown(chosen)}; {self} needs more")
        # (epsilon, self.delta)-DP and Gaussian DP at what is left of delta, by basic composition
        gaussian = conversions.gdp_to_approx(self.mu, chosen - self.delta)
        return ApproxDP(self.epsilon + gaussian, chosen)

    def __str__(self) -> str:
        values = ("epsilon", "mu", "delta")
        fields = [named(name, getattr(self, name)) for name in values]
        return f"Dominated({', '.join(fields)})"
