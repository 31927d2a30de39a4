"""What a compositor can report: a privacy loss, or one of two bounds on what was realised.

Responsible for keeping them apart. A `Loss` reported by an odometer is about thresholds fixed
in advance (Haney et al. 2023, Definition 2.11): cut the view where the report would pass the
threshold, and what was seen loses at most that. A `TimeUniformBound` is about the realised loss, at
every moment of one interaction at once, so it may be read at a moment picked by looking at the
answers. An `ExPostBound` is about how an interaction ended, wherever it did: what was seen then has
lost no more, deltas aside. None is another, and comparing or adding them is a `TypeError`.
"""

from fractions import Fraction
from typing import Any, ClassVar, Never, Self

import attrs

from queryable.losses.measures import Loss
from queryable.losses.numbers import exact, probability, shown


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


def _delta(value: Any) -> Fraction:
    return probability(value, "delta")


@attrs.frozen(order=False)
class Bound:
    """A bound on what was realised: no `Loss`, because an interaction may go on and lose more."""

    _kind: ClassVar[str]
    _instead: ClassVar[str]

    epsilon: Fraction = attrs.field(converter=_epsilon)
    delta: Fraction = attrs.field(converter=_delta)

    def zero(self) -> Self:
        """What holds of data that do not differ."""
        return type(self)(Fraction(0), Fraction(0))

    def __le__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return self._incomparable(other)
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __ge__(self, other: object) -> bool:
        return other <= self if isinstance(other, type(self)) else self._incomparable(other)

    def _incomparable(self, other: object) -> Never:
        name = str(other) if isinstance(other, Loss) else type(other).__name__
        raise TypeError(
            f"{self} is not a privacy loss and has no order or sum with {name}: it {self._kind}. "
            f"{self._instead}"
        )

    __lt__ = __gt__ = __add__ = __radd__ = __sub__ = __rsub__ = _incomparable


@attrs.frozen(order=False)
class TimeUniformBound(Bound):
    """Except with probability delta, the realised loss never passes the epsilon of its moment.

    Privacy:
        Claim: with L_n = log(P(view so far) / P'(view so far)) for neighbouring data x, x' fixed in
            advance, and epsilon_n the report at that moment, the probability under x that
            L_n > epsilon_n at *some* n is at most delta. That |L_n| > epsilon_n at some n has
            probability at most delta*(1 + e^-m), m the least epsilon_n reported after a launch.
        Assumes: d_in was fixed in advance; the claim is for each d_in by itself.
    It is no `Loss`: an interaction that goes on after the report may lose any amount more. This is
    what Rogers et al. 2016 call an odometer (Haney et al. 2023, Definition 1.17).
    """

    _kind = "bounds the realised loss at all times at once, with probability 1 - delta"
    _instead = (
        "Use its .epsilon for that; for a guarantee fixed in advance launch the odometer with "
        "d_out=ApproxDP(...)"
    )

    def __str__(self) -> str:
        bound = f"loss <= {shown(self.epsilon)} at all times"
        return f"TimeUniformBound({bound}, with probability 1 - {shown(self.delta)})"


@attrs.frozen(order=False)
class ExPostBound(Bound):
    """What was seen has lost at most epsilon, except for a part of probability delta.

    Privacy:
        Claim: let epsilon(v) and delta(v) be the report where an interaction with view v ended, and
            P and P' the laws of the view for data that differ in `d_in` records fixed in advance.
            Then the sum over v of max(0, P(v) - e^epsilon(v) P'(v)) is at most the mean of delta(v)
            under P. With delta = 0 that is P(v) <= e^epsilon(v) P'(v) for every v.
    It is no `Loss`: how much was lost depends on what was said, and an interaction that goes on
    after the report may lose more, up to the filter's budget.
    """

    _kind = "bounds what an interaction that ends here has lost"
    _instead = "Use its .epsilon for that; what was promised in advance is the filter's privacy_map"

    def __str__(self) -> str:
        part = f", but for probability {shown(self.delta)}" if self.delta else ""
        return f"ExPostBound(loss <= {shown(self.epsilon)} for what was seen{part})"


Report = Loss | TimeUniformBound | ExPostBound
"""What the answer to a `PrivacyLossQuery` can be."""
