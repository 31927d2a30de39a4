"""What refinements answer: estimates, and where the truth is.

Responsible for these values. Knows no mechanism.
"""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.refinement.tails import Reach
from queryable.losses.numbers import shown
from queryable.messages import Refused


def _by_value(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


@attrs.frozen
class Estimate:
    """A noisy value and the variance of its noise.

    `value`: a Fraction, or a read-only float64 array of the statistic's shape; of Laplace noise
    reduction, integers. `variance`: of each entry, exactly, as the Gaussian's parameter is meant:
    that of noise on the integers is never larger, and visibly smaller only below 1. `reach`: how
    far the noise may reach; public, and no part of what is compared.
    """

    value: Any = attrs.field(eq=_by_value)
    variance: Fraction
    reach: Reach | None = attrs.field(kw_only=True, default=None, eq=False, repr=False)

    def interval(self, confidence: Any = 0.95, *, anytime: bool = False) -> tuple[Any, Any]:
        """Where the value without noise is: the least and the greatest integer it may be.

        At least as often as `confidence` says, over the noise, if the target was fixed before any
        value of this estimate was seen. Who stops because of what the values are, as `Until` does,
        is wrong more often than that: then use `anytime`, which is what estimates that `Until` has
        led to always do.

        Args:
            confidence: a probability above 0 and below 1; of an array, of each entry by itself.
            anytime: of all refinements of this estimate at once, whichever is then looked at.

        Returns:
            Two ints, or two arrays of whole numbers: float64 for an array of floats, infinite
            where a value is not finite.

        Raises:
            ValueError: not such a confidence, or an estimate that no mechanism has made.
        """
        if self.reach is None:
            raise ValueError("this estimate does not say what noise is in it")
        return self.reach.ends(self.value, confidence, anytime=anytime)

    def __str__(self) -> str:
        value = shown(self.value) if isinstance(self.value, Fraction) else self.value
        return f"{value} with variance {shown(self.variance)}"


@attrs.frozen
class Stopped(Estimate):
    """The estimate where `Until` has stopped, and whether the condition held there."""

    met: bool


@attrs.frozen
class Undecided(Refused):
    """The condition of an `Until` has raised or given no bool at this estimate, which is paid for.

    `Latest()` tells it again, and everything goes on from there.
    """

    estimate: Estimate | None = None


PAID = "the steps until then were taken and paid for, and Latest() tells the estimate"


def is_value_dependent(estimate: Estimate | None) -> bool:
    """Whether it is known to be looked at because of its value."""
    return estimate is not None and estimate.reach is not None and estimate.reach.value_dependent


def value_dependent(estimate: Estimate) -> Estimate:
    """The same, known to be looked at because of its value."""
    reach = estimate.reach
    if reach is None or reach.value_dependent:
        return estimate
    there = Reach(reach.tails, reach.rounded, value_dependent=True)
    return Estimate(estimate.value, estimate.variance, reach=there)


def stopped(estimate: Estimate, *, met: bool) -> Stopped:
    """Where `Until` stops."""
    reach = value_dependent(estimate).reach
    return Stopped(estimate.value, estimate.variance, met, reach=reach)


def undecided(error: Exception, estimate: Estimate) -> Undecided:
    """Where it cannot go on, for its condition does not say."""
    return Undecided(str(error), instead=PAID, estimate=value_dependent(estimate))
