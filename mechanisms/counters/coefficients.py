"""The square root of running sums: a Toeplitz matrix with coefficients on a lattice.

A Toeplitz matrix C, with C[t, s] = c_{t-s}, is lower triangular and given by c_0, c_1, ... The
matrix A of running sums has ones there. (Cx)_t is released with noise, and B = A C^-1 is applied to
what was released, which gives running sums. The error is smallest if B = C, the square root of A:
c_0 = 1 and c_k = c_{k-1} (2k - 1)/(2k). Here c_k is rounded to the nearest multiple of 2^-20 (ties
up), and B is computed from the rounded c_k, so nothing that is released is biased by it. Claims are
computed from the rounded c_k as well. The direction of rounding therefore changes neither.

Reads no data. Integers throughout: series are multiplied exactly, by flint.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul

import attrs
from flint import fmpz_poly

LATTICE = 20
"""Coefficients c_k are multiples of 2**-LATTICE, and so is what is released."""

_EXTRA = 64  # fraction bits beyond LATTICE in the recursion for c_k
_BITS = 192  # fraction bits of the approximations of b_k
_KEPT = 64  # fraction bits of upper bounds on b_k
_TABLES = 32


@lru_cache(maxsize=_TABLES)
def rounded_root(count: int) -> tuple[int, ...]:
    """The first `count` coefficients c_k, times 2**LATTICE."""
    value, found = 1 << (LATTICE + _EXTRA), []
    for place in range(1, count + 1):
        found.append((value + (1 << (_EXTRA - 1))) >> _EXTRA)
        value = value * (2 * place - 1) // (2 * place)
    return tuple(found)


@lru_cache(maxsize=_TABLES)
def sum_of_squares(count: int) -> Fraction:
    """c_0^2 + ... + c_{count-1}^2, exactly."""
    return Fraction(sum(each * each for each in rounded_root(count)), 1 << (2 * LATTICE))


@attrs.frozen
class CoefficientSums:
    """Approximations of the first coefficients b_k of B = A C^-1.

    Attributes:
        near: b_k * 2**_BITS, each off by at most `error`.
        error: an integer.
    """

    near: tuple[int, ...] = attrs.field(repr=False)
    error: int

    def most(self, steps: int, last: int | None = None) -> Fraction:
        """At least the sum of squares of the coefficients of the noise of a total or window."""
        if last is None:
            return Fraction(_squares(self)[steps], 1 << (2 * _KEPT))
        near, error = self.near[:steps], 2 * self.error
        earlier = (0,) * last + near[: steps - last]
        squares = (self._up(x - y, error) ** 2 for x, y in zip(near, earlier, strict=True))
        return Fraction(sum(squares), 1 << (2 * _KEPT))

    @staticmethod
    def _up(value: int, error: int) -> int:
        """At least |value| with this error, with _KEPT fraction bits."""
        return -(-(abs(value) + error) >> (_BITS - _KEPT))

    def of(self, noise: Sequence[int]) -> int:
        """(B noise)_t for the last t, rounded to the nearest integer; ties up.

        Args:
            noise: integers in units of 2**-LATTICE, the earliest first.
        """
        value, off = sum(map(mul, self.near, reversed(noise))), self.error * sum(map(abs, noise))
        shift = _BITS + LATTICE
        half = 1 << (shift - 1)
        low, high = (value + end + half >> shift for end in (-off, off))
        return low if low == high else _exactly(noise)


@lru_cache(maxsize=_TABLES)
def _squares(running: CoefficientSums) -> tuple[int, ...]:
    """At least the sums of squares of the first 0, 1, 2, ... coefficients, times 4**_KEPT."""
    return tuple(
        accumulate((running._up(each, running.error) ** 2 for each in running.near), initial=0)
    )


def running_sum(count: int) -> CoefficientSums:
    """At least the first `count` coefficients of A C^-1; made for the next power of two."""
    return _running_sum(1 << (count - 1).bit_length() if count else 1)


@lru_cache(maxsize=_TABLES)
def _running_sum(count: int) -> CoefficientSums:
    """Coefficients of A C^-1, from C^-1 by Newton's iteration.

    With F an approximation of C^-1 and H = 1 - F C, C^-1 - F = C^-1 H. In the norm |.| that adds up
    absolute coefficients, |C^-1| <= |F|/(1 - |H|), so |C^-1 - F| <= |F||H|/(1 - |H|). Coefficients
    of A C^-1 are sums of those of C^-1, so this bounds the error of each. It is 0 for up to 64
    coefficients: they are multiples of 4**-k, and no step cuts a bit.
    """
    root = fmpz_poly(list(rounded_root(count)))
    inverse, known = fmpz_poly([1 << _BITS]), 1
    while known < count:  # each round doubles the number of coefficients
        known = min(2 * known, count)
        product = _cut(root * inverse, known)
        rest = fmpz_poly([2 << (_BITS + LATTICE)]) - product
        inverse = _shifted(_cut(inverse * rest, known), _BITS + LATTICE)
    missing = fmpz_poly([1 << (_BITS + LATTICE)]) - _cut(root * inverse, count)
    off, whole = _norm(missing), 1 << (_BITS + LATTICE)
    assert 2 * off < whole
    error = -(-_norm(inverse) * off // (whole - off))
    near = tuple(accumulate(_listed(inverse, count)))
    return CoefficientSums(near, error)


def _listed(series: fmpz_poly, count: int) -> list[int]:
    found = [int(each) for each in series.coeffs()[:count]]
    return found + [0] * (count - len(found))


def _cut(series: fmpz_poly, count: int) -> fmpz_poly:
    return fmpz_poly(series.coeffs()[:count])


def _shifted(series: fmpz_poly, bits: int) -> fmpz_poly:
    return fmpz_poly([each >> bits for each in series.coeffs()])


def _norm(series: fmpz_poly) -> int:
    return sum(abs(int(each)) for each in series.coeffs())


def _exactly(noise: Sequence[int]) -> int:
    """(B noise)_t for the last t, rounded, where the approximations do not decide.

    The first 64 approximations are exact, so they always decide. b_0 = 1 and
    b_k = 1 - (c_1 b_{k-1} + ... + c_k b_0), since B C = A; b_k is a multiple of 4**-k.
    """
    root = rounded_root(len(noise))
    exact: list[Fraction] = []
    for place in range(len(noise)):
        known = sum((root[place - other] * each for other, each in enumerate(exact)), Fraction(0))
        exact.append(1 - known / (1 << LATTICE))
    whole = sum(
        (one * other for one, other in zip(exact, reversed(noise), strict=True)), Fraction(0)
    )
    return (whole / (1 << LATTICE) + Fraction(1, 2)).__floor__()
