"""Enumerated coins: every path once, with its exact probability."""

from fractions import Fraction
from math import comb
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Bernoulli,
    Coins,
    InteractiveMechanism,
    Launch,
    PureDP,
    UnknownQueryError,
)
from queryable.audit import (
    EnumeratedCoins,
    HockeyStick,
    NotEnumerable,
    Wrong,
    every_outcome,
    push_forward,
    view_law,
    worst_case,
)
from queryable.audit.enumeration import CUT
from queryable.randomness.intervals import Interval, high
from queryable.randomness.laws import FairBits, Law, UniformBelow
from tests.audit.toys import Response, script

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


def test_push_forward_merges_equal_values() -> None:
    """The law of a function of the view adds the probabilities of equal values."""
    law = view_law(FiltCon(PureDP(3)), 1, script(Launch(Response(3)), Launch(Response(3))))
    agree = push_forward(law, lambda seen: seen[1] == seen[2])
    assert agree == {True: F(9, 16) + F(1, 16), False: F(6, 16)}


def test_more_paths_than_the_limit_are_refused_at_once() -> None:
    """The first path gives an estimate, so 2**60 paths are refused immediately."""
    with pytest.raises(NotEnumerable, match=r"about 1\.2e\+18 outcomes"):
        every_outcome(lambda coins: coins.draw(HALF, 60), limit=1000)
    assert len(every_outcome(lambda coins: coins.draw(HALF, 3), limit=8)) == 8


def test_views_beyond_the_limit_are_refused() -> None:
    """This includes many steps with few outcomes each."""
    with pytest.raises(NotEnumerable, match="more than 100 views"):
        view_law(FiltCon(PureDP(99)), 1, lambda _: Launch(Response(3)), 20, limit=100)


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


@attrs.frozen
class Walk(InteractiveMechanism[int]):
    """Takes hidden fair steps, and answers its position when asked 'where'."""

    taken: list[int] = attrs.field(factory=list, eq=False)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return dataset, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if query == "where":
            return state, state
        if query != "step":
            raise UnknownQueryError("only 'step' and 'where'")
        self.taken.append(state)
        return state + 2 * coins.draw(UniformBelow(2)) - 1, None


def test_equal_hidden_states_are_merged() -> None:
    """Ten hidden steps reach eleven positions; equal states are merged, not 1,024 paths."""
    walk = Walk()
    law = view_law(walk, 0, script(*["step"] * 10, "where"))
    assert sorted(walk.taken) == sorted(2 * list(range(-9, 10)))  # two outcomes from each position
    assert {seen[-1]: chance for seen, chance in law.items()} == {
        10 - 2 * k: F(comb(10, k), 2**10) for k in range(11)
    }


def test_a_wrong_query_may_count_as_an_answer() -> None:
    """The adversary then continues from the same state."""
    law = view_law(Walk(), 3, script("jump", "where"), errors=True)
    assert law == {(None, Wrong("UnknownQueryError: only 'step' and 'where'"), 3): 1}
    with pytest.raises(UnknownQueryError):
        view_law(Walk(), 3, script("jump", "where"))


@attrs.frozen
class Writes(InteractiveMechanism[Any]):
    """Tosses a coin once for each name, and writes it into the given state."""

    kind: Any = dict

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return self.kind(), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        tossed = state if isinstance(state, dict) else state.__dict__
        if query not in tossed:
            tossed[query] = coins.draw(UniformBelow(3))
        return state, None


class Notes:
    """A mutable state that is compared and hashed by identity."""


@pytest.mark.parametrize("kind", [dict, Notes])
def test_a_step_that_writes_to_its_state_is_refused(kind: Any) -> None:
    """Otherwise later outcomes would start from a state that an earlier outcome changed."""
    with pytest.raises(ValueError, match="states are values"):
        view_law(Writes(kind), 0, script("Ada", "Ben"))
    with pytest.raises(ValueError, match="states are values"):
        worst_case(Writes(kind), 0, 1, ("Ada", "Ben"), 2, HockeyStick(0))


@attrs.frozen
class Moody(InteractiveMechanism[None]):
    """Draws from a different law each time, whatever its coins."""

    sizes: tuple[int, ...]

    times: list[int] = attrs.field(factory=list, eq=False)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        return None, None

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def step(self, state: None, query: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        self.times.append(1)
        return None, coins.draw(UniformBelow(self.sizes[min(len(self.times), len(self.sizes)) - 1]))


@pytest.mark.parametrize("sizes", [(3, 2), (3, 1), (2, 3), (2, 3, 1)])
def test_a_step_with_varying_draws_is_refused(sizes: Any) -> None:
    """It has no law. It is refused even if a compositor contains the fault."""
    with pytest.raises(ValueError, match="different result the second time"):
        every_outcome(lambda coins, mechanism=Moody(sizes): mechanism.step(None, "?", coins))
    moody = FiltCon(PureDP(9)), script(Launch(Moody(sizes), PureDP(1)), Ask(0, "?"))
    with pytest.raises(ValueError, match="different result the second time"):
        view_law(moody[0], 0, moody[1])
