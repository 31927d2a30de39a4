"""The laws of choosing: exact probabilities to 60 digits, and samplers that fit them.

Each of the 12 fits fails on a correct sampler with probability 10^-4, so the file with probability
below 0.2%; the seeds are fixed, so it fails always or never.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import prod
from typing import Any

import attrs
import mpmath
import numpy as np
import pytest
from scipy import stats

from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from mechanisms.sampling.cks import coin_exp
from queryable import SYSTEM, SeededCoins
from queryable.randomness.intervals import Interval
from queryable.randomness.laws import FairBits, Law

DIGITS = 60
DRAWS = 5_000
FALSE_ALARM = 1e-4
SCORES: tuple[tuple[list[int], str], ...] = (
    ([5, 3, 0, -10, 5, 4], "1/2"),
    ([0], "7"),
    ([0, 0, 0, 0], "1/3"),
    ([10**30, 10**30 - 7, 10**30 - 20, 10**30 - 21], "1/10"),
    ([0, -1, -2, -30, -100, -400], "3/2"),
    ([1, 2, 3, 4, 5, 6, 7, 8], "1/1000000000000000000000000000000"),
)
small = pytest.mark.parametrize(("scores", "rate"), SCORES, ids=str)


def softmax(scores: list[int], rate: str) -> list[Any]:
    """The probabilities to 60 digits, by another library than the one in use."""
    with mpmath.workdps(DIGITS):
        exponents = [Fraction(rate) * (each - max(scores)) for each in scores]
        weights = [mpmath.exp(mpmath.mpf(e.numerator) / e.denominator) for e in exponents]
        return [weight / mpmath.fsum(weights) for weight in weights]


def in_turn(scores: list[int], rate: str) -> list[Any]:
    """Permute and flip as it is defined: over all orders, who is taken first."""
    with mpmath.workdps(DIGITS):
        exponents = [Fraction(rate) * (each - max(scores)) for each in scores]
        chance = [mpmath.exp(mpmath.mpf(e.numerator) / e.denominator) for e in exponents]
        taken = [mpmath.mpf(0)] * len(scores)
        orders = list(permutations(range(len(scores))))
        for order in orders:
            passed = mpmath.mpf(1)
            for each in order:
                taken[each] += passed * chance[each]
                passed *= 1 - chance[each]
        return [each / len(orders) for each in taken]


def encloses(outcomes: Any, expected: list[Any]) -> bool:
    """Whether every chance is within an interval, and that is narrow."""
    with mpmath.workdps(DIGITS):
        slack = mpmath.mpf(10) ** (5 - DIGITS)
        ends = [
            [mpmath.mpf(end.numerator) / end.denominator for end in (chance.low, chance.high)]
            for _, chance in outcomes
        ]
        return all(
            low <= truth * (1 + slack) and truth * (1 - slack) <= high and high - low <= 1e-25
            for (low, high), truth in zip(ends, expected, strict=True)
        )


def p_value(draws: Any, expected: list[Any]) -> float:
    """Chi-square; candidates expected less than 20 times share a cell."""
    counts = Counter(draws.tolist())
    wanted = np.array([float(each) for each in expected]) * len(draws)
    observed = np.array([counts[index] for index in range(len(expected))])
    common = wanted >= 20
    if common.all():
        return float(stats.chisquare(observed, wanted).pvalue) if len(wanted) > 1 else 1.0
    rare = max(wanted[~common].sum(), 1e-9)
    cells = np.append(observed[common], observed[~common].sum()), np.append(wanted[common], rare)
    if rare < 5:  # a handful: too many of them are as good as impossible
        few = float(stats.poisson.sf(cells[0][-1] - 1, rare))
        return min(few, p_value_of(observed[common], wanted[common]))
    return float(stats.chisquare(*cells).pvalue)


def p_value_of(observed: Any, wanted: Any) -> float:
    if len(wanted) < 2:
        return 1.0
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)


@small
def test_probabilities_are_the_softmax(scores: list[int], rate: str) -> None:
    """The enumerated law encloses 60 digits of it."""
    assert encloses(Softmax(scores, rate).outcomes(), softmax(scores, rate))


@pytest.mark.parametrize(("scores", "rate"), SCORES[:5], ids=str)
def test_probabilities_are_those_of_permute_and_flip(scores: list[int], rate: str) -> None:
    """The integral is the average over all orders."""
    assert encloses(PermuteAndFlipLaw(scores, rate).outcomes(), in_turn(scores, rate))


@small
def test_samplers_fit(scores: list[int], rate: str) -> None:
    assert p_value(SeededCoins(1).draw(Softmax(scores, rate), DRAWS), softmax(scores, rate)) > (
        FALSE_ALARM
    )
    law = PermuteAndFlipLaw(scores, rate)
    expected = [float(chance.high) for _, chance in law.outcomes() if isinstance(chance, Interval)]
    assert p_value(SeededCoins(2).draw(law, DRAWS), expected) > FALSE_ALARM


@attrs.frozen(eq=False)
class HalfTheRate(Softmax):
    """A wrong sampler: it forgets the factor of two."""

    def exponent(self, candidate: int) -> Fraction:
        return super().exponent(candidate) / 2


@attrs.frozen(eq=False)
class LevelsOnly(Softmax):
    """A wrong sampler: it keeps every proposal."""

    def sample(self, source: FairBits) -> int:
        return self._proposed(source.below(self._ends[-1]))


@attrs.frozen(eq=False)
class InOrder(PermuteAndFlipLaw):
    """A wrong permute-and-flip: the first who has a ticket and is kept, without an order."""

    def sample(self, source: FairBits) -> int:
        exponents = ((each, self.exponent(each)) for each in range(len(self.gaps)))
        return next(each for each, x in exponents if coin_exp(*x.as_integer_ratio(), source))


def test_a_wrong_order_is_rejected() -> None:
    law = PermuteAndFlipLaw(*SCORES[0])
    expected = [float(chance.high) for _, chance in law.outcomes() if isinstance(chance, Interval)]
    assert p_value(SeededCoins(3).draw(InOrder(*SCORES[0]), DRAWS), expected) < FALSE_ALARM


@pytest.mark.parametrize("wrong", [HalfTheRate, LevelsOnly, PermuteAndFlipLaw])
def test_wrong_samplers_are_rejected(wrong: type[Law[int]]) -> None:
    """The same fit tells near misses from the law."""
    scores, rate = SCORES[0]
    draws = SeededCoins(3).draw(wrong(scores, rate), DRAWS)  # type: ignore[call-arg]
    assert p_value(draws, softmax(scores, rate)) < FALSE_ALARM


def test_a_million_candidates() -> None:
    """Far ones are hardly ever proposed, and near ones share the choice."""
    law = Softmax(np.arange(10**6), "1/10")
    turns = PermuteAndFlipLaw(np.arange(10**6), "1/10")
    for draws in (law.sample_many(SYSTEM, 100), turns.sample_many(SYSTEM, 10)):
        assert draws.min() > 10**6 - 1000
        assert len(set(draws.tolist())) > 1


def test_certain_and_extreme_choices() -> None:
    """Gaps so large that the other weights are beyond any enclosure."""
    law = Softmax([0, 10**6, 10**6 - 10**5], 1000)
    assert set(SeededCoins(1).draw(law, 100).tolist()) == {1}
    chances = [chance for _, chance in law.outcomes()]
    assert isinstance(chances[1], Interval)
    assert chances[1].high == 1
    assert chances[1].low > 1 - Fraction(1, 10**20)
    # The ends of int64 have a gap beyond it.
    ends = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    law = Softmax(ends, Fraction(1, 2**64 - 1))
    assert law.exponent(0) == 0
    assert law.exponent(1) == 1
    unsigned = Softmax(np.array([0, 2**64 - 1], dtype=np.uint64), 1)
    assert unsigned.exponent(0) == 2**64 - 1


def test_integrals_are_probabilities() -> None:
    """Sums of what is enumerated enclose one."""
    for scores, rate in SCORES:
        for law in (Softmax(scores, rate), PermuteAndFlipLaw(scores, rate)):
            chances = [each for _, each in law.outcomes() if isinstance(each, Interval)]
            assert sum(each.low for each in chances) <= 1 <= sum(each.high for each in chances)
            assert prod(each.high > 0 for each in chances)
