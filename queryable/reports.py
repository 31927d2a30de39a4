"""What an odometer can report: a privacy loss, or a bound that holds at all times at once.

Responsible for keeping the two apart. A `Loss` reported by an odometer is about thresholds fixed
in advance (Haney et al. 2023, Definition 2.11): cut the view where the report would pass the
threshold, and what was seen loses at most that. A `TimeUniformBound` is about the realised loss, at
every moment of one interaction at once, so it may be read at a moment picked by looking at the
answers. Neither is the other, and comparing or adding them is a `TypeError`.
"""

from fractions import Fraction
from typing import Any, Never

import attrs

from queryable.losses import Loss
from queryable.numbers import exact, probability, shown


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


def _delta(value: Any) -> Fraction:
    return probability(value, "delta")


@attrs.frozen(order=False)
class TimeUniformBound:
    """Except with probability delta, the realised loss never passes the epsilon of its moment.

    Privacy:
        Claim: with L_n = log(P(view so far) / P'(view so far)) for neighbouring data x, x' fixed in
            advance, and epsilon_n the report at that moment, the probability under x that
            L_n > epsilon_n at *some* n is at most delta. That |L_n| > epsilon_n at some n has
            probability at most delta*(1 + e^-m), m the least epsilon_n reported after a launch.
        Assumes: d_in was fixed in advance; the claim is for each d_in by itself.
    It is no `Loss`: an interaction that goes on after the report may lose any amount more.
    """

    epsilon: Fraction = attrs.field(converter=_epsilon)
    delta: Fraction = attrs.field(converter=_delta)

    def zero(self) -> "TimeUniformBound":
        """What holds of data that do not differ."""
        return TimeUniformBound(Fraction(0), Fraction(0))

    def __le__(self, other: object) -> bool:
        if not isinstance(other, TimeUniformBound):
            return self._incomparable(other)
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __ge__(self, other: object) -> bool:
        return other <= self if isinstance(other, TimeUniformBound) else self._incomparable(other)

    def _incomparable(self, other: object) -> Never:
        name = str(other) if isinstance(other, Loss) else type(other).__name__
        raise TypeError(
            f"{self} is not a privacy loss and has no order or sum with {name}: it bounds the "
            "realised loss at all times at once, with probability 1 - delta. Use its .epsilon for "
            "that; for a guarantee fixed in advance launch the odometer with d_out=ApproxDP(...)"
        )

    __lt__ = __gt__ = __add__ = __radd__ = __sub__ = __rsub__ = _incomparable

    def __str__(self) -> str:
        bound = f"loss <= {shown(self.epsilon)} at all times"
        return f"TimeUniformBound({bound}, with probability 1 - {shown(self.delta)})"


Report = Loss | TimeUniformBound
"""What the answer to a `PrivacyLossQuery` can be."""
