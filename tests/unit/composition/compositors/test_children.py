"""Children: started, asked and retired as pure functions on frozen values."""

from typing import Any

import pytest

from composition import FiltCon
from composition.compositors.children import (
    NO_CHILDREN,
    ask_child,
    require_depth,
    require_live,
    start_child,
)
from queryable import (
    Ask,
    CanAfford,
    Failed,
    Launch,
    Launched,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    RetiredChildError,
    SeededCoins,
    UnknownChildError,
)
from tests.strategies import TENTH, WORD, Faulty, RandomBits, RandomWord, Toy, raising

COINS = SeededCoins(1)


def test_starting_gives_a_new_map() -> None:
    """The old map is unchanged; the new one has one more child."""
    children, answer = start_child(NO_CHILDREN, 0, RandomBits(), TENTH, None, COINS)
    assert answer == Launched(0, COINS.spawn(0, 0).draw(WORD))
    assert len(NO_CHILDREN) == 0
    assert len(children) == 1


def test_a_measurement_is_no_child() -> None:
    """A measurement answers once and is not stored."""
    children, answer = start_child(NO_CHILDREN, 0, RandomWord(), TENTH, None, COINS)
    assert answer.child is None
    assert children is NO_CHILDREN


@pytest.mark.parametrize("function", [raising(ValueError()), raising(KeyboardInterrupt())])
def test_a_failed_start_is_no_child(function: Any) -> None:
    """A mechanism that fails at its start is not stored."""
    mechanism = Faulty(function, at_launch=True)
    assert start_child(NO_CHILDREN, 0, mechanism, TENTH, None, COINS) == (NO_CHILDREN, Failed())


def test_each_message_has_coins_of_its_own() -> None:
    """The n-th message to a child draws from `spawn(child, n)`, whatever went before."""
    children, opening = start_child(NO_CHILDREN, 4, RandomBits(), TENTH, None, COINS)
    words = [opening.answer]
    for _ in range(3):
        children, answer = ask_child(children, 4, "bits", 1, COINS)
        words.append(answer)
    assert words == [COINS.spawn(4, n).draw(WORD) for n in range(4)]


def test_an_unchanged_step_still_counts() -> None:
    """A mechanism that answers without moving must not draw the same bits again."""

    class Still(RandomBits):
        def step(self, state: int, query: Any, coins: Any = None) -> tuple[int, Any]:
            return state, coins.draw(WORD)

    children, _ = start_child(NO_CHILDREN, 0, Still(), TENTH, None, COINS)
    children, first = ask_child(children, 0, "bits", 1, COINS)
    children, second = ask_child(children, 0, "bits", 1, COINS)
    assert first != second


def test_a_failed_step_drops_the_child_and_no_other() -> None:
    """The child's state, which may contain data, is dropped too."""
    children, _ = start_child(NO_CHILDREN, 0, Faulty(raising(ValueError())), TENTH, "data", COINS)
    children, _ = start_child(children, 1, Toy(), TENTH, "data", COINS)
    after, answer = ask_child(children, 0, "bits", 1, COINS)
    assert answer == Failed()
    assert set(after) == {1}
    assert set(children) == {0, 1}


@pytest.mark.parametrize("query", [PrivacyLossQuery(), PrivacyLossQuery(2)])
def test_the_loss_of_a_leaf_is_its_claim(query: PrivacyLossQuery) -> None:
    """The parent answers for a leaf, from the frozen claim; nothing is counted."""
    children, _ = start_child(NO_CHILDREN, 0, Toy(), PureDP("0.2"), None, COINS)
    same, loss = ask_child(children, 0, query, 1, COINS)
    assert same is children
    assert loss == PureDP("0.2")


def test_reading_does_not_count() -> None:
    """A loss query or a dry run of a nested filter gives the same children back."""
    children, _ = start_child(NO_CHILDREN, 0, FiltCon(PureDP(1)), PureDP(1), None, COINS)
    for query in (PrivacyLossQuery(), CanAfford(Launch(Toy()))):
        assert ask_child(children, 0, query, 1, COINS)[0] is children


@pytest.mark.parametrize("identity", [True, False, None, 1.0, (0,), [0], PureDP, object()])
def test_an_id_is_an_int_or_a_name(identity: Any) -> None:
    """`True` is not child 1, and an unhashable id is no crash."""
    children, _ = start_child(NO_CHILDREN, 1, Toy(), TENTH, None, COINS)
    with pytest.raises(UnknownChildError, match="int or a name"):
        require_live(children, identity, lambda _: Toy())


def test_unknown_and_retired_are_told_apart() -> None:
    """An earlier child is retired; the id of a measurement or of no launch is unknown."""
    launched = {0: Toy(), 1: RandomWord()}
    with pytest.raises(RetiredChildError):
        require_live(NO_CHILDREN, 0, launched.get)
    for identity in (1, 2, -1, "0"):
        with pytest.raises(UnknownChildError):
            require_live(NO_CHILDREN, identity, launched.get)


def test_depth_is_bounded() -> None:
    """A query nested deeper than the public bound is refused, at the bound it is not."""
    query: Any = "bits"
    for _ in range(5):
        query = Ask(0, query)
    require_depth(query, 5)
    with pytest.raises(QueryError, match="max_depth=4"):
        require_depth(query, 4)
