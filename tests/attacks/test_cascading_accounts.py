"""A record that decides what others pay starts a cascade (w3c/attribution, issue 75).

A conversion is counted for the last impression that has budget left. If only that impression pays,
one impression more or less shifts everything that comes later.
"""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import Individual
from mechanisms import Gaussian
from queryable import Coins, Launch, Statistic

VARIANCE = 10
ONE = Fraction(1, 2 * VARIANCE)
"""What a conversion costs the impression that it is counted for."""


def last_touch(records: Any, impressions: int) -> Any:
    """One conversion, counted for the last of the records."""
    counts = np.zeros(impressions, dtype=np.int64)
    counts[list(records)[-1:]] = 1
    return counts


def naive(records: tuple[int, ...], impressions: int) -> list[Any]:
    """The noiseless answers to as many conversions, if only the counted impression pays."""
    left, answers = list(records), []
    for _ in range(impressions):
        answers.append(last_touch(left, impressions))
        left = left[:-1]  # it has paid all that it has
    return answers


@attrs.frozen
class Silent(Coins):
    """Coins whose noise is 0."""

    def draw(self, law: Any, size: Any = None) -> Any:
        return 0 if size is None else np.zeros(size, dtype=np.int64)

    def spawn(self, child: Any, message: int) -> Coins:
        return self


def ours(records: tuple[int, ...], impressions: int, budget: Fraction) -> list[Any]:
    """The same from `Individual`."""

    def counted(data: Any) -> Any:
        return last_touch(data, impressions)

    statistic = Statistic(counted, l1=2, l2="1.4142135624", shape=impressions)
    launch = Launch(Gaussian(statistic, variance=VARIANCE))
    mechanism = Individual(budget)
    state, _ = mechanism.init(records, Silent())
    answers = []
    for _ in range(impressions):
        state, launched = mechanism.step(state, launch, Silent())
        answers.append(np.asarray(launched.answer))
    return answers


def lost(answers: list[Any], others: list[Any]) -> Fraction:
    """The zCDP loss between two lists of answers with Gaussian noise: squares add up."""
    squares = (int(((a - b) ** 2).sum()) for a, b in zip(answers, others, strict=True))
    return sum(squares) * ONE


@pytest.mark.parametrize("impressions", [3, 10])
def test_the_cascade_breaks_the_naive_filter(impressions: int) -> None:
    """Each impression pays for one conversion, and one of them changes all answers."""
    everyone = tuple(range(impressions))
    assert lost(naive(everyone, impressions), naive(everyone[:-1], impressions)) == ONE * (
        2 * impressions - 1
    )


@pytest.mark.parametrize("impressions", [3, 10])
@pytest.mark.parametrize("conversions", [1, 2, 3])
def test_everybody_pays_for_a_statistic_of_all_records(impressions: int, conversions: int) -> None:
    """No impression, added or removed, costs more than the budget; at least one costs as much."""
    paid = 2 * conversions * ONE
    budget = paid * Fraction(1000001, 1000000)  # the declared l2 is rounded up
    everyone = tuple(range(impressions))
    whole = ours(everyone, impressions, budget)
    worst = max(
        lost(whole, ours((*everyone[:i], *everyone[i + 1 :]), impressions, budget))
        for i in everyone
    )
    assert worst == paid <= budget
