"""Beliefs: exact Bayes updates, and the cache of a `Machine`."""

from fractions import Fraction
from typing import Any

import attrs

from queryable import SYSTEM, Coins, InteractiveMechanism, QueryError, UnknownQueryError
from queryable.audit import SeenError
from queryable.audit.beliefs import Belief, Machine
from queryable.randomness.laws import Bernoulli
from tests.audit.toys import PadReveal, Response

F = Fraction


def masses(seen: Any) -> dict[Any, tuple[Fraction, Fraction]]:
    return {key: each.belief.mass for key, each in seen.items()}


def test_each_opening_gives_a_belief() -> None:
    """For a response: the answer's probability under either bit."""
    assert masses(Machine(Response(3)).start(1, 0)) == {
        True: (F(3, 4), F(1, 4)),
        False: (F(1, 4), F(3, 4)),
    }


def test_beliefs_are_updated_by_answers() -> None:
    """The pad's key alone reveals nothing; key and sum together are the response."""
    machine = Machine(PadReveal(3))
    (start,) = machine.start(1, 0).values()
    keys = machine.after(start.belief, "key")
    assert keys is not None
    assert masses(keys) == {True: (F(1, 2), F(1, 2)), False: (F(1, 2), F(1, 2))}
    sums = machine.after(keys[True].belief, "sum")
    assert sums is not None
    assert masses(sums) == {True: (F(1, 8), F(3, 8)), False: (F(3, 8), F(1, 8))}


def test_equal_beliefs_have_equal_keys() -> None:
    """The order of states does not matter; normalised beliefs are equal up to a factor."""
    machine = Machine(PadReveal(3))
    (start,) = machine.start(1, 0).values()
    belief = start.belief
    shuffled = Belief(belief.p[::-1], belief.q[::-1])
    assert shuffled.key == belief.key
    half = belief.over(F(2))
    assert half.key != belief.key
    assert half.over(sum(half.mass)).key == belief.over(sum(belief.mass)).key  # type: ignore[arg-type]


@attrs.frozen
class Counted(InteractiveMechanism[Any]):
    """Records every step that it takes."""

    steps: list[Any] = attrs.field(factory=list, eq=False)
    hidden: Any = None

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset) if self.hidden is None else self.hidden(bool(dataset))), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        self.steps.append((state, query))
        return state, coins.draw(Bernoulli(F(1, 2)))


class Unhashable:
    """A state that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, bit: bool) -> None:
        self.bit = bit


def test_a_step_is_enumerated_once() -> None:
    """A hashable state is enumerated once per query, an unhashable one each time."""
    for hidden, most in ((None, 4), (Unhashable, 12)):
        mechanism = Counted(hidden=hidden)
        machine = Machine(mechanism)
        (seen,) = machine.start(1, 0).values()
        for _ in range(3):
            after = machine.after(seen.belief, "toss")
            assert after is not None
            seen = after[True]
            assert seen.belief.mass == seen.belief.mass[::-1]
        assert len(mechanism.steps) == most


@attrs.frozen
class Grudging(InteractiveMechanism[Any]):
    """Raises a query error for every query; the text may depend on the data."""

    said: Any

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        raise UnknownQueryError(self.said(state))


def test_an_error_common_to_all_states_is_no_answer() -> None:
    """The same error in every state counts as no answer; different errors are answers."""
    machine = Machine(Grudging(lambda state: "not that"))
    (seen,) = machine.start(1, 0).values()
    assert machine.after(seen.belief, "?") is None
    machine = Machine(Grudging(lambda state: f"not for patient {state}"))
    (seen,) = machine.start(1, 0).values()
    answers = machine.after(seen.belief, "?")
    assert answers is not None
    assert masses(answers) == {
        SeenError("UnknownQueryError: not for patient 1"): (F(1), F(0)),
        SeenError("UnknownQueryError: not for patient 0"): (F(0), F(1)),
    }


def test_query_errors_of_different_types_differ() -> None:
    assert SeenError.of(QueryError("no")) != SeenError.of(UnknownQueryError("no"))
