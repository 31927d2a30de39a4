"""Children of a compositor: started, asked and retired, on states that do not change."""

from typing import Any

import pytest

from composition import FiltCon
from composition.compositors.children import reported, require_depth, require_live
from queryable import Ask, Launch, PrivacyLossQuery, PureDP, QueryError, SeededCoins
from queryable.conversation import Live, Node
from queryable.conversation.steps import NO_CHILDREN, Child
from queryable.errors import RetiredChildError, UnknownChildError
from tests.strategies import RandomWord, Toy

COINS = SeededCoins(1)
PARENT = FiltCon(PureDP(9))


def launched(*mechanisms: Any) -> tuple[Node, list[Any]]:
    """The state of a filter with these children, and what their launches were answered."""
    state, _ = PARENT.init("data", COINS)
    answers = []
    for each in mechanisms:
        state, answer = PARENT.step(state, Launch(each), COINS)
        answers.append(answer)
    return state, answers


def asked(state: Node, identity: int, query: Any) -> tuple[Node, Any]:
    """The state after a query to a child, and the answer."""
    return PARENT.step(state, Ask(identity, query), COINS)


def test_a_measurement_is_no_child() -> None:
    """A measurement answers once and is not stored."""
    state, (answer,) = launched(RandomWord())
    assert answer.child is None
    assert state.children == NO_CHILDREN


@pytest.mark.parametrize("query", [PrivacyLossQuery(), PrivacyLossQuery(2)])
def test_the_loss_of_a_leaf_is_its_claim(query: PrivacyLossQuery) -> None:
    """The parent answers for a leaf, from the frozen claim; nothing is counted."""
    wide = FiltCon(PureDP(9), d_in=2)
    state, _ = wide.init("data", COINS)
    state, _ = wide.step(state, Launch(Toy()), COINS)
    same, loss = wide.step(state, Ask(0, query), COINS)
    assert same is state
    assert loss == PureDP("0.2")


def test_a_report_about_a_child_that_was_not_charged_is_its_privacy_map() -> None:
    """As in compositions that are fixed in advance."""
    for d_in, loss in ((None, PureDP("0.1")), (3, PureDP("0.3")), (0, PureDP(0))):
        assert reported(Toy(), None, PrivacyLossQuery(d_in), 1).answer == loss
    with pytest.raises(QueryError, match="d_in"):
        reported(Toy(), None, PrivacyLossQuery("1"), 1)


LIVE = Live.of(NO_CHILDREN.set(1, Child(Toy(), 0)))


@pytest.mark.parametrize("identity", [True, False, None, 1.0, (0,), [0], PureDP, object()])
def test_an_id_is_an_int_or_a_name(identity: Any) -> None:
    """`True` is not child 1, and an unhashable id is no crash."""
    with pytest.raises(UnknownChildError, match="int or a name"):
        require_live(LIVE, identity, lambda _: Toy())


def test_a_live_id_is_a_plain_one() -> None:
    """The id of a subclass of int is read once."""

    class Number(int):
        """Equals whatever it is compared with."""

        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            return True

    assert type(require_live(LIVE, Number(1), lambda _: None)) is int
    with pytest.raises(UnknownChildError, match="no interactive child 0"):
        require_live(LIVE, Number(0), lambda _: None)


def test_unknown_and_retired_are_told_apart() -> None:
    """An earlier child is retired; the id of a measurement or of no launch is unknown."""
    earlier = {0: Toy(), 1: RandomWord()}
    none = Live.of(NO_CHILDREN)
    with pytest.raises(RetiredChildError):
        require_live(none, 0, earlier.get)
    for identity in (1, 2, -1, "0"):
        with pytest.raises(UnknownChildError):
            require_live(none, identity, earlier.get)


def test_depth_is_bounded() -> None:
    """A query nested deeper than the public bound is refused, at the bound it is not."""
    query: Any = "bits"
    for _ in range(5):
        query = Ask(0, query)
    require_depth(query, 5)
    with pytest.raises(QueryError, match="max_depth=4"):
        require_depth(query, 4)
