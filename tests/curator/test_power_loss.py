"""A ledger on a simulated disk that loses power at every single write and flush.

After each loss the reopened ledger has, for each root, a prefix of the events that contains every
append that had returned, and the chain of hashes holds. All randomness comes from the seed.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import attrs
import pytest

pytest.importorskip("apsw", reason="apsw is not installed (extra `test`)")

import apsw

from curator.ledgers import (
    Event,
    LedgerError,
    LedgerFullError,
    SQLiteLedger,
    UnknownOutcomeError,
    chained,
    following,
    sqlite,
)
from curator.ledgers.groups import Wish
from tests.disks import Disk, Entry

ROOTS = ("visits", "calls", "ä")
PATH = "/ledger.db"

History = dict[str, list[Event]]


@attrs.define
class Work:
    """What was appended to a disk, and how much of the disk's log was written at each return."""

    chance: Random
    events: History
    returns: list[tuple[int, str, int]] = attrs.field(factory=list)

    def run(self, disk: Disk, connect: Callable[[str], Any], appends: int) -> None:
        """Append to several roots, alone and in groups, with restarts between."""
        ledger, epochs = self.opened(disk, connect)
        for _ in range(appends):
            match self.chance.randrange(8):
                case 0:
                    ledger.close()
                    ledger, epochs = self.opened(disk, connect)
                case 1:
                    wishes = [Wish(root, self.more(root, epochs)) for root in ROOTS]
                    ledger._commit(wishes)
                    assert [wish.error for wish in wishes] == [None] * len(ROOTS)
                    for wish in wishes:
                        self.returned(disk, wish.root)
                case _:
                    root = self.chance.choice(ROOTS)
                    ledger.append(root, self.more(root, epochs))
                    self.returned(disk, root)
        ledger.close()

    def opened(
        self, disk: Disk, connect: Callable[[str], Any]
    ) -> tuple[SQLiteLedger, dict[str, int]]:
        ledger = SQLiteLedger(PATH, connect=connect, clock=lambda: 1.0, free=lambda _: 1 << 40)
        epochs = {root: ledger.lease(root, "one", 9) for root in ROOTS}
        for root in ROOTS:
            found = list(chained(ledger.read(root)))
            assert found == self.events[root][: len(found)]
            self.events[root] = found
            self.returned(disk, root)
        return ledger, epochs

    def more(self, root: str, epochs: dict[str, int]) -> list[Event]:
        """One to three further events of a root."""
        events = self.events[root]
        before = len(events)
        for _ in range(self.chance.randint(1, 3)):
            body = f'{{"text":"{"x" * self.chance.choice((0, 20, 300, 9000))}{len(events)}"}}'
            events.append(
                following(events[-1] if events else None, root, epochs[root], "intent", body)
            )
        return events[before:]

    def returned(self, disk: Disk, root: str) -> None:
        self.returns.append((len(disk.log), root, len(self.events[root])))

    def needed(self, moment: int) -> dict[str, int]:
        """How many events of each root had been appended before an entry of the disk's log."""
        counts = dict.fromkeys(ROOTS, 0)
        counts.update((root, count) for place, root, count in self.returns if place <= moment)
        return counts

    def copy(self) -> "Work":
        events = {root: list(events) for root, events in self.events.items()}
        return Work(self.chance, events)


def survives(work: Work, disk: Disk, moment: int, after: Disk) -> Work:
    """Check what a reopened ledger holds; the further work begins from there."""
    with after.mounted() as connect:
        again = work.copy()
        ledger, _ = again.opened(after, connect)
        assert ledger._one("PRAGMA integrity_check") == ("ok",)
        ledger.close()
    for root, count in work.needed(moment).items():
        assert len(again.events[root]) >= count, (moment, disk.log[moment][:3], root)
    return again


def losses(seed: int, *, every: int = 1, careless: bool = False) -> int:
    """Lose power at entries of the log of one random series; returns how often.

    After some of the losses the work goes on and power is lost again. Or only the process ends, its
    successor reads what was not flushed, and then power is lost.

    Args:
        every: 1 for all entries, n for every n-th one.
        careless: have SQLite flush nothing.
    """
    chance, count = Random(seed), 0
    disk, work = Disk(), Work(chance, {root: [] for root in ROOTS})
    with disk.mounted() as connect, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "_CHECKPOINT", chance.choice((2, 3, 5, 1000)))
        work.run(disk, _without_flushes(connect) if careless else connect, chance.randint(3, 9))
        for moment in range(seed % every, len(disk.log), every):
            after = disk.crashed(moment, chance)
            again = survives(work, disk, moment, after)
            count += 1
            if chance.randrange(10) == 0:
                killed = chance.randrange(2)
                after = disk.killed(moment) if killed else Disk(after.start)
                again = work.copy() if killed else again.copy()
                with after.mounted() as reconnect:
                    again.run(after, reconnect, appends=3)
                second = chance.randrange(len(after.log))
                survives(again, after, second, after.crashed(second, chance))
    return count


def _without_flushes(connect: Callable[[str], Any]) -> Callable[[str], Any]:
    def connected(path: str) -> Any:
        connection = connect(path)
        execute = connection.execute
        connection.execute = lambda statement, *rest: execute(
            statement.replace("synchronous = FULL", "synchronous = OFF"), *rest
        )
        return connection

    return connected


def test_power_loss() -> None:
    """20 random series, power lost at every 12th write or flush; about 200 losses."""
    assert sum(losses(seed, every=12) for seed in range(20)) > 160


@pytest.mark.parametrize(
    "block",
    [pytest.param(n, marks=pytest.mark.slow if n < 5 else pytest.mark.long) for n in range(20)],
)
def test_power_loss_at_every_write_and_flush(block: int) -> None:
    """2,000 random series in 20 blocks; about 240,000 losses."""
    assert sum(losses(seed) for seed in range(100 * block, 100 * block + 100)) > 10_000


def test_missing_flushes_are_found() -> None:
    """The simulation finds the losses of a ledger that does not flush."""
    with pytest.raises(AssertionError):
        sum(losses(seed, careless=True) for seed in range(5))


def script(ledger: SQLiteLedger) -> None:
    """Five appends to one root."""
    epoch, last = ledger.lease("visits", "one", 9), None
    for number in range(5):
        last = following(
            last, "visits", epoch, "intent", f'{{"number":{number},"x":"{"x" * 5000}"}}'
        )
        ledger.append("visits", [last])


def flushes(entries: list[Entry]) -> int:
    return sum(entry[0] == "flush" for entry in entries)


def test_an_append_takes_one_flush() -> None:
    """Alone, of several events and in a group; copying the log takes three more, later."""
    disk = Disk()
    with disk.mounted() as connect:
        ledger = SQLiteLedger(PATH, connect=connect)
        epochs = {root: ledger.lease(root, "one", 9) for root in ROOTS}
        last: dict[str, Event | None] = dict.fromkeys(ROOTS)
        for _ in range(20):
            for root in ROOTS:
                events = [following(last[root], root, epochs[root], "intent", "x" * 3000)]
                events.append(following(events[0], root, epochs[root], "answer", "1"))
                last[root], before = events[1], len(disk.log)
                ledger.append(root, events)
                assert flushes(disk.log[before:]) == 1
        before = len(disk.log)
        ledger._commit([Wish(r, [following(last[r], r, epochs[r], "answer", "")]) for r in ROOTS])
        assert flushes(disk.log[before:]) == 1
        ledger.close()


class EndedError(BaseException):
    """The process has ended."""


def _end(reason: str) -> None:
    raise EndedError(reason)


@pytest.mark.parametrize("what", ["write", "flush"])
def test_an_error_of_the_disk_ends_the_process(what: str) -> None:
    """At each write or flush of a script, nothing is written after it."""
    whole = Disk()
    with whole.mounted() as connect:
        script(SQLiteLedger(PATH, connect=connect))
    start = next(i for i, entry in enumerate(whole.log) if entry[1].endswith("-wal"))
    moments = [i for i, entry in enumerate(whole.log) if entry[0] == what and i > start]
    assert len(moments) >= 5
    for moment in moments:
        disk = Disk()
        disk.fault = _failing_once(disk, moment, apsw.SQLITE_IOERR_FSYNC)
        with disk.mounted() as connect, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite, "_CHECKPOINT", 2)
            with pytest.raises(EndedError, match="the process ends"):
                script(SQLiteLedger(PATH, connect=connect, end=_end))
            assert len(disk.log) == moment


def test_a_ledger_whose_process_should_have_ended_writes_nothing() -> None:
    """Here `end` returns, as it never does."""
    disk, reasons = Disk(), []
    with disk.mounted() as connect:
        ledger = SQLiteLedger(PATH, connect=connect, end=reasons.append)
        epoch = ledger.lease("visits", "one", 9)
        disk.fault = _failing_once(disk, len(disk.log) + 3, apsw.SQLITE_IOERR_FSYNC)
        event = following(None, "visits", epoch, "opened", "{}")
        with pytest.raises(UnknownOutcomeError):
            ledger.append("visits", [event])
        count = len(disk.log)
        for _ in range(2):
            with pytest.raises(LedgerError, match="closed"):
                ledger.append("visits", [event])
        ledger.close()
        assert (len(reasons), len(disk.log)) == (1, count)


def test_a_full_disk_refuses_and_loses_nothing() -> None:
    """At each write of a script; the same append succeeds when there is room again."""
    for moment in range(200):
        disk = Disk()
        with disk.mounted() as connect:
            ledger = SQLiteLedger(PATH, connect=connect, end=_end)
            epoch = ledger.lease("visits", "one", 9)
            disk.fault = _failing_once(disk, len(disk.log) + moment, apsw.SQLITE_FULL, what="write")
            refused = 0
            events: list[Event] = []
            for number in range(5):
                last = events[-1] if events else None
                events.append(following(last, "visits", epoch, "intent", f"{number}" * 5000))
                try:
                    ledger.append("visits", events[-1:])
                except LedgerFullError:
                    refused += 1
                    assert list(ledger.read("visits")) == events[:-1]
                    ledger.append("visits", events[-1:])
            assert list(chained(ledger.read("visits"))) == events
        if not refused:
            break
    assert moment > 10


def _failing_once(disk: Disk, moment: int, error: int, what: str = "") -> Callable[[Entry], None]:
    """A fault at the first entry from a moment on; `what` says which entries count."""
    failed = False

    def fault(entry: Entry) -> None:
        nonlocal failed
        if not failed and len(disk.log) >= moment and entry[0].startswith(what):
            failed = True
            raise apsw.exception_for(error)

    return fault
