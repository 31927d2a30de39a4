"""`Covariance`, `Correlation` and `Regression`, computed from sums of products.

Estimates and intervals are postprocessing of one released vector (`products`).
docs/theory/proofs/weighted_noise.md says why the intervals hold.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from mechanisms.tables.statistics.aggregates import per_field
from mechanisms.tables.statistics.linear import product_entries, row_entries, solved
from mechanisms.tables.statistics.products import Bounds, Products, bounds_of
from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.ratios import BOX, Sums
from queryable.answers.estimates import Axis
from queryable.data.cells import Array
from queryable.randomness.laws import Law
from queryable.wording.quoting import quoted


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

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The range of the covariance; all that the bounds allow where there may be no row."""
        found = self.centred(noisy, law, missed * BOX / 3).covariance(0, 1, missed * (1 - BOX))
        x, y = self.scaled
        whole = Range.between(-x.half * y.half, x.half * y.half)
        return (found * (x.scale * y.scale)).within(whole).ends


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

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The range of the correlation; -1 to 1 where a variance may be 0."""
        centred = self.centred(noisy, law, missed * BOX / 5)
        return centred.correlation(0, 1, missed * (1 - BOX)).ends


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
        sampling: whether the answer also has intervals of the population that the rows are a
            sample of, `interval(sampling=True)`, of the usual standard errors and the noise. They
            are approximate: the residuals are taken to be alike in all rows and independent, and
            the noise of the standard errors is left out. It takes the square of `y` too, so the
            same loss buys a little less. A unit may then have one row, because rows of the same
            person are not independent.
    """

    holds = "of the noise and not of sampling, each by itself"
    y: Operand = attrs.field(converter=operand_of)
    x: tuple[Operand, ...] = attrs.field(converter=_several)
    bounds_by_column: Bounds = attrs.field(alias="bounds", converter=bounds_of)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)
    has_sampling: bool = attrs.field(default=False, kw_only=True, alias="sampling")

    @has_sampling.validator
    def _of_single_rows(self, attribute: object, value: Any) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"sampling is {quoted(value)}; it should be True or False")
        if value and self.per is not None and self.per.max_rows != 1:
            raise ValueError(
                "leave sampling out, or open the table with max_rows=1: rows of the same "
                f"{self.per.column} are not independent, and the usual standard errors would be "
                "too small"
            )

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The columns of x, then y."""
        return (*self.x, self.y)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All; the square of y, which is the last, for sampling alone."""
        pairs = super().pairs
        return pairs if self.has_sampling else pairs[:-1]

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
        matrix, right = self._normal_equations(self.means(noisy)[1])
        found = np.full(right.shape, np.nan)
        for place in np.ndindex(right.shape[:-1]):
            if np.isfinite(matrix[place]).all() and np.linalg.eigvalsh(matrix[place])[0] > 0:
                found[place] = np.linalg.solve(matrix[place], right[place])
        return self._in_real_units(found)

    def _normal_equations(self, means: Mapping[Any, Array]) -> tuple[Array, Array]:
        """The matrix and the right side, divided by the number of rows."""
        size = len(self.x)
        matrix = np.empty((*np.shape(means[0]), size + 1, size + 1))
        right = np.empty((*np.shape(means[0]), size + 1))
        matrix[..., 0, 0], right[..., 0] = 1, means[size]
        for i in range(size):
            matrix[..., 0, i + 1] = matrix[..., i + 1, 0] = means[i]
            right[..., i + 1] = means[i, size]
            for j in range(i, size):
                matrix[..., i + 1, j + 1] = matrix[..., j + 1, i + 1] = means[i, j]
        return matrix, right

    def _in_real_units(self, found: Array) -> Array:
        *x, y = self.scaled
        real = np.empty_like(found)
        slopes = [float(y.scale / each.scale) for each in x]
        real[..., 1:] = found[..., 1:] * slopes
        middles = np.array([float(each.middle) for each in x])
        real[..., 0] = float(y.middle) + found[..., 0] * float(y.scale) - real[..., 1:] @ middles
        return real

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The range of each coefficient by itself; infinite where the matrix may be singular."""
        ends = np.empty((2, *noisy.shape[:-1], len(self.x) + 1))
        for place in np.ndindex(noisy.shape[:-1]):
            ends[(slice(None), *place)] = self._solved(self.sums(noisy[place], law), missed)
        return ends[0], ends[1]

    def sampling(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """About the range if the rows are a sample: the usual interval, and the noise.

        Both parts are added as independent ones. Infinite where the noisy sum of the squares of the
        residuals is not positive.
        """
        from scipy.special import stdtrit

        rows, means = self.means(noisy)
        matrix, right = self._normal_equations(means)
        free = rows - len(self.x) - 1
        errors = np.full(right.shape, np.inf)
        back = np.array([[float(each) for each in multiples] for _, multiples in self._back()])
        for place in np.ndindex(right.shape[:-1]):
            if np.isfinite(matrix[place]).all() and np.linalg.eigvalsh(matrix[place])[0] > 0:
                inverse = np.linalg.inv(matrix[place])
                left = means[len(self.x), len(self.x)][place]
                left = left - right[place] @ inverse @ right[place]
                if left > 0 and free[place] > 0:
                    squares = np.diag(back @ inverse @ back.T) * left / free[place]
                    errors[place] = -stdtrit(free[place], float(missed) / 2) * np.sqrt(squares)
        estimate, (low, high) = self.estimate(noisy), self.interval(noisy, law, missed)
        with np.errstate(invalid="ignore"):
            below, above = (np.hypot(estimate - low, errors), np.hypot(high - estimate, errors))
        return np.where(below < np.inf, estimate - below, -np.inf), np.where(
            above < np.inf, estimate + above, np.inf
        )

    def _solved(self, sums: Sums, missed: Fraction) -> Array:
        size = len(self.x)
        places = [(0, j) for j in range(1, size + 2)]
        places += [(i + 1, j + 1) for i, j in super().pairs[:-1]]
        entries = [row_entries(size), *(product_entries(i, j, size) for i, j in places)]
        many = len(entries)
        sums = attrs.evolve(sums, noisy=sums.noisy[..., :many], moved=sums.moved[:many])
        return solved(sums, entries, list(self._back()), missed)

    def _back(self) -> Iterator[tuple[Fraction, list[Fraction]]]:
        """Each coefficient in real units: a constant, and multiples of the scaled coefficients."""
        *x, y = self.scaled
        slopes = [y.scale / each.scale for each in x]
        moved = (-slope * each.middle for slope, each in zip(slopes, x, strict=True))
        yield y.middle, [y.scale, *moved]
        for i, slope in enumerate(slopes):
            yield Fraction(0), [slope * (j == i + 1) for j in range(len(x) + 1)]


def _number(value: Array) -> Any:
    return value if np.ndim(value) else float(value)
