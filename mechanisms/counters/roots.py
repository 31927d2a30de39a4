"""Coefficients of the Toeplitz matrices C of counters, on a lattice, and their sums of squares.

A Toeplitz matrix C, with C[t, s] = c_{t-s}, is lower triangular and given by c_0, c_1, ... The
matrix A of running sums has ones there. (Cx)_t is released with noise, and A C^-1 is applied to
what was released, which gives running sums.

- With a horizon C is the square root of A, of the least error: C(z) = (1 - z)^(-1/2), so c_0 = 1
  and c_k = c_{k-1} (2k - 1)/(2k), rounded to the nearest multiple of 2^-20 (ties up).
- Without one, the squares of all c_k need a finite sum. The square root is divided by a logarithm
  (Jacobsen, Fawaz 2025): C(z) = (1 - z)^(-1/2) 4/(3 + L(z)), L(z) = -ln(1 - z)/z. Its c_k are
  rounded down, so that the sum of their squares is at most that of all exact c_k.

Claims and answers are computed from the rounded c_k. Reads no data. Integers throughout.
"""

from fractions import Fraction
from functools import lru_cache

from flint import fmpz_poly

from mechanisms.counters.series import inverse_of, listed, norm

LATTICE = 20
"""Coefficients c_k are multiples of 2**-LATTICE, and so is what is released."""

ALL_SQUARES = Fraction(19750490939, 10**10)
"""At least the sum of squares of all c_k without a horizon, by less than 10^-10 (docs/theory.md,
counters; tests/unit/mechanisms/counters/test_roots.py computes it with proven error bounds)."""

_EXTRA = 64  # fraction bits beyond LATTICE in the computation of c_k
_TABLES = 32


def root(count: int, endless: bool) -> tuple[int, ...]:
    """The first `count` coefficients c_k, without a horizon or with one, times 2**LATTICE."""
    return _endless(1 << max(0, count - 1).bit_length())[:count] if endless else rounded_root(count)


@lru_cache(maxsize=_TABLES)
def rounded_root(count: int) -> tuple[int, ...]:
    """The first `count` coefficients of the square root, times 2**LATTICE."""
    half = 1 << (_EXTRA - 1)
    return tuple((each + half) >> _EXTRA for each in _root(count))


@lru_cache(maxsize=_TABLES)
def sum_of_squares(horizon: int | None) -> Fraction:
    """c_0^2 + ... + c_{n-1}^2 for a horizon n, exactly; without one, at least that of all c_k."""
    if horizon is None:
        return ALL_SQUARES
    return Fraction(sum(each * each for each in rounded_root(horizon)), 1 << (2 * LATTICE))


def _root(count: int) -> list[int]:
    """c_k of the square root, times 2**(LATTICE + _EXTRA), each too small by at most k."""
    value, found = 1 << (LATTICE + _EXTRA), []
    for place in range(1, count + 1):
        found.append(value)
        value = value * (2 * place - 1) // (2 * place)
    return found


@lru_cache(maxsize=_TABLES)
def _endless(count: int) -> tuple[int, ...]:
    """The first c_k without a horizon, times 2**LATTICE, rounded down; `count` is a power of two.

    The second half is computed beside the first, which stays as it was: what a coefficient is
    rounded to does not depend on how many are asked for. g = (3 + L)/4 has the coefficients 1 and
    1/(4(k + 1)), each too small by less than one unit here.
    """
    if count == 1:
        return (1 << LATTICE,)
    bits = LATTICE + _EXTRA
    whole = 1 << bits
    divisor = fmpz_poly([whole, *(whole // (4 * k) for k in range(2, count + 1))])
    inverse, error = inverse_of(divisor, bits, bits, count, off=count)
    off = error * whole + norm(inverse) * count
    product = listed(fmpz_poly(_root(count)) * inverse, count)
    lower = (max(0, (each - off) >> (2 * bits - LATTICE)) for each in product[count // 2 :])
    return (*_endless(count // 2), *lower)
