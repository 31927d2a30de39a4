"""Enclosures of the solutions of normal equations whose entries were released with noise.

The equations are M b = v for sums over rows: M has the number of rows, the sums of the columns of x
and of their products, v those with y. Every entry is linear in the sums that were released.

Theory (docs/theory/proofs/weighted_noise.md): let M', v' and b' be of the noisy sums, E = M' - M,
w = M^-1 c and r = v' - M' b. Then c (b' - b) = w r - w E (b' - b). The rows of r and of E w are
sums of the noise with fixed weights, so each is bounded in its own direction, and
b' - b = M'^-1 r and w = M'^-1 (c + E w) bound what the weights are.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Any, TypeAlias

import attrs
import numpy as np
from flint import arb, arb_mat, fmpq

from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.ratios import BOX, Sums
from queryable.answers.half_widths import half_width
from queryable.data.cells import Array


@attrs.frozen
class MatrixEntry:
    """A place in M, or in v where `column` is None, and what a sum is multiplied by there."""

    row: int
    column: int | None
    share: Fraction


Entries: TypeAlias = tuple[MatrixEntry, ...]
"""Where one sum is in M and v."""


def row_entries(size: int) -> Entries:
    """Of the number of rows, which is also half of twice every square; `size`: the columns of x."""
    squares = (MatrixEntry(i, i, Fraction(1, 2)) for i in range(1, size + 1))
    return (MatrixEntry(0, 0, Fraction(1)), *squares)


def product_entries(i: int, j: int, size: int) -> Entries:
    """Of the sum of the products of columns i <= j, or of a square twice it minus the rows.

    Column 0 is the constant 1, then come those of x; y has the number size + 1.
    """
    if j > size:
        return (MatrixEntry(i, None, Fraction(1)),)
    if i == j:
        return (MatrixEntry(i, i, Fraction(1, 2)),)
    return MatrixEntry(i, j, Fraction(1)), MatrixEntry(j, i, Fraction(1))


@attrs.frozen(eq=False)
class Equations:
    """M b = v of noisy sums, with what is certain of the exact ones.

    Attributes:
        sums: k released sums; the first counts rows.
        entries: of each sum.
        missed: the probability of each bound that it is no bound.
        widest: that all noise is within this width.
        rows: at least the number of rows.
        inverse: encloses the inverse of the noisy M, by rows.
        solution: encloses the noisy b.
    """

    sums: Sums
    entries: Sequence[Entries]
    missed: Fraction
    widest: Fraction
    rows: float
    inverse: list[list[Any]]
    solution: list[Any]

    def noise_of_rows(self, sizes: Sequence[Any]) -> list[Any]:
        """How far noise moves each row of v - M b.

        Args:
            sizes: of the entries of b, then what v is multiplied by.
        """
        floats = np.array([float(_size(each).upper()) for each in sizes]) * (1 + 2.0**-40)
        weights = np.zeros((len(sizes) - 1, len(self.entries)))
        for place, each in enumerate(self.entries):
            for entry in each:
                size = floats[-1 if entry.column is None else entry.column]
                weights[entry.row, place] += float(abs(entry.share)) * size
        weights *= 1 + 2.0**-40
        far = self.noise([Range.of_floats(each) for each in weights.T], self.missed)
        return [arb(float(each)) for each in far]

    def noise(self, weights: Sequence[Range], missed: Fraction) -> Array:
        """How far noise and truncation move the sums in some directions, each by itself."""
        return np.asarray(self.sums.far(weights, Range.of_floats(self.rows), missed).high)

    def bounded(
        self, least: Sequence[Any], one: int, about: Sequence[Any] | None = None
    ) -> list[Any] | None:
        """Bounds of unknown sizes x >= 0 with x <= least + |M'^-1| (noise of a row by |about| + x).

        The noise of a row is at most that of all sums at their widest, which is linear in x: with
        a matrix B, x <= c + B x. If c + B y <= y for some y and c > 0, then B^n tends to 0 and
        x <= y. From there the condition itself is applied a few times.

        Args:
            least: what the sizes are at most without noise.
            one: what v is multiplied by in rows, 0 or 1.
            about: what x is beyond; 0 if it is not given.

        Returns: None if no such y is found, because M may be singular.
        """
        size = len(least)
        fixed = [_size(each) for each in about or [arb(0)] * size]
        inverse = [[_size(each) for each in row] for row in self.inverse]
        widest = np.zeros((size, size + 1))
        for each, by in zip(self.entries, self.sums.moved, strict=True):
            far = float(self.widest / self.sums.scale) + self.rows * float(by)
            for entry in each:
                place = size if entry.column is None else entry.column
                widest[entry.row, place] += float(abs(entry.share)) * far
        widest *= 1 + 2.0**-40
        floats = np.array([[float(each.upper()) for each in row] for row in inverse])
        matrix = floats @ widest * (1 + 2.0**-40)
        constant = np.array([float(each.upper()) for each in map(_size, least)])
        beyond = np.array([*(float(each.upper()) for each in fixed), one])
        constant = (constant + matrix @ beyond + 1e-300) * (1 + 2.0**-40)
        above = constant + constant.max() * 2.0**-30  # so that rounding leaves room to each entry
        try:
            found = np.linalg.solve(np.eye(size) - matrix[:, :-1], above)
        except np.linalg.LinAlgError:
            return None
        reached = (constant + matrix[:, :-1] @ found) * (1 + 2.0**-40)
        if not (np.isfinite(found).all() and (found > 0).all() and (reached <= found).all()):
            return None
        bounds = [arb(float(each)) for each in found]
        for _ in range(_ROUNDS):
            sizes = [*(a + b for a, b in zip(fixed, bounds, strict=True)), arb(one)]
            noise = self.noise_of_rows(sizes)
            bounds = [
                _size(start) + _dot(row, noise) for start, row in zip(least, inverse, strict=True)
            ]
        return [_size(each) for each in bounds]


_ROUNDS = 3


def solved(
    sums: Sums,
    entries: Sequence[Entries],
    wanted: Sequence[tuple[Fraction, list[Fraction]]],
    missed: Fraction,
) -> Array:
    """The ends of each wanted combination of the solution; infinite where M may be singular.

    Args:
        sums: k released sums; the first counts rows.
        entries: of each sum.
        wanted: a constant, and what each entry of the solution is multiplied by.
        missed: the probability that the ends, each by themselves, do not hold.

    Returns: shape (2, len(wanted)).
    """
    size = len(wanted)
    nowhere = np.array([[-inf] * size, [inf] * size])
    equations = _equations(sums, entries, size, missed * BOX)
    if equations is None:
        return nowhere
    solution, inverse = equations.solution, equations.inverse
    apart = equations.bounded([arb(0)] * size, 1, solution)
    if apart is None:
        return nowhere
    ends = []
    for constant, multiples in wanted:
        across = [_exactly(each) for each in multiples]
        value = _exactly(constant) + _dot(across, solution)
        weights = [_dot(across, [row[i] for row in inverse]) for i in range(size)]
        largest = equations.bounded(weights, 0)
        if largest is None:
            ends.append((-inf, inf))
            continue
        noise = equations.noise_of_rows([*largest, arb(0)])
        around = [_within(each, by) for each, by in zip(solution, apart, strict=True)]
        moved = [_dot([_size(each) for each in row], noise) for row in inverse]
        slopes = [
            _dot(
                [_within(each, by) for each, by in zip(weights, moved, strict=True)],
                _vector(each, around, size),
            )
            for each in entries
        ]
        far = float(equations.noise([_range(each) for each in slopes], missed * (1 - BOX)))
        ends.append(_range(_within(value, arb(far) + _dot(noise, apart))).ends)
    return np.array(ends).T


def _equations(
    sums: Sums, entries: Sequence[Entries], size: int, missed: Fraction
) -> Equations | None:
    """The noisy equations; None if the noisy M is singular, or there may be no row.

    The bounds together are missed with at most `missed`: half of it is for all noise at once, the
    rest for the rows of v - M b and of E w.
    """
    points = [_ball_of(each) for each in sums.points()]
    near, inverse = _near(points, entries, size), _inverse(points, entries, size)
    widest = half_width(sums.law, 1 - missed / 2, sums.many)
    rows = sums.points()[0] + Range.between(-1, 1) * Fraction(widest, sums.scale)
    if near is None or inverse is None or not rows.low > 0:
        return None
    by_row = [[inverse[i, j] for j in range(size)] for i in range(size)]
    shares = [_vector(each, near, size) for each in entries]
    residual = [_dot(points, [share[i] for share in shares]) for i in range(size)]
    solution = [start + _dot(row, residual) for start, row in zip(near, by_row, strict=True)]
    each = missed / (4 * size)
    return Equations(sums, entries, each, Fraction(widest), float(rows.high), by_row, solution)


def _within(value: Any, by: Any) -> Any:
    return (value - by).union(value + by)


def _near(sums: Sequence[Any], entries: Sequence[Entries], size: int) -> list[Any] | None:
    """A float solution, as exact numbers."""
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for each, places in zip(sums, entries, strict=True):
        for entry in places:
            share = float(each.mid()) * float(entry.share)
            if entry.column is None:
                right[entry.row] += share
            else:
                matrix[entry.row, entry.column] += share
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return None
    return [arb(float(each)) for each in found] if np.isfinite(found).all() else None


def _inverse(sums: Sequence[Any], entries: Sequence[Entries], size: int) -> Any:
    """An enclosure of the inverses of all matrices in range; None if one may be singular."""
    matrix = [[arb(0) for _ in range(size)] for _ in range(size)]
    for each, places in zip(sums, entries, strict=True):
        for entry in places:
            if entry.column is not None:
                matrix[entry.row][entry.column] += each * _exactly(entry.share)
    unit = arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
    try:
        inverse = arb_mat(matrix).solve(unit, algorithm="precond")
    except ZeroDivisionError:
        return None
    return inverse


def _vector(entries: Entries, solution: Sequence[Any], size: int) -> list[Any]:
    """What a sum is multiplied by in v - M b."""
    vector = [arb(0) for _ in range(size)]
    for entry in entries:
        share = _exactly(entry.share)
        vector[entry.row] += share if entry.column is None else -share * solution[entry.column]
    return vector


def _dot(one: Sequence[Any], other: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), arb(0))


def _exactly(value: Fraction) -> Any:
    return arb(fmpq(*value.as_integer_ratio()))


def _ball_of(values: Range) -> Any:
    return arb(float(values.low)).union(arb(float(values.high)))


def _size(value: Any) -> Any:
    """At least the largest absolute value."""
    return arb(value.abs_upper())


def _range(value: Any) -> Range:
    if not value.is_finite():
        return Range(np.asarray(-inf), np.asarray(inf))
    low, high = float(value.lower()), float(value.upper())
    return Range(np.asarray(nextafter(low, -inf)), np.asarray(nextafter(high, inf)))
