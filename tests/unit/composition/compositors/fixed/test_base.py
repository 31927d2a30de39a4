"""The base of ConComp and Parallel: children are fixed in advance and all started at once."""

from typing import Any

import pytest

from composition import ConComp, Parallel, Partition
from queryable import (
    Ask,
    Failed,
    Launch,
    PrivacyLossQuery,
    QueryError,
    SeededCoins,
    UnknownQueryError,
)
from tests.strategies import Faulty, RandomBits, RandomWord, Toy, raising

COINS = SeededCoins(1)
FIXED = (
    ConComp([RandomBits(), RandomWord()]),
    Parallel(Partition("k", ["a", "b"]), {"a": RandomBits(), "b": RandomWord()}),
)
DATA = [{"k": "a"}]
both = pytest.mark.parametrize("mechanism", FIXED, ids=["ConComp", "Parallel"])


@both
def test_the_opening_names_each_child(mechanism: Any) -> None:
    """In order; a measurement has answered and is no child."""
    _, opening = mechanism.init(DATA, COINS)
    names = list(mechanism._named)
    assert [each.child for each in opening] == [names[0], None]
    assert all(isinstance(each.answer, int) for each in opening)


@both
@pytest.mark.parametrize("query", [Launch(Toy()), "bits", None, ("a", "bits"), 3])
def test_nothing_can_be_launched(mechanism: Any, query: Any) -> None:
    """The children are fixed; only Ask and PrivacyLossQuery are answered."""
    state, _ = mechanism.init(DATA, COINS)
    with pytest.raises(UnknownQueryError, match="Ask and PrivacyLossQuery"):
        mechanism.step(state, query, COINS)


@both
def test_steps_leave_the_old_state_as_it_was(mechanism: Any) -> None:
    """States are values: asked again from the old one, the child answers the same."""
    state, opening = mechanism.init(DATA, COINS)
    ask = Ask(opening[0].child, "bits")
    after, first = mechanism.step(state, ask, COINS)
    again, second = mechanism.step(state, ask, COINS)
    assert (first, after) == (second, again)
    assert mechanism.step(after, ask, COINS)[1] != first


@both
def test_reading_the_loss_changes_nothing(mechanism: Any) -> None:
    """The very state comes back, from the whole and from a child."""
    state, opening = mechanism.init(DATA, COINS)
    for query in (PrivacyLossQuery(), Ask(opening[0].child, PrivacyLossQuery())):
        assert mechanism.step(state, query, COINS)[0] is state


@both
def test_depth_is_bounded(mechanism: Any) -> None:
    """A query nested deeper than the public bound is refused before anything else is looked at."""
    query: Any = "bits"
    for _ in range(101):
        query = Ask(0, query)
    state, _ = mechanism.init(DATA, COINS)
    with pytest.raises(QueryError, match="max_depth=100"):
        mechanism.step(state, query, COINS)


def test_a_failing_child_is_reported_in_its_place() -> None:
    """Its answer in the opening is `Failed()`; the others start."""

    bad = Faulty(raising(RuntimeError("secret")), at_launch=True, guarded=False)
    mechanism = ConComp([RandomBits(), bad, RandomBits()])
    state, opening = mechanism.init(None, COINS)
    assert [type(each) is Failed for each in opening] == [False, True, False]
    assert mechanism.step(state, Ask(2, "bits"), COINS)[1]
