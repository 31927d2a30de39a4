"""The query of a frugal person, and its answer."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.frugal.spread import Spread
from queryable.half_widths import confidence_of
from queryable.losses import ZCDP
from queryable.losses.numbers import shown


@attrs.frozen
class EstimateQuery:
    """Ask `Frugal` for a statistic, as accurate as this. Answers an `Estimated`.

    Attributes:
        statistic: a `Count`, `Sum` or `Histogram`, or a `GroupBy` of one.
        within: the half-width of the interval, of each entry by itself.
        confidence: the probability with which the interval holds.
        anytime: whether the question may depend on earlier answers of the same person. The interval
            then holds for all questions at all times at once, and needs more precision. Without it,
            the interval holds for questions that do not depend on earlier answers.
    """

    statistic: Any
    within: Any
    confidence: Any = "0.95"
    anytime: Any = False


def _by_value(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


@attrs.frozen
class Estimated:
    """An estimate from everything that was released.

    Attributes:
        value: a Fraction, or a read-only float64 array. Sums are in whole units.
        source: what it was worked out from.
        cost: what was charged for it.
        alone: what one launch for this question alone would have cost.
        spreads: one for each entry; what intervals are computed from.
        chosen: whether `interval` is about questions that depend on earlier answers.
    """

    value: Any = attrs.field(eq=_by_value)
    source: str
    cost: ZCDP
    alone: ZCDP
    spreads: tuple[Spread, ...] = attrs.field(repr=False)
    chosen: bool = False

    @property
    def saved(self) -> Fraction:
        """`alone` less `cost`: negative if a partition was bought for questions to come."""
        return self.alone.rho - self.cost.rho

    @property
    def variance(self) -> Fraction:
        """The largest variance of an entry."""
        return max((spread.variance for spread in self.spreads), default=Fraction(0))

    def interval(self, confidence: Any = 0.95, *, anytime: bool | None = None) -> tuple[Any, Any]:
        """The least and the greatest integer that the value without noise may be.

        Args:
            confidence: a probability above 0 and below 1; for an array, of each entry separately.
            anytime: whether the question may depend on earlier answers; by default as was asked.

        Returns:
            Two ints, or two float64 arrays of whole numbers.
        """
        missed = 1 - confidence_of(confidence)
        always = self.chosen if anytime is None else anytime
        widths = [spread.half_width(missed, anytime=always) for spread in self.spreads]
        if not isinstance(self.value, np.ndarray):
            low, high = sorted((-((widths[0] - self.value) // 1), (self.value + widths[0]) // 1))
            return int(low), int(high)
        far = np.nextafter(np.array([float(each) for each in widths]), np.inf)
        far = far.reshape(self.value.shape) + abs(self.value) * 2.0**-50
        return np.ceil(self.value - far), np.floor(self.value + far)

    def __str__(self) -> str:
        value = shown(self.value) if isinstance(self.value, Fraction) else self.value
        return f"{value} from {self.source}; cost {self.cost}, on its own {self.alone}"
