"""Weights of generalised least squares that do not depend on the numerical library.

Those of one ledger are exact fractions. Those of several are refined: the library solves the
equations in floats, what is left over is computed in integers and solved again, until it is below
2**-110. So a weight could differ between libraries only if it is that near to the middle between
two multiples of 2**-100. Reads no data.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import attrs
import numpy as np
from flint import fmpz_mat

from mechanisms.frugal.combined import Factor, along_axes, kron
from queryable.data.cells import Array

_BITS = 140
_LEFT_OVER = 110
_ROUNDS = 60
_PRECISE = 1 << 40


@lru_cache(maxsize=4096)
def exact(
    factor: Factor, shares: tuple[int, ...], function: tuple[int, ...]
) -> tuple[tuple[int, ...], int] | None:
    """The least weights w with factor^T w = function, as integers and their denominator.

    Args:
        factor: of rows whose mean by the shares is 0; without shares, of full rank.

    Returns:
        None if there are none.
    """
    rows = fmpz_mat([list(row) for row in factor])
    null = fmpz_mat([list(shares) or [0] * len(function)])
    try:
        found: Any = (rows.transpose() * rows + null.transpose() * null).solve(
            fmpz_mat([[each] for each in function])
        )
    except ZeroDivisionError:
        return None
    numerators, denominator = found.numer_denom()
    weights = rows * numerators
    return tuple(int(weights[place, 0]) for place in range(len(factor))), int(denominator)


@attrs.frozen(eq=False)
class LedgerEquations:
    """Those of the best weights of several ledgers, at present atoms.

    Attributes:
        known: for each ledger its matrices, of integers as functions of the atoms, and its
            precision as an integer.
    """

    known: tuple[tuple[list[Array], int], ...]
    _inverses: dict[Callable[[Array], Array], Array] = attrs.field(factory=dict, repr=False)

    def weights(self, wanted: Array, bottom: int) -> tuple[list[Array], int] | None:
        """The best weights, as integers and their denominator; None if they do not converge.

        Args:
            wanted: the function, as integers over `bottom`, of the shape of the atoms.
        """
        sums = (each * prod(int(abs(m).sum(axis=1).max()) for m in ms) for ms, each in self.known)
        largest = max(sums)
        bits = _BITS + largest.bit_length()
        for inverse in (_root_of_inverse, _pseudo_inverse):  # the first is faster, and less exact
            if inverse not in self._inverses:
                floats = [kron([m.astype(float) for m in ms]) * p**0.5 for ms, p in self.known]
                self._inverses[inverse] = inverse(np.concatenate(floats))
            found = self._refined(wanted, bottom, bits, largest, self._inverses[inverse])
            if found is not None:
                return found, 1 << bits
        return None

    def _refined(
        self, wanted: Array, bottom: int, bits: int, largest: int, inverse: Array
    ) -> list[Array] | None:
        found = np.zeros(wanted.shape, dtype=object)
        for _ in range(_ROUNDS):
            weights = [along_axes(rows, found) * each for rows, each in self.known]
            reached = sum(
                along_axes([m.T for m in rows], each)
                for (rows, _), each in zip(self.known, weights, strict=True)
            )
            left = ((wanted * (1 << bits)) - reached * bottom).reshape(-1).tolist()
            missing = np.array([each / (bottom << bits) for each in left])
            more = inverse @ (inverse.T @ missing)
            if not np.isfinite(more).all():
                return None
            step = [_scaled(each, bits) for each in more.tolist()]
            if max(map(abs, step)) * largest < 1 << bits - _LEFT_OVER:
                return weights
            found = found + np.array(step, dtype=object).reshape(found.shape)
        return None


def ledger_equations(ledgers: list[tuple[list[Array], Fraction]]) -> LedgerEquations:
    """Those of ledgers, each with its matrices and its precision."""
    most = max(precision for _, precision in ledgers)
    return LedgerEquations(
        tuple((rows, max(round(each / most * _PRECISE), 1)) for rows, each in ledgers)
    )


def _scaled(value: float, bits: int) -> int:
    """The value times 2**bits, rounded."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else round(Fraction(top, bottom) * (1 << bits))


def _root_of_inverse(matrix: Array) -> Array:
    """A root of the pseudo-inverse of `matrix.T @ matrix`, by its eigenvalues."""
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    there = values > 1e-13 * values.max()
    found: Array = vectors[:, there] / np.sqrt(values[there])
    return found


def _pseudo_inverse(matrix: Array) -> Array:
    found: Array = np.linalg.pinv(matrix, rcond=1e-13)
    return found
