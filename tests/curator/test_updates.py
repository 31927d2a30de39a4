"""Batches of the data's owner on a ledger: they survive, they are compared, and nobody reads them.

The script has children that keep a snapshot, children that draw noise at a batch, filters in
filters, a person, and a child that fails at a batch.
"""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest

import curator
import queryable as q
from composition import Blocks, FiltCon, Individual
from curator.codec import entry_of
from curator.ledgers import LedgerError, LedgerFullError, SQLiteLedger, ledger_of
from curator.logs.batches import Batches, Marks
from curator.logs.journal import LedgerJournal
from curator.logs.story import Telling
from curator.verify import VerificationError, verify
from mechanisms import Count, Gaussian, Sum, Table, column
from mechanisms.counters.questions import Total
from mechanisms.counters.toeplitz import ToeplitzCounter
from mechanisms.counters.tree import TreeCounter
from mechanisms.sparse_vector import SparseVector
from queryable.checks.datasets import protects
from queryable.conversation.alone import only
from queryable.data.growing import grown, snapshot
from queryable.data.later import made
from queryable.errors import HandleError
from queryable.messages import CloseBlock, LaunchMany
from queryable.running.root import MemoryRoot
from queryable.streams.levels import Growth
from tests.curator.processes import FORKED
from tests.ledgers import Change, at, chained_again, inside
from tests.postgres import POSTGRES, Server
from tests.stored import KEY, STORED, Crash, MemoryLedger, Noted, coins_of, opening_of, view_of
from tests.strategies import Courier, RandomBits, Toy, raising

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

SMALL = q.PureDP("0.001")


@attrs.frozen
class Exact(Toy):
    """Answers the ages that it has; "bits" at a batch of more than three it raises, if it fails."""

    charged: q.PureDP = SMALL
    grows: bool = False
    fails: bool = False

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth() if self.grows else None

    def init(self, dataset: Any, coins: q.Coins = q.SYSTEM) -> Any:
        return dataset, None

    def step(self, state: Any, query: Any, coins: q.Coins = q.SYSTEM) -> Any:
        if isinstance(query, CloseBlock):
            return state, None
        if isinstance(query, q.Update):
            if self.fails and len(query.records["age"]) > 3:
                raise ValueError("about the data")
            return grown(state, query.records, query.block), None
        if query != "bits":
            raise q.UnknownQueryError("ask for 'bits'")
        return state, tuple(snapshot(state)["age"])


TAGGED = STORED.joined([entry_of("tests.exact/1", Exact)])
DATA = {"age": [31, 47, 62]}
OLD = Count(column("age") >= 60)
NOISY = q.Launch(Gaussian(OLD, rho="1/50"))
DAY = date(2026, 3, 1)
BITS = "bits"
NONSENSE = q.Ask(1, "nonsense")


def batch(*ages: int, block: Any = None) -> q.Update:
    return q.Update({"age": [*ages]}, block)


COUNTED = q.Launch(Gaussian(OLD, rho="1/20"))
OF_RECORDS = tuple(
    each if isinstance(each, q.Update) else q.Ask(13, each)
    for each in (
        COUNTED,
        q.Launch(Exact()),
        batch(64, 65),
        COUNTED,
        q.Launch(Exact(grows=True)),
        COUNTED,
        batch(66),
        q.Ask(1, BITS),
        q.Ask(3, BITS),
        COUNTED,
    )
)
"""Messages to an account of each record, which is used up before others arrive."""

SCRIPT: tuple[Any, ...] = (
    NOISY,
    q.Launch(Exact()),  # 1
    batch(70, 71, block=DAY),
    q.Launch(Exact(grows=True)),  # 2
    q.Launch(TreeCounter(OLD, horizon=16, rho="1/10")),  # 3
    q.Launch(SparseVector(3, epsilon="1/10", cutoff=3)),  # 4
    q.Launch(FiltCon(q.ZCDP("1/2"))),  # 5
    q.Ask(3, Total()),
    batch(block=DAY),
    batch(block=DAY),
    CloseBlock(DAY),
    q.Ask(5, q.Launch(ToeplitzCounter(OLD, horizon=16, rho="1/10"))),  # 5/0
    q.Ask(5, q.Launch(Exact(grows=True, fails=True))),  # 5/1
    q.Ask(5, q.Launch(Exact())),  # 5/2
    NOISY,
    q.Launch(Courier() @ FiltCon(q.ZCDP("1/10"))),  # 7
    q.Ask(7, q.Launch(Exact())),
    batch(80, 81, 82, 83, block="b"),
    q.Ask(5, q.Ask(1, BITS)),  # it failed at the batch
    q.Ask(3, Total()),
    q.Ask(5, q.Ask(0, Total())),
    q.Ask(4, OLD),
    LaunchMany((NOISY, q.Launch(RandomBits(SMALL)), NOISY)),  # 9
    q.Ask(5, q.Launch(Exact(grows=True))),  # 5/3
    NONSENSE,
    q.Ask(7, q.Launch(RandomBits(SMALL))),
    batch(20),
    q.Ask(1, BITS),
    q.Ask(2, BITS),
    q.Ask(5, q.Ask(2, BITS)),
    q.Ask(5, q.Ask(3, BITS)),
    q.Ask(3, Total()),
    q.Ask(5, q.Ask(0, Total())),
    q.Ask(7, q.Ask(0, BITS)),
    q.Launch(Gaussian(Sum("age", 0, 100), rho="1/50")),
    q.Launch(Blocks(FiltCon(q.ZCDP("1/2")))),  # 12
    batch(90, block="c"),
    CloseBlock("c"),
    batch(61, 62, block="d"),
    q.Ask(12, q.LaunchOver(Gaussian(OLD, rho="1/10"), ["c"])),
    CloseBlock("d"),
    q.Ask(12, q.LaunchOver(Gaussian(OLD, rho="1/10"), ["c", "d"])),
    batch(50),
    q.Ask(12, q.LaunchOver(Gaussian(OLD, rho="2/5"), ["c", "d"])),  # refused
    q.Launch(Individual("1/10")),  # 13
    *OF_RECORDS,
)
"""Ids of children are beside their launches."""

EXACT = {
    (1,): (31, 47, 62),
    (2,): (31, 47, 62, 70, 71, 80, 81, 82, 83, 20, 90, 61, 62, 50, 64, 65, 66),
    (5, 2): (31, 47, 62, 70, 71),
    (5, 3): (31, 47, 62, 70, 71, 80, 81, 82, 83, 20, 90, 61, 62, 50, 64, 65, 66),
    (13, 1): (31, 47, 62, 70, 71, 80, 81, 82, 83, 20, 90, 61, 62, 50),
    (13, 3): (31, 47, 62, 70, 71, 80, 81, 82, 83, 20, 90, 61, 62, 50, 64, 65),
}
"""What the children that tell all have in the end."""


def batches_of(script: Sequence[Any]) -> list[Any]:
    """The batches, as their owner keeps them."""
    return [each.records for each in script if isinstance(each, q.Update)]


ALL = batches_of(SCRIPT)


def opened(ledger: Any, updates: Any = (), **others: Any) -> q.Queryable:
    return curator.open(
        ledger,
        FiltCon(q.ZCDP(10)),
        DATA,
        name="a",
        key=KEY,
        codec=TAGGED,
        updates=updates,
        **others,
    )


def again(ledger: MemoryLedger) -> q.Queryable:
    """Open it with the batches that it got, which the log counts."""
    return opened(ledger, ALL[: fed(ledger)])


def fed(ledger: Any, name: str = "a") -> int:
    return verify(ledger.read(name), codec=TAGGED).batches.batches


def in_memory(ledger: MemoryLedger) -> q.Queryable:
    """The same in memory: nothing is ever made again."""
    root = MemoryRoot(
        FiltCon(q.ZCDP(10)), DATA, coins_of(ledger, "a", TAGGED), None, protects(DATA)
    )
    marks = Marks(KEY, opening_of(ledger, "a")["salt"])
    root.journal = LedgerJournal(Noted(), "a", 1, TAGGED, batches=Batches(TAGGED, marks))
    return q.Queryable._over(root)


def sent(handle: q.Queryable, message: Any) -> None:
    """Send a message; refusals and failures are in the view."""
    try:
        if isinstance(message, q.Update):
            handle.feed(message)
        elif isinstance(message, CloseBlock):
            handle.feed.close(message.block)
        elif isinstance(message, LaunchMany):
            handle.launch_many(message.launches)
        elif isinstance(message, q.Launch):
            handle.launch(message.mechanism)
        else:
            handle.ask(message)
    except q.InteractiveError:
        pass


def texts(handle: q.Queryable) -> list[bytes]:
    return view_of(handle, TAGGED)


def ran() -> tuple[MemoryLedger, q.Queryable]:
    """A root that was sent the script."""
    ledger = MemoryLedger()
    handle = opened(ledger)
    for message in SCRIPT:
        sent(handle, message)
    return ledger, handle


def test_a_restart_after_each_message_gives_the_view_of_memory() -> None:
    """Byte for byte, also the noise that was drawn at batches; and the accounts and the tree."""
    often = MemoryLedger()
    restarted = opened(often)
    memory = in_memory(often)
    for message in SCRIPT:
        sent(memory, message)
        restarted = again(often)
        sent(restarted, message)
        assert texts(restarted) == texts(memory)
    last = again(often)
    assert texts(last) == texts(memory)
    assert str(last.ledger()) == str(memory.ledger())
    assert (
        last.privacy_loss()
        == memory.privacy_loss()
        == curator.view(often, "a", codec=TAGGED).privacy_loss()
    )
    assert [each.body for each in often.read("a") if each.kind == "update"]
    for path, ages in EXACT.items():
        handle = last
        for child in path:
            handle = handle.children[child]
        assert handle.ask(BITS) == ages


@pytest.mark.parametrize("data", [DATA, Table(DATA)], ids=["columns", "table"])
def test_accounts_of_records_after_a_restart(data: Any) -> None:
    """Those of records that have arrived are made again, as in a root that goes on."""
    ledgers = [MemoryLedger() for _ in range(2)]

    def running(ledger: Any, updates: Any = ()) -> q.Queryable:
        return curator.open(
            ledger, Individual("1/10"), data, name="a", key=KEY, codec=TAGGED, updates=updates
        )

    handles = [running(each) for each in ledgers]
    states = []
    for each in OF_RECORDS:
        message = each if isinstance(each, q.Update) else each.query
        handles[0] = running(ledgers[0], batches_of(OF_RECORDS)[: fed(ledgers[0])])
        for handle in handles:
            sent(handle, message)
    for handle in handles:
        handle.launch(Gaussian(Count(), rho="1/40"))
        accounts = made(only(handle._root.state).state.own.books).accounts
        states.append((accounts.units, sorted(accounts.spent.tolist())))
        assert [row.loss for row in handle.ledger()][:1] == [q.ZCDP("1/20")]
    assert states[0] == states[1]
    assert str(handles[0].ledger()) == str(handles[1].ledger())


@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(30, id="every 30th")]
)
def test_a_crash_at_any_append_loses_nothing(every: int) -> None:
    """The batch of an event that is durable is in the state; one without an event is fed again."""
    whole, _ = ran()
    updates = {each.seq - 1 for each in whole.events["a"] if each.kind == "update"}
    for append in sorted({*range(2, whole.appends, every), *updates}):
        for stored in (False, True):
            ledger = MemoryLedger()
            ledger.events["a"], ledger.epochs = whole.events["a"][:2], {"a": 1}
            handle, place, done = opened(ledger), 0, list[bytes]()
            ledger.appends, ledger.crash_at, ledger.stored = 2, append, stored
            try:
                for place, message in enumerate(SCRIPT):  # noqa: B007 (where it crashed)
                    sent(handle, message)
                    done = texts(handle)
            except Crash:
                pass
            if ledger.crash_at is not None and ledger.appends > append:
                ledger.crash_at = None
                handle = again(ledger)
                assert texts(handle)[: len(done)] == done
                missed = _missed(ledger, place)
                for message in SCRIPT[missed:]:
                    sent(handle, message)
            assert texts(handle) == texts(again(whole)), (append, stored)
            assert fed(ledger) == len(ALL)


def _missed(ledger: MemoryLedger, place: int) -> int:
    """Where the script goes on: at the message that crashed, unless the log has it."""
    has = sum(1 for _ in Telling(ledger.read("a")).messages())
    before = sum(message != NONSENSE for message in SCRIPT[:place])
    return place + 1 if has > before else place


@pytest.mark.parametrize("change", ["missing", "other", "order", "more", "raises"])
def test_other_batches_are_refused(change: str) -> None:
    """Nothing is lost: with the batches of then, it goes on."""
    ledger, handle = ran()
    events, wrong = [*ledger.read("a")], list(ALL)
    if change == "missing":
        del wrong[-1]
    elif change == "other":
        wrong[3] = {"age": [80, 81, 82, 84]}
    elif change == "order":
        wrong[0], wrong[-1] = wrong[-1], wrong[0]
    elif change == "more":
        wrong.append({"age": []})

    def given(number: int) -> Any:
        raise OSError("/secret/path")

    said = "missing" if change in ("missing", "raises") else "batch"
    with pytest.raises(LedgerError, match=said):
        opened(ledger, given if change == "raises" else wrong)
    assert [*ledger.read("a")] == events
    assert texts(opened(ledger, ALL.__getitem__)) == texts(handle)


def test_a_wrong_batch_changes_nothing() -> None:
    ledger = MemoryLedger()
    handle = opened(ledger)
    sent(handle, NOISY)
    handle.feed({"age": [5]}, block="a")
    events = [*ledger.read("a")]
    for wrong in ({"size": [3]}, [3], {"age": "text"}):
        with pytest.raises(q.QueryError):
            handle.feed(wrong)
    for block in ("b", 7):
        with pytest.raises(q.QueryError, match="no open block"):
            handle.feed.close(block)
    assert [*ledger.read("a")] == events
    handle.feed.close("a")
    with pytest.raises(q.QueryError, match="is closed"):
        handle.feed({"age": [6]}, block="a")
    with pytest.raises(q.QueryError, match="no open block"):
        handle.feed.close("a")
    assert len([*ledger.read("a")]) == len(events) + 1
    handle.feed({"age": [6]})
    assert fed(ledger) == 2


def test_a_ledger_has_no_records_and_equal_batches_differ() -> None:
    """Two empty batches have two fingerprints, and none is that of another root."""
    marks = set()
    for name in ("a", "b"):
        ledger = MemoryLedger()
        handle = curator.open(ledger, FiltCon(q.ZCDP(1)), DATA, name=name, key=KEY)
        for each in ([], [], [987654321]):
            handle.feed({"age": each}, block=DAY)
        bodies = [each.body for each in ledger.read(name) if each.kind == "update"]
        assert "987654321" not in "".join(bodies)
        assert all("2026-03-01" in body for body in bodies)
        marks |= {json.loads(json.loads(body)["query"])["contents"] for body in bodies}
    assert len(marks) == 6


def test_an_old_copy_that_gets_another_batch_draws_other_noise() -> None:
    """Otherwise the noise of a counter would cancel between the two."""
    ledger = MemoryLedger()
    handle = opened(ledger)
    sent(handle, q.Launch(TreeCounter(OLD, horizon=4, rho="1e-24")))  # equal noise: below 1e-12
    copies = []
    for ages in ([70], [70], [71]):
        went_on = opened(ledger.copy())
        went_on.feed({"age": ages})
        copies.append(went_on.ask(q.Ask(0, Total())))
    assert copies[0] == copies[1] != copies[2]


def test_a_replay_feeds_the_batches_again() -> None:
    ledger, _ = ran()

    def replayed(updates: Any) -> Any:
        mechanism = FiltCon(q.ZCDP(10))
        return curator.replay(
            ledger, mechanism, DATA, name="a", key=KEY, codec=TAGGED, updates=updates
        )

    found = replayed(ALL)
    assert found.difference is None
    assert found.batches == len(ALL)
    assert f"{len(ALL)} batches fed again" in str(found)
    with pytest.raises(LedgerError, match="batch 4 is not the one"):
        replayed([*ALL[:3], {"age": [80]}, *ALL[4:]])


def _said(**parts: Any) -> Change:
    return inside("query", lambda query: query.update(parts))


@pytest.mark.parametrize(
    "change",
    [
        _said(number=3),
        _said(contents="70"),
        _said(records=[70]),
        _said(**{"@": "update/2"}),
        lambda body: body.update(answer="1"),
        lambda body: body.update(records=[70]),
        lambda body: body.update(n=7),
        lambda body: body.update(path=[1]),
        lambda body: body.update(history="0" * 64),
    ],
)
def test_the_verifier_checks_updates(change: Change) -> None:
    ledger = MemoryLedger()
    handle = opened(ledger)
    handle.feed({"age": [1]}, block="a")
    handle.feed({"age": [1]}, block="a")
    handle.feed.close("a")
    events = [*ledger.read("a")]
    assert str(verify(events).batches) == "2 batches in 1 block: a (closed)"
    assert verify(chained_again(events)).batches.batches == 2
    with pytest.raises(VerificationError):
        verify(chained_again(at(events, 2, change)))


def test_the_verifier_checks_the_order_of_blocks() -> None:
    """With histories that fit, since a curator could write them."""
    ledger = MemoryLedger()
    handle = opened(ledger)
    handle.feed({"age": [1]}, block="a")
    journal: Any = handle._root.journal  # type: ignore[attr-defined]
    handle.feed.close("a")
    journal.batches.course.blocks.clear()  # a curator that forgets what it closed
    handle.feed({"age": [1]}, block="a")
    with pytest.raises(VerificationError, match="is closed"):
        verify(ledger.read("a"))


def test_two_handles() -> None:
    """The older handle feeds nothing any more, and says so."""
    ledger = MemoryLedger()
    old = opened(ledger)
    old.feed({"age": [70]})
    new = opened(ledger, [{"age": [70]}])
    with pytest.raises(LedgerError):
        old.feed({"age": [71]})
    new.feed({"age": [72]})
    assert fed(ledger) == 2
    with pytest.raises(LedgerError):
        old.launch(Exact())


def test_a_full_disk_refuses_a_batch() -> None:
    ledger = MemoryLedger()
    handle = opened(ledger)
    child = handle.launch(Exact(grows=True))
    ledger.crash_at, ledger.stored, ledger.crash = ledger.appends, False, LedgerFullError("full")
    with pytest.raises(LedgerFullError):
        handle.feed({"age": [70]})
    assert child.ask(BITS) == (31, 47, 62)
    handle.feed({"age": [71]})
    assert child.ask(BITS) == (31, 47, 62, 71)


@pytest.mark.parametrize("where", ["in the ledger", "after it"])
def test_an_interrupt_after_the_event_stops_the_handle(where: str) -> None:
    """The log is ahead of the state then: nothing more is told until it was opened again."""
    ledger = MemoryLedger()
    handle = opened(ledger)
    child = handle.launch(Exact(grows=True))
    if where == "after it":
        journal: Any = handle._root.journal  # type: ignore[attr-defined]
        interrupt = raising(KeyboardInterrupt())
        journal.batches.course.take = lambda text, identity: interrupt(text)
    else:
        ledger.crash_at, ledger.crash = ledger.appends, KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        handle.feed({"age": [70]})
    with pytest.raises(HandleError, match="open root 'a' again"):
        child.ask(BITS)
    with pytest.raises(HandleError, match="open root 'a' again"):
        handle.feed({"age": [71]})
    handle = opened(ledger, [{"age": [70]}])
    assert handle.children[0].ask(BITS) == (31, 47, 62, 70)


def test_an_anchor_knows_batches(tmp_path: Path) -> None:
    """An old copy without the last batch is told."""
    ledger, anchor = MemoryLedger(), tmp_path / "anchor"
    handle = opened(ledger, anchor=anchor)
    handle.feed({"age": [70]})
    handle.feed({"age": [71]})
    del ledger.events["a"][-1]
    with pytest.raises(curator.SealedError):
        opened(ledger, [{"age": [70]}], anchor=anchor)


def test_a_view_takes_no_batch() -> None:
    ledger, handle = ran()
    seen = curator.view(ledger, "a", codec=TAGGED)
    assert texts(seen) == texts(handle)
    with pytest.raises(HandleError, match="a view of a ledger"):
        seen.feed({"age": [1]})


def test_a_closed_root_says_so_whatever_batches_are_given() -> None:
    ledger = MemoryLedger()
    opened(ledger).feed({"age": [1]})
    curator.close(ledger, "a", key=KEY)
    with pytest.raises(LedgerError, match="is closed"):
        opened(ledger)


def test_files_of_a_table_are_known_by_their_contents(tmp_path: Path) -> None:
    """And not by their name; a restart reads them again."""
    ledger, first, later = MemoryLedger(), tmp_path / "first.csv", tmp_path / "later.csv"
    first.write_text("age,who\n31,1\n62,2\n")
    later.write_text("age,who\n70,1\n71,3\n")

    def table() -> Table:
        return Table(first, privacy_unit="who", max_rows=1)

    def running(updates: Any = ()) -> q.Queryable:
        return curator.open(
            ledger, FiltCon(q.ZCDP(10)), table(), name="a", key=KEY, updates=updates
        )

    handle = running()
    for rho in ("1/50", "1/60"):
        handle(Gaussian(table().count(), rho=rho))
        handle.feed(later if rho == "1/50" else {"age": [80], "who": [4]}, block=DAY)
    moved = later.rename(tmp_path / "moved.csv")
    again = running([moved, {"age": [80], "who": [4]}])
    exact = again(Gaussian(table().count(), rho=2))
    assert abs(exact - 4) < 5  # of 4 people, with a standard deviation of 1/2
    assert texts(running([moved, {"age": [80], "who": [4]}])) == texts(again)
    moved.write_text("age,who\n70,1\n71,4\n")
    with pytest.raises(LedgerError, match="batch 1 is not the one"):
        running([moved, {"age": [80], "who": [4]}])


def _feeds(path: str, start: int) -> None:
    """Feed batches and launch between them, until it is killed."""
    handle = opened(path, lambda number: {"age": [number]}, lease=5.0)
    for number in range(start, 10_000):
        handle.feed({"age": [number]})
        handle.launch(RandomBits(SMALL))


def _killed(path: str, cycles: int, server: Server | None = None) -> int:
    """Kill a process that feeds, and every second time the ledger's server; how many were fed.

    After each kill the log and the state have the same batches, and what was told stays.
    """
    kept, count = list[bytes](), 0
    curator.release(opened(path))
    for cycle in range(cycles):
        count = _fed_at(path)
        process = FORKED.Process(target=_feeds, args=(path, count), daemon=True)
        process.start()
        while process.is_alive() and _fed_at(path) == count:
            process.join(0.02)
        process.join(cycle % 7 / 50)
        if server is not None and cycle % 2:
            server.kill()
            server.start()
            process.join(cycle % 3 / 20)
        process.kill()
        process.join()
        handle = opened(path, lambda number: {"age": [number]})
        assert texts(handle)[: len(kept)] == kept
        count = _fed_at(path)
        assert fed(handle._root.journal.ledger) == count  # type: ignore[attr-defined]
        assert handle.launch(Exact()).ask(BITS) == (31, 47, 62, *range(count))
        kept = texts(handle)
        curator.release(handle)
    return count


def _fed_at(path: str) -> int:
    ledger = ledger_of(path)
    count = sum(event.kind == "update" for event in ledger.read("a"))
    ledger.close()
    return count


@pytest.mark.slow
def test_kills_between_batches(tmp_path: Path) -> None:
    assert _killed(str(tmp_path / "visits.db"), 20) >= 20


@pytest.mark.long
@POSTGRES
def test_100_kills_between_batches_on_postgres() -> None:
    server = Server()
    try:
        assert _killed(server.database(), 100, server) >= 100
    finally:
        server.stop()


def _on(connect: Any) -> SQLiteLedger:
    return SQLiteLedger("/visits.db", connect=connect, clock=lambda: 1.0, free=lambda _: 1 << 40)


@pytest.mark.parametrize(
    ("every", "start"),
    [(60, 59), *(pytest.param(8, each, marks=pytest.mark.slow) for each in range(8))],
)
def test_power_is_lost_at_any_write(every: int, start: int) -> None:
    """What had returned is there, each batch once; and it goes on to the undisturbed view."""
    pytest.importorskip("apsw", reason="apsw is not installed (extra `test`)")
    from tests.disks import Disk

    disk, chance, returns = Disk(), Random(start), list[int]()
    with disk.mounted() as connect:
        ledger = _on(connect)
        handle = opened(ledger)
        first = len(disk.log)
        for message in SCRIPT:
            sent(handle, message)
            returns.append(len(disk.log))
        whole = texts(handle)
        ledger.close()
    assert len(disk.log) > first + 2 * every
    for moment in range(first + start, len(disk.log), every):
        with disk.crashed(moment, chance).mounted() as connect:
            ledger = _on(connect)
            handle = opened(ledger, ALL[: fed(ledger)])
            done = sum(at <= moment for at in returns)
            has = sum(1 for _ in Telling(ledger.read("a")).messages())
            counted = [number for number, each in enumerate(SCRIPT) if each != NONSENSE]
            assert has >= sum(number < done for number in counted), moment
            left = SCRIPT[max(done, counted[has - 1] + 1 if has else 0) :]
            for message in left:
                sent(handle, message)
            assert texts(handle) == whole, moment
            assert fed(ledger) == len(ALL)
            curator.release(handle)
            ledger.close()
