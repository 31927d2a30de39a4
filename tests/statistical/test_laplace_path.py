"""Goodness of fit of whole noise paths: their marginals, their increments, and wrong paths.

On a correct sampler each of the 30 fits fails with probability 10^-4 and each of the 10 covariances
with 6*10^-5, so the file fails with probability below 0.4%. Seeds are fixed, so a test always gives
the same result.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, prod, sinh
from typing import Any

import numpy as np
import pytest

from mechanisms.sampling.laplace_path import laplace_path
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import SeededCoins
from queryable.randomness.laws import Bernoulli
from tests.statistical.test_noise import FALSE_ALARM, Weights, laplace, p_value

RUNS = 10_000
SCALES = tuple(Fraction(t) for t in ("10", "11/2", "3", "1"))


def rests(coarse: Fraction, fine: Fraction) -> float:
    return (sinh(1 / (2 * float(coarse))) / sinh(1 / (2 * float(fine)))) ** 2


def step(coarse: Fraction, fine: Fraction) -> Weights:
    """The law of one increment."""
    chance = rests(coarse, fine)
    moved = {x: (1 - chance) * each for x, each in laplace(str(coarse)).items()}
    return moved | {0: moved[0] + chance}


def one_by_one(seed: int) -> np.ndarray[Any, Any]:
    coins = SeededCoins(seed)
    return np.array([laplace_path(SCALES, None, coins) for _ in range(RUNS // 2)])


def at_once(seed: int) -> np.ndarray[Any, Any]:
    return np.stack(laplace_path(SCALES, (RUNS,), SeededCoins(seed)), axis=1)


def misfits(paths: np.ndarray[Any, Any], scales: Sequence[Fraction] = SCALES) -> list[float]:
    """p-values of every marginal, of every increment, and of the increments' signs."""
    found = [p_value(paths[:, i], laplace(str(scale))) for i, scale in enumerate(scales)]
    for i, (coarse, fine) in enumerate(pairwise(scales)):
        steps = paths[:, i] - paths[:, i + 1]
        found.append(p_value(steps, step(coarse, fine)))
        agree = (np.sign(steps) * np.sign(paths[:, i + 1]))[steps * paths[:, i + 1] != 0]
        found.append(p_value(agree, {1: 1 / 2, -1: 1 / 2}))
    return found


@pytest.mark.parametrize("drawn", [one_by_one, at_once])
def test_paths_fit(drawn: Any) -> None:
    """Marginals are discrete Laplace, increments are mixtures, and signs are balanced."""
    paths = drawn(1)
    assert all(p > FALSE_ALARM for p in misfits(paths)), misfits(paths)
    level = np.all(paths == paths[:, :1], axis=1)
    chance = prod(step(*pair)[0] for pair in pairwise(SCALES))
    assert p_value(level, {True: chance, False: 1 - chance}) > FALSE_ALARM


def test_covariances() -> None:
    """Increments are independent of the finer noise: cov(D(t), D(u)) is var D(u).

    The standard error of each covariance is estimated from the runs. A correct sampler exceeds 4
    standard errors once in 15,000.
    """
    paths = np.concatenate([at_once(seed) for seed in range(10)]).astype(float)
    for i, coarse in enumerate(SCALES):
        for j in range(i, len(SCALES)):
            products = paths[:, i] * paths[:, j]
            p = exp(-1 / float(SCALES[j]))
            wanted, error = 2 * p / (1 - p) ** 2, products.std() / len(products) ** 0.5
            assert abs(products.mean() - wanted) < 4 * error, (coarse, SCALES[j])


def wrong(alpha: Any, width: Any, seed: int = 2) -> np.ndarray[Any, Any]:
    """Paths with another probability of resting, or with other increments; two scales."""
    coins = SeededCoins(seed)
    paths = []
    for _ in range(RUNS):
        noise = coins.draw(DiscreteLaplace(Fraction(1, 2)))
        moves = not coins.draw(Bernoulli(alpha))
        paths.append((noise + (coins.draw(DiscreteLaplace(width)) if moves else 0), noise))
    return np.array(paths)


RIGHT = Fraction(rests(Fraction(1), Fraction(1, 2))).limit_denominator(10**6)


@pytest.mark.parametrize(
    ("alpha", "width", "fits"),
    [
        (RIGHT, 1, True),
        (Fraction(1, 4), 1, False),  # (u/t)^2, as for continuous noise
        (0, 1, False),  # never rests
        (RIGHT, Fraction(1, 2), False),  # increments with the finer noise
        (RIGHT**2, 1, False),
    ],
)
def test_wrong_paths_are_rejected(alpha: Any, width: Any, fits: bool) -> None:
    """The same fits detect wrong probabilities of resting and wrong increments."""
    found = misfits(wrong(alpha, width), (Fraction(1), Fraction(1, 2)))
    assert (min(found) > FALSE_ALARM) is fits


def test_independent_releases_are_rejected() -> None:
    """Correct marginals do not suffice: independent noise at each scale can be averaged."""
    coins = SeededCoins(4)
    paths = np.stack([coins.draw(DiscreteLaplace(scale), RUNS) for scale in SCALES], axis=1)
    found = misfits(paths)
    assert min(found[:4]) > FALSE_ALARM > max(found[4::2])
