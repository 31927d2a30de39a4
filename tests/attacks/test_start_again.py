"""Attacks: send the first message again, so that a mechanism starts anew with its whole budget.

Algorithms 1 to 6 of Haney et al. 2023 read the empty message as "initialise". Copied literally,
any analyst may send it. Here initialisation is a method that no query reaches, and a launch in a
nested filter is charged at every level above.
"""

from typing import Any

import attrs
import pytest

from composition import ConComp, Filt, FiltCon, FiltSeq, OdomCon, Parallel, Partition, Universal
from queryable import (
    SYSTEM,
    Ask,
    InteractiveMechanism,
    Launch,
    Launched,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    Refused,
)
from queryable.conversation.stepping import advance, begin
from tests.audit.toys import F, PadReveal, Response, excess, nats, reader, worst_case

FIRST_MESSAGES: tuple[Any, ...] = (
    None,
    "",
    "lambda",
    "\N{GREEK SMALL LETTER LAMDA}",
    (),
    b"",
    0,
    "init",
    {},
    [],
    False,
    FiltCon,
    FiltCon(PureDP(9)),
    begin,
    "reset",
)
BUDGET = PureDP(nats(3))


@attrs.frozen
class Literal(InteractiveMechanism[Any]):
    """Algorithm 3 as printed: the empty message initialises at any time."""

    budget: PureDP = BUDGET

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        return self.step((dataset, None), None, coins)

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        dataset, account = state
        filtered = FiltCon(self.budget)
        if query is None:
            return (dataset, filtered.init(dataset, coins)[0]), None
        after, answer = filtered.step(account, query, coins)
        return (dataset, after), answer


def test_the_literal_filter_forgets_what_was_spent() -> None:
    """Against the printed algorithm two launches fit a budget for one: e^epsilon is 9, not 3."""
    queries = [None, Launch(Response(3))]
    assert worst_case(Literal(), 0, 1, queries, 3, excess(3)) > 0
    assert worst_case(FiltCon(BUDGET), 0, 1, queries, 3, excess(3)) == 0


SPENT: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (FiltCon(BUDGET), (Launch(reader(3)),)),
    (FiltSeq(BUDGET), (Launch(reader(3)),)),
    (Filt(BUDGET), (Launch(Response(3)),)),
    (OdomCon(PureDP), (Launch(reader(3)),)),
    (FiltCon(PureDP(9)), (Launch(FiltCon(BUDGET)), Ask(0, Launch(Response(3))))),
    (ConComp([FiltCon(BUDGET)]), (Ask(0, Launch(reader(3))),)),
    (Parallel(Partition("k", ["a"]), {"a": FiltCon(BUDGET)}), (Ask("a", Launch(reader(3))),)),
    (Universal(BUDGET), (Launch(FiltCon(BUDGET)), Launch(Response(3)))),
)


@pytest.mark.parametrize(
    "message", FIRST_MESSAGES, ids=lambda message: getattr(message, "__name__", repr(message))
)
@pytest.mark.parametrize(("mechanism", "queries"), SPENT)
def test_no_message_starts_anything_anew(
    mechanism: Any, queries: tuple[Any, ...], message: Any
) -> None:
    """At the root or at a child, it is an illegal query and the spent budget stays spent."""
    state, _ = begin(mechanism, [{"k": "a"}], SYSTEM)
    for query in queries:
        state, answer = advance(mechanism, state, query, SYSTEM, 1)
        assert not isinstance(answer, Refused)
    for path in ((), (0,), ("a",), (0, 0)):
        query = message
        for child in reversed(path):
            query = Ask(child, query)
        with pytest.raises(QueryError):
            advance(mechanism, state, query, SYSTEM, 2)
    if not isinstance(mechanism, OdomCon):
        assert isinstance(advance(mechanism, state, queries[-1], SYSTEM, 3)[1], Refused)


def test_a_second_filter_is_no_second_budget() -> None:
    """An analyst who launches the filter inside itself has the remaining budget only."""
    filtered = FiltCon(BUDGET)
    state, _ = begin(filtered, 1, SYSTEM)
    state, answer = advance(filtered, state, Launch(Response(2)), SYSTEM, 1)
    assert isinstance(answer, Launched)
    assert isinstance(advance(filtered, state, Launch(filtered), SYSTEM, 2)[1], Refused)
    inside = Launch(FiltCon(PureDP(nats(3) - nats(2))))
    state, answer = advance(filtered, state, inside, SYSTEM, 2)
    assert answer == Launched(1, None)
    assert isinstance(advance(filtered, state, Ask(1, Launch(Response(2))), SYSTEM, 3)[1], Refused)


def test_a_deep_launch_is_paid_for_above() -> None:
    """Three filters deep, the worst adversary still has no more than the smallest budget above."""
    middle = small = FiltCon(PureDP(nats(2)))
    queries = [
        Launch(middle),
        Ask(0, Launch(small)),
        Ask(0, Ask(0, Launch(PadReveal(2)))),
        Ask(0, Ask(0, Launch(Response(3)))),
        Ask(0, Launch(Response(2))),
        *(Ask(0, Ask(0, Ask(0, query))) for query in ("key", "sum")),
    ]
    found = worst_case(FiltCon(PureDP(nats(2))), 0, 1, queries, 6, excess(2))
    assert found == 0
    state, _ = begin(FiltCon(PureDP(9)), 1, SYSTEM)
    state, _ = advance(FiltCon(PureDP(9)), state, Launch(middle), SYSTEM, 1)
    deep = Ask(0, Launch(FiltCon(PureDP(9))))
    assert isinstance(advance(FiltCon(PureDP(9)), state, deep, SYSTEM, 2)[1], Refused)
    assert worst_case(FiltCon(PureDP(nats(2))), 0, 1, queries, 6, excess(F(19, 10))) > 0


def test_an_odometer_without_a_budget_is_not_launched() -> None:
    """It has no loss of its own; with d_out it runs as a filter and refuses what exceeds it."""
    root = FiltCon(PureDP(9))
    state, _ = begin(root, 1, SYSTEM)
    for unbounded in (
        OdomCon(PureDP),
        ConComp([OdomCon(PureDP)]),
        Parallel(Partition("k", ["a"]), {"a": OdomCon(PureDP)}),
    ):
        with pytest.raises(PrivacyClaimError):
            advance(root, state, Launch(unbounded), SYSTEM, 1)
    with pytest.raises(PrivacyClaimError):
        advance(root, state, Launch(ConComp([OdomCon(PureDP)]), PureDP(1)), SYSTEM, 1)
    state, answer = advance(root, state, Launch(OdomCon(PureDP), BUDGET), SYSTEM, 1)
    assert answer == Launched(0, None)
    assert advance(root, state, PrivacyLossQuery(), SYSTEM, 2)[1] == BUDGET
    launches = [Ask(0, Launch(Response(3)))] * 2
    state, first = advance(root, state, launches[0], SYSTEM, 2)
    state, second = advance(root, state, launches[1], SYSTEM, 3)
    assert isinstance(first, Launched)
    assert isinstance(second, Refused)
