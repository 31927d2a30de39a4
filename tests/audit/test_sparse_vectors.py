"""The largest loss of a sparse vector asked three questions, with the noise that it draws.

The answers come from `SparseVector.step`: for every noise on the threshold the least noise on a
query with which it answers True is searched for. Chances are floats; the loss of a view is the
logarithm of the ratio of its chances under x and x'.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import exp, log, prod
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Above, SparseVector
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import Statistic

REACH = 70
VALUES = (-3, 0, 3)
AT = Statistic(lambda value: value, l1=1, l2=1, monotone="up")


@attrs.define
class Given:
    """Coins that give one number, and note the law it was asked of."""

    number: int
    law: Any = None

    def draw(self, law: Any) -> int:
        self.law = law
        return self.number


def at_least(law: DiscreteLaplace, t: int) -> float:
    ratio = exp(-1 / float(law.scale))
    return ratio**t / (1 + ratio) if t >= 1 else 1 - ratio ** (1 - t) / (1 + ratio)


def chance(law: DiscreteLaplace, t: int) -> float:
    return at_least(law, t) - at_least(law, t + 1)


def least(mechanism: SparseVector, start: int, value: int) -> tuple[int, DiscreteLaplace]:
    """The least noise on a query with which the answer is True, by bisection, and its law."""
    state, _ = mechanism.init(value, Given(start))  # type: ignore[arg-type]
    low, high, coins = -2 * REACH, 2 * REACH, Given(0)
    while high - low > 1:
        coins = Given((low + high) // 2)
        _, answer = mechanism.step(state, AT, coins)  # type: ignore[arg-type]
        low, high = (low, coins.number) if answer is True else (coins.number, high)
    return high, coins.law


@cache
def yeses(mechanism: SparseVector) -> tuple[Any, dict[int, Any]]:
    """For each noise on the threshold: its chance, and those of a True by value."""
    opening = Given(0)
    mechanism.init(0, opening)  # type: ignore[arg-type]
    starts = range(-REACH, REACH + 1)
    tails = {}
    for value in range(-4, 5):
        cells = (least(mechanism, start, value) for start in starts)
        tails[value] = np.array([at_least(law, t) for t, law in cells])
    return np.array([chance(opening.law, start) for start in starts]), tails


@cache
def of_view(mechanism: SparseVector, values: tuple[int, ...], view: tuple[bool, ...]) -> float:
    """The chance of these answers to questions about these values."""
    weights, tails = yeses(mechanism)
    answers = zip(values, view, strict=True)
    chances = (tails[value] if yes else 1 - tails[value] for value, yes in answers)
    return float(np.sum(prod(chances, start=weights)))


def views(cutoff: int) -> Iterator[tuple[bool, ...]]:
    """The answers to three questions, up to the cutoff."""
    for answers in product((False, True), repeat=3):
        ends = [place for place in range(3) if sum(answers[: place + 1]) == cutoff]
        yield answers[: ends[0] + 1] if ends else answers


def largest_loss(mechanism: SparseVector, steps: tuple[int, ...]) -> float:
    """Over values of three questions at x, and moves of these steps to x'."""
    worst = 0.0
    for view in set(views(mechanism.cutoff)):
        for values in product(VALUES, repeat=len(view)):
            for moves in product(steps, repeat=len(view)):
                moved = tuple(map(sum, zip(values, moves, strict=True)))
                ratio = of_view(mechanism, values, view) / of_view(mechanism, moved, view)
                worst = max(worst, abs(log(ratio)))
    return worst


@pytest.mark.parametrize(("cutoff", "up", "both"), [(1, 0.858, 1.357), (2, 0.529, 0.833)])
def test_noise_for_one_way_holds_for_one_way_only(cutoff: int, up: float, both: float) -> None:
    """At epsilon 1: below it for monotone statistics, above or nearer to it for others."""
    mechanism = SparseVector(0, 1, cutoff)
    assert round(max(largest_loss(mechanism, (0, 1)), largest_loss(mechanism, (0, -1))), 3) == up
    assert round(largest_loss(mechanism, (-1, 0, 1)), 3) == both


@attrs.frozen
class OneWayAlways(SparseVector):
    """The wrong one: half the noise, also for statistics that may move both ways."""

    def _query_noise(self, moves: Any) -> DiscreteLaplace:
        return super()._query_noise("up")


def test_half_the_noise_is_refuted_for_both_ways() -> None:
    """And the right one is not."""
    right, wrong = (kind(0, 1, monotone=False) for kind in (SparseVector, OneWayAlways))
    assert largest_loss(right, (-1, 0, 1)) < 1 < largest_loss(wrong, (-1, 0, 1))


NARROW = 30
"""How far noise is followed where epsilon is 4: the rest has less than e^-50."""


@cache
def given_start(mechanism: Any, answer: Any) -> tuple[tuple[float, tuple[float, float]], ...]:
    """The noise on the threshold: its chance, and those of this answer at the values 0 and 1."""
    opening, drawn = Given(0), Given(0)
    mechanism.step(mechanism.init(0, opening)[0], AT, drawn)
    found = []
    for start in range(-NARROW, NARROW + 1):
        chances = tuple(
            sum(
                chance(drawn.law, noise)
                for noise in range(-NARROW, NARROW + 1)
                if mechanism.step(mechanism.init(value, Given(start))[0], AT, Given(noise))[1]
                == answer
            )
            for value in (0, 1)
        )
        found.append((chance(opening.law, start), chances))
    return tuple(found)  # type: ignore[arg-type]


def loss_of_gaps(mechanism: SparseVector, below: Any, above: Any) -> float:
    """Of eight answers `below` and then one `above`, where every other value moves from 0 to 1."""
    law = zip(given_start(mechanism, below), given_start(mechanism, above), strict=True)
    totals = [0.0, 0.0, 0.0]
    for (weight, (low, lifted)), (_, (last, raised)) in law:
        totals[0] += weight * low**8 * last
        totals[1] += weight * low**4 * lifted**4 * last
        totals[2] += weight * low**4 * lifted**4 * raised
    return max(abs(log(totals[0] / moved)) for moved in totals[1:])


@attrs.frozen
class GapBelow(SparseVector):
    """The wrong one: tells the gap of every answer."""

    def _compared(self, state: Any, statistic: Any, coins: Any) -> Any:
        noisy = statistic(state.dataset) + coins.draw(self._query_noise(state.moves))
        gap = noisy - self.threshold - state.threshold_noise
        left = state.left - (gap >= 0)
        return attrs.evolve(state, left=left), Above(gap) if gap >= 0 else gap


@pytest.mark.parametrize("gap", [0, pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_gap_above_is_free_and_one_below_is_not(gap: int) -> None:
    """Every gap below costs as much as an answer True."""
    right, wrong = (kind(0, 4, gap=True) for kind in (SparseVector, GapBelow))
    assert loss_of_gaps(right, below=False, above=Above(gap)) < 4
    assert loss_of_gaps(wrong, below=-2, above=Above(gap)) > 5
