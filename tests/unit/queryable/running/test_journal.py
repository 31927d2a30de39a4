"""What a handle knows of its root, and the journal of a root."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from composition import ConComp, ExPost, FiltCon, OdomCon
from mechanisms import Count, Gaussian, SparseVector
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    InteractiveError,
    Launch,
    MechanismFault,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
)
from queryable.checks.protection import RECORD, Protected
from queryable.errors import HandleError
from queryable.messages import Failed, LaunchMany
from queryable.randomness.sealed import SealedCoins
from queryable.running.handles import Handles, Path
from queryable.running.journal import Message, Told
from queryable.running.log import Record
from queryable.running.root import MemoryRoot
from queryable.running.roots import Root
from queryable.view import Exchange
from tests.strategies import Courier, Faulty, RandomBits, Recorder, Twice

SMALL = PureDP("0.001")


class Notes:
    """A journal that notes what it is told in `events`, and refuses intents while `full`."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.full = False

    def require_ready(self) -> None:
        """It is always ready."""

    def require_unanswered(self, message: Message) -> None:
        """Nothing is interrupted."""

    def intend(self, message: Message, told: Told) -> None:
        if self.full:
            raise HandleError("the journal is full")
        self.events.append(("intent", told))

    def check(self, told: Told) -> None:
        """Everything can be written."""

    def answer(self, message: Message, told: Told, before: Any, after: Any) -> None:
        self.events.append(("answer", told))

    def settled(self, message: Message, before: Any, after: Any) -> None:
        assert self.kinds[-1] == "answer"

    def void(self) -> None:
        self.events.append(("void", ()))

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events, and what ran."""
        return [each if isinstance(each, str) else each[0] for each in self.events]


def running(mechanism: Any) -> tuple[Queryable, Notes]:
    coins = SealedCoins(bytes(32), "a", canonical=lambda value: repr(value).encode())
    root, notes = MemoryRoot(mechanism, [1, 2, 3], coins, None, RECORD), Notes()
    root.journal = notes
    return Queryable._over(root), notes


def recorder(notes: Notes) -> Launch:
    """A launch that notes "ran" when it reads the data."""
    return Launch(Recorder(notes.events, SMALL, name="ran"))


COMPOSITORS = (
    FiltCon(PureDP(1)),
    OdomCon(PureDP),
    ExPost(PureDP(1)),
    Courier() @ FiltCon(PureDP(1)),
    Twice() @ FiltCon(PureDP(1)),
)


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_the_intent_comes_before_the_run(mechanism: Any) -> None:
    """Once for a message, even where a person runs two mechanisms in it."""
    handle, notes = running(mechanism)
    handle.ask(recorder(notes))
    runs = 2 if "Twice" in str(mechanism) else 1
    assert notes.kinds == ["intent", *["ran"] * runs, "answer"]


def test_the_intent_has_the_charge() -> None:
    handle, notes = running(FiltCon(PureDP(1)))
    handle.ask(recorder(notes))
    handle.launch_many([recorder(notes)] * 2)
    totals = [
        [exchange.answer.receipt.account.total() for exchange in told]
        for told in (each[1] for each in notes.events if each[0] == "intent")
    ]
    assert totals == [[PureDP("0.001")], [PureDP("0.002"), PureDP("0.003")]]
    told = notes.events[0][1]
    assert isinstance(told[0].answer, Failed)

    def fails(dataset: Any) -> Any:
        raise ValueError

    handle, notes = running(FiltCon(PureDP(1)))
    with pytest.raises(MechanismFault):
        handle.launch(Faulty(fails, at_launch=True, charged=SMALL))
    assert notes.kinds == ["intent", "answer"]
    assert isinstance(notes.events[1][1][0].answer, Failed)


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_an_intent_that_is_not_kept_stops_the_message(mechanism: Any) -> None:
    """Nothing has run and nothing has changed, and the error says why."""
    handle, notes = running(mechanism)
    handle.ask(recorder(notes))
    del notes.events[:]
    before, loss, notes.full = handle.view, handle.ask(PrivacyLossQuery()), True
    del notes.events[:]
    for query in (recorder(notes), LaunchMany((recorder(notes),) * 2)):
        with pytest.raises(InteractiveError, match="the journal is full"):
            handle._root.tell((), query)
    assert "ran" not in notes.kinds
    assert handle.view.exchanges[: len(before)] == before.exchanges
    assert handle.ask(PrivacyLossQuery()) == loss
    notes.full = False
    handle.ask(recorder(notes))
    assert "ran" in notes.kinds


def test_asks_of_children_are_intended() -> None:
    handle, notes = running(ConComp([RandomBits(), FiltCon(PureDP(1))]))
    handle.ask(Ask(0, "bits"))
    with pytest.raises(QueryError):
        handle.ask(Ask(0, "nonsense"))
    handle.ask(Ask(1, PrivacyLossQuery()))
    assert notes.kinds == ["intent", "answer", "intent", "void", "void"]
    handle, notes = running(FiltCon(PureDP("0.1")))
    with pytest.raises(InteractiveError):
        handle.launch(RandomBits(PureDP(5)))
    handle.privacy_loss()
    assert notes.kinds == ["answer", "void"]


class Distant:
    """A root that forwards each call, and has nothing else."""

    def __init__(self, root: MemoryRoot) -> None:
        self.mechanism, self.opening = root.mechanism, root.opening
        self.protects: Protected = root.protects
        self.handles: Handles[Any] = Handles()
        self._tell, self._exchanges, self._record = root.tell, root.exchanges, root.record
        self.told: list[Path] = []

    def tell(self, path: Path, query: Any, names: tuple[str | None, ...] = ()) -> Any:
        self.told.append(path)
        return self._tell(path, query, names)

    def exchanges(self) -> Iterator[Exchange]:
        return self._exchanges()

    def record(self) -> tuple[Record, Mapping[int, str]]:
        return self._record()


def test_a_handle_works_over_any_root() -> None:
    distant = Distant(MemoryRoot(FiltCon(ZCDP(1)), [1, 2, 3], SYSTEM, None, RECORD))
    root: Root = distant
    table = Queryable._over(root)
    noisy = table.launch(Gaussian(Count(), scale=3), name="how many")
    assert table.launch(Gaussian(Count(), scale=3), name="how many") == noisy
    search = table(SparseVector(2, epsilon="1/10"))
    search(Count())
    assert table.children[1] is search
    assert len(table.launch_many([Gaussian(Count(), scale=3)] * 2)) == 2
    assert [exchange.path for exchange in table.view] == [(), (), (1,), (), ()]
    assert distant.told == [(), (), (), (1,), ()]
    assert "how many" in str(table.ledger())
    assert "how many" in table.tree()
    # Or a journal, which notes how deep the child was that failed, would miss one.
    root = MemoryRoot(FiltCon(ZCDP(1)), [1, 2, 3], SYSTEM, None, RECORD)
    table = Queryable._over(root)
    table.launch(FiltCon(ZCDP("1/2"))).launch(SparseVector(2, epsilon="1/10"))
    root.tell((), Ask(0, Ask(0, Count())))
    root.tell((0,), Ask(0, Count()))
    assert [exchange.path for exchange in root.exchanges()] == [(), (0,), (0, 0), (0, 0)]
