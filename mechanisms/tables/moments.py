"""`Mean` and `Variance`: vectors of integers that are released, and estimates computed from them.

Each is a vector of sums, scaled so that one noise scale serves all entries.
"""

from typing import Any

import attrs
import numpy as np

from mechanisms.tables.request import Request, Term
from mechanisms.tables.statistics import ColumnStatistic
from queryable.data.cells import Array


@attrs.frozen
class _Moments(ColumnStatistic):
    """Powers of the distance of a number, in units, to the middle of its bounds."""

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


@attrs.frozen
class Mean(_Moments):
    """The number of records and the sum of a column, in one vector; `estimate` computes the mean.

    With c the middle of the bounds in units and r half their distance, a record whose cell is
    present adds (r, its units - c). Both entries have the same sensitivity, so one noise scale
    serves both: `mean.estimate(queryable.launch(Gaussian(mean, rho=...)))`. Clipping and units are
    as in `Sum`.

    The arguments are those of `ColumnStatistic`.
    """

    shape = (2,)

    @property
    def largest(self) -> tuple[int, ...]:
        """The radius, for both entries."""
        return (self.radius,) * 2

    @property
    def may_be_monotone(self) -> bool:
        """Whether no number is below the middle; the middle is then the lower bound."""
        return self.lattice.low >= self.center

    @property
    def request(self) -> Request:
        """How many cells there are, and their sum."""
        return self._powers(1)

    def combined(self, totals: Array) -> Array:
        """The vector."""
        return np.asarray(totals * np.array([self.radius, 1], dtype=object))

    def estimate(self, released: Any) -> Any:
        """The mean that a released vector implies, as a float; NaN if its count is below 1.

        Args:
            released: shape (2,), or (..., 2) of a `GroupBy`.
        """
        count, total = np.moveaxis(np.asarray(released, dtype=float), -1, 0)
        return self._number(_ratio(total * self.radius, count))

    def _number(self, units: Array) -> Any:
        inside = np.clip(units + self.center, self.lattice.low, self.lattice.high)
        mean = inside * float(self.unit)
        return mean if mean.ndim else float(mean)


@attrs.frozen
class Variance(_Moments):
    """The number of records, the sum of a column and that of its squares, in one vector.

    `estimate` computes the variance. With c and r as for `Mean` and d a record's units - c, a
    record whose cell is present adds (r^2, r d, 2 d^2 - r^2), each between -r^2 and r^2.

    The arguments are those of `ColumnStatistic`.
    """

    shape = (3,)

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

    def estimate(self, released: Any) -> Any:
        """The variance that a released vector implies, as a float.

        It is the mean squared distance from the mean (division by the count), clipped to the range
        that the bounds allow; NaN if the released count is not positive.

        Args:
            released: shape (3,), or (..., 3) of a `GroupBy`.
        """
        count, first, second = np.moveaxis(np.asarray(released, dtype=float), -1, 0)
        mean = np.clip(_ratio(first, count), -1, 1)  # in radii, as are the squares
        square = (_ratio(second, count) + 1) / 2
        variance = np.clip(square - mean**2, 0, 1) * float(self.radius * self.unit) ** 2
        return variance if variance.ndim else float(variance)


def _ratio(top: Array, bottom: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), np.nan))
