"""The laws of the randomness room: exact samples and listed outcomes."""

from collections import Counter
from fractions import Fraction

import pytest

from queryable import SeededCoins
from queryable.randomness.laws import Bernoulli, UniformBelow


def test_uniform_hits_every_value_equally() -> None:
    """10,000 draws below 10: a chi-square of 9 degrees passes 40 with probability 8e-6."""
    coins = SeededCoins(11)
    counts = Counter(coins.draw(UniformBelow(10)) for _ in range(10_000))
    assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(10)) < 40


@pytest.mark.parametrize("chance", ["1/3", "0.999", "1e-2"])
def test_bernoulli_has_its_probability(chance: str) -> None:
    """20,000 draws are within 5 standard deviations: false alarms below 1e-6."""
    law = Bernoulli(chance)  # type: ignore[arg-type]
    coins = SeededCoins(13)
    hits = sum(coins.draw(law) for _ in range(20_000))
    p = float(law.probability)
    assert abs(hits - 20_000 * p) < 5 * (20_000 * p * (1 - p)) ** 0.5


def test_certain_bernoullis_are_certain() -> None:
    """Probabilities zero and one always give the same draw and list one outcome."""
    coins = SeededCoins(17)
    for chance in (0, 1):
        law = Bernoulli(chance)
        assert {coins.draw(law) for _ in range(50)} == {bool(chance)}
        assert law.outcomes() == ((bool(chance), 1),)


@pytest.mark.parametrize("law", [Bernoulli("1/3"), UniformBelow(7), UniformBelow(1)], ids=repr)
def test_outcomes_are_a_distribution(law: Bernoulli) -> None:
    """Listed outcomes are distinct; their probabilities are positive and sum to exactly one."""
    outcomes = law.outcomes()
    assert sum(chance for _, chance in outcomes) == 1
    assert all(chance > 0 for _, chance in outcomes)
    assert len({value for value, _ in outcomes}) == len(outcomes)
    assert all(isinstance(chance, Fraction | int) for _, chance in outcomes)
