"""Exact laws of steps and views: hidden states are merged, and steps have to be pure."""

from fractions import Fraction
from math import comb
from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import SYSTEM, Ask, Coins, InteractiveMechanism, Launch, PureDP, UnknownQueryError
from queryable.audit import (
    HockeyStick,
    NotEnumerable,
    SeenError,
    every_outcome,
    push_forward,
    view_law,
    worst_case,
)
from queryable.randomness.laws import UniformBelow
from tests.audit.toys import Response, script

F = Fraction


def test_push_forward_merges_equal_values() -> None:
    """The law of a function of the view adds the probabilities of equal values."""
    law = view_law(FiltCon(PureDP(3)), 1, script(Launch(Response(3)), Launch(Response(3))))
    agree = push_forward(law, lambda seen: seen[1] == seen[2])
    assert agree == {True: F(9, 16) + F(1, 16), False: F(6, 16)}


def test_views_beyond_the_limit_are_refused() -> None:
    """This includes many steps with few outcomes each."""
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
