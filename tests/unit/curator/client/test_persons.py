"""Persons without a tag run in the client; what they run over is in the curator, and pays."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

import queryable as q
from composition import FiltCon
from curator.codec import CODEC
from curator.codec.codec import Codec
from mechanisms import Count, Doubling, Gaussian, Open, Refine, SparseVector, column
from queryable.errors import CodecError, ReentrantQueryError, RetiredChildError, UnknownChildError
from tests.served import Served, opened, serving
from tests.stored import MemoryLedger
from tests.strategies import Courier, Masker, Twice

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}
BUDGET = FiltCon(q.ZCDP(1))
HALF = FiltCon(q.ZCDP("1/2"))
NOISY = Gaussian(Count(column("age") >= 40), rho="1/50")
SEARCH = SparseVector(2, epsilon="1/4", cutoff=9)
OLD = Count(column("age") >= 50)
NO_DOUBLING = Codec([each for each in CODEC.entries if Doubling not in each.classes])


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(opened(MemoryLedger(), BUDGET, DATA, CODEC)) as found:
        yield found


@pytest.fixture
def table(served: Served) -> q.Queryable:
    return served.handle(codec=CODEC)


def shown(handle: q.Queryable) -> list[tuple[Any, str]]:
    """Paths and classes of queries."""
    return [(each.path, type(each.query).__name__) for each in handle.view]


def test_a_person_runs_here(table: q.Queryable) -> None:
    """Its mechanism is launched there; the curator never hears of the person."""
    child = table(Masker() @ HALF)
    assert table.privacy_loss() == q.ZCDP("1/2")
    noisy = child(NOISY)
    assert isinstance(noisy, int)
    assert shown(table) == [((), "Launch"), ((), "PrivacyLossQuery"), ((0,), "Launch")]
    assert table.view[0].query.mechanism == HALF
    assert child.privacy_loss() == q.ZCDP("1/50")
    with pytest.raises(q.QueryRefusedError):
        child(Gaussian(Count(), rho=1))


def test_a_person_may_ask_often(table: q.Queryable) -> None:
    twice = table(Twice() @ HALF)
    assert twice.ask(q.PrivacyLossQuery()) == (q.ZCDP(0), q.ZCDP(0))
    twice.launch(SEARCH)
    assert len(table.children[0].children) == 2


def test_children_of_a_person_are_asked_through_it(table: q.Queryable) -> None:
    """As in process: an `Ask` to a grandchild is a message to the person."""
    heard: list[Any] = []

    @attrs.frozen
    class Listener(Courier):
        def step(self, state: int, message: Any, coins: Any) -> Any:
            heard.append(type(message).__name__)
            return super().step(state, message, coins)

    child = table(Listener() @ HALF)
    search = child.launch(SEARCH, name="search")
    assert child.launch(SEARCH, name="search") is search
    assert search(OLD) in (True, False)
    assert heard.count("FromAnalyst") == 2
    assert shown(table)[-1] == ((0, 0), "Count")
    inner = child(Masker() @ FiltCon(q.ZCDP("1/8")))
    assert isinstance(inner(NOISY), int)
    assert shown(table)[-1] == ((0, 1), "Launch")


def test_persons_over_persons(table: q.Queryable) -> None:
    """Where the outer one has a tag and the inner one has none, both run here."""
    child = table(Courier() @ (Twice() @ HALF))
    assert child.ask(q.PrivacyLossQuery()) == (q.ZCDP(0), q.ZCDP(0))
    assert table.view[0].query.mechanism == HALF


def test_a_method_of_the_packages_runs_here_too(served: Served) -> None:
    """`Doubling`, for a client whose codec does not know it."""
    table = served.handle(codec=NO_DOUBLING)
    refining = table(Doubling(100, releases=3) @ HALF)
    estimate = refining(Open(Count()))
    first, second = estimate(Refine()), estimate(Refine())
    assert first is not None
    assert second is not None
    assert table.view[0].query.mechanism == HALF
    assert all(each.path == (0,) for each in table.view.exchanges[1:])


def test_affording_and_launching_several(table: q.Queryable) -> None:
    assert table.can_afford(Courier() @ HALF)
    assert not table.can_afford(Courier() @ FiltCon(q.ZCDP(2)))
    made = table.launch_many([Courier() @ HALF, NOISY, Courier() @ FiltCon(q.ZCDP(2))])
    assert isinstance(made[0], q.Queryable)
    assert type(made[2]).__name__ == "Refused"
    assert made[0](NOISY) is not None


def test_names(table: q.Queryable) -> None:
    child = table.launch(Courier() @ HALF, name="mine")
    assert table.launch(Courier() @ HALF, name="mine") is child
    with pytest.raises(q.QueryError, match="belongs to another mechanism"):
        table.launch(Twice() @ HALF, name="mine")
    assert table.privacy_loss() == q.ZCDP("1/2")
    noisy = child.launch(NOISY, name="old")
    assert child.launch(NOISY, name="old") == noisy
    with pytest.raises(q.QueryError, match="belongs to another mechanism"):
        child.launch(SEARCH, name="old")


def test_a_person_starts_anew_over_what_lives_on(served: Served, table: q.Queryable) -> None:
    """In a further process, the launch of the same name gives the same mechanism."""
    table.launch(Courier() @ HALF, name="mine")(NOISY)
    again = served.handle(codec=CODEC).launch(Courier() @ HALF, name="mine")
    assert again.privacy_loss() == q.ZCDP("1/50")


def test_a_person_over_a_measurement(table: q.Queryable) -> None:
    """As in process, the opening answer is the measurement's, as the person tells it."""
    child = table(Masker() @ NOISY)
    assert isinstance(child.opening, int)
    assert table.privacy_loss() == q.ZCDP("1/50")
    with pytest.raises(q.UnknownQueryError):
        child(OLD)


class Broken(q.PersonInTheMiddle[int]):
    """Raises in the message that is named."""

    def __init__(self, where: str) -> None:
        self.where = where

    def init(self) -> int:
        return 0

    def step(self, state: int, message: Any, coins: Any) -> Any:
        if isinstance(message, q.FromMechanism):
            if self.where == ("told" if state else "begin"):
                raise RuntimeError("told")
            return 1, q.ToAnalyst(message.answer)
        assert isinstance(message, q.FromAnalyst)
        if self.where == "asked":
            raise RuntimeError("asked")
        if self.where == "wrong":
            raise q.UnknownQueryError("not this")
        return state, q.ToMechanism(message.query)


def test_a_person_that_fails(served: Served) -> None:
    """Before anything is sent, nothing has changed; afterwards, the person is retired."""
    faults: list[BaseException] = []
    table = served.handle(codec=CODEC, on_fault=faults.append)
    asked = table(Broken("asked") @ FiltCon(q.ZCDP("1/8")))
    with pytest.raises(q.QueryError, match="raised RuntimeError; nothing was sent"):
        asked(NOISY)
    wrong = table(Broken("wrong") @ FiltCon(q.ZCDP("1/8")))
    with pytest.raises(q.UnknownQueryError, match="not this"):
        wrong(NOISY)
    told = table(Broken("told") @ FiltCon(q.ZCDP("1/8")))
    with pytest.raises(q.MechanismFault):
        told(NOISY)
    with pytest.raises(RetiredChildError):
        told(NOISY)
    with pytest.raises(q.MechanismFault):
        table(Broken("begin") @ FiltCon(q.ZCDP("1/8")))
    assert [str(each) for each in faults] == ["asked", "told", "told"]
    assert table.privacy_loss() == q.ZCDP("1/2")


def test_wrong_queries_through_a_person(table: q.Queryable) -> None:
    child = table(Courier() @ HALF)
    with pytest.raises(UnknownChildError):
        child._root.tell((0, 7), OLD)
    with pytest.raises(q.UnknownQueryError, match="add noise"):
        child.ask_many([OLD])
    with pytest.raises(CodecError, match="function"):
        table(Courier() @ FiltCon(q.ZCDP("1/8")), lambda: None)
    assert child(NOISY) is not None


def test_a_person_cannot_ask_the_handle_it_answers_for(table: q.Queryable) -> None:
    found: list[type] = []

    @attrs.frozen
    class Nosy(Courier):
        def step(self, state: int, message: Any, coins: Any) -> Any:
            try:
                table.privacy_loss()
            except ReentrantQueryError as error:
                found.append(type(error))
            table.tree()
            return super().step(state, message, coins)

    table(Nosy() @ HALF)(NOISY)
    assert found == [ReentrantQueryError] * 3
