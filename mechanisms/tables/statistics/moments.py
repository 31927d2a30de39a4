"""`Mean`, `Variance` and `Std`: vectors of integers that are released, and estimates from them.

Each is a vector of sums, scaled so that one noise scale serves all entries. Intervals are about the
clipped numbers themselves: docs/tables/intervals.md says why they hold.
"""

from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.tables.requests.arrays import step_of
from mechanisms.tables.requests.request import Request, Term
from mechanisms.tables.statistics.counts import ColumnStatistic
from mechanisms.tables.statistics.ranges import Range
from queryable.data.cells import Array
from queryable.statistics import Monotone


@attrs.frozen
class _Moments(ColumnStatistic):
    """Powers of the distance of a number, in units, to the middle of its bounds."""

    step = None

    whole: bool = attrs.field(default=False, kw_only=True, converter=bool, eq=False, repr=False)
    """Whether all numbers and bounds are known to be whole units: truncation takes nothing."""

    def informed(self, dataset: Any) -> Self:
        """The same, with `whole` as the public type of the column says."""
        parts = self.lower, self.upper, step_of(dataset, self.column)
        units = [None if part is None else (part / self.unit).denominator for part in parts]
        return attrs.evolve(self, whole=self.whole or units == [1, 1, 1])

    @property
    def center(self) -> int:
        """The middle of the bounds, in units."""
        return (self.lattice.low + self.lattice.high) // 2

    @property
    def radius(self) -> int:
        """The largest distance of a number to the middle, in units; at least 1."""
        return max(self.lattice.high - self.center, self.center - self.lattice.low, 1)

    def _powers(self, highest: int) -> Request:
        count = Term(self.column, self.lattice)
        powers = (
            Term(self.column, self.lattice, self.center, power) for power in range(1, highest + 1)
        )
        return Request((count, *powers), self.where, per=self.per)

    @property
    def _truncated(self) -> Range:
        """What truncation toward zero takes from a number, in units."""
        if self.whole:
            return Range.between(0, 0)
        return Range.between(-1 if self.lower < 0 else 0, 1 if self.upper > 0 else 0)


def counts(low: Array, high: Array, scale: int) -> tuple[Array, Array, Array]:
    """The least and largest count above 0 that may be behind a release, and if 0 may not be.

    Args:
        low, high: Python integers, the ends of the count times `scale`.
    """
    least, most = -(-low // scale), high // scale
    return np.maximum(least, 1), np.maximum(most, 1), np.asarray(least >= 1, bool)


@attrs.frozen
class Mean(_Moments):
    """The number of records and the sum of a column, in one vector; `estimate` computes the mean.

    With c the middle of the bounds in units and r half their distance, a record whose cell is
    present adds (r, its units - c). Both entries have the same sensitivity, so one noise scale
    serves both: `mean.estimate(queryable.launch(Gaussian(mean, rho=...)))`. Clipping and units are
    as in `Sum`. An interval is about the mean of the clipped numbers, so it is wider by what
    truncation may take, up to one unit. From whole units, such as integers at unit 1, it takes
    nothing; elsewhere a finer unit makes the interval narrower.

    The arguments are those of `ColumnStatistic`.
    """

    shape = (2,)
    coordinates = 2

    @property
    def largest(self) -> tuple[int, ...]:
        """The radius, for both entries."""
        return (self.radius,) * 2

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """Up if no number is below the middle; the middle is then the lower bound."""
        return "up" if self.lattice.low >= self.center else None

    @property
    def request(self) -> Request:
        """How many cells there are, and their sum."""
        return self._powers(1)

    def combined(self, totals: Array) -> Array:
        """The vector."""
        return np.asarray(totals * np.array([self.radius, 1], dtype=object))

    def estimate(self, noisy: Any) -> Any:
        """The mean that a released vector implies, as a float; NaN if its count is below 1.

        Args:
            noisy: shape (2,), or (..., 2) of a `GroupBy`.
        """
        count, total = np.moveaxis(np.asarray(noisy, dtype=float), -1, 0)
        return self._number(_ratio(total * self.radius, count))

    def _number(self, units: Array) -> Any:
        inside = np.clip(units + self.center, self.lattice.low, self.lattice.high)
        mean = inside * float(self.unit)
        return mean if mean.ndim else float(mean)

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the mean; from `lower` to `upper` where the count may be 0."""
        least, most, known = counts(low[..., 0], high[..., 0], self.radius)
        distance = Range.of(low[..., 1], high[..., 1]) / Range.of(least, most)
        units = distance + Range.between(self.center, self.center) + self._truncated
        whole = Range.between(self.lower, self.upper)
        mean = (units * Range.between(self.unit, self.unit)).within(whole)
        return mean.where(known, whole).ends


@attrs.frozen
class Variance(_Moments):
    """The number of records, the sum of a column and that of its squares, in one vector.

    `estimate` computes the variance. With c and r as for `Mean` and d a record's units - c, a
    record whose cell is present adds (r^2, r d, 2 d^2 - r^2), each between -r^2 and r^2.

    The arguments are those of `ColumnStatistic`.
    """

    shape = (3,)
    coordinates = 3

    @property
    def largest(self) -> tuple[int, ...]:
        """The square of the radius, for all entries."""
        return (self.radius**2,) * 3

    @property
    def request(self) -> Request:
        """How many cells there are, their sum and that of their squares."""
        return self._powers(2)

    def combined(self, totals: Array) -> Array:
        """The vector."""
        count, first, second = np.moveaxis(totals, -1, 0)
        square = self.radius**2
        return np.stack([count * square, first * self.radius, 2 * second - count * square], -1)

    def estimate(self, noisy: Any) -> Any:
        """The variance that a released vector implies, as a float.

        It is the mean squared distance from the mean (division by the count), clipped to the range
        that the bounds allow; NaN if the released count is not positive.

        Args:
            noisy: shape (3,), or (..., 3) of a `GroupBy`.
        """
        count, first, second = np.moveaxis(np.asarray(noisy, dtype=float), -1, 0)
        mean = np.clip(_ratio(first, count), -1, 1)  # in radii, as are the squares
        square = (_ratio(second, count) + 1) / 2
        variance = np.clip(square - mean**2, 0, 1) * float(self.radius * self.unit) ** 2
        return variance if variance.ndim else float(variance)

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the variance; all that the bounds allow where the count may be 0."""
        return self._spread(low, high).square().ends

    def _spread(self, low: Array, high: Array) -> Range:
        """The range of the standard deviation.

        That of a sum is at most the sum of two, so truncation, which moves each number within
        `_truncated`, moves it by at most half the length of `_truncated`.
        """
        radius = self.radius
        least, most, known = counts(low[..., 0], high[..., 0], radius**2)
        count = Range.of(least, most)
        mean = Range.of(low[..., 1], high[..., 1], radius) / count
        twice = Range.of(low[..., 2], high[..., 2]) / count
        radii = Range.between(radius, radius)
        square = (twice + radii.square()) * Range.between(Fraction(1, 2), Fraction(1, 2))
        units = (square - mean.within(Range.between(-radius, radius)).square()).root()
        half = (self._truncated.high - self._truncated.low) / 2
        moved = units + Range(-half, half)
        whole = Range.between(0, (self.upper - self.lower) / 2)
        inside = (moved * Range.between(self.unit, self.unit)).within(whole)
        return inside.where(known, whole)


@attrs.frozen
class Std(Variance):
    """The standard deviation of a column: the square root of the `Variance`, released as that is.

    The arguments are those of `ColumnStatistic`.
    """

    def estimate(self, noisy: Any) -> Any:
        """The standard deviation that a released vector implies; see `Variance.estimate`."""
        spread = np.sqrt(super().estimate(noisy))
        return spread if np.ndim(spread) else float(spread)

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the standard deviation."""
        return self._spread(low, high).ends


def _ratio(top: Array, bottom: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), np.nan))
