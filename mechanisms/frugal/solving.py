"""Weights of generalised least squares that do not depend on the numerical library.

Those of one ledger are exact fractions. Those of several are refined: the library solves the
equations in floats, what is left over is computed in integers and solved again, until it is below
2**-110. So a weight could differ between libraries only if it is that near to the middle between
two multiples of 2**-100. Reads no data.
"""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

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


def refined(
    ledgers: list[tuple[list[Array], Fraction]], wanted: Array, bottom: int
) -> tuple[list[Array], int] | None:
    """The best weights of several ledgers, as integers and their denominator.

    Args:
        ledgers: for each its matrices, of integers as functions of the present atoms, and its
            precision.
        wanted: the function, as integers over `bottom`, of the shape of the atoms.

    Returns:
        None if it does not converge.
    """
    most = max(precision for _, precision in ledgers)
    known = [(rows, max(round(precision / most * _PRECISE), 1)) for rows, precision in ledgers]
    largest = max(each * prod(int(abs(m).sum(axis=1).max()) for m in rows) for rows, each in known)
    bits = _BITS + largest.bit_length()
    inverse = _inverse(known)
    found = np.zeros(wanted.shape, dtype=object)
    for _ in range(_ROUNDS):
        weights = [along_axes(rows, found) * each for rows, each in known]
        reached = sum(
            along_axes([m.T for m in rows], each)
            for (rows, _), each in zip(known, weights, strict=True)
        )
        left = ((wanted * (1 << bits)) - reached * bottom).reshape(-1).tolist()
        missing = np.array([each / (bottom << bits) for each in left])
        more = inverse @ (inverse.T @ missing)
        if not np.isfinite(more).all():
            return None
        step = [round(Fraction(each) * (1 << bits)) for each in more.tolist()]
        if max(map(abs, step)) * largest < 1 << bits - _LEFT_OVER:
            return weights, 1 << bits
        found = found + np.array(step, dtype=object).reshape(found.shape)
    return None


def _inverse(known: list[tuple[list[Array], int]]) -> Array:
    """The pseudo-inverse of the ledgers' matrices, weighted, in floats."""
    rows = [kron([m.astype(float) for m in each]) * weight**0.5 for each, weight in known]
    found: Array = np.linalg.pinv(np.concatenate(rows), rcond=1e-13)
    return found
