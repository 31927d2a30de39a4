"""The matrix that makes running sums of what a Toeplitz counter released.

B = A C^-1 is computed from the rounded coefficients of C (`roots`), so nothing that is released is
biased by their rounding. Reads no data. Integers throughout.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul

import attrs
from flint import fmpz_poly

from mechanisms.counters.roots import LATTICE, root
from mechanisms.counters.series import inverse_of, listed

_BITS = 192  # fraction bits of the approximations of b_k
_KEPT = 64  # fraction bits of upper bounds on b_k
_TABLES = 32


@attrs.frozen
class CoefficientSums:
    """Approximations of the first coefficients b_k of B = A C^-1.

    Attributes:
        near: b_k * 2**_BITS, each off by at most `error`.
        error: an integer.
        endless: whether C is that of a counter without a horizon.
    """

    near: tuple[int, ...] = attrs.field(repr=False)
    error: int
    endless: bool

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
        return low if low == high else _exactly(noise, self.endless)


@lru_cache(maxsize=_TABLES)
def _squares(running: CoefficientSums) -> tuple[int, ...]:
    """At least the sums of squares of the first 0, 1, 2, ... coefficients, times 4**_KEPT."""
    return tuple(
        accumulate((running._up(each, running.error) ** 2 for each in running.near), initial=0)
    )


def running_sum(count: int, endless: bool = False) -> CoefficientSums:
    """At least the first `count` coefficients of A C^-1; made for the next power of two."""
    return _running_sum(1 << (count - 1).bit_length() if count else 1, endless)


@lru_cache(maxsize=_TABLES)
def _running_sum(count: int, endless: bool) -> CoefficientSums:
    """Coefficients of A C^-1: sums of those of C^-1, so the bound on its norm bounds their errors.

    Coefficients that are multiples of 2**-_BITS are exact, as no step cuts a bit: 64 of the square
    root, since they are multiples of 4**-k, and 8 without a horizon, of 2**(-20 k). If there are no
    more, the error is 0.
    """
    series = fmpz_poly(list(root(count, endless)))
    inverse, error = inverse_of(series, LATTICE, _BITS, count)
    return CoefficientSums(tuple(accumulate(listed(inverse, count))), error, endless)


def _exactly(noise: Sequence[int], endless: bool) -> int:
    """(B noise)_t for the last t, rounded, where the approximations do not decide.

    b_0 = 1 and b_k = 1 - (c_1 b_{k-1} + ... + c_k b_0), since B C = A.
    """
    c = root(len(noise), endless)
    exact: list[Fraction] = []
    for place in range(len(noise)):
        known = sum((c[place - other] * each for other, each in enumerate(exact)), Fraction(0))
        exact.append(1 - known / (1 << LATTICE))
    whole = sum(
        (one * other for one, other in zip(exact, reversed(noise), strict=True)), Fraction(0)
    )
    return (whole / (1 << LATTICE) + Fraction(1, 2)).__floor__()
