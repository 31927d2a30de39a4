"""A state that was skimmed from a log is the state that every message leads to."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import curator
from composition import ExPost, FiltCon, FiltSeq, OdomCon
from composition.compositors.state import CompositionState
from curator import skimming
from curator.ledgers import Event
from curator.requests import Request
from curator.story import past_of, story_of
from mechanisms import Count, Gaussian, Laplace, LaplaceNoiseReduction, Refine, SparseVector, column
from queryable import (
    ZCDP,
    InteractiveError,
    PureDP,
    Queryable,
)
from queryable.recalling import Unplayed
from queryable.running.folding import fold
from queryable.running.log import Stored
from tests.curator.cases import CASES, Case, visits
from tests.curator.test_same_views import in_memory, told, view_of
from tests.stored import KEY, STORED, MemoryLedger
from tests.strategies import Courier, Faulty, RandomBits, RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": list(range(100))}


def opened(ledger: MemoryLedger, case: Case) -> Queryable:
    return curator.open(ledger, case.mechanism, case.data(), name="a", key=KEY, codec=STORED)


def made_of(state: Any, *, units: bool = True) -> Any:
    """A state as plain values. Without units, what runs in compositors is left out."""
    if isinstance(state, CompositionState):
        claims = [state.claims[place] for place in range(len(state.claims))]
        facts = [(each.mechanism, each.loss, each.coined) for each in claims]
        children = {
            identity: (
                child.messages,
                STORED.encode(child.mechanism),
                child.claim,
                made_of(child.state, units=units),
            )
            for identity, child in state.children.items()
        }
        account = STORED.encode(state.account)
        return account, STORED.encode(tuple(facts)), children, state.halted
    if not units:
        return None
    if isinstance(state, Unplayed):
        asked = map(state._asked, state._messages[: state._count])
        return [(STORED.encode((each.query, each.answer)), each.coins().history) for each in asked]
    return type(state)


def folded(ledger: MemoryLedger, case: Case, monkeypatch: pytest.MonkeyPatch) -> Queryable:
    """The root of a ledger, of which every message is folded."""

    def every(skim: Any, messages: Any) -> None:
        story = story_of(ledger.read("a"))
        for _ in messages:
            """The last event is known then."""
        fold(skim._root, (past_of(*each, skim._coins, STORED) for each in story.exchanges))

    with monkeypatch.context() as patch:
        patch.setattr(skimming.Skim, "fold", every)
        return opened(ledger, case)


def assert_same(ledger: MemoryLedger, case: Case, monkeypatch: pytest.MonkeyPatch) -> Queryable:
    ledger = ledger_of(ledger.events["a"])
    skimmed, reference = opened(ledger, case), folded(ledger, case, monkeypatch)
    one, other = skimmed._root._now, reference._root._now  # type: ignore[attr-defined]
    assert made_of(one.state) == made_of(other.state)
    assert one.coins.history == other.coins.history
    assert (one.exchanges, one.polls, one.names) == (other.exchanges, other.polls, other.names)
    assert {*one.named} == {*other.named}
    for key, named in other.named.items():
        assert (one.named[key].mark, one.named[key].answer) == (named.mark, named.answer)
    assert view_of(skimmed) == view_of(reference)
    assert str(skimmed.ledger()) == str(reference.ledger())
    assert skimmed.tree() == reference.tree()
    return skimmed


def ledger_of(events: list[Event]) -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.events["a"], ledger.epochs["a"] = [*events], events[-1].epoch
    return ledger


@pytest.mark.parametrize("case", [each for each in CASES if each.data is not visits], ids=str)
def test_the_state_of_every_mechanism(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is skimmed is what is folded, and what a run in memory has."""
    ledger = MemoryLedger()
    handle = opened(ledger, case)
    for query in case.script:
        told(handle, query, by_path=True)
    memory = in_memory(ledger, case)
    for query in case.script:
        told(memory, query, by_path=True)
    skimmed = assert_same(ledger, case, monkeypatch)
    states = (each._root._now.state for each in (skimmed, memory))  # type: ignore[attr-defined]
    one, other = (made_of(each, units=False) for each in states)
    assert one == other


def _raises(dataset: Any) -> Any:
    raise ValueError("about the data")


FAULTY = Faulty(_raises, at_launch=True, charged=PureDP("0.0001"))
LONG = Case("long", FiltCon(ZCDP(100)), lambda: DATA)


def count(random: Random) -> Count:
    return Count(column("age") >= random.randrange(100))


def unit_of(team: Queryable, random: Random) -> Callable[[], Any]:
    """Launch a child that is not run again at opening; returns what asks it once."""
    match random.randrange(4):
        case 0:
            search = team.launch(SparseVector(50, epsilon="1/10", cutoff=3))
            return lambda: search.ask(count(random))
        case 1:
            ladder = team.launch(LaplaceNoiseReduction(count(random), scales=[100, 10, 5, 1]))
            return lambda: ladder.ask(Refine())
        case 2:
            bits = team.launch(RandomBits(PureDP("0.001")))
            return lambda: bits.ask("bits")
        case _:
            courier = team.launch(Courier() @ FiltCon(PureDP("0.1")))
            return lambda: courier.launch(RandomWord(PureDP("0.001")))


def analyse(table: Queryable, random: Random, length: int) -> None:
    """Launches and questions of many kinds; refusals and failures are in the view."""
    first = table.launch(FiltCon(ZCDP(50)))
    teams = [table, first, table.launch(OdomCon(ZCDP), ZCDP(20)), table.launch(FiltSeq(ZCDP(20)))]
    teams += [first.launch(FiltCon(ZCDP(5)))] * 2
    saver = table.launch(ExPost(PureDP(1)))
    asks: list[Callable[[], Any]] = []
    for place in range(length):
        team, kind = random.choice(teams), random.randrange(100)
        name = f"question {place}" if random.random() < 0.1 else None
        noisy = random.choice(
            (Gaussian(count(random), rho="1/1000"), Laplace(count(random), epsilon=1))
        )
        try:
            if place % 40 == 7:
                asks.append(unit_of(team, random))
            elif kind < 50:
                team.launch(noisy, name=name)
            elif kind < 80 and asks:
                random.choice(asks)()
            elif kind < 85:
                team.launch(Gaussian(count(random), rho=1000), name=name)
            elif kind < 90:
                team.launch_many([noisy, noisy, FAULTY], names=[name, None, None])
            elif kind < 94:
                team.launch(FAULTY, name=name)
            elif kind < 98:
                team.launch(noisy, ZCDP(1), name=name)
            else:
                saver.launch(RandomWord(PureDP("0.001")), name=name)
        except InteractiveError:
            pass


@pytest.mark.parametrize("seed", range(4))
def test_a_long_analysis(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most messages are skimmed; what is asked afterwards is what the run without a restart has."""
    ledger = MemoryLedger()
    handle, memory = opened(ledger, LONG), in_memory(ledger, LONG)
    journal = handle._root.journal  # type: ignore[attr-defined]
    if seed % 2:
        journal.request = Request("ab" * 16, "cd" * 32)
    for each in (handle, memory):
        analyse(each, Random(seed), 200)
    assert view_of(handle) == view_of(memory)
    skimmed = assert_same(ledger, LONG, monkeypatch)
    assert made_of(skimmed._root._now.state, units=False) == (  # type: ignore[attr-defined]
        made_of(memory._root._now.state, units=False)  # type: ignore[attr-defined]
    )
    requests = skimmed._root.journal.requests  # type: ignore[attr-defined]
    assert vars(requests) == vars(journal.requests)
    entries = skimmed._root.log.entries  # type: ignore[attr-defined]
    assert 3 * sum(isinstance(each, Stored) for each in entries) > len(entries)
    assert skimmed.tree() == memory.tree()
    assert str(skimmed.ledger()) == str(memory.ledger())
    assert skimmed.privacy_loss(2) == memory.privacy_loss(2)
