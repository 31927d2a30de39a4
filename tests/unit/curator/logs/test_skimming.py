"""A state that was skimmed from a log is the state that every message leads to."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import count as counting
from random import Random
from typing import Any

import attrs
import pytest

import curator
from benchmarks import durable_log
from composition import ExPost, FiltCon, FiltSeq, OdomCon
from composition.compositors.state import CompositionState
from curator.codec import Codec
from curator.ledgers import BrokenChainError
from curator.logs import skimming
from curator.logs.reading import MessageReader
from curator.logs.requests import RequestKey
from curator.logs.story import past_of, story_of
from mechanisms import Count, Gaussian, Laplace, LaplaceNoiseReduction, Refine, SparseVector, column
from queryable import ZCDP, ApproxDP, InteractiveError, Launch, PureDP, Queryable
from queryable.conversation import Node
from queryable.conversation.recalling import Recall, Unplayed
from queryable.errors import CodecError, HandleError
from queryable.running.folding import fold
from queryable.running.log import StoredPart
from tests.curator.cases import CASES, TAGGED, Case, visits
from tests.curator.chaos import FIRST, STEP, Client
from tests.curator.test_same_views import in_memory, told, view_of
from tests.ledgers import chained_again
from tests.stored import KEY, MemoryLedger, ledger_of
from tests.strategies import Courier, Faulty, RandomBits, RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": list(range(100))}


def opened(ledger: MemoryLedger, case: Case) -> Queryable:
    return curator.open(ledger, case.mechanism, case.data(), name="a", key=KEY, codec=TAGGED)


def made_of(state: Any, *, units: bool = True, codec: Codec = TAGGED) -> Any:
    """A state as plain values. Without units, their states are left out."""
    encode = codec.encode
    if isinstance(state, Node):
        own, children = state.own, {}
        for identity, (mechanism, inner, messages) in state.children.items():
            left_out = not (units or Recall.holds(mechanism))
            below = None if left_out else made_of(inner, units=units, codec=codec)
            children[identity] = messages, encode(mechanism), below
        if not isinstance(own, CompositionState):
            return type(own), children
        claims = [own.claims[place] for place in range(len(own.claims))]
        facts = [(each.mechanism, each.loss, each.coined) for each in claims]
        account = encode(own.account)
        return account, encode(tuple(facts)), children, own.halted
    if isinstance(state, Unplayed):
        asked = map(state._asked, state._messages[: state._count])
        told = [(encode((each.query, each.answer)), each.coins().history) for each in asked]
        return encode(state._opening), state._coins().history, told  # type: ignore[attr-defined]
    return type(state)


def folded(ledger: MemoryLedger, case: Case, monkeypatch: pytest.MonkeyPatch) -> Queryable:
    """The root of a ledger, of which every message is folded."""

    def every(skim: Any, messages: Any) -> None:
        story = story_of(ledger.read("a"))
        for _ in messages:
            """The last event is known then."""
        fold(skim._root, (past_of(*each, skim._coins, TAGGED) for each in story.exchanges))

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
    one, other = (each._root.handles._openings for each in (skimmed, reference))  # type: ignore[attr-defined]
    assert one == other
    return skimmed


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


def count(random: Random) -> Count:
    return Count(column("age") >= random.randrange(100))


FAULTY = Faulty(_raises, at_launch=True, charged=PureDP("0.0001"))
LONG = Case("long", FiltCon(ZCDP(100)), lambda: DATA)


def ask(search: Queryable, random: Random) -> Any:
    if random.randrange(2):
        return search.ask(count(random))
    return search.ask_many([count(random), count(random)])


def unit_of(team: Queryable, random: Random) -> Callable[[], Any]:
    """Launch a child that is not run again at opening; returns what asks it once."""
    match random.randrange(4):
        case 0:
            search = team.launch(SparseVector(50, epsilon="1/10", cutoff=3))
            return lambda: ask(search, random)
        case 1:
            ladder = team.launch(LaplaceNoiseReduction(count(random), scales=[100, 10, 5, 1]))
            return lambda: ladder.ask(Refine())
        case 2:
            bits = team.launch(RandomBits(PureDP("0.001")))
            return lambda: bits.ask("bits")
        case _:
            courier = team.launch(Courier() @ FiltCon(PureDP("0.1")))
            return lambda: courier.launch(RandomWord(PureDP("0.001")))


def launch_some(team: Queryable, random: Random, noisy: Any, much: Any, name: Any) -> None:
    """Several launches; much is refused."""
    match random.randrange(5):
        case 0:
            team.launch_many([Launch(noisy, ZCDP(1)), noisy])
        case 1:
            team.launch_many([noisy, much, noisy], names=[None, name, f"other {name}"])
        case 2:
            team.launch_many([much, much])
        case _:
            team.launch_many([noisy, noisy, FAULTY], names=[name, None, None])


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
        much = Gaussian(count(random), rho=1000)
        try:
            if place % 40 == 7:
                asks.append(unit_of(team, random))
            elif kind < 50:
                team.launch(noisy, name=name)
            elif kind < 80 and asks:
                random.choice(asks)()
            elif kind < 85:
                team.launch(much, name=name)
            elif kind < 90:
                launch_some(team, random, noisy, much, name)
            elif kind < 94:
                team.launch(FAULTY, name=name)
            elif kind < 98:
                team.launch(noisy, ZCDP(1), name=name)
            else:
                saver.launch(RandomWord(PureDP("0.001")), name=name)
        except InteractiveError:
            pass


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3))]
)
def test_a_long_analysis(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most messages are skimmed; what is asked afterwards is what the run without a restart has."""
    ledger = MemoryLedger()
    handle, memory = opened(ledger, LONG), in_memory(ledger, LONG)
    journal = handle._root.journal  # type: ignore[attr-defined]
    if seed % 2:
        journal.request = RequestKey("ab" * 16, "cd" * 32)
    seconds = counting(10**9, 0.4)
    journal._now = lambda: next(seconds)
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
    assert 3 * sum(isinstance(each, StoredPart) for each in entries) > len(entries)
    assert skimmed.tree() == memory.tree()
    assert str(skimmed.ledger()) == str(memory.ledger())
    assert skimmed.privacy_loss(2) == memory.privacy_loss(2)


def test_what_is_charged_as_a_coin_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim of a launch with a `d_out` says whether its delta was paid by a coin."""
    case = Case("approximate", FiltCon(ApproxDP(9, "1/1000")), lambda: DATA)
    ledger = MemoryLedger()
    handle, noisy = opened(ledger, case), Gaussian(Count(), rho="1/1000")
    handle.launch(noisy, ApproxDP(1, "1/10000"))
    pure = Launch(Laplace(Count(), epsilon=1), PureDP(2))
    handle.launch_many([Launch(noisy, ApproxDP(1, "1/10000")), pure])
    skimmed = assert_same(ledger, case, monkeypatch)
    claims = skimmed._root._now.state.own.claims  # type: ignore[attr-defined]
    assert [each.coined for each in claims.values()] == [True, True, False]
    assert all(isinstance(each, StoredPart) for each in skimmed._root.log.entries)  # type: ignore[attr-defined]


def mixed(ledger: MemoryLedger, clients: int, messages: int) -> None:
    """What the clients of `tests.curator.chaos` send, some of it after the budget has ended."""
    owner = opened(ledger, LONG)
    budget = FiltCon(ZCDP(Fraction(messages, 1500)))
    asking = [
        Client(owner.launch(budget), Random(f"mixed {number}"), counting(FIRST + number * STEP + 1))
        for number in range(clients)
    ]
    for sent in range(1, messages + 1):
        for client in asking:
            client.run(sent)


def test_the_mix_of_many_clients_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals, several launches, several questions and new children are skimmed, and rightly."""
    ledger = MemoryLedger()
    mixed(ledger, 4, 120)
    assert_same(ledger, LONG, monkeypatch)

    def never(*_: Any) -> None:
        raise AssertionError("a message was folded")

    monkeypatch.setattr(skimming, "fold", never)
    again = opened(ledger_of(ledger.events["a"]), LONG)
    tags = Counter(type(each.answer).__name__ for each in again.view)
    assert tags.keys() >= {"Launched", "Refused"}
    assert min(tags["Launched"], tags["Refused"]) > 50


def launched(count_of: int) -> MemoryLedger:
    ledger = MemoryLedger()
    handle = opened(ledger, LONG)
    for place in range(count_of):
        handle.launch(Gaussian(Count(column("age") >= place), rho="1/100"))
    return ledger


@pytest.mark.parametrize(
    ("old", "new"),
    [(r"\"most\":[\"100\"]", r"\"most\":[\"1/100\"]"), (r"\"rho\":\"100\"", r"\"rho\":\"99\"")],
)
def test_an_account_of_another_budget_is_refused(old: str, new: str) -> None:
    events = launched(3).events["a"]
    assert opened(ledger_of(events), LONG).privacy_loss() == ZCDP("3/100")
    last = attrs.evolve(events[-2], body=events[-2].body.replace(old, new))
    wrong = chained_again([*events[:-2], last, events[-1]])
    with pytest.raises((HandleError, CodecError), match=r"of the budget|the versions that"):
        opened(ledger_of(wrong), LONG)


def test_what_is_read_later_is_checked_again() -> None:
    """Events are read by the thousand; one that was changed meanwhile is found."""
    ledger = launched(600)
    handle = opened(ledger, LONG)
    view = handle.view
    assert len(view) == 600
    assert view[599].query.mechanism.statistic == Count(column("age") >= 599)
    events = ledger.events["a"]
    events[9] = attrs.evolve(events[9], body=events[9].body.replace("launched", "Launched"))
    with pytest.raises(BrokenChainError, match="event 10 is not"):
        opened(ledger, LONG)
    with pytest.raises(BrokenChainError, match="event 10 is not"):
        handle.view  # noqa: B018 (it is read)


def test_an_empty_compositor_is_one_event() -> None:
    """It reads no data, so nothing has to be durable before it."""
    ledger = MemoryLedger()
    handle = opened(ledger, LONG)
    handle.launch(FiltCon(ZCDP(1))).launch(OdomCon(ZCDP), ZCDP("1/2"))
    assert [event.kind for event in ledger.events["a"]][2:] == ["exchange", "exchange"]
    again = opened(ledger, LONG)
    assert again.privacy_loss() == ZCDP(1)
    assert again.children[0].children[0].privacy_loss() == ZCDP(0)


def test_a_tree_reads_few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of launches, refusals and questions it reads no more if there are more of them."""
    read: list[int] = []
    bodies = MessageReader._bodies

    def counted(reader: MessageReader, place: int) -> Any:
        read.append(place)
        return bodies(reader, place)

    monkeypatch.setattr(MessageReader, "_bodies", counted)
    counts = []
    for messages in (300, 900):
        ledger = MemoryLedger()
        table = curator.open(ledger, durable_log.ROOT, durable_log.DATA, name="a", key=KEY)
        durable_log.analyse(table, messages)
        ledger = ledger_of(ledger.events["a"])
        opened = curator.open(ledger, durable_log.ROOT, durable_log.DATA, name="a", key=KEY)
        read.clear()
        assert opened.tree() == table.tree()
        assert len(opened.ledger()) == len(table.ledger())
        counts.append(len(read))
    assert counts[1] - counts[0] < 50
