"""Two writers of one root: a stale one stores nothing, and none waits for ever.

The tests of random trials have no false alarms: what they check holds for every schedule.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest

from curator.ledgers import (
    Event,
    LeaseError,
    Ledger,
    SQLiteLedger,
    chained,
    following,
    ledger_of,
    sqlite,
    this_process,
)
from curator.ledgers.ledger import admit
from tests.postgres import POSTGRES, database

ROOT = Path(__file__).parents[2]


class Writer(threading.Thread):
    """Leases a root whenever it can and appends until it has lost the lease; pauses at random."""

    def __init__(self, ledger: Ledger, root: str, name: str, chance: Random) -> None:
        super().__init__()
        self.ledger, self.root, self.holder, self.chance = ledger, root, name, chance
        self.stored: list[Event] = []
        self.refused: list[Event] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(self.chance.randint(1, 3)):
                self.turn()
        except BaseException as error:
            self.failure = error

    def turn(self) -> None:
        """One lease; a stale writer tries to append further events."""
        while True:
            try:
                epoch = self.ledger.lease(
                    self.root, self.holder, self.chance.choice((0, 0.001, 0.01))
                )
                break
            except LeaseError:
                time.sleep(0.001)
        events = list(chained(self.ledger.read(self.root)))
        last = events[-1] if events else None
        for _ in range(self.chance.randint(1, 4)):
            time.sleep(self.chance.choice((0, 0, 0.002, 0.012)))
            event = following(last, self.root, epoch, "intent", f'"{self.holder}"')
            try:
                if self.chance.randrange(3) == 0:
                    self.ledger.renew(self.root, epoch, 0.002)
                self.ledger.append(self.root, [event])
            except LeaseError:
                self.refused.append(event)
                return
            self.stored.append(event)
            last = event
        if self.chance.randrange(2):
            self.ledger.release(self.root, epoch)


def race(one: Ledger, other: Ledger, seed: int) -> int:
    """Two or three writers on one root; returns how many appends of stale ones were refused."""
    chance, root = Random(seed), f"root {seed}"
    writers = [
        Writer(ledger, root, name, Random(chance.random()))
        for ledger, name in ((one, "one"), (other, "two"), (other, "three"))
    ]
    for writer in writers[: chance.randint(2, 3)]:
        writer.start()
    for writer in writers:
        if writer.ident:
            writer.join()
        assert writer.failure is None, writer.failure
    events = list(chained(one.read(root)))
    stored = sorted((event for writer in writers for event in writer.stored), key=lambda e: e.seq)
    assert events == stored
    holders: dict[int, str] = {}
    for event in events:
        assert holders.setdefault(event.epoch, event.body) == event.body
    return sum(len(writer.refused) for writer in writers)


def trials(place: str, count: int) -> None:
    one, other = ledger_of(place), ledger_of(place)
    refused = sum(race(one, other, seed) for seed in range(count))
    assert refused > count // 20  # the trials reach stale writers
    one.close()
    other.close()


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=POSTGRES)])
def test_a_stale_writer_stores_nothing(tmp_path: Path, kind: str, count: int) -> None:
    trials(database() if kind == "postgres" else str(tmp_path / "ledger.db"), count)


def test_the_trials_find_a_ledger_without_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that checks no epoch fails them."""
    monkeypatch.setattr(
        sqlite, "admit", lambda root, events, head, _: admit(root, events, head, events[0].epoch)
    )
    with pytest.raises(AssertionError):
        trials(str(tmp_path / "ledger.db"), 40)


PROGRAM = """
import sys
from curator.ledgers import LeaseError, chained, following, ledger_of, this_process
ledger = ledger_of(sys.argv[1])
epoch = ledger.lease("visits", this_process(), float(sys.argv[2]))
last = None
for number in range(10**9):
    last = following(last, "visits", epoch, "intent", str(number))
    try:
        ledger.append("visits", [last])
    except LeaseError:
        print("stale", flush=True)
        break
    print(number, flush=True)
    sys.stdin.readline()
"""


class Process:
    """A writer in a process of its own, which appends once for each line that it is sent."""

    def __init__(self, path: Path, ttl: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), str(ttl)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_killed_writer_is_followed_at_once(tmp_path: Path) -> None:
    """Its lease would have lasted for an hour."""
    path = tmp_path / "ledger.db"
    with Process(path, 3600) as writer:
        assert writer.said() == "0"
        writer.go_on()
        assert writer.said() == "1"
        ledger = SQLiteLedger(path)
        with pytest.raises(LeaseError, match="is held by"):
            ledger.lease("visits", this_process(), 60)
        os.kill(writer.process.pid, signal.SIGKILL)
        writer.process.wait()
        assert ledger.lease("visits", this_process(), 60) == 2
        assert [event.body for event in chained(ledger.read("visits"))] == ["0", "1"]
        ledger.close()


def test_a_paused_writer_stores_nothing_when_it_wakes_up(tmp_path: Path) -> None:
    """It is stopped, its lease ends, another takes the root over, and it goes on."""
    path = tmp_path / "ledger.db"
    with Process(path, 0.2) as writer:
        assert writer.said() == "0"
        os.kill(writer.process.pid, signal.SIGSTOP)
        ledger, epoch = SQLiteLedger(path), 0
        while not epoch:
            try:
                epoch = ledger.lease("visits", this_process(), 60)
            except LeaseError:
                time.sleep(0.01)
        events = list(chained(ledger.read("visits")))
        ledger.append("visits", [following(events[-1], "visits", epoch, "intent", '"new"')])
        os.kill(writer.process.pid, signal.SIGCONT)
        writer.go_on()
        assert writer.said() == "stale"
        assert [event.body for event in chained(ledger.read("visits"))] == ["0", '"new"']
        ledger.close()


@POSTGRES
def test_a_lost_connection_stores_each_event_once() -> None:
    """The server ends the ledger's connections at random; 200 appends are there once each."""
    import psycopg

    url, chance, lost = database(), Random(1), 0
    ledger = ledger_of(url)
    epoch, done = ledger.lease("visits", "one", 600), threading.Event()

    def disturb() -> None:
        nonlocal lost
        with psycopg.connect(url, autocommit=True) as other:
            while not done.wait(chance.uniform(0.01, 0.1)):
                lost += other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                ).rowcount

    thread = threading.Thread(target=disturb)
    thread.start()
    events: list[Event] = []
    try:
        for number in range(200):
            last = events[-1] if events else None
            events.append(following(last, "visits", epoch, "intent", str(number)))
            ledger.append("visits", events[-1:])
    finally:
        done.set()
        thread.join()
    assert list(chained(ledger.read("visits"))) == events
    assert lost
    ledger.close()


@POSTGRES
def test_a_commit_without_a_reply_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is lost after the server has committed and before it says so."""
    import psycopg

    ledger = ledger_of(database())
    epoch = ledger.lease("visits", "one", 600)
    first = following(None, "visits", epoch, "intent", "1")
    transaction, lost = psycopg.Connection.transaction, 0

    @contextmanager
    def interrupted(connection: psycopg.Connection[Any]) -> Iterator[None]:
        nonlocal lost
        with transaction(connection):
            yield
        lost += 1
        if lost == 1:
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(psycopg.Connection, "transaction", interrupted)
    ledger.append("visits", [first])
    assert lost == 2
    assert list(ledger.read("visits")) == [first]
    ledger.close()


class Slow(sqlite3.Connection):
    """A connection whose commits take at least 20 ms, as on a slow disk."""

    def execute(self, statement: str, *rest: Any) -> Any:
        if statement == "COMMIT":
            time.sleep(0.02)
        return super().execute(statement, *rest)


def slow(path: str) -> Any:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Slow)


def test_appends_of_64_roots_share_flushes(tmp_path: Path) -> None:
    """More than ten appends a commit, so more than ten times the rate of one root."""
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    epochs = {f"root {number}": ledger.lease(f"root {number}", "one", 60) for number in range(64)}
    ledger.close()
    ledger = SQLiteLedger(tmp_path / "ledger.db", connect=slow)  # leases need not be slow

    def work(root: str) -> None:
        last = None
        for _ in range(5):
            last = following(last, root, epochs[root], "intent", "x" * 500)
            ledger.append(root, [last])

    with ThreadPoolExecutor(64) as threads:
        list(threads.map(work, epochs))
    assert sum(len(list(chained(ledger.read(root)))) for root in epochs) == 320
    assert ledger._commits < 32
    ledger.close()
