"""Goodness of fit of the exact samplers, and of wrong samplers.

On a correct sampler each of the 17 fits fails with probability 10^-4, so the file fails with
probability below 0.2%. Seeds are fixed, so a test always gives the same result.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats

from mechanisms import RandomizedResponse
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from queryable import SeededCoins
from queryable.randomness.laws import FairBits, Law

DRAWS = 40_000
FALSE_ALARM = 1e-4
LEAST = 20  # expected draws in a cell; rarer values share one cell

Weights = dict[int, float]


def laplace(scale: str) -> Weights:
    rate = 1 / float(Fraction(scale))
    return normalised(rate, lambda x: exp(-abs(x) * rate))


def gaussian(variance: str) -> Weights:
    sigma2 = float(Fraction(variance))
    return normalised(sigma2**-0.5, lambda x: exp(-x * x / (2 * sigma2)))


def normalised(rate: float, weight: Callable[[int], float]) -> Weights:
    reach = int(40 / rate) + 2
    weights = {x: weight(x) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: each / total for x, each in weights.items()}


def binary(chance: float) -> Weights:
    return {True: chance, False: 1 - chance}


def p_value(draws: Any, expected: Weights) -> float:
    """Chi-square; rare and impossible values share one cell."""
    counts = Counter(draws.tolist())
    common = {x: chance for x, chance in expected.items() if chance * len(draws) >= LEAST}
    observed = [counts[x] for x in common]
    wanted = [chance * len(draws) for chance in common.values()]
    rare = len(draws) - sum(wanted)
    if rare >= 1:
        observed, wanted = [*observed, len(draws) - sum(observed)], [*wanted, rare]
    elif sum(observed) < len(draws):
        return 0.0
    scaled = np.array(wanted) * (len(draws) / sum(wanted))
    return float(stats.chisquare(observed, scaled).pvalue)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (BernoulliExp("1/3"), binary(exp(-1 / 3))),
        (BernoulliExp("5/2"), binary(exp(-5 / 2))),
        (TruthfulAnswer("1/10"), binary(1 / (1 + exp(-1 / 10)))),
        (TruthfulAnswer(3), binary(1 / (1 + exp(-3)))),
        *(
            (DiscreteLaplace(scale), laplace(scale))
            for scale in ("1/3", "1", "7/5", "20", "1001/3")
        ),
        *((DiscreteGaussian(v), gaussian(v)) for v in ("1/4", "1", "7/3", "50", "100001/10")),
    ],
    ids=lambda each: repr(each) if isinstance(each, Law) else "",
)
def test_samplers_fit(law: Law[Any], expected: Weights) -> None:
    assert p_value(SeededCoins(1).draw(law, DRAWS), expected) > FALSE_ALARM


@pytest.mark.parametrize(
    ("mechanism", "truth"),
    [
        (RandomizedResponse(bool, odds=3), 3 / 4),
        (RandomizedResponse(bool, epsilon="1/2"), 1 / (1 + exp(-1 / 2))),
    ],
    ids=["odds", "epsilon"],
)
def test_randomized_response_fits(mechanism: RandomizedResponse, truth: float) -> None:
    """The answer is the true bit with the stated probability."""
    coins = SeededCoins(2)
    answers = np.array([mechanism.release(True, coins) for _ in range(DRAWS)])
    assert p_value(answers, binary(truth)) > FALSE_ALARM


def test_draws_are_independent() -> None:
    """Signs of adjacent draws of one array agree half of the time."""
    draws = SeededCoins(3).draw(DiscreteLaplace(20), DRAWS)
    signs = np.sign(draws[draws != 0])
    agree = signs[::2][: len(signs) // 2] == signs[1::2]
    assert p_value(agree, binary(1 / 2)) > FALSE_ALARM


@attrs.frozen
class DoubledZero(Law[int]):
    """A wrong Laplace sampler: it does not reject minus zero."""

    scale: int

    def sample(self, source: FairBits) -> int:
        magnitude = 0
        while BernoulliExp(Fraction(1, self.scale)).sample(source):
            magnitude += 1
        return -magnitude if source.bits(1) else magnitude


@attrs.frozen
class Rounded(Law[int]):
    """A wrong Gaussian sampler: it rounds continuous noise to integers."""

    variance: int

    def sample(self, source: FairBits) -> int:
        uniform = (source.bits(53) + 0.5) / 2**53
        return round(NormalDist().inv_cdf(uniform) * self.variance**0.5)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (DoubledZero(7), laplace("7")),
        (Rounded(1), gaussian("1")),
        (DiscreteLaplace("7/5"), laplace("3/2")),
        (TruthfulAnswer("1/10"), binary(1 / 2)),
    ],
    ids=lambda each: repr(each) if isinstance(each, Law) else "",
)
def test_wrong_samplers_are_rejected(law: Law[Any], expected: Weights) -> None:
    """The same fit detects samplers that are almost correct."""
    assert p_value(SeededCoins(4).draw(law, DRAWS), expected) < FALSE_ALARM
