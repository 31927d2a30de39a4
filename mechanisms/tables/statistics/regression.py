"""`Covariance`, `Correlation` and `Regression`, computed from sums of products.

Estimates and intervals are postprocessing of one released vector (`products`). Intervals enclose
the estimate over the box of the noiseless sums: docs/tables/intervals.md says why they hold.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from mechanisms.tables.statistics.aggregates import per_field
from mechanisms.tables.statistics.linear import product, rows, solved
from mechanisms.tables.statistics.moments import counts
from mechanisms.tables.statistics.products import RADIUS, Bounds, Products, bounds_of
from mechanisms.tables.statistics.ranges import Range
from queryable.answers.estimates import Axis
from queryable.data.cells import Array


def _point(value: Fraction) -> Range:
    return Range.between(value, value)


@attrs.frozen
class Covariance(Products):
    """The covariance of two columns: the mean product of their distances from their means.

    Rows with a cell in both columns count. Intervals are about the clipped numbers.

    Args:
        x, y: the columns.
        bounds: public bounds by column, `{"age": (0, 100), "hours": (0, 80)}`; never taken from the
            data. Numbers are clipped to them.
        where: which records, as for `Count`.
        per: the privacy unit, as for `Count`.
    """

    x: Operand = attrs.field(converter=operand_of)
    y: Operand = attrs.field(converter=operand_of)
    bounds_by_column: Bounds = attrs.field(alias="bounds", converter=bounds_of)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Both columns."""
        return (self.x, self.y)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The product of both."""
        return ((0, 1),)

    @property
    def request(self) -> Request:
        """The rows, the sum of each column, and the sums of products."""
        return self.asking(self.where, self.per)

    @property
    def public_name(self) -> str:
        """`Covariance(x, y)`."""
        return f"{type(self).__name__}({', '.join(map(operand_name, self.operands))})"

    def estimate(self, noisy: Any) -> Any:
        """The covariance that a released vector implies; NaN if its number of rows is below 1."""
        _, means = self.means(noisy)
        x, y = self.scaled
        most = float(x.half * y.half)
        found = (means[0, 1] - means[0] * means[1]) * float(x.scale) * float(y.scale)
        return _number(np.clip(found, -most, most))

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the covariance; all that the bounds allow where there may be no row."""
        known, means = self.ranges(low, high)
        x, y = self.scaled
        whole = Range.between(-x.half * y.half, x.half * y.half)
        found = (means[0, 1] - means[0] * means[1]) * _point(x.scale * y.scale)
        return found.within(whole).where(known, whole).ends


@attrs.frozen
class Correlation(Covariance):
    """The correlation of two columns, from -1 to 1: the covariance over both deviations.

    Args and which rows count: as for `Covariance`.
    """

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Both squares and the product."""
        return ((0, 0), (0, 1), (1, 1))

    def estimate(self, noisy: Any) -> Any:
        """The correlation that a released vector implies; NaN if a variance is not positive."""
        _, means = self.means(noisy)
        spread = (means[0, 0] - means[0] ** 2), (means[1, 1] - means[1] ** 2)
        with np.errstate(all="ignore"):
            square = np.where((spread[0] > 0) & (spread[1] > 0), spread[0] * spread[1], np.nan)
            found = (means[0, 1] - means[0] * means[1]) / np.sqrt(square)
        return _number(np.clip(found, -1, 1))

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the correlation; -1 to 1 where a variance may be 0."""
        known, means = self.ranges(low, high)
        one = Range.between(-1, 1)
        x, y = (means[j, j] - means[j].square() for j in (0, 1))
        positive = np.asarray(known) & (x.low > 0) & (y.low > 0)
        spread = x.where(positive, _point(Fraction(1))) * y.where(positive, _point(Fraction(1)))
        found = (means[0, 1] - means[0] * means[1]) / spread.root()
        return found.within(one).where(positive, one).ends


def _several(value: Any) -> tuple[Operand, ...]:
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(operand_of(each) for each in values)


@attrs.frozen
class Regression(Products):
    """Least squares: the intercept and the slopes of one column on others.

    The answer has one coefficient per name: "intercept", then each column of `x`. A slope is in
    units of y per unit of x. Rows with a cell in all columns count, with clipped numbers.

    Args:
        y: the column that is explained.
        x: the columns that explain it: a name, or several.
        bounds: public bounds by column, as for `Covariance`.
        where: which records, as for `Count`.
        per: the privacy unit, as for `Count`.
    """

    y: Operand = attrs.field(converter=operand_of)
    x: tuple[Operand, ...] = attrs.field(converter=_several)
    bounds_by_column: Bounds = attrs.field(alias="bounds", converter=bounds_of)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The columns of x, then y."""
        return (*self.x, self.y)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All but the square of y."""
        return super().pairs[:-1]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The coefficients."""
        names = ("intercept", *map(operand_name, self.x))
        return (Axis(("coefficient",), tuple((name,) for name in names)),)

    @property
    def request(self) -> Request:
        """The rows, the sum of each column, and the sums of products."""
        return self.asking(self.where, self.per)

    @property
    def public_name(self) -> str:
        """`Regression of y on x`."""
        return f"Regression of {operand_name(self.y)} on {', '.join(map(operand_name, self.x))}"

    def estimate(self, noisy: Any) -> Any:
        """The coefficients that a released vector implies.

        NaN if the number of rows is below 1, or if the noisy matrix of the normal equations is not
        positive definite: the columns of x are then too much alike for this noise.
        """
        _, means = self.means(noisy)
        size = len(self.x)
        matrix = np.empty((*np.shape(means[0]), size + 1, size + 1))
        right = np.empty((*np.shape(means[0]), size + 1))
        matrix[..., 0, 0], right[..., 0] = 1, means[size]
        for i in range(size):
            matrix[..., 0, i + 1] = matrix[..., i + 1, 0] = means[i]
            right[..., i + 1] = means[i, size]
            for j in range(i, size):
                matrix[..., i + 1, j + 1] = matrix[..., j + 1, i + 1] = means[i, j]
        found = np.full(right.shape, np.nan)
        for place in np.ndindex(right.shape[:-1]):
            if np.isfinite(matrix[place]).all() and np.linalg.eigvalsh(matrix[place])[0] > 0:
                found[place] = np.linalg.solve(matrix[place], right[place])
        return self._in_real_units(found)

    def _in_real_units(self, found: Array) -> Array:
        *x, y = self.scaled
        real = np.empty_like(found)
        slopes = [float(y.scale / each.scale) for each in x]
        real[..., 1:] = found[..., 1:] * slopes
        middles = np.array([float(each.middle) for each in x])
        real[..., 0] = float(y.middle) + found[..., 0] * float(y.scale) - real[..., 1:] @ middles
        return real

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of each coefficient; infinite where the matrix may be singular."""
        ends = np.empty((2, *low.shape[:-1], len(self.x) + 1))
        for place in np.ndindex(low.shape[:-1]):
            ends[(slice(None), *place)] = self._solved(low[place], high[place])
        return ends[0], ends[1]

    def _solved(self, low: Array, high: Array) -> Array:
        least, most, known = counts(low[0], high[0], RADIUS**2)
        if not known:
            return np.array([[-np.inf], [np.inf]])
        moved = [column.truncated for column in self.scaled]
        size = len(self.x)
        sums = [rows(int(least), int(most), size)]
        for j, by in enumerate(moved, 1):
            sums.append(product(0, j, *_ends_of(low[j], high[j], by * int(most)), size))
        for place, (i, j) in enumerate(self.pairs, 1 + len(moved)):
            by = (moved[i] + moved[j] + moved[i] * moved[j]) * int(most) * (2 if i == j else 1)
            sums.append(product(i + 1, j + 1, *_ends_of(low[place], high[place], by), size))
        return solved(sums, list(self._back()))

    def _back(self) -> Iterator[tuple[Fraction, list[Fraction]]]:
        """Each coefficient in real units: a constant, and multiples of the scaled coefficients."""
        *x, y = self.scaled
        slopes = [y.scale / each.scale for each in x]
        moved = (-slope * each.middle for slope, each in zip(slopes, x, strict=True))
        yield y.middle, [y.scale, *moved]
        for i, slope in enumerate(slopes):
            yield Fraction(0), [slope * (j == i + 1) for j in range(len(x) + 1)]


def _ends_of(low: int, high: int, by: Fraction) -> tuple[Fraction, Fraction]:
    return Fraction(int(low), RADIUS**2) - by, Fraction(int(high), RADIUS**2) + by


def _number(value: Array) -> Any:
    return value if np.ndim(value) else float(value)
