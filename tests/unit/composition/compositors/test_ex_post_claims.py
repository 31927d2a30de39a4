"""Ex-post claims: the charge of a child, and every way in which a mechanism can misstate it."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import ExPost, FiltCon
from composition.compositors.ex_post_claims import ExPostClaim
from queryable import (
    SYSTEM,
    ApproxDP,
    Coins,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    UnknownQueryError,
)
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import ExPostBound
from tests.strategies import SECRET

ZERO, DELTA = PureDP(0), ApproxDP(0, 0)


def tenth(query: Any) -> Any:
    return "1/10"


@attrs.frozen
class Counted(Expense):
    """A tenth for every answer, unless the test says otherwise."""

    worst: Callable[[Any], Any] = tenth
    more: Callable[[Any], Any] = tenth
    spent: Any = Fraction(0)

    def epsilon(self, d_in: int) -> Any:
        return self.spent * d_in if isinstance(self.spent, Fraction) else self.spent

    def at_worst(self, query: Any, d_in: int) -> Any:
        if isinstance(query, Opening):
            return self.epsilon(d_in)
        if query != "ask":
            raise UnknownQueryError("ask to 'ask'")
        more = self.worst(query)
        return self.epsilon(d_in) + Fraction(more) * d_in if isinstance(more, str) else more

    def after(self, query: Any, answer: Any) -> Expense:
        if isinstance(query, Opening):
            return self
        more = self.more(answer)
        return attrs.evolve(self, spent=self.spent + Fraction(more) if type(more) is str else more)


@attrs.frozen
class Asked(ExPostMechanism[int]):
    """Answers how often it was asked before; what it says of its cost is up to the test."""

    stated: Any = Counted()
    told: Any = Fraction(0)
    fails: bool = False

    def expense(self) -> Any:
        if isinstance(self.stated, Exception):
            raise self.stated
        return self.stated

    def delta(self, d_in: int) -> Any:
        return self.told

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if self.fails:
            raise RuntimeError(SECRET)
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if query != "ask":
            raise UnknownQueryError("ask to 'ask'")
        return state + 1, state


def raises(error: Exception) -> Callable[[Any], Any]:
    def function(_: Any) -> Any:
        raise error

    return function


def test_charges_follow_the_answers() -> None:
    """The charge is the expense, the delta what it was at launch."""
    child = ExPostClaim.of(Asked(told="1e-9"), DELTA, 2)
    assert child.loss == ApproxDP(0, "1e-9")
    assert child.at_worst("ask") == ApproxDP("0.2", "1e-9")
    moved, alive = child.settled("ask", 0, child.at_worst("ask"), alive=True)
    assert alive
    assert moved.loss == ApproxDP("0.2", "1e-9")
    assert moved.realised(3) == ExPostBound("0.3", "1e-9")
    assert moved.loss_at(2, 3) == ApproxDP("0.3", "1e-9")
    assert moved.realised(0) == ExPostBound(0, 0)


def test_an_answer_may_cost_less_than_the_worst_and_even_nothing() -> None:
    """Then less is charged, and the rest is there for other things."""
    stated = Counted(more=lambda answer: "0")
    table = Queryable(ExPost(PureDP("0.1")), None)
    child = table(Asked(stated))
    assert [child("ask") for _ in range(5)] == [0, 1, 2, 3, 4]
    assert table.privacy_loss() == ExPostBound(0, 0)


@pytest.mark.parametrize(
    "stated",
    [
        Counted(worst=raises(RuntimeError("no idea"))),
        Counted(worst=lambda query: Fraction(-1)),
        Counted(worst=lambda query: float("nan")),
        Counted(worst=lambda query: None),
    ],
)
def test_a_cost_that_is_not_told_in_advance_stops_the_ask(stated: Any) -> None:
    """Before anything runs; the child has not moved and nothing was charged."""
    table = Queryable(ExPost(PureDP(1)), None)
    child = table(Asked(stated))
    with pytest.raises(PrivacyClaimError, match="Asked does not state its cost"):
        child("ask")
    assert table.privacy_loss() == ExPostBound(0, 0)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (Asked(stated=RuntimeError("no idea")), "no idea"),
        (Asked(stated=None), "no Expense"),
        (Asked(told=2), "probability"),
        (Asked(told="1e-9"), "ApproxDP"),
        (Asked(Counted(spent=Fraction(-1))), "negative"),
    ],
)
def test_a_launch_without_a_claim_is_refused(mechanism: Any, message: str) -> None:
    """No expense, a bad one, or a delta that the budget has no place for."""
    with pytest.raises(PrivacyClaimError, match=message):
        Queryable(ExPost(PureDP(1)), None)(mechanism)


@pytest.mark.parametrize(
    "more",
    [
        lambda answer: "1/5",
        raises(RuntimeError(SECRET)),
        raises(QueryError(SECRET)),
        lambda answer: Fraction(-1),
    ],
)
def test_a_cost_above_the_worst_fails_the_child(more: Any) -> None:
    """Its answer is withheld, the worst is charged for good, and no text comes out."""
    table = Queryable(ExPost(PureDP(1)), None)
    child = table(Asked(Counted(more=more)))
    with pytest.raises(MechanismFault) as caught:
        child("ask")
    assert SECRET not in repr(caught.value)
    assert table.privacy_loss() == ExPostBound("0.1", 0)
    assert table.privacy_loss(3) == ExPostBound("0.3", 0)
    with pytest.raises(QueryError):
        child("ask")


def test_a_failure_at_launch_costs_the_worst_opening() -> None:
    """Here nothing; its delta is spent."""
    table = Queryable(ExPost(ApproxDP(1, "1e-6")), None)
    with pytest.raises(MechanismFault):
        table(Asked(told="1e-7", fails=True))
    assert table.privacy_loss() == ExPostBound(0, "1e-7")


def test_without_a_loss_in_advance_no_ordinary_filter_takes_it() -> None:
    """An expense is no privacy map."""
    with pytest.raises(PrivacyClaimError, match="Asked"):
        Queryable(FiltCon(PureDP(1)), None)(Asked())
