"""FiltSeq and OdomSeq: a launch retires the earlier children, however many and however deep."""

from typing import Any

import pytest

from composition import FiltCon, FiltSeq, OdomSeq
from queryable import (
    ApproxZCDP,
    Ask,
    Launch,
    Launched,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
)
from queryable.errors import RetiredChildError
from queryable.messages import Query
from tests.strategies import RandomBits, Toy

COINS = SeededCoins(1)
FREE = PureDP(0)
LARGE = PureDP(10**6)


def deep(levels: int, query: Query) -> Query:
    """The query, for what is that many levels down along first children."""
    for _ in range(levels):
        query = Ask(0, query)
    return query


def said(mechanism: Any, state: Any, *queries: Query) -> tuple[Any, list[Any]]:
    """The state after, and the answers."""
    answers = []
    for query in queries:
        state, answer = mechanism.step(state, query, COINS)
        answers.append(answer)
    return state, answers


def test_children_of_other_parents_live_on() -> None:
    """Retiring is a matter of one sequential parent, not of the tree."""
    q = Queryable(FiltCon(LARGE), None)
    sequence, other = q.launch(FiltSeq(PureDP(9))), q.launch(Toy())
    sequence.launch(Toy())
    sequence.launch(Toy())
    assert other.ask("bits") == 0


@pytest.mark.parametrize("kind", [FiltSeq(LARGE), OdomSeq(PureDP)])
def test_thousands_wide(kind: Any) -> None:
    """One after the other; the state holds the last one alone, and every charge."""
    state, _ = kind.init(None, COINS)
    for count in range(3_000):
        state, answer = kind.step(state, Launch(Toy()), COINS)
        assert answer == Launched(count, None)
    assert list(state.children) == [2_999]
    state, (first, loss) = said(kind, state, Ask(2_999, "bits"), PrivacyLossQuery())
    assert (first, loss) == (0, PureDP(300))
    for retired in (0, 1_500, 2_998):
        with pytest.raises(RetiredChildError):
            kind.step(state, Ask(retired, "bits"), COINS)


def test_thousands_of_descendants_go_at_once() -> None:
    """A wide child filter is retired with all that runs in it."""
    sequence = FiltSeq(LARGE)
    state, _ = sequence.init(None, COINS)
    launches = [Launch(FiltCon(PureDP(10_000))), *[Ask(0, Launch(RandomBits()))] * 3_000]
    state, answers = said(sequence, state, *launches)
    assert answers[-1].child == 2_999
    assert len(state.children[0].state.children) == 3_000
    state, _ = said(sequence, state, Launch(Toy()))
    assert list(state.children) == [1]
    with pytest.raises(RetiredChildError):
        sequence.step(state, Ask(0, Ask(1_500, "bits")), COINS)


@pytest.mark.parametrize("leaf", [FiltSeq, FiltCon])
def test_a_hundred_levels_deep(leaf: Any) -> None:
    """The deepest level allowed is reached, asked, and retired from the top."""
    sequence = FiltSeq(PureDP(1))
    state, _ = sequence.init(None, COINS)
    down = [deep(level, Launch(leaf(PureDP(1)))) for level in range(99)]
    state, answers = said(sequence, state, *down)
    assert answers == [Launched(0, None)] * 99
    state, answers = said(
        sequence, state, deep(99, Launch(Toy(PureDP(1)))), *[deep(100, "bits")] * 2
    )
    assert answers == [Launched(0, None), 0, 1]
    with pytest.raises(QueryError, match="deeper"):
        sequence.step(state, deep(101, "bits"), COINS)
    state, answers = said(sequence, state, Launch(Toy(FREE)))
    assert answers == [Launched(1, None)]
    with pytest.raises(RetiredChildError):
        sequence.step(state, deep(100, "bits"), COINS)


def test_a_hundred_levels_deep_by_handles() -> None:
    """Handles reach as deep as messages do, and each says that it is retired."""
    q = Queryable(FiltSeq(PureDP(1)), None)
    handles = [q]
    for _ in range(99):
        handles.append(handles[-1].launch(FiltSeq(PureDP(1))))
    leaf = handles[-1].launch(Toy(PureDP(1)))
    assert leaf.ask("bits") == 0
    q.launch(Toy(FREE))
    for handle in (leaf, *handles[1:]):
        with pytest.raises(RetiredChildError):
            handle.ask(PrivacyLossQuery())


def test_what_may_not_interleave_may_follow() -> None:
    """The open case, an interactive child known only as approximate zCDP, is taken in sequence."""
    open_case = Toy(ApproxZCDP("0.1", "1e-9"))
    for kind in (FiltSeq(ApproxZCDP(1, "1e-8")), OdomSeq(ApproxZCDP)):
        q = Queryable(kind, None)
        assert [q.launch(open_case).ask("bits") for _ in range(3)] == [0, 0, 0]
        assert q.privacy_loss() == ApproxZCDP("0.3", "3e-9")
