"""Persons in the middle: Algorithm 7, its coins, its bound on rounds, and what errors mean."""

from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import (
    SYSTEM,
    ApproxDP,
    Ask,
    Coins,
    FromAnalyst,
    FromMechanism,
    Launch,
    MechanismFault,
    Postprocessed,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    SeededCoins,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
    interact,
)
from tests.strategies import SECRET, Courier, Masker, RandomBits, RandomWord, Toy, Twice


@attrs.frozen
class Scripted(Courier):
    """Runs the function of the test."""

    react: Any = None

    def step(self, state: int, message: Any, coins: Coins) -> tuple[int, Any]:
        return state + 1, self.react(state, message)


def test_a_courier_changes_nothing_and_costs_nothing() -> None:
    """Passing everything on gives the mechanism's own view, up to its coins."""
    direct = interact(Toy(), None, lambda view: "bits" if len(view) < 5 else None)
    through = interact(Courier() @ Toy(), None, lambda view: "bits" if len(view) < 5 else None)
    assert direct == through
    # `person @ mechanism` is short for the class.
    assert Courier() @ Toy() == Postprocessed(Toy(), Courier())
    with pytest.raises(TypeError):
        Courier() @ 3  # type: ignore[operator]
    # The map is the mechanism's, in every measure and at every d_in.
    wrapped = Courier() @ Toy()
    assert wrapped.privacy_map(1) == Toy().privacy_map(1)
    assert wrapped.privacy_map(3, ApproxDP) == Toy().privacy_map(3, ApproxDP)
    assert wrapped.reports_loss is Toy().reports_loss
    assert (Courier() @ FiltCon(PureDP(1))).reports_loss is True
    assert (Courier() @ RandomWord()).coin_at_launch is True


def test_a_person_speaks_first_and_asks_with_fresh_coins() -> None:
    """One query of the analyst can be two of the mechanism, with fresh coins each."""
    mechanism = Twice() @ RandomBits()
    state, opening = mechanism.init(None, SeededCoins(1))
    assert isinstance(opening, int)
    state, (first, second) = mechanism.step(state, "bits", SeededCoins(2))
    assert first != second
    assert state.children["mechanism"].messages == 3
    assert state.children["person"].messages == 4
    # The bits that a person adds never repeat, and differ from the mechanism's.
    view = interact(
        Masker() @ RandomBits(),
        None,
        lambda view: "bits" if len(view) < 6 else None,
        SeededCoins(1),
    )
    words = [word for answer in (view.opening, *view.answers) for word in answer]
    assert len(set(words)) == len(words) == 14
    person = Scripted(lambda state, message: ToAnalyst(("first", message)))
    assert person.step(0, None, SYSTEM)[1].answer == ("first", None)
    _, opening = (person @ RandomBits()).init(None, SeededCoins(1))
    assert opening[0] == "first"
    assert isinstance(opening[1], FromMechanism)


def test_a_person_that_never_answers_is_stopped() -> None:
    """After `max_rounds` exchanges the child has failed; siblings go on."""
    person = Scripted(lambda state, message: ToAnalyst(None) if state == 0 else ToMechanism("bits"))
    q = Queryable(FiltCon(PureDP(1)), None)
    endless, sibling = q(Postprocessed(Toy(), person, max_rounds=7)), q(Toy())
    with pytest.raises(MechanismFault):
        endless.ask("bits")
    assert sibling.ask("bits") == 0


def test_a_persons_refusal_of_a_query_changes_nothing() -> None:
    """A `QueryError` before anything was asked passes, and the state stands."""

    def react(state: int, message: Any) -> Any:
        if message == FromAnalyst("wrong"):
            raise QueryError("not that")
        if isinstance(message, FromAnalyst):
            return ToMechanism("bits")
        return ToAnalyst(message.answer)

    q = Queryable(Scripted(react) @ Toy(), None)
    assert q.ask("right") == 0
    with pytest.raises(QueryError, match="not that"):
        q.ask("wrong")
    assert q.ask("right") == 1


def test_the_mechanisms_first_query_error_passes() -> None:
    q = Queryable(Courier() @ Toy(), None)
    with pytest.raises(UnknownQueryError):
        q.ask("nonsense")
    assert q.ask("bits") == 0


@pytest.mark.parametrize("fault", [QueryError(SECRET), ValueError(SECRET)])
def test_an_error_after_the_mechanism_has_moved_is_a_fault(fault: Exception) -> None:
    """The state has changed by then, and the text may hold an answer that was not charged."""

    def react(state: int, message: Any) -> Any:
        if isinstance(message, FromAnalyst):
            return ToMechanism("bits")
        if state == 0:
            return ToAnalyst(None)
        raise fault

    q = Queryable(FiltCon(PureDP(1)), None)
    child = q(Scripted(react) @ Toy())
    with pytest.raises(MechanismFault) as caught:
        child.ask("bits")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("reply", [None, "bits", FromMechanism(3), (1, 2)])
def test_a_person_with_a_wrong_reply_has_failed(reply: Any) -> None:
    """A person answers `ToMechanism` or `ToAnalyst`. Before it has asked, nothing has changed."""

    def react(state: int, message: Any) -> Any:
        first = isinstance(message, FromAnalyst) and message.query == "bits"
        return ToAnalyst(None) if state == 0 else ToMechanism("bits") if first else reply

    child = Queryable(FiltCon(PureDP(1)), None).launch(Scripted(react) @ Toy())
    with pytest.raises(QueryError, match=r"TypeError.*nothing has changed"):
        child.ask("more")
    with pytest.raises(MechanismFault):
        child.ask("bits")
    with pytest.raises(QueryError, match="retired"):
        child.ask("bits")


def test_a_person_sees_refusals_and_children() -> None:
    seen = []

    def react(state: int, message: Any) -> Any:
        if isinstance(message, FromAnalyst):
            return ToMechanism(message.query)
        seen.append(message.answer)
        return ToAnalyst(message.answer)

    q = Queryable(Scripted(react) @ FiltCon(PureDP("0.1")), None)
    child = q(Toy())
    assert child.ask("bits") == 0
    assert q.ask(Ask(0, "bits")) == 1
    with pytest.raises(Exception, match="insufficient"):
        q.ask(Launch(Toy()))
    assert isinstance(seen[-1], Refused)
    assert q.ask(PrivacyLossQuery()) == PureDP("0.1")
