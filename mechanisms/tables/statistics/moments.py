"""`Mean`, `Variance` and `Std`: vectors of integers that are released, and estimates from them.

Each is a vector of sums, scaled so that one noise scale serves all entries. Intervals are about the
clipped numbers themselves: docs/tables/intervals.md says why they hold.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.tables.expressions.operands import PerUnit, When
from mechanisms.tables.requests.arrays import step_of
from mechanisms.tables.requests.request import Request, Term
from mechanisms.tables.requests.wording import notes_on_rows
from mechanisms.tables.statistics.counts import ColumnStatistic
from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.ratios import BOX, Centred, Sums
from queryable.answers.half_widths import half_width
from queryable.answers.near import Near, Part
from queryable.answers.notes import at_bounds
from queryable.data.cells import Array
from queryable.losses.numbers import shown
from queryable.randomness.laws import Law
from queryable.statistics import Monotone
from queryable.wording.quoting import truth


def _is_whole(value: Any) -> bool:
    return truth(value, "whole")


@attrs.frozen
class _Moments(ColumnStatistic):
    """Powers of the distance of a number, in units, to the middle of its bounds."""

    step = None

    whole: bool = attrs.field(
        default=False, kw_only=True, converter=_is_whole, eq=False, repr=False
    )
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

    def row_counts(self, noisy: Array) -> Array:
        """The first integer of each group, which counts rows."""
        return noisy[..., 0]

    def notes(self, estimate: Any) -> Iterator[str]:
        """Of which rows it is."""
        yield from notes_on_rows(self.request)
        if isinstance(self.column, PerUnit) and self.column.how == "sum" and not self.whole:
            yield (
                f"numbers are cut to multiples of {shown(self.column.unit)} before they are added "
                "up: no interval says what that takes"
            )

    @property
    def _truncated(self) -> Range:
        """What truncation toward zero takes from a number, in units.

        A mean of a privacy unit's cells is also rounded down. Of the cells of a sum nothing is
        known: `notes` says so.
        """
        if self.whole:
            return Range.between(0, 0)
        taken = Range.between(-1 if self.lower < 0 else 0, 1 if self.upper > 0 else 0)
        if not isinstance(self.column, PerUnit):
            return taken
        ratio = self.column.unit / self.unit
        before = taken + Range.between(0, 1) if self.column.how == "mean" else taken
        after = taken if ratio.denominator > 1 else Range.between(0, 0)
        return before * Range.between(ratio, ratio) + after


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
    def public_name(self) -> str:
        """`Mean(column)`, or `Share(predicate)` of 1 where it holds and 0 elsewhere."""
        condition = self.column.condition if isinstance(self.column, When) else None
        return super().public_name if condition is None else f"Share({condition.text})"

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

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The means that the noisy count and sum do not refute."""
        sums = Sums(noisy, law, self.radius, (Fraction(0),) * 2)
        distance = Centred.of(sums, (), [Range.between(-1, 1)], missed).means[0]
        radii = distance * Range.between(self.radius, self.radius)
        units = radii + Range.between(self.center, self.center) + self._truncated
        whole = Range.between(self.lower, self.upper)
        return (units * Range.between(self.unit, self.unit)).within(whole).ends

    def notes(self, estimate: Any) -> Iterator[str]:
        """Of which rows it is, and whether it is at a bound; a share may be near 0 or 1."""
        yield from super().notes(estimate)
        counts = isinstance(self.column, PerUnit) and self.column.how == "count"
        if counts or self.lower != 0 or self.upper != 1:
            yield from at_bounds(estimate, float(self.lower), float(self.upper))

    is_near = True

    def near(self, noisy: Array, law: Law[int], missed: Fraction, source: Any) -> Near:
        """How noise moves the mean, in the direction of the slopes of sum over count.

        With q the mean, n and n' the exact and the noisy count: q' - q is (e1 - q e0) / n', which
        is (e1 - q e0) / n, but for (e1 - q e0) e0 / (n n').
        """
        count, total = Sums(noisy, law, self.radius, (Fraction(0),) * 2).points()
        width = Fraction(half_width(law, 1 - missed, 2), self.radius)
        around = Range.between(-width, width)
        known = np.asarray((count + around).low > 0)
        count, total = (each.where(known, Range.between(1, 1)) for each in (count, total))
        rows = (count + around).where(known, Range.between(1, 1))
        mean = ((total + around) / rows).within(Range.between(-1, 1))
        slopes = [mean * -1 / rows, rows.reciprocal()]
        rest = (mean.size + 1) * width * width / (rows * count)
        center = total / count
        scale, middle, taken = self.radius * self.unit, self.center * self.unit, self._truncated
        shift = Range.between(middle, middle) + taken * self.unit
        whole = Range.between(self.lower, self.upper)
        value = (center * scale + shift).where(known, whole)
        slopes = [(each * self.unit).where(known, Range.between(0, 0)) for each in slopes]
        shape = np.shape(known)
        low = np.stack([np.broadcast_to(each.low, shape) for each in slopes], -1)
        high = np.stack([np.broadcast_to(each.high, shape) for each in slopes], -1)
        places = np.arange(noisy.size).reshape(noisy.shape)
        beyond = (rest * scale).where(known, Range.between(0, 0)).high
        part = Part(source, law, places, low, high)
        bounds = (np.full(shape, end) for end in (whole.low, whole.high))
        return Near(value.low, value.high, (part,), beyond, *bounds)


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

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """That of the standard deviation, squared."""
        return self._spread(noisy, law, missed).square().ends

    def _spread(self, noisy: Array, law: Law[int], missed: Fraction) -> Range:
        """The range of the standard deviation; all that the bounds allow where there may be no row.

        That of a sum is at most the sum of two, so truncation, which moves each number within
        `_truncated`, moves it by at most half the length of `_truncated`.
        """
        sums = Sums(noisy, law, self.radius**2, (Fraction(0),) * 3)
        centred = Centred.of(sums, ((0, 0),), [Range.between(-1, 1)], missed * BOX)
        square = centred.covariance(0, 0, missed * (1 - BOX))
        units = square.root() * Range.between(self.radius, self.radius)
        half = (self._truncated.high - self._truncated.low) / 2
        moved = units + Range(-half, half)
        whole = Range.between(0, (self.upper - self.lower) / 2)
        return (moved * Range.between(self.unit, self.unit)).within(whole)


@attrs.frozen
class Std(Variance):
    """The standard deviation of a column: the square root of the `Variance`, released as that is.

    The arguments are those of `ColumnStatistic`.
    """

    def estimate(self, noisy: Any) -> Any:
        """The standard deviation that a released vector implies; see `Variance.estimate`."""
        spread = np.sqrt(super().estimate(noisy))
        return spread if np.ndim(spread) else float(spread)

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The range of the standard deviation."""
        return self._spread(noisy, law, missed).ends


def _ratio(top: Array, bottom: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), np.nan))
