"""A root on a ledger beside the same root in memory, and beside SQLite alone.

Times of messages are wall-clock times, because a flush waits for the disk. Each round times every
party once, so that a slow minute of the disk affects all. *Beyond* is what a message takes longer
than one in memory with as many bare inserts around it.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

import curator
from benchmarks.durable_log import DATA, KEY, ROOT, measurement, statistic, write
from benchmarks.measure import Goal, Row, at_most
from composition import FiltCon
from curator.ledgers import Event, SQLiteLedger, following
from mechanisms import Count, SparseVector, column
from queryable import ZCDP, PureDP, Queryable

GROUP = "durable"
ROUNDS = 400
APPENDS, TOGETHER = 40, 64
ASKS, RECORDS = 10_000, 100_000
BODY = "x" * 600
WITH_INSERTS = "memory and bare inserts"


class Kept:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, root: str, events: Sequence[Event]) -> None:
        self.events += events

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        return iter(self.events[after:])

    def lease(self, root: str, holder: str, ttl: float) -> int:
        return 1

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        pass

    def release(self, root: str, epoch: int) -> None:
        pass

    def roots(self) -> tuple[str, ...]:
        return ("long",)

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


def bare(path: str) -> Callable[[], object]:
    """An insert into a file of SQLite that is flushed as a ledger is."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    return lambda: connection.execute("INSERT INTO events (body) VALUES (?)", (BODY,))


def taken(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def opened(ledger: Any, mechanism: Any = ROOT, data: Any = DATA, name: str = "long") -> Queryable:
    return curator.open(ledger, mechanism, data, name=name, key=KEY)


def messages(folder: str) -> Iterator[Row]:
    insert = bare(f"{folder}/bare.db")
    handles = {
        "memory": Queryable(ROOT, DATA),
        "ledger in memory": opened(Kept()),
        "SQLite": opened(f"{folder}/messages.db"),
        WITH_INSERTS: Queryable(ROOT, DATA),
    }
    search = SparseVector(10**9, epsilon="1/10", cutoff=10)
    searches = {name: handle.launch(search) for name, handle in handles.items()}
    yield from message(
        "launch a measurement",
        {name: lambda place, h=h: h.launch(measurement(place)) for name, h in handles.items()},
        [insert, insert],
    )
    yield from message(
        "ask a sparse vector",
        {name: lambda place, h=h: h.ask(statistic(place)) for name, h in searches.items()},
        [insert, insert],
    )
    yield from message(
        "launch an empty filter",
        {name: lambda _, h=h: h.launch(FiltCon(ZCDP(1))) for name, h in handles.items()},
        [insert],
    )


def message(
    work: str, parties: dict[str, Callable[[int], object]], inserts: list[Callable[[], object]]
) -> Iterator[Row]:
    """Times of one kind of message. The order of the parties changes with each round."""
    times: dict[str, list[float]] = {name: [] for name in parties}
    names = list(parties)
    for place in range(ROUNDS):
        for name in names:
            first, *rest = inserts if name == WITH_INSERTS else [int, int]
            act = parties[name]
            times[name].append(
                taken(lambda f=first, r=rest, a=act, n=place: (f(), a(n), *[e() for e in r]))
            )
        names.append(names.pop(0))
    pairs = zip(times["SQLite"], times[WITH_INSERTS], strict=True)
    beyond = median(ours - theirs for ours, theirs in pairs)
    medians = {name: median(each) for name, each in times.items()}
    medians[f"memory and {len(inserts)} bare inserts"] = medians.pop(WITH_INSERTS)
    yield Row(GROUP, f"{work}, on SQLite", medians.pop("SQLite"), peers=medians)
    goals = (at_most(beyond, 0.3e-3, "0.3 ms"),)
    yield Row(GROUP, f"{work}, beyond memory and {len(inserts)} inserts", beyond, goals=goals)


def group_commit(folder: str) -> Iterator[Row]:
    """Appends a second of 64 threads with a root each, and of one."""

    def rate(count: int) -> float:
        ledger = SQLiteLedger(f"{folder}/group{count}.db")
        epochs = [ledger.lease(str(root), "one", 600) for root in range(count)]

        def append(root: int) -> None:
            head = None
            for _ in range(APPENDS):
                head = following(head, str(root), epochs[root], "exchange", BODY)
                ledger.append(str(root), [head])

        threads = [threading.Thread(target=append, args=(root,)) for root in range(count)]
        seconds = taken(lambda: [[t.start() for t in threads], [t.join() for t in threads]])
        ledger.close()
        Path(ledger.path).unlink()
        return count * APPENDS / seconds

    one, many = (median(rate(count) for _ in range(3)) for count in (1, TOGETHER))
    goals = (Goal(f">= 10x one root ({many / one:.3g}x)", many >= 10 * one),)
    yield Row(
        GROUP, f"appends of {TOGETHER} roots together", many, "a second", {"one root": one}, goals
    )


def replay() -> Iterator[Row]:
    """Questions to a sparse vector, and the first one after a restart."""
    ages = np.random.default_rng(1).integers(0, 100, RECORDS)
    data, mechanism = {"age": ages}, FiltCon(PureDP(1))
    asked = [Count(column("age") >= place % 100) for place in range(ASKS)]
    ledger = Kept()
    search = opened(ledger, mechanism, data).launch(SparseVector(10**9, epsilon="1/2"))

    def ask() -> None:
        for each in asked:
            search.ask(each)

    began = process_time()
    ask()
    asking = process_time() - began
    again = opened(ledger, mechanism, data).children[0]
    began = process_time()
    again.ask(asked[0])
    replaying = process_time() - began
    goals = (Goal(f"no slower ({replaying / asking:.2f}x)", replaying <= asking),)
    work = f"replay {ASKS:,} asks of a sparse vector over {RECORDS:,} rows"
    yield Row(GROUP, work, replaying, peers={"asking": asking}, goals=goals)


def opening(folder: str, count: int) -> Iterator[Row]:
    """Opening a long analysis in a fresh process."""
    path = os.environ.get(f"LEDGER_OF_{count}") or f"{folder}/{count}.db"
    if not Path(path).exists():
        write(path, count)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.durable", path],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout)
    goals = (
        at_most(found["seconds"], 20, "20 s"),
        Goal(f"<= 1 GB ({found['bytes'] / 1e6:.0f} MB)", found["bytes"] <= 1e9),
    )
    peers = {"wall clock": found["wall"]}
    yield Row(GROUP, f"open {count:,} messages", found["seconds"], peers=peers, goals=goals)


def open_one(path: str) -> None:
    """Open a ledger; print the seconds of processor time and the peak of memory as JSON."""
    began, clock = process_time(), perf_counter()
    handle = opened(path)
    seconds, wall = process_time() - began, perf_counter() - clock
    assert handle.privacy_loss().parts[0]
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "wall": wall, "bytes": peak}))


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        yield from messages(folder)
        yield from group_commit(folder)
        yield from replay()
        for count in (10**5, 10**6):
            yield from opening(folder, count)


if __name__ == "__main__":
    open_one(sys.argv[1])
