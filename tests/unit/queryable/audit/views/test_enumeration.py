"""Enumerated coins: every path once, with its exact probability."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable.audit import EnumeratedCoins, NotEnumerable, every_outcome
from queryable.audit.views.enumeration import CUT
from queryable.randomness.intervals import Interval, high
from queryable.randomness.laws import Bernoulli, FairBits, Law, UniformBelow

F = Fraction
HALF = Bernoulli(F(1, 2))


@attrs.frozen
class Waiting(Law[int]):
    """Failures before a success at probability 1/2: infinite support, rational probabilities."""

    def sample(self, source: FairBits) -> int:
        count = 0
        while source.bits(1):
            count += 1
        return count

    def truncated(self, tail: Fraction) -> Any:
        kept, left = [], F(1)
        while left > tail:
            left /= 2
            kept.append((len(kept), left))
        return tuple(kept), left


@attrs.frozen
class Endless(Law[int]):
    """Infinite support with an unknown tail."""

    def sample(self, source: FairBits) -> int:
        return 0


def test_a_run_without_draws_has_one_outcome() -> None:
    assert every_outcome(lambda coins: "done") == [(1, "done")]


def test_every_path_is_visited_once() -> None:
    """Paths differ in length: after a 2, one more coin is drawn."""

    def run(coins: EnumeratedCoins) -> Any:
        first = coins.draw(UniformBelow(3))
        return (first, coins.draw(Bernoulli(F(1, 4)))) if first == 2 else first

    outcomes = every_outcome(run)
    assert sorted(outcomes, key=repr) == [
        (F(1, 12), (2, True)),
        (F(1, 3), 0),
        (F(1, 3), 1),
        (F(1, 4), (2, False)),
    ]


@given(st.lists(st.integers(1, 4), max_size=4), st.randoms(use_true_random=False))
def test_probabilities_sum_to_one(bounds: list[int], random: Any) -> None:
    """Later draws may depend on earlier ones."""
    salt = random.random()

    def run(coins: EnumeratedCoins) -> tuple[int, ...]:
        drawn: tuple[int, ...] = ()
        for bound in bounds:
            extra = hash((salt, drawn)) % 2
            drawn = (*drawn, coins.draw(UniformBelow(bound + extra)))
        return drawn

    outcomes = every_outcome(run)
    assert sum(chance for chance, _ in outcomes) == 1
    assert len({drawn for _, drawn in outcomes}) == len(outcomes)


def test_impossible_outcomes_are_not_visited() -> None:
    """A coin with probability 1 has one outcome."""
    assert every_outcome(lambda coins: coins.draw(Bernoulli(1))) == [(1, True)]


@pytest.mark.parametrize("shape", [(), 0, 2, (2,), (1, 2), (0, 3)])
def test_arrays_are_drawn_entry_by_entry(shape: Any) -> None:
    """Arrays have the requested shape, and every combination occurs once."""
    outcomes = every_outcome(lambda coins: coins.draw(HALF, shape))
    count = int(np.prod(shape, dtype=int))
    assert len({tuple(drawn.flat) for _, drawn in outcomes}) == len(outcomes) == 2**count
    assert all(drawn.shape == np.empty(shape).shape for _, drawn in outcomes)
    assert all(chance == F(1, 2**count) for chance, _ in outcomes)


def test_children_share_the_script() -> None:
    """Spawned coins continue the script, so each draw is independent."""
    both = every_outcome(lambda coins: (coins.spawn(0, 1).draw(HALF), coins.spawn(0, 1).draw(HALF)))
    assert {pair for _, pair in both} == {(a, b) for a in (True, False) for b in (True, False)}


def test_errors_of_the_run_are_raised() -> None:
    """They are not mistaken for paths that were cut off."""
    with pytest.raises(ZeroDivisionError):
        every_outcome(lambda coins: 1 // coins.draw(UniformBelow(2)))


def test_infinite_support_needs_a_tail() -> None:
    """Without a tail the law is refused by name, even if the run catches the error."""

    def careless(coins: EnumeratedCoins) -> Any:
        try:
            return coins.draw(Waiting())
        except ValueError:
            return "caught"

    with pytest.raises(ValueError, match=r"Waiting\(\) has infinite support"):
        every_outcome(careless)
    with pytest.raises(ValueError, match=r"Endless\(\) has infinite support"):
        every_outcome(lambda coins: coins.draw(Endless()), F(1, 8))


def test_a_tail_is_cut_off_and_counted() -> None:
    """Kept outcomes are exact; the cut-off mass has one key and is rounded up."""
    outcomes = every_outcome(lambda coins: coins.draw(Waiting()), F(1, 8))
    law = {value: chance for chance, value in outcomes}
    assert {key: chance for key, chance in law.items() if key is not CUT} == {
        0: F(1, 2),
        1: F(1, 4),
        2: F(1, 8),
    }
    assert law[CUT] == Interval(F(0), F(1, 8))
    assert sum(map(high, law.values())) == 1


def test_more_paths_than_the_limit_are_refused_at_once() -> None:
    """The first path gives an estimate, so 2**60 paths are refused immediately."""
    with pytest.raises(NotEnumerable, match=r"about 1\.2e\+18 outcomes"):
        every_outcome(lambda coins: coins.draw(HALF, 60), limit=1000)
    assert len(every_outcome(lambda coins: coins.draw(HALF, 3), limit=8)) == 8


@attrs.frozen
class Listed(Law[int]):
    """Lists an outcome of probability 0."""

    def sample(self, source: FairBits) -> int:
        return 0

    def outcomes(self) -> Any:
        return ((0, F(1)), (1, F(0)))


def test_listed_outcomes_of_probability_zero_are_not_visited() -> None:
    """A law may list an impossible outcome; it is not visited."""
    assert every_outcome(lambda coins: coins.draw(Listed())) == [(1, 0)]
