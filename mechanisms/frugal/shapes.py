"""Strategies: which integer combinations of an axis's atoms are released, for questions to come.

Every function of an axis is a constant, its mean under the axis's shares, plus a function of mean
0. A strategy releases combinations of mean 0, so what is released of different sets of axes does
not overlap. The combinations are those of the matrix mechanism with the least mean squared error
over the expected questions (Denisov et al. 2022, a fixed point), with weights of the questions
that make their errors more equal, and rounded to integers. Reads no data.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from mechanisms.frugal.axes import whole
from mechanisms.frugal.combined import Factor
from queryable.data.cells import Array

_STEPS = 60
_ROUNDS = 12
_BITS = 9
_BASE = 1 << 10
_ROUNDING = 1e-13

CONSTANT: Factor = ((_BASE,),)
"""The matrix of the total: a multiple, so that noise on the integers is fine enough."""


@lru_cache(maxsize=512)
def strategy_of(
    shares: tuple[Fraction, ...], known: frozenset[tuple[bool, ...]], *, ordered: bool
) -> Factor:
    """The combinations of an axis for the sets of atoms that are likely to be asked."""
    return strategy(shares, expected(len(shares), known, ordered=ordered))


def expected(size: int, known: Iterable[tuple[bool, ...]] = (), *, ordered: bool) -> Array:
    """Sets of atoms that are likely to be asked: the known ones, or all intervals or values."""
    sets = sorted(set(known))
    if sets:
        return np.array(sets, dtype=float)
    inner = size - 1
    if not ordered:
        return np.eye(inner, inner + 1)
    ends = list(combinations(range(inner + 1), 2))
    found = np.zeros((len(ends), inner + 1))
    for row, (start, end) in zip(found, ends, strict=True):
        row[start:end] = 1
    return found


def strategy(exact: tuple[Fraction, ...], sets: Array) -> Factor:
    """Integer rows of mean 0 from which all functions of mean 0 can be worked out."""
    shares = np.array([float(share) for share in exact])
    centred = sets - (sets @ shares)[:, None]
    size = len(shares)
    if size == 2:
        rows = np.array([[shares[1], -shares[0]]])
        return _integers(exact, rows / abs(rows).max())
    # a small part for the directions that nobody is expected to ask for: they stay answerable
    spare = np.eye(size) - shares
    weights = np.full(len(sets), 1 / len(sets))
    gram = _fixed_point(centred, weights, spare)
    for _ in range(_ROUNDS):  # towards equal errors of all expected questions
        inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)
        errors = ((centred @ inverse) * centred).sum(axis=1)
        weights *= np.maximum(errors, 1e-12) ** 0.7
        weights /= weights.sum()
        gram = _fixed_point(centred, weights, spare)
    return _integers(exact, _root(gram))


def _root(matrix: Array) -> Array:
    """The symmetric root: unlike single eigenvectors it does not depend on the numerical library.

    An eigenvalue of 0 has a rounding error, whose root would be in the seventh digit.
    """
    values, vectors = np.linalg.eigh(matrix)
    known = np.where(values > _ROUNDING * values.max(), values, 0)
    root: Array = (vectors * np.sqrt(known)) @ vectors.T
    return root


def _fixed_point(centred: Array, weights: Array, spare: Array) -> Array:
    """The Gram matrix with diagonal at most 1 of the least weighted squared error."""
    asked = centred.T @ (weights[:, None] * centred)
    asked = asked + 1e-3 * np.trace(asked) / len(asked) ** 2 * (spare.T @ spare)
    scale = np.ones(len(asked))
    for _ in range(_STEPS):
        root = np.sqrt(scale)
        middle = _root(root[:, None] * asked * root)
        following = np.maximum(np.diag(middle), 1e-9 * np.diag(middle).max())
        following = following / following.sum()
        if np.allclose(following, scale, rtol=1e-4):
            break
        scale = following
    root = np.sqrt(scale)
    gram = _root(root[:, None] * asked * root) / root[:, None] / root
    return np.asarray(gram / np.diag(gram).max())


def _integers(exact: tuple[Fraction, ...], rows: Array) -> Factor:
    """Rows rounded to a lattice, then moved to mean 0 exactly."""
    shares = whole(exact)
    common = sum(shares)
    found = []
    for row in np.rint(rows * (1 << _BITS)).astype(np.int64).tolist():
        mean = sum(share * each for share, each in zip(shares, row, strict=True))
        found.append(tuple(common * each - mean for each in row))
    return tuple(found)


def as_floats(factor: Factor) -> Array:
    """A matrix for the computation of weights."""
    return np.asarray(factor, dtype=float)
