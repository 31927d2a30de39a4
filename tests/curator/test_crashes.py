"""A crash at every append: nothing that was answered is lost, and nothing changes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import curator
import mechanisms as m
from composition import ConComp, FiltCon
from curator.ledgers import LedgerFullError
from curator.logs.story import TRIES
from curator.verify import verify
from queryable import ZCDP, Ask, CanAfford, InteractiveError, Launch, PureDP, Queryable, Statistic
from queryable.conversation.recalling import noticing
from queryable.errors import HandleError, RetiredChildError
from queryable.messages import Failed, LaunchMany
from tests.stored import KEY, STORED, Crash, MemoryLedger, coins_of, view_of
from tests.strategies import Courier, Faulty, RandomBits, RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": list(range(100)), "sex": [0, 1] * 50}
OLD, YOUNG = m.Count(m.column("age") >= 60), m.Count(m.column("age") < 10)
NOISY = Launch(m.Gaussian(OLD, rho="1/50"))
SMALL = PureDP("0.001")


def _raises(dataset: Any) -> Any:
    raise ValueError("about the data")


FAULTY = Faulty(_raises, good=1, charged=SMALL)
FAULTY_AT_LAUNCH = Faulty(_raises, at_launch=True, charged=SMALL)

Step = tuple[Any, str | None]
SCRIPT: tuple[Step, ...] = (
    (NOISY, "noisy"),
    (Launch(m.SparseVector(30, epsilon="1/10", cutoff=2)), "search"),  # 1
    (Ask(1, YOUNG), None),
    (Launch(FiltCon(ZCDP("1/2"))), "team"),  # 2
    (CanAfford(NOISY), None),
    (Ask(2, NOISY), None),
    (Ask(1, "nonsense"), None),
    (Ask(2, Launch(m.LaplaceNoiseReduction(OLD, scales=[30, 10, 3]))), None),  # 2/1
    (Ask(1, OLD), None),
    (Ask(2, Ask(1, m.Refine())), None),
    (Launch(m.BrownianNoiseReduction() @ FiltCon(ZCDP("1/4"))), "person"),  # 3
    (Ask(3, m.Open(OLD, (900, 300, 30))), None),
    (Ask(3, Ask("estimate 0", m.Refine())), None),
    (Launch(FAULTY_AT_LAUNCH), None),  # 4
    (Launch(FAULTY), None),  # 5
    (Ask(5, "bits"), None),
    (Ask(5, "bits"), None),
    (LaunchMany((NOISY, Launch(RandomBits(SMALL)), Launch(FAULTY_AT_LAUNCH), NOISY)), None),  # 7
    (Launch(ConComp([RandomBits(SMALL), FiltCon(PureDP("0.1"))])), "parts"),  # 10
    (Ask(10, Ask(0, "bits")), None),
    (Ask(2, Launch(m.Gaussian(OLD, rho=1))), None),  # refused
    (Ask(10, Ask(1, Launch(RandomWord(SMALL)))), None),
    (Launch(Courier() @ FiltCon(ZCDP("1/10"))), "courier"),  # 11
    (Ask(11, LaunchMany((Launch(RandomBits(SMALL)), Launch(RandomWord(SMALL))))), None),
    (Ask(11, Ask(0, "bits")), None),
    (Ask(11, Launch(FAULTY_AT_LAUNCH)), None),
    (Ask(7, "bits"), None),
    (Ask(1, YOUNG), None),
    (Ask(2, Ask(1, m.Refine())), None),
    (Ask(3, Ask("estimate 0", m.Refine())), None),
    (NOISY, "noisy"),
)
"""Ids of children are beside their launches."""


def opened(ledger: MemoryLedger, tries: Any = TRIES) -> Queryable:
    filter_ = FiltCon(ZCDP(10))
    return curator.open(ledger, filter_, DATA, name="a", key=KEY, codec=STORED, tries=tries)


def sent(handle: Queryable, step: Step) -> None:
    """Send one step; refusals and failures are in the view."""
    query, name = step
    try:
        if isinstance(query, Launch):
            handle.launch(query.mechanism, query.d_out, name=name)
        elif isinstance(query, LaunchMany):
            handle.launch_many(query.launches)
        else:
            handle.ask(query)
    except InteractiveError:
        pass


class Undisturbed:
    """The run without a crash: its view after each step, its loss after each, and its appends."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        handle = opened(self.ledger)
        self.views, self.losses = [view_of(handle)], [handle.privacy_loss()]
        for step in SCRIPT:
            sent(handle, step)
            self.views.append(view_of(handle))
            self.losses.append(handle.privacy_loss())
        self.lengths = [len(view) for view in self.views]

    def done(self, length: int) -> int:
        """How many steps are done when the view has this length."""
        return max(place for place, each in enumerate(self.lengths) if each == length)

    def ledgers(self, stored: bool, crash: BaseException) -> Iterator[MemoryLedger]:
        """For each append, a ledger that crashes there; the root is the one of this run."""
        for crash_at in range(1, self.ledger.appends):
            ledger = MemoryLedger(crash_at, stored=stored)
            ledger.crash = crash
            ledger.lease("a", "", 0)
            ledger.append("a", self.ledger.events["a"][:1])
            yield ledger


@pytest.fixture(scope="module")
def undisturbed() -> Undisturbed:
    return Undisturbed()


def test_the_script_does_what_it_says(undisturbed: Undisturbed) -> None:
    coins = coins_of(undisturbed.ledger, "a")
    memory = Queryable(FiltCon(ZCDP(10)), DATA, coins=coins, allow_seeded=True)
    for step in SCRIPT:
        sent(memory, step)
    assert view_of(memory) == undisturbed.views[-1]
    answers = [each.answer for each in memory.view]
    assert sum(isinstance(each, Failed) for each in answers) == 4
    assert {7, 10, 11} <= {*memory.children}
    kinds = {event.kind for event in undisturbed.ledger.events["a"]}
    assert kinds == {"opened", "intent", "answer", "exchange"}


def finished(
    undisturbed: Undisturbed, ledger: MemoryLedger, restart: Callable[[], Queryable], most: int = 2
) -> list[list[bytes]]:
    """Run the script through crashes; return the views that the client had."""
    had: list[list[bytes]] = []
    crashes, handle = 0, None
    while True:
        try:
            handle = restart()
            view = view_of(handle)
            assert had == [] or view[: len(had[-1])] == had[-1], "an answer was lost or changed"
            done = undisturbed.done(len(view))
            assert view == undisturbed.views[done]
            assert handle.privacy_loss() == undisturbed.losses[done]
            for step in SCRIPT[done:]:
                sent(handle, step)
                had.append(view_of(handle))
            return had
        except (Crash, KeyboardInterrupt):
            crashes += 1
            assert crashes < most


@pytest.mark.parametrize(
    ("stored", "crash", "part"),
    [
        pytest.param(True, Crash(), slice(0, None, 5), id="stored-crash, every fifth"),
        pytest.param(False, KeyboardInterrupt(), slice(2, None, 5), id="not stored-Ctrl-C, too"),
        *(
            pytest.param(stored, crash, slice(None), id=name, marks=pytest.mark.slow)
            for stored, crash, name in (
                (True, Crash(), "stored-crash"),
                (False, KeyboardInterrupt(), "not stored-Ctrl-C"),
                (True, KeyboardInterrupt(), "stored-Ctrl-C"),
                (False, Crash(), "not stored-crash"),
            )
        ),
    ],
)
def test_a_crash_at_every_append(
    undisturbed: Undisturbed, stored: bool, crash: BaseException, part: slice
) -> None:
    """The answers that the client had are in the log, and the run goes on as if undisturbed."""
    for ledger in [*undisturbed.ledgers(stored, crash)][part]:
        finished(undisturbed, ledger, lambda ledger=ledger: opened(ledger))  # type: ignore[misc]
        last = opened(ledger)
        assert view_of(last) == undisturbed.views[-1]
        assert last.privacy_loss() == undisturbed.losses[-1]


def test_data_are_read_after_the_intent_is_stored() -> None:
    """Every evaluation of a statistic finds its own intent as the last event."""
    ledger = MemoryLedger()
    seen: list[tuple[int, str]] = []

    def count(dataset: Any) -> int:
        seen.append((ledger.events["a"][-1].seq, ledger.events["a"][-1].kind))
        return 3

    statistic = Statistic(count, l1=1, l2=1)
    handle = opened(ledger)
    search = handle.launch(m.SparseVector(30, epsilon="1/10", cutoff=2))
    search(statistic)
    handle.launch(m.Gaussian(statistic, rho="1/50"))
    team = handle.launch(Courier() @ FiltCon(ZCDP(1)))
    team.launch(m.Gaussian(statistic, rho="1/50"))
    assert [kind for _, kind in seen] == ["intent"] * 3
    assert len({seq for seq, _ in seen}) == 3


def test_an_intent_that_is_not_stored_reads_nothing() -> None:
    ledger = MemoryLedger()
    runs: list[int] = []
    statistic = Statistic(lambda _: runs.append(1) or 3, l1=1, l2=1)  # type: ignore[func-returns-value]
    handle = opened(ledger)
    ledger.crash_at, ledger.stored = ledger.appends, False
    with pytest.raises(Crash):
        handle.launch(m.Gaussian(statistic, rho="1/50"))
    assert runs == []
    assert issubclass(HandleError, TypeError)
    with pytest.raises(HandleError, match="again"):
        handle.privacy_loss()
    assert opened(ledger).privacy_loss() == ZCDP(0)
    assert runs == []


def test_a_full_ledger_refuses_before_data_are_read() -> None:
    """The handle goes on once there is room. An answer without room is given after a restart."""
    ledger = MemoryLedger()
    ledger.crash, ledger.stored = LedgerFullError("there is no room"), False
    handle = opened(ledger)
    ledger.crash_at = ledger.appends
    with pytest.raises(LedgerFullError, match="there is no room"):
        handle.launch(NOISY.mechanism)
    assert handle.privacy_loss() == ZCDP(0)
    handle.launch(NOISY.mechanism)
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(LedgerFullError):
        handle.launch(NOISY.mechanism)
    with pytest.raises(HandleError, match="open root 'a' again"):
        handle.launch(NOISY.mechanism)
    again = opened(ledger)
    assert len(again.view) == 2
    assert again.privacy_loss() == ZCDP("1/25")
    memory = Queryable(FiltCon(ZCDP(10)), DATA, coins=coins_of(ledger, "a"), allow_seeded=True)
    for _ in range(2):
        memory.launch(NOISY.mechanism)
    assert view_of(memory) == view_of(again)[:2]


def crashed(ledger: MemoryLedger, times: int) -> None:
    """Open a root so often, with a crash after `again`, before the answer."""
    for _ in range(times):
        ledger.crash_at = ledger.appends + 1
        with pytest.raises(Crash):
            opened(ledger)


def test_a_message_that_crashes_eight_times_has_failed(undisturbed: Undisturbed) -> None:
    """It is run again. Then it is `Failed`, its charge is kept, and the rest goes on."""
    kinds = [event.kind for event in undisturbed.ledger.events["a"]]
    ledger = MemoryLedger(kinds.index("intent") + 1, stored=False)
    handle = opened(ledger)
    with pytest.raises(Crash):
        sent(handle, SCRIPT[0])
    crashed(ledger, TRIES - 1)
    handle = opened(ledger)
    assert [type(each.answer) for each in handle.view] == [Failed]
    assert handle.privacy_loss() == ZCDP("1/50")
    sent(handle, SCRIPT[1])
    assert {*handle.children} == {1}
    assert [event.kind for event in ledger.events["a"]] == [
        *("opened", "answer", "intent", *["again"] * (TRIES - 1), "answer", "intent", "answer")
    ]
    assert verify(ledger.read("a"), codec=STORED).messages == 2


def test_a_message_that_crashes_seven_times_has_its_answer() -> None:
    """At 1b177ec it has failed after two crashes, and a child is retired for good.

    The coins are bound to the history, so the answer is the one that it would have had.
    """
    place = next(place for place, step in enumerate(SCRIPT) if step == (Ask(1, YOUNG), None))
    whole = MemoryLedger(stored=False)
    handle = opened(whole)
    for step in SCRIPT[:place]:
        sent(handle, step)
    whole.crash_at = whole.appends + 1
    with pytest.raises(Crash):
        sent(handle, SCRIPT[place])
    crashed(whole, TRIES - 2)
    handle = opened(whole)
    assert 1 in handle.children
    assert [event.kind for event in whole.events["a"]].count("again") == TRIES - 1
    assert verify(whole.read("a"), codec=STORED).messages == place + 1
    memory = Queryable(FiltCon(ZCDP(10)), DATA, coins=coins_of(whole, "a"), allow_seeded=True)
    for step in SCRIPT[: place + 1]:
        sent(memory, step)
    assert view_of(memory) == view_of(handle)


def test_what_is_run_again_before_a_message_is_no_try() -> None:
    """A try counts once data are about to be read for the message itself.

    At 1b177ec an opening that ends while earlier messages run again counts, and after two of them
    the message has failed.
    """
    ledger = MemoryLedger(stored=False)
    child = opened(ledger).launch(m.SparseVector(30, epsilon="1/10", cutoff=9))
    assert child(YOUNG) is not None
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(Crash):
        child(OLD)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for _ in range(3 * TRIES):
        with noticing(interrupt), pytest.raises(KeyboardInterrupt):
            opened(ledger)
    handle = opened(ledger)
    assert not isinstance(handle.view[-1].answer, Failed)
    assert [event.kind for event in ledger.events["a"]].count("again") == 1
    assert handle.children[0](YOUNG) is not None


def test_the_owner_may_allow_more_tries() -> None:
    """By a number, or by one for the number of the message's event."""
    ledger = MemoryLedger(stored=False)
    handle = opened(ledger)
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(Crash):
        sent(handle, SCRIPT[0])
    for _ in range(TRIES + 3):
        ledger.crash_at = ledger.appends + 1
        with pytest.raises(Crash):
            opened(ledger, tries=TRIES + 4)
    seen: list[int] = []
    handle = opened(ledger, tries=lambda number: seen.append(number) or TRIES + 5)  # type: ignore[func-returns-value]
    assert {*seen} == {3}
    assert not isinstance(handle.view[-1].answer, Failed)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "8", True])
def test_wrong_numbers_of_tries_are_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="tries"):
        opened(MemoryLedger(), tries=wrong)


def test_a_wrong_message_that_crashes_eight_times_retires_the_child() -> None:
    """Nobody knows whether it read data. The verifier takes the ledger as it is."""
    ledger = MemoryLedger(stored=False)
    child = opened(ledger).launch(m.LaplaceNoiseReduction(OLD, scales=[30, 10]))
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(Crash):
        child.ask(Ask(9, "bits"))
    crashed(ledger, TRIES - 1)
    handle = opened(ledger)
    assert isinstance(handle.view[-1].answer, Failed)
    with pytest.raises(RetiredChildError):
        handle.children[0](m.Refine())
    found = verify(ledger.read("a"), codec=STORED)
    assert found.messages == 2


def test_a_child_of_a_message_that_runs_again_has_a_handle() -> None:
    ledger = MemoryLedger(stored=False)
    handle = opened(ledger)
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(Crash):
        handle.launch(m.LaplaceNoiseReduction(OLD, scales=[30, 10]))
    assert opened(ledger).children[0](m.Refine()).variance
