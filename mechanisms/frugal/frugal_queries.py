"""The query of a frugal person, and its answer."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.frugal.spread import Spreads
from mechanisms.tables.statistics.releases import labelled
from queryable.answers.half_widths import confidence_of
from queryable.answers.noisy import Paid, Uncertain
from queryable.answers.released import Released
from queryable.answers.values import in_words
from queryable.data.frozen import by_value
from queryable.losses import ZCDP


@attrs.frozen
class Estimate:
    """Ask `Frugal` for a statistic, as accurate as this. Answers an `Estimated`.

    Attributes:
        statistic: a `Count`, `Sum` or `Histogram`, or a `GroupBy` of one.
        within: the half-width of the interval, of each entry by itself; of sums in the unit of the
            column.
        confidence: the probability with which the interval holds.
        fixed_in_advance: write True only if all questions to this person, their accuracies and
            their number were fixed before the first answer, by everybody who asks it. The interval
            is then narrower, and holds for this answer by itself. By default questions, accuracies
            and when to stop may depend on answers: the interval holds for all answers to this
            question at once. One from earlier noise is wide, so more precision is bought.
    """

    statistic: Any
    within: Any
    confidence: Any = "0.95"
    fixed_in_advance: Any = False


def rounded(value: Any) -> str:
    """A count, or an array of counts, without digits after the point; long arrays shortened."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=20, formatter={"all": lambda x: f"{x:,.0f}"})
    return f"{round(value):,}"


@attrs.frozen
class Estimated(Paid, Uncertain):
    """An estimate from everything that was released.

    Attributes:
        value: a Fraction, or a read-only float64 array; of sums in the unit of the column.
        source: what it was worked out from.
        cost: what was charged for it.
        alone: what one launch for this question alone would have cost.
        spreads: one for each entry, in multiples of `unit`; what intervals are computed from.
        fixed_in_advance: whether it was asked so: see `Estimate`.
        unit: the values without noise are multiples of it: the `unit` of a `Sum`, 1 of counts.
    """

    value: Any = attrs.field(eq=by_value)
    source: str
    cost: ZCDP
    alone: ZCDP
    spreads: Spreads = attrs.field(repr=False)
    fixed_in_advance: bool = False
    unit: Fraction = Fraction(1)

    @property
    def saved(self) -> Fraction:
        """`alone` less `cost`: negative if a partition was bought for questions to come."""
        return self.alone.rho - self.cost.rho

    @property
    def variance(self) -> Fraction:
        """The largest variance of an entry."""
        most = max((spread.variance for spread in self.spreads), default=Fraction(0))
        return most * self.unit**2

    def interval(
        self, confidence: Any = 0.95, *, fixed_in_advance: bool | None = None
    ) -> tuple[Any, Any]:
        """The least and the greatest multiple of the unit that the value without noise may be.

        It holds with this probability at any moment that was chosen because of answers, for all
        answers to this question at once, whatever the question and its accuracies depend on. Of
        answers from earlier noise, those to all questions hold at once.

        Args:
            confidence: a probability above 0 and below 1; for an array, of each entry separately.
            fixed_in_advance: whether all questions to the person, their accuracies and their number
                were fixed before the first answer. The interval is then narrower and holds for this
                answer by itself. By default as was asked.

        Returns:
            Two ints if the unit is 1, two Fractions otherwise; for an array two float64 arrays.

        Raises:
            ValueError: it should be the narrower one, and the query did not say so.
        """
        low, high = self._multiples(confidence, fixed_in_advance=fixed_in_advance)
        if self.unit == 1:
            return low, high
        if not isinstance(self.value, np.ndarray):
            return low * self.unit, high * self.unit
        low, high = low * float(self.unit), high * float(self.unit)
        return low - abs(low) * 2.0**-51, high + abs(high) * 2.0**-51  # both products are rounded

    def _multiples(
        self, confidence: Any = 0.95, *, fixed_in_advance: bool | None = None
    ) -> tuple[Any, Any]:
        """The interval in multiples of the unit: two ints, or two float64 arrays."""
        missed = 1 - confidence_of(confidence)
        fixed = self.fixed_in_advance if fixed_in_advance is None else fixed_in_advance
        if fixed and not self.fixed_in_advance:
            raise ValueError(
                "this question may depend on answers: the narrower interval is for questions that "
                "were asked with Estimate(.., fixed_in_advance=True)"
            )
        widths = [spread.half_width(missed, fixed_in_advance=fixed) for spread in self.spreads]
        value = self._value
        if not isinstance(value, np.ndarray):
            low, high = sorted((-((widths[0] - value) // 1), (value + widths[0]) // 1))
            return int(low), int(high)
        far = np.nextafter(np.array([float(each) for each in widths]), np.inf)
        far = far.reshape(value.shape) + abs(value) * 2.0**-50
        return np.ceil(value - far), np.floor(value + far)

    @property
    def _value(self) -> Any:
        """The value in multiples of the unit."""
        if isinstance(self.value, np.ndarray):
            return self.value / float(self.unit)
        return self.value / self.unit

    def without_interval(self) -> Any:
        """The value."""
        return self.value

    def labelled(self, statistic: Any) -> Released:
        """The answer with the keys of its entries, and of sums in the unit of the column.

        Args:
            statistic: what was asked.

        Returns:
            It prints as a table, and has `to_pandas`, `to_polars`, `to_arrow` and `interval`.
        """
        return labelled(statistic, self._value, self._multiples)

    def __str__(self) -> str:
        if isinstance(self.value, np.ndarray):
            value = rounded(self.value)
        else:
            read = round if self.unit == 1 else Fraction
            value, low, high = in_words(*map(read, (self.value, *self.interval())))
            value = f"{value} (95% interval: {low} to {high})"
        return f"{value}, from {self.source}; cost {self.cost}, on its own {self.alone}"
