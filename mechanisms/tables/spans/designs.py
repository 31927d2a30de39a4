"""Designs: which integer sums of n ordered cells get noise, and how the cells are found from them.

A design is an integer matrix A without negative entries. A h gets noise, and a matrix B with
B A = 1 gives the cells back. So the noise of a range of cells has fixed weights, which are far
smaller for long ranges than those of cells that got noise by themselves. Everything depends on n
alone: docs/theory/proofs/ranges.md. Reads no data.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt

import attrs
import numpy as np
from flint import fmpq, fmpq_poly

from queryable.data.cells import Array

MOST_CELLS = 1024
"""The largest number of cells: the cells are found with exact rationals."""

_BITS = 9  # c_0 is 2**_BITS
_EXTRA = 64  # fraction bits of the recursion for the c_k
_POWER = Fraction(9, 20)  # the c_k fall as k**(_POWER - 1)
_EVEN = 256  # a column is multiplied by at least this
_FINE = 16  # what sums of blocks are multiplied by, a power of two
_FEW = 50  # for fewer cells, blocks make Laplace noise no better


@attrs.frozen(eq=False)
class Design(ABC):
    """An integer matrix A for some number of cells."""

    cells: int

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many integers get noise."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """A: int64, shape (entries, cells), no entry below 0."""

    @property
    @abstractmethod
    def inverse(self) -> Array:
        """B: floats, shape (cells, entries), each off by at most 2**-51 of itself."""

    @abstractmethod
    def solved(self, entries: Sequence[int]) -> list[Fraction]:
        """B times some integers, exactly."""

    def applied(self, cells: Array) -> Array:
        """A times some integers, exactly."""
        return np.asarray(self.matrix.astype(object) @ cells)

    @cached_property
    def l1(self) -> int:
        """The largest L1 norm of a column."""
        return int(self.matrix.sum(axis=0).max())

    @cached_property
    def _products(self) -> Array:
        """The products of all columns with each other; those of each column from the largest on."""
        floats = self.matrix.astype(float)  # exact: entries are below 2**18, so sums below 2**46
        return -np.sort(-(floats.T @ floats).astype(np.int64), axis=1)

    def l2_squared(self, most: int, each: int) -> int:
        """At least the squared L2 norm of A c, if |c| has the sum `most` and no entry above `each`.

        Args:
            most, each: at least 1.
        """
        if each >= most:
            return most**2 * int((self.matrix**2).sum(axis=0).max())
        full = min(most // each, self.cells)
        rest = most - full * each if full < self.cells else 0
        sums = self._products[:, :full].sum(axis=1).tolist()
        following = self._products[:, min(full, self.cells - 1)].tolist()
        rows = zip(sums, following, strict=True)
        return int(most * max(each * whole + rest * part for whole, part in rows))


@attrs.frozen(eq=False)
class RootDesign(Design):
    """For Gaussian noise: a power of running sums, with columns of equal norm.

    A is C D. C has c_t-s at row t and column s, for t at least s, where c_k falls as k^(-11/20).
    D is diagonal, and makes the columns of A nearly equal in norm.
    """

    @property
    def entries(self) -> int:
        """As many as cells."""
        return self.cells

    @cached_property
    def _coefficients(self) -> list[int]:
        value, found = 1 << (_BITS + _EXTRA), []
        top, bottom = _POWER.as_integer_ratio()
        for place in range(1, self.cells + 1):
            found.append((value + (1 << (_EXTRA - 1))) >> _EXTRA)
            value = value * (bottom * (place - 1) + top) // (bottom * place)
        return found

    @cached_property
    def _factors(self) -> list[int]:
        """The diagonal of D."""
        squares = np.cumsum(np.square(self._coefficients)).tolist()  # of the columns, from the last
        return [isqrt(_EVEN**2 * squares[-1] // each) for each in reversed(squares)]

    @cached_property
    def matrix(self) -> Array:
        """C D."""
        return np.asarray(_lower(self._coefficients) * np.array(self._factors))

    @cached_property
    def _series(self) -> fmpq_poly:
        """The inverse of C, as a power series."""
        series = fmpq_poly(self._coefficients)
        found, known = fmpq_poly([fmpq(1, self._coefficients[0])]), 1
        while known < self.cells:  # each round of Newton's method doubles what is known
            known = min(2 * known, self.cells)
            found = _cut(found * (2 - _cut(series * found, known)), known)
        return found

    @cached_property
    def inverse(self) -> Array:
        """The inverse of D times that of C."""
        floats = [float(each) for each in _fractions(self._series, self.cells)]
        return np.asarray(_lower(floats) / np.array(self._factors)[:, None])

    def solved(self, entries: Sequence[int]) -> list[Fraction]:
        """The cells from the noisy entries."""
        product = fmpq_poly(list(entries)) * self._series
        found = _fractions(product, self.cells)
        return [each / by for each, by in zip(found, self._factors, strict=True)]


def _lower(coefficients: Sequence[int] | Sequence[float]) -> Array:
    """The lower triangular matrix with these on the diagonals, from the main one down."""
    places = np.arange(len(coefficients))
    apart = places[:, None] - places
    return np.where(apart >= 0, np.array(coefficients)[apart], 0)


def _cut(series: fmpq_poly, count: int) -> fmpq_poly:
    return fmpq_poly(series.coeffs()[:count])


def _fractions(series: fmpq_poly, count: int) -> list[Fraction]:
    found = [Fraction(int(each.p), int(each.q)) for each in series.coeffs()[:count]]
    return found + [Fraction(0)] * (count - len(found))


@attrs.frozen(eq=False)
class BlockDesign(Design):
    """For Laplace noise: the cells, and the sums of blocks of about sqrt(n) cells.

    Of the cells and of their block both is known, so the cells are found by least squares: what the
    block's sum exceeds theirs by is spread over them and itself. Few cells have no blocks. All is
    multiplied by 16, so that noise on the integers is nearly continuous.
    """

    @cached_property
    def _blocks(self) -> list[range]:
        width = isqrt(self.cells)
        starts = range(0, self.cells if self.cells >= _FEW else 0, width)
        return [range(start, min(start + width, self.cells)) for start in starts]

    @property
    def entries(self) -> int:
        """The cells and the blocks."""
        return self.cells + len(self._blocks)

    @cached_property
    def matrix(self) -> Array:
        """Ones on the diagonal, then a row of ones for each block."""
        rows = np.zeros((len(self._blocks), self.cells), dtype=np.int64)
        for row, block in zip(rows, self._blocks, strict=True):
            row[block] = 1
        return _FINE * np.concatenate([np.eye(self.cells, dtype=np.int64), rows])

    @cached_property
    def inverse(self) -> Array:
        """A cell less its part of the cells of its block, plus its part of the block's sum."""
        found = np.eye(self.cells, self.cells + len(self._blocks))
        for place, block in enumerate(self._blocks):
            each = 1 / (len(block) + 1)
            found[np.ix_(block, block)] = np.where(np.eye(len(block)), len(block) * each, -each)
            found[block, self.cells + place] = each
        return found / _FINE

    def solved(self, entries: Sequence[int]) -> list[Fraction]:
        """The cells from the noisy entries."""
        found = [Fraction(each, _FINE) for each in entries[: self.cells]]
        for whole, block in zip(entries[self.cells :], self._blocks, strict=True):
            more = Fraction(whole - sum(entries[at] for at in block), _FINE * (len(block) + 1))
            for at in block:
                found[at] += more
        return found


DESIGNS: dict[str, type[Design]] = {"root": RootDesign, "blocks": BlockDesign}


@lru_cache(maxsize=32)
def design_of(name: str, cells: int) -> Design:
    """The design of a name for a number of cells."""
    return DESIGNS[name](cells)
