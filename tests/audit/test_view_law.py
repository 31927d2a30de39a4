"""Exact laws of views against laws by hand, and exact worst cases against brute force.

The other tests in this folder rely on both.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import attrs
import pytest

from composition import ConComp, FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    Failed,
    InteractiveMechanism,
    Launch,
    Launched,
    Measurement,
    PureDP,
    QueryError,
    Refused,
    UnknownQueryError,
)
from queryable.audit import push_forward, view_law
from queryable.randomness.laws import Bernoulli, FairBits, Law
from queryable.view import View
from tests.audit.toys import (
    Broken,
    F,
    PadReveal,
    Response,
    TwoRounds,
    divergence,
    excess,
    moment,
    nats,
    optimal_delta,
    reader,
    script,
    worst_case,
    worst_cases,
)


@attrs.frozen
class Geometric(Law[int]):
    """A law with infinite support."""

    def sample(self, source: FairBits) -> int:
        return 0


@attrs.frozen
class Endless(InteractiveMechanism[int]):
    """Draws from a law with infinite support, at launch or when asked."""

    at_launch: bool = False

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 0, coins.draw(Geometric()) if self.at_launch else None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return state, coins.draw(Geometric())


@pytest.mark.parametrize("bit", [0, 1])
def test_law_of_a_measurement(bit: int) -> None:
    """Randomized response at odds 3 answers the bit with probability exactly 3/4."""
    assert view_law(Response(3), bit, script()) == {(bool(bit),): F(3, 4), (not bit,): F(1, 4)}


def test_law_of_a_response_that_may_give_the_bit_away() -> None:
    """Delta is the probability of certainty; the rest is divided at the odds."""
    law = view_law(Response(3, delta=F(1, 5)), 1, script())
    assert law == {(("sure", True),): F(1, 5), (True,): F(3, 5), (False,): F(1, 5)}


def test_law_of_answers_that_depend_on_earlier_ones() -> None:
    """The second answer of the two-round mechanism is noisier after a False."""
    law = view_law(TwoRounds(), 1, script("next", "next"))
    assert law == {
        (None, True, True): F(3, 5) * F(2, 3),
        (None, True, False): F(3, 5) * F(1, 3),
        (None, False, True): F(2, 5) * F(1, 2),
        (None, False, False): F(2, 5) * F(1, 2),
    }


def test_hidden_coins_stay_correlated() -> None:
    """Key and sum of the pad are fair coins; together they are the hidden response."""
    law = view_law(PadReveal(3), 1, script("sum", "key"))
    assert law == {
        (None, a, b): F(3, 8) if a ^ b else F(1, 8) for a, b in product((True, False), repeat=2)
    }
    assert push_forward(law, lambda seen: seen[1]) == {True: F(1, 2), False: F(1, 2)}


def test_law_of_an_adaptive_interaction() -> None:
    """Every branch of an adaptive adversary is followed."""

    def adversary(view: View) -> Any:
        match [exchange.answer for exchange in view]:
            case []:
                return Launch(Response(3))
            case [Launched(_, True)]:
                return Launch(Response(2))
        return None

    law = view_law(FiltCon(PureDP(3)), 1, adversary)
    first, second = (lambda a: Launched(None, a)), (lambda a: Launched(None, a))
    assert law == {
        (None, first(True), second(True)): F(3, 4) * F(2, 3),
        (None, first(True), second(False)): F(3, 4) * F(1, 3),
        (None, first(False)): F(1, 4),
    }


def test_law_counts_refusals_and_failures_as_answers() -> None:
    law = view_law(FiltCon(PureDP(nats(2))), 1, script(Launch(Broken()), Launch(Response(2))))
    assert len(law) == 2
    assert {seen[1]: chance for seen, chance in law.items()} == {
        Failed(): F(1, 2),
        Launched(None, "fine"): F(1, 2),
    }
    assert all(isinstance(seen[2], Refused) for seen in law)


def test_the_rounds_of_an_endless_adversary_are_bounded() -> None:
    """An adversary that never stops is stopped after `max_rounds` exchanges."""
    law = view_law(PadReveal(3), 0, lambda _: "key", max_rounds=3)
    assert law == {(None, True, True, True): F(1, 2), (None, False, False, False): F(1, 2)}


def test_an_illegal_query_is_the_adversarys_error() -> None:
    """The error is raised, not counted as an answer."""
    with pytest.raises(UnknownQueryError):
        view_law(PadReveal(3), 0, script("the data, please"))


@pytest.mark.parametrize(
    ("mechanism", "adversary"),
    [
        (Endless(at_launch=True), script()),
        (Endless(), script("more")),
        (FiltCon(PureDP(9)), script(Launch(Endless(at_launch=True)))),
        (FiltCon(PureDP(9)), script(Launch(Endless()), Ask(0, "more"))),
        (ConComp([FiltCon(PureDP(9))]), script(Ask(0, Launch(Endless(at_launch=True))))),
    ],
)
def test_infinite_support_is_refused_by_name(mechanism: Any, adversary: Any) -> None:
    """It is refused even if a compositor would contain the fault and answer `Failed()`."""
    with pytest.raises(ValueError, match=r"Geometric\(\) has infinite support"):
        view_law(mechanism, 0, adversary)


@attrs.frozen
class Interrupted(Measurement):
    """Simulates a user who presses Ctrl-C while it runs."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def release(self, dataset: Any, coins: Coins) -> Any:
        raise KeyboardInterrupt


def test_enumeration_can_be_interrupted() -> None:
    """An interrupt inside a boundary ends the enumeration and is not an answer."""
    with pytest.raises(KeyboardInterrupt):
        view_law(FiltCon(PureDP(9)), 0, script(Launch(Interrupted())))


# The worst case over adversaries.


def every_adversary(queries: tuple[Any, ...], horizon: int) -> Iterator[Any]:
    """All deterministic adversaries against yes-or-no answers."""
    nodes = [answers for n in range(horizon) for answers in product((False, True), repeat=n)]
    for choice in product(queries, repeat=len(nodes)):
        plan = dict(zip(nodes, choice, strict=True))
        yield lambda view, plan=plan: plan.get(view.answers)


def test_worst_case_is_the_best_of_all_adversaries() -> None:
    """The recursion over beliefs finds the maximum over an explicit list."""
    mechanism = ConComp([reader(3), TwoRounds()])
    queries = (Ask(0, "read"), Ask(1, "next"))
    leaves = [excess(1), excess(F(3, 2)), excess(2), moment(2), moment(5)]
    worst = [F(0)] * len(leaves)
    for adversary in every_adversary(queries, 3):
        with suppress(QueryError):  # the third round is illegal
            laws = [view_law(mechanism, bit, adversary) for bit in (1, 0)]
            worst = [max(w, divergence(*laws, leaf)) for w, leaf in zip(worst, leaves, strict=True)]
    assert all(gain > 0 for gain in worst)
    assert worst_cases(mechanism, 1, 0, queries, 3, leaves) == tuple(worst)


def test_worst_case_needs_adaptivity() -> None:
    """The worst case is above every adversary with fixed queries, if adaptivity helps."""

    @attrs.frozen
    class Forks(InteractiveMechanism[Any]):
        """Names one of two doors at random; only that door has a response to the bit."""

        def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            door = coins.draw(Bernoulli(F(1, 2)))
            return (dataset, door), door

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            bit, door = state
            odds = F(3) if query == door else F(1)
            return state, coins.draw(Bernoulli(odds / (1 + odds))) == bool(bit)

    fixed = [
        divergence(*(view_law(Forks(), bit, script(door)) for bit in (0, 1)), excess(1))
        for door in (True, False)
    ]
    assert fixed == [F(1, 4), F(1, 4)]
    assert worst_case(Forks(), 0, 1, (True, False), 1, excess(1)) == F(1, 2)


def test_worst_case_notices_legality_that_depends_on_secrets() -> None:
    """A mechanism whose refusals depend on hidden values leaks them."""

    @attrs.frozen
    class Coy(InteractiveMechanism[Any]):
        def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            return bool(dataset), None

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            if state:
                raise UnknownQueryError("not that")
            return state, None

    with pytest.raises(AssertionError, match="depends on what is hidden"):
        worst_case(Coy(), 0, 1, ("?",), 1, excess(1))


def test_optimal_composition_by_hand() -> None:
    """Two responses at odds 2: 4/9 and 1/9 on the outer outcomes, 2/9 on the others."""
    assert optimal_delta([(2, 0), (2, 0)], 1) == F(4, 9) - F(1, 9)
    assert optimal_delta([(2, 0), (2, 0)], 3) == F(4, 9) - F(3, 9)
    assert optimal_delta([(2, 0), (2, 0)], 4) == 0
    assert optimal_delta([(1, F(1, 10)), (1, F(1, 10))], 100) == 1 - F(9, 10) ** 2


@pytest.mark.parametrize("delta", [F(0), F(1, 8)])
def test_optimal_composition_is_reached_by_responses(delta: Any) -> None:
    """Composed randomized responses lose exactly the optimal composition."""
    mechanism = ConComp([Response(3, delta=delta), Response(2, delta=delta)])
    factors = (1, F(3, 2), 2, 4, 6)
    worst = worst_cases(mechanism, 0, 1, (), 0, [excess(factor) for factor in factors])
    assert worst == tuple(optimal_delta([(3, delta), (2, delta)], factor) for factor in factors)
