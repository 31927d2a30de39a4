"""The answers of refinements: an estimate, and an interval for the value without noise."""

from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.refinement.tails import Reach
from queryable.answers.noisy import NoisyInt, Remarked, Uncertain
from queryable.data.frozen import by_value, read_only
from queryable.losses.numbers import shown
from queryable.messages import Refused


@attrs.frozen
class Refined(Remarked, Uncertain):
    """A noisy value and the variance of its noise.

    `value`: a Fraction, or a read-only float64 array of the statistic's shape; of
    `LaplaceNoiseReduction` an int or an integer array. `variance`: of each entry, exactly, in the
    sense of the Gaussian's parameter. The variance of noise on the integers is never larger, and
    visibly smaller only below 1. `reach`: bounds on the noise; public, and not compared.
    """

    value: Any = attrs.field(eq=by_value)
    variance: Fraction
    reach: Reach | None = attrs.field(kw_only=True, default=None, eq=False, repr=False)

    def interval(
        self, confidence: Any = 0.95, *, fixed_in_advance: bool = False
    ) -> tuple[Any, Any]:
        """The least and the greatest integer that the value without noise may be.

        The intervals of all refinements of this estimate cover the value at once, with probability
        at least `confidence` over the noise. So targets, and when to stop, may depend on values.

        Args:
            confidence: a probability above 0 and below 1; for an array, of each entry separately.
            fixed_in_advance: whether this target, and that it is the one to be used, was fixed
                before any value of this estimate was seen. The interval is then narrower, and
                covers the value by itself. It makes no difference to estimates that `Until` has
                produced, which stops because of the values.

        Returns:
            Two ints, or two arrays of whole numbers: float64 for an array of floats, and infinite
            where a value is not finite.

        Raises:
            ValueError: the confidence is not such a number, or no mechanism made this estimate.
        """
        if self.reach is None:
            raise ValueError("ask an answer of a mechanism: this estimate has no known noise")
        return self.reach.ends(self.value, confidence, fixed_in_advance=fixed_in_advance)

    def without_interval(self) -> Self:
        """The same value, of which no noise is known."""
        value = int(self.value) if isinstance(self.value, NoisyInt) else self.value
        if isinstance(value, np.ndarray):
            value = read_only(np.array(value))
        return attrs.evolve(self, value=value, reach=None)

    def __str__(self) -> str:
        value = shown(self.value) if isinstance(self.value, Fraction) else self.value
        return f"{value} with variance {shown(self.variance)}"


_SHORT = (
    "the condition does not hold: the schedule ended first; give a schedule that ends with less "
    "noise"
)


def _whether(met: bool) -> str:
    return "True" if met else f"False ({_SHORT})"


@attrs.frozen
class Stopped(Refined):
    """The estimate at which `Until` stopped, and whether its condition held there (`met`)."""

    met: bool = attrs.field(repr=_whether)

    @property
    def remark(self) -> str:
        """Says so if the condition does not hold; else empty."""
        return "" if self.met else _SHORT

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}; {self.remark}" if self.remark else text


@attrs.frozen
class Undecided(Refused, Uncertain):
    """The condition of an `Until` raised or returned no bool at this estimate, which is paid for.

    `Latest()` answers the estimate again, and it can be refined further.
    """

    estimate: Refined | None = None

    def without_interval(self) -> Self:
        """The same with the estimate of which no noise is known."""
        told = self.estimate
        return attrs.evolve(self, estimate=None if told is None else told.without_interval())


PAID = "the steps until then were taken and paid for; Latest() answers the estimate"


def is_value_dependent(estimate: Refined | None) -> bool:
    """Whether the estimate was reached because of earlier values, as with `Until`."""
    return estimate is not None and estimate.reach is not None and estimate.reach.value_dependent


def value_dependent(estimate: Refined) -> Refined:
    """The same estimate, marked as reached because of earlier values."""
    reach = estimate.reach
    if reach is None or reach.value_dependent:
        return estimate
    there = Reach(reach.tails, reach.rounded, value_dependent=True)
    return Refined(estimate.value, estimate.variance, reach=there)


def stopped(estimate: Refined, *, met: bool) -> Stopped:
    """The answer of an `Until` that stopped."""
    reach = value_dependent(estimate).reach
    return Stopped(estimate.value, estimate.variance, met, reach=reach)


def undecided(error: Exception, estimate: Refined) -> Undecided:
    """The answer of an `Until` whose condition could not be evaluated."""
    return Undecided(str(error), instead=PAID, estimate=value_dependent(estimate))
