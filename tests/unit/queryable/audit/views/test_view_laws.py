"""Exact laws of views: keys, strategies and their enumeration."""

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
    Coins,
    InteractiveMechanism,
    Launch,
    Launched,
    Measurement,
    PureDP,
    Refused,
    UnknownQueryError,
)
from queryable.audit import (
    EnumeratedCoins,
    HockeyStick,
    NotEnumerable,
    SeenError,
    Strategy,
    audit,
    every_outcome,
    hashable,
    push_forward,
    view_law,
    worst_case,
)
from queryable.audit.views.enumeration import CUT
from queryable.audit.views.keys import require_alike
from queryable.audit.views.strategies import StrategyNode
from queryable.randomness.intervals import Interval, high
from queryable.randomness.laws import Bernoulli, FairBits, Law, UniformBelow
from queryable.view import View
from tests.audit.toys import Response, script

F = Fraction


def test_push_forward_merges_equal_values() -> None:
    """The law of a function of the view adds the probabilities of equal values."""
    law = view_law(FiltCon(PureDP(3)), 1, script(Launch(Response(3)), Launch(Response(3))))
    agree = push_forward(law, lambda seen: seen[1] == seen[2])
    assert agree == {True: F(9, 16) + F(1, 16), False: F(6, 16)}
    # This includes many steps with few outcomes each.
    with pytest.raises(NotEnumerable, match="more than 100 views"):
        view_law(FiltCon(PureDP(99)), 1, lambda _: Launch(Response(3)), 20, limit=100)


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
    assert law == {(None, SeenError("UnknownQueryError: only 'step' and 'where'"), 3): 1}
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


HALF = Bernoulli(F(1, 2))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (3, 3),
        (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
        ([1, [2]], (1, (2,))),
        (Launched(None, np.array([1])), ("Launched", None, (1,))),
        (Launched(0, Launched(None, [1])), ("Launched", 0, ("Launched", None, (1,)))),
        (Refused("no"), Refused("no")),
    ],
)
def test_answers_become_hashable(value: Any, key: Any) -> None:
    """Arrays and lists become tuples at any depth; hashable values are unchanged."""
    assert hashable(value) == key
    hash(hashable(value))


def test_dictionaries_and_sets_become_hashable() -> None:
    """The order of insertion does not matter."""
    assert hashable({"a": [1], "b": {2}}) == hashable({"b": {2}, "a": [1]})
    assert hash(hashable({"a": [1]})) != hash(hashable({"a": [2]}))
    # Otherwise each NaN would be a view that is possible under one dataset only.
    values = [float("nan"), np.nan, np.float32("nan"), float("inf") - float("inf")]
    assert len({hashable((value, "x")) for value in values}) == 1
    assert hashable(float("nan")) != hashable(0.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (0, False),
        ((1, "x"), (True, "x")),
        ([np.True_], [1.0]),
        (np.array([True, False]), np.array([1, 0])),
        ({"a": 1}, {"a": True}),
        ({0}, {False}),
        (Launched(None, 0), Launched(None, False)),
    ],
)
def test_a_boolean_and_an_equal_number_are_refused(one: Any, other: Any) -> None:
    assert hashable(one) == hashable(other)
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="compare equal"):
            require_alike(first, second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (np.int64(3), 3),
        (True, np.True_),
        (np.array([True, False]), [True, False]),
        (np.array([1, 2]), (1, 2)),
        (Launched(0, True), Launched(0, True)),
    ],
)
def test_equal_answers_of_other_types_are_alike(one: Any, other: Any) -> None:
    """Equal numbers, or equal sequences, of different types are accepted."""
    require_alike(one, other)


@attrs.frozen
class Number(Measurement):
    """Answers a number where it should answer False."""

    said: Any = 0

    def release(self, dataset: Any, coins: Coins) -> Any:
        return coins.draw(HALF) if dataset else self.said


@attrs.frozen
class Choice(Measurement):
    """Answers one of `answers` at random, whatever the data."""

    answers: tuple[Any, ...]

    def release(self, dataset: Any, coins: Coins) -> Any:
        return self.answers[coins.draw(UniformBelow(len(self.answers)))]


def test_false_and_zero_as_answers_are_refused_everywhere() -> None:
    """In one law, in two laws, and in the search over adversaries."""
    law = Choice((False, 0))
    with pytest.raises(ValueError, match="compare equal"):
        view_law(law, 0, script())
    with pytest.raises(ValueError, match="compare equal"):
        audit(Number(), [(0, 1)], claim=PureDP(1))
    with pytest.raises(ValueError, match="compare equal"):
        worst_case(Number(), 0, 1, (), 0, HockeyStick(0))
    assert not audit(Number(None), [(0, 1)], claim=PureDP(1)).holds


LEAF = StrategyNode()
TREE = Strategy(
    StrategyNode(
        branches=(
            (
                None,
                StrategyNode(
                    "first", ((True, StrategyNode("second", ((3, LEAF),))), (False, LEAF))
                ),
            ),
        )
    )
)


def test_the_query_depends_on_the_answers() -> None:
    """It stops at a leaf, or after an answer that is not in the tree."""
    start = View(None)
    assert TREE(start) == "first"
    assert TREE(start.then("first", True)) == "second"
    assert TREE(start.then("first", False)) is None
    assert TREE(start.then("first", "something else")) is None
    assert TREE(start.then("first", True).then("second", 3)) is None
    assert TREE(View("another opening")) is None
    # A list matches a tuple, because the tree stores keys.
    tree = Strategy(StrategyNode(branches=(((1, 2), StrategyNode("go")),)))
    assert tree(View([1, 2])) == "go"


def test_a_strategy_prints_a_line_for_each_answer() -> None:
    """Each line has the next query; later answers are indented."""
    assert str(TREE).splitlines() == [
        "None -> ask 'first'",
        "  True -> ask 'second'",
        "    3 -> stop",
        "  False -> stop",
    ]
    # Nodes are shared, so a small tree may have 2**100 lines.
    node: Any = LEAF
    for _ in range(100):
        node = StrategyNode("again", ((True, node), (False, node)))
    deep = Strategy(StrategyNode(branches=((None, node),)))
    assert str(deep).endswith("...")
    assert len(repr(deep)) < 100


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
    both = every_outcome(lambda coins: (coins.spawn(0, 1).draw(HALF), coins.spawn(0, 1).draw(HALF)))
    assert {pair for _, pair in both} == {(a, b) for a in (True, False) for b in (True, False)}
    # They are not mistaken for paths that were cut off.
    with pytest.raises(ZeroDivisionError):
        every_outcome(lambda coins: 1 // coins.draw(UniformBelow(2)))


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


def test_impossible_outcomes_are_not_visited_and_too_many_are_refused() -> None:
    """A coin with probability 1 has one outcome."""
    assert every_outcome(lambda coins: coins.draw(Bernoulli(1))) == [(1, True)]
    assert every_outcome(lambda coins: coins.draw(Listed())) == [(1, 0)]
    # The first path gives an estimate, so 2**60 paths are refused immediately.
    with pytest.raises(NotEnumerable, match=r"about 1\.2e\+18 outcomes"):
        every_outcome(lambda coins: coins.draw(HALF, 60), limit=1000)
    assert len(every_outcome(lambda coins: coins.draw(HALF, 3), limit=8)) == 8


@pytest.mark.parametrize("shape", [(), 0, 2, (2,), (1, 2), (0, 3)])
def test_arrays_are_drawn_entry_by_entry(shape: Any) -> None:
    """Arrays have the requested shape, and every combination occurs once."""
    outcomes = every_outcome(lambda coins: coins.draw(HALF, shape))
    count = int(np.prod(shape, dtype=int))
    assert len({tuple(drawn.flat) for _, drawn in outcomes}) == len(outcomes) == 2**count
    assert all(drawn.shape == np.empty(shape).shape for _, drawn in outcomes)
    assert all(chance == F(1, 2**count) for chance, _ in outcomes)


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
    # Without a tail the law is refused by name, even if the run catches the error.

    def careless(coins: EnumeratedCoins) -> Any:
        try:
            return coins.draw(Waiting())
        except ValueError:
            return "caught"

    with pytest.raises(ValueError, match=r"Waiting\(\) has infinite support"):
        every_outcome(careless)
    with pytest.raises(ValueError, match=r"Endless\(\) has infinite support"):
        every_outcome(lambda coins: coins.draw(Endless()), F(1, 8))


@attrs.frozen
class Listed(Law[int]):
    """Lists an outcome of probability 0."""

    def sample(self, source: FairBits) -> int:
        return 0

    def outcomes(self) -> Any:
        return ((0, F(1)), (1, F(0)))
