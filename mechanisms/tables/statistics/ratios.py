"""Ratios of weighted sums that were released with noise: means, and what is centred at them.

Responsible for the range of q where a T = q (b T) for exact sums T and weights a, b. The noisy sums
have (a - q b)(T + Z) = (a - q b) Z, which is noise in one direction (Fieller 1954), as long as the
weights are no random numbers. They may hold what is not known, such as the exact means: ranges of
it are enough. docs/theory/proofs/weighted_noise.md has the proofs. All in interval arithmetic.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import attrs
import numpy as np

from mechanisms.tables.statistics.ranges import Range
from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width
from queryable.data.cells import Array
from queryable.randomness.laws import Law

BOX = Fraction(1, 25)
"""The share of the missed probability that is for ranges of what weights hold."""

_ROUNDS = 3


@attrs.frozen(eq=False)
class Sums:
    """Released sums of rows, some for each estimate, and what may be behind them.

    Attributes:
        noisy: Python integers, shape (..., k).
        law: that of the noise of each.
        scale: what the integers are divided by.
        moved: for each of the k the most that truncation moves it by a row, after the division.
    """

    noisy: Array
    law: Law[int]
    scale: int
    moved: tuple[Fraction, ...]

    @property
    def many(self) -> int:
        """How many sums enter an estimate."""
        return int(self.noisy.shape[-1])

    def points(self) -> list[Range]:
        """The noisy sums."""
        return [
            Range.of(self.noisy[..., i], self.noisy[..., i], self.scale) for i in range(self.many)
        ]

    def most_rows(self, missed: Fraction) -> Range:
        """At least the first sum, which counts rows."""
        return (self.points()[0] + Fraction(half_width(self.law, 1 - missed), self.scale)).size

    def far(self, weights: Sequence[Range], rows: Range, missed: Fraction) -> Range:
        """How far noise and truncation move a sum with weights in these ranges; `rows`: at most."""
        with np.errstate(all="ignore"):
            sizes = (
                np.stack(np.broadcast_arrays(*(each.size.high for each in weights)), axis=-1)
                / self.scale
            )
        sizes = np.nextafter(sizes, inf)
        far = Range.of_floats(weighted_half_width([self.law] * self.many, sizes, missed))
        moved = [weight.size * by for weight, by in zip(weights, self.moved, strict=True) if by]
        return (far + sum(moved, _point(0)) * rows if moved else far).size


@attrs.frozen(eq=False)
class WeightedSum:
    """A weighted sum.

    Attributes:
        weights: of each sum; no random numbers.
        noisy: the weighted sum of the noisy sums.
    """

    weights: Sequence[Range]
    noisy: Range


@attrs.frozen(eq=False)
class Centred:
    """Sums of rows, of columns and of products of two, and their distances to the exact means.

    The sum of a square is released as twice it, less the rows.

    Attributes:
        sums: the rows, each column, each pair.
        points: the noisy sums.
        pairs: the two columns of each product.
        wholes: by column a range of all its numbers.
        missed: of each range that weights hold, the probability that it misses.
        rows: at least the number of rows.
        means: ranges of the exact means, by column.
    """

    sums: Sums
    points: Sequence[Range]
    pairs: Sequence[tuple[int, int]]
    wholes: Sequence[Range]
    missed: Fraction
    rows: Range
    means: Sequence[Range]

    @classmethod
    def of(
        cls,
        sums: Sums,
        pairs: Sequence[tuple[int, int]],
        wholes: Sequence[Range],
        missed: Fraction,
    ) -> "Centred":
        """Find the means, and the rows, which count only if truncation moves a sum."""
        found = cls(sums, sums.points(), pairs, wholes, missed, sums.most_rows(missed), ())
        means = [
            found.ratio(found._single(place), found._single(0), whole, missed)
            for place, whole in enumerate(wholes, 1)
        ]
        return attrs.evolve(found, means=means)

    def _single(self, place: int) -> WeightedSum:
        """One of the sums."""
        weights = [_point(int(i == place)) for i in range(self.sums.many)]
        return WeightedSum(weights, self.points[place])

    def ratio(self, top: WeightedSum, bottom: WeightedSum, found: Range, missed: Fraction) -> Range:
        """The range of one weighted sum over another, but for the probability `missed`.

        It holds if that of the exact bottom is 0 too. A narrower range has smaller weights, so it
        is narrowed a few times.

        Args:
            found: a range that it is in, and all that is known if the noisy bottom may be 0.
        """
        known = np.asarray(bottom.noisy.low > 0)
        over = bottom.noisy.where(known, _point(1))
        for _ in range(_ROUNDS):
            weights = [a - b * found for a, b in zip(top.weights, bottom.weights, strict=True)]
            far = self.sums.far(weights, self.rows, missed).high
            around = (top.noisy + Range(-far, far)) / over
            found = around.within_or(found).where(known, found)
        return found

    def product(self, i: int, j: int) -> WeightedSum:
        """The sum of the products of two columns' distances to their means.

        Of the noisy sums it is the one around the noisy means, and the rows times the product of
        the distances of the means.
        """
        rows, *points = self.points
        place, square = len(self.means) + self.pairs.index((i, j)), i == j
        each = rows.where(rows.low > 0, _point(1)).reciprocal()
        noisy = [points[column] * each for column in (i, j)]
        apart = [mean - self.means[column] for mean, column in zip(noisy, (i, j), strict=True)]
        weights = [_point(0)] * self.sums.many
        weights[1 + i] = self.means[j] * -1
        weights[1 + j] = self.means[i] * (-2 if square else -1)
        if square:
            both = (points[place] * each + 1) * _HALF - noisy[0].square() + apart[0].square()
            weights[0] = self.means[i].square() + _HALF
            weights[1 + place] = _point(_HALF)
        else:
            both = points[place] * each - noisy[0] * noisy[1] + apart[0] * apart[1]
            weights[0] = self.means[i] * self.means[j]
            weights[1 + place] = _point(1)
        return WeightedSum(weights, rows * both)

    def covariance(self, i: int, j: int, missed: Fraction) -> Range:
        """The range of the covariance of two columns, or of the variance of one."""
        whole = self.wholes[i] * self.wholes[j]
        return self.ratio(self.product(i, j), self._single(0), whole, missed)

    def correlation(self, i: int, j: int, missed: Fraction) -> Range:
        """The range of the correlation of two columns."""
        return self.ratio(self.product(i, j), self._spread(i, j), Range.between(-1, 1), missed)

    def _spread(self, i: int, j: int) -> WeightedSum:
        """The root of the product of both sums of squares; of the noisy ones 0 if one may be 0.

        With r^2 the second over the first, it is half of r times the first and the second over r.
        """
        first, second = self.product(i, i), self.product(j, j)
        x, y = (self.covariance(column, column, self.missed) for column in (i, j))
        known = np.asarray((x.low > 0) & (y.low > 0))
        x, y, a, b = (each.where(known, _point(1)) for each in (x, y, first.noisy, second.noisy))
        r = (y / x).root()
        near = r * (a / b).root()
        noisy = (a * b).root() * ((near - 1).square() / (near * 2) + 1)
        both = zip(first.weights, second.weights, strict=True)
        weights = [(one * r + other / r) * _HALF for one, other in both]
        return WeightedSum(weights, noisy.where(known, _point(0)))


_HALF = Fraction(1, 2)


def _point(value: Fraction | int) -> Range:
    return Range.between(value, value)
