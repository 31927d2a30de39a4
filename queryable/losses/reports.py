"""The reports of a compositor: a privacy loss, or one of two bounds on the realised loss.

The three are different types, because they answer different questions:

- A `Loss`, reported by an odometer, is about a threshold fixed in advance (Haney et al. 2023,
  Definition 2.11). If the view is cut before the report passes the threshold, its loss is at most
  the threshold.
- A `TimeUniformBound` bounds the realised loss at every moment of one interaction at once. It may
  be read at a moment that is chosen by looking at the answers.
- An `ExPostBound` bounds the loss of the view with which an interaction ended, wherever it ended,
  apart from a stated probability delta.

Comparing or adding reports of different types is a `TypeError`.
"""

from fractions import Fraction
from typing import ClassVar, Never, Self

import attrs

from queryable.losses.fields import read_delta, read_epsilon
from queryable.losses.loss import Loss
from queryable.losses.numbers import shown


@attrs.frozen(order=False)
class RealisedBound:
    """A bound on the realised loss. It is not a `Loss`: later answers may add to the loss."""

    _kind: ClassVar[str]
    _instead: ClassVar[str]

    epsilon: Fraction = attrs.field(converter=read_epsilon)
    delta: Fraction = attrs.field(converter=read_delta)

    def zero(self) -> Self:
        """Return the bound for data that do not differ."""
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
            f"{self._instead}. {self} {self._kind}; it is not a privacy loss and has no order or "
            f"sum with {name}"
        )

    __lt__ = __gt__ = __add__ = __radd__ = __sub__ = __rsub__ = _incomparable


@attrs.frozen(order=False)
class TimeUniformBound(RealisedBound):
    """A bound on the realised loss that holds at all times at once, with probability 1 - delta.

    Privacy:
        Claim: with L_n = log(P(view so far) / P'(view so far)) for neighbouring data x, x' fixed in
            advance, and epsilon_n the report at that moment, the probability under x that
            L_n > epsilon_n at *some* n is at most delta. That |L_n| > epsilon_n at some n has
            probability at most delta*(1 + e^-m), m the least epsilon_n reported after a launch.
        Assumes: d_in was fixed in advance; the claim is for each d_in by itself.
    It is not a `Loss`: after the report the interaction can continue, and the loss has no limit.
    Rogers et al. 2016 call this an odometer (Haney et al. 2023, Definition 1.17).
    """

    _kind = "bounds the realised loss at all times at once, with probability 1 - delta"
    _instead = (
        "Use its .epsilon; for a guarantee fixed in advance, launch the odometer with "
        "d_out=ApproxDP(...)"
    )

    def __str__(self) -> str:
        bound = f"loss <= {shown(self.epsilon, 3)} at all times"
        return f"TimeUniformBound({bound}, with probability 1 - {shown(self.delta, 3)})"


@attrs.frozen(order=False)
class ExPostBound(RealisedBound):
    """A bound on the loss of the view with which an interaction ends, apart from delta.

    Privacy:
        Claim: let epsilon(v) and delta(v) be the report where an interaction with view v ended, and
            P and P' the laws of the view for data that differ in `d_in` records fixed in advance.
            Then the sum over v of max(0, P(v) - e^epsilon(v) P'(v)) is at most the mean of delta(v)
            under P. With delta = 0 that is P(v) <= e^epsilon(v) P'(v) for every v.
    It is not a `Loss`: it depends on the answers, and an interaction that continues after the
    report may lose more, up to the filter's budget.
    """

    _kind = "bounds the loss of an interaction that ends here"
    _instead = "Use its .epsilon; the guarantee fixed in advance is the filter's privacy_map"

    def __str__(self) -> str:
        part = f", except with probability {shown(self.delta, 3)}" if self.delta else ""
        return f"ExPostBound(loss <= {shown(self.epsilon, 3)} for these answers{part})"


Report = Loss | TimeUniformBound | ExPostBound
"""The type of the answer to a `PrivacyLossQuery`."""
