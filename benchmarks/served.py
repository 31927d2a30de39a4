"""A curator in processes of its own, asked over a Unix socket, beside the handle in this process.

The front, its worker and the clients share the processors of this machine. Latencies are wall-clock
times, and throughput is of clients that wait for each answer. The processor time of an ask is that
of all three processes together, so it says more where other programs run.

`python -m benchmarks.served FOLDER KIND` runs the curator, with a ledger in memory or on disk.
"""

import asyncio
import multiprocessing
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import curator
from benchmarks.durable import Kept
from benchmarks.durable_log import DATA, KEY, ROOT, measurement, statistic
from benchmarks.measure import Goal, Row, at_most
from composition import FiltCon
from curator.access import AccessStore, Added, Granted, hash_of
from curator.client.connecting import connect
from curator.codec import encode
from curator.ledgers import SQLiteLedger
from curator.service.answering.local import LocalService
from curator.service.routes import analysts_application
from curator.service.serve import loop_factory, running, working
from curator.service.web.front import Front
from curator.service.web.keeper import AsyncAccess
from curator.service.web.sockets import listen_on
from curator.service.web.ticks import Ticks
from curator.service.workers.recipes import Opened, Recipe
from curator.service.workers.workers import WorkerService, environment_for
from curator.wire import Tell
from mechanisms import SparseVector
from queryable import ZCDP, Launch, Queryable

GROUP = "served"
MEMORY, DISK = "memory", "disk"
ASKS, LAUNCHES, CLIENTS, PROCESSES, IDLE = 2000, 100, 64, 4, 10_000
SEARCH = SparseVector(10**9, epsilon="1/10", cutoff=10)
OWN = FiltCon(ZCDP(10**4))
"""The filter of each analyst."""


def token(number: int) -> str:
    """The token of an analyst."""
    return f"qy_{number:043}"


def opened(folder: str, kind: str, *, give_up: bool = False) -> Opened:
    """What the worker serves."""
    ledger: Any = Kept() if kind == MEMORY else SQLiteLedger(Path(folder) / "ledger.db")
    handle = curator.open(ledger, ROOT, DATA, name="visits", key=KEY, give_up=give_up)
    return Opened(LocalService(handle), {}, ledger.close)


async def serve(folder: str, kind: str) -> None:
    """Run a curator of one analyst."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    access = SQLiteLedger(Path(folder) / "access.db")
    store = AccessStore(access)
    environment = environment_for() | {"PYTHONPATH": str(Path.cwd())}
    recipe = Recipe("benchmarks.served:opened", {"folder": folder, "kind": kind})
    workers = {"visits": WorkerService("visits", recipe, environment=environment)}
    front = Front(workers, AsyncAccess(store), {"visits": Ticks(None)})
    listening = listen_on(f"unix:{folder}/curator.sock")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(working(front, workers))
        await workers["visits"].ready()
        for number in range(CLIENTS):
            store.change(Added(f"ada{number}", hash_of(token(number))))
            store.change(await granted(workers["visits"], number))
        await front.keeper.read()
        await stack.enter_async_context(running(analysts_application(front), listening))
        print(workers["visits"].pid, flush=True)
        await asyncio.to_thread(sys.stdin.read)
    access.close()


async def granted(worker: WorkerService, number: int) -> Granted:
    """A grant to an analyst."""
    name, text = f"ada{number}", str(encode(OWN), "ascii")
    launch = str(encode(Launch(OWN)), "ascii")
    body = Tell((), launch, (name,), f"{number:032x}").written()
    status, reply = await worker.tell((), body)
    assert status == 200, reply
    return Granted(name, "visits", number, name, text)


class Curator:
    """A curator that runs in processes of its own."""

    def __init__(self, folder: str, kind: str) -> None:
        self.url = f"unix:{folder}/curator.sock"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.served", folder, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.pids = (self._process.pid, int(self._process.stdout.readline()))

    def handle(self) -> Queryable:
        return connect(self.url, token(0))["visits"]

    def seconds(self) -> float:
        """The processor time of front and worker so far."""
        return sum(_seconds(pid) for pid in self.pids)

    def bytes(self) -> int:
        """The resident memory of front and worker."""
        return sum(_resident(pid) for pid in self.pids)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def curating(kind: str) -> Iterator[Curator]:
    with TemporaryDirectory(prefix="served-") as folder:
        found = Curator(folder, kind)
        try:
            yield found
        finally:
            found.close()


def _seconds(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"the process {pid} has no memory")


def asks() -> Iterator[Row]:
    """One question to a sparse vector, on each kind of root."""
    parties: dict[str, Callable[[int], Any]] = {}
    with ExitStack() as stack:
        curators = {kind: stack.enter_context(curating(kind)) for kind in (MEMORY, DISK)}
        folder = stack.enter_context(TemporaryDirectory(prefix="served-"))
        ledgers: dict[str, Any] = {
            MEMORY: Kept(),
            DISK: SQLiteLedger(Path(folder) / "ledger.db"),
        }
        for kind, ledger in ledgers.items():
            root = curator.open(ledger, ROOT, DATA, name="visits", key=KEY)
            parties[f"in process, {kind}"] = asking(root)
            parties[f"served, {kind}"] = asking(curators[kind].handle())
        parties["no ledger"] = asking(Queryable(ROOT, DATA))
        times: dict[str, list[float]] = {name: [] for name in parties}
        for place in range(ASKS):
            for name, ask in parties.items():
                began = perf_counter()
                ask(place)
                times[name].append(perf_counter() - began)
        medians = {name: median(taken) for name, taken in times.items()}
        tenths = {name: sorted(taken)[len(taken) // 10] for name, taken in times.items()}
        served = curators[MEMORY]
        before = served.seconds() + _seconds(os.getpid())
        for place in range(ASKS):
            parties[f"served, {MEMORY}"](place)
        spent = (served.seconds() + _seconds(os.getpid()) - before) / ASKS
    ours = medians[f"served, {MEMORY}"]
    peers = {"in process": medians[f"in process, {MEMORY}"], "no ledger": medians["no ledger"]}
    goal = at_most(ours, 0.6e-3, "0.6 ms")
    yield Row(GROUP, "ask over the socket, ledger in memory", ours, peers=peers, goals=(goal,))
    quick = tenths[f"served, {MEMORY}"]
    yield Row(GROUP, "the quickest tenth of these takes at most", quick)
    yield Row(GROUP, "processor time of an ask, three processes", spent)
    ours = medians[f"served, {DISK}"]
    peers = {"in process": medians[f"in process, {DISK}"]}
    yield Row(GROUP, "ask over the socket, ledger on disk", ours, peers=peers)


def asking(handle: Queryable) -> Callable[[int], Any]:
    search = handle.launch(SEARCH)
    return lambda place: search.ask(statistic(place))


def launches() -> Iterator[Row]:
    """Many clients, each with a filter of its own."""
    for kind in (MEMORY, DISK):
        with curating(kind) as served:
            context = multiprocessing.get_context("spawn")
            start, each = context.Barrier(CLIENTS + 1), CLIENTS // PROCESSES
            processes = [
                context.Process(target=launching, args=(served.url, place * each, each, start))
                for place in range(PROCESSES)
            ]
            for process in processes:
                process.start()
            start.wait()
            began, before = perf_counter(), served.seconds()
            for process in processes:
                process.join()
            rate = CLIENTS * LAUNCHES / (perf_counter() - began)
            spent = (served.seconds() - before) / (CLIENTS * LAUNCHES)
        goals = (Goal(">= 1,000 a second", rate >= 1000),) if kind == MEMORY else ()
        work = f"launches a second, {CLIENTS} clients, ledger {_where(kind)}"
        yield Row(GROUP, work, rate, "a second", goals=goals)
        yield Row(GROUP, "processor time of front and worker for one", spent)


def launching(url: str, first: int, clients: int, start: Any) -> None:
    """Some clients: each launches measurements, one after another."""
    threads = [
        threading.Thread(target=_launch, args=(url, number, start))
        for number in range(first, first + clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _launch(url: str, number: int, start: Any) -> None:
    handle = connect(url, token(number))["visits"]
    start.wait()
    for place in range(LAUNCHES):
        handle.launch(measurement(place))


def idle() -> Iterator[Row]:
    """Connections that have asked once, and stay open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with curating(MEMORY) as served, ExitStack() as stack:
        before = served.bytes()
        for _ in range(IDLE):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(served.url.removeprefix("unix:"))
            one.sendall(b"GET /v1 HTTP/1.1\r\nHost: curator\r\n\r\n")
            assert one.recv(4096).startswith(b"HTTP/1.1 200")
        after = served.bytes()
    goals = (at_most(after, 1e9, "1 GB"),)
    peers = {"before": before / 1e6}
    work = f"resident memory with {IDLE:,} idle connections"
    yield Row(GROUP, work, after / 1e6, "MB", peers=peers, goals=goals)


def _where(kind: str) -> str:
    return "in memory" if kind == MEMORY else "on disk"


def rows() -> Iterator[Row]:
    yield from asks()
    yield from launches()
    yield from idle()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(*sys.argv[1:]))
