"""What one message costs a served curator: processor time, memory, and bytes of the ledger.

Responsible for the worlds in which messages are sent, and for measuring. A world is a root with
children that an analyst has launched, asked and may ask further. Each message is sent in a process
of its own, which is forked from the one that has the world: so it meets the same world, its memory
is its own, and one that takes too long is ended.
"""

import json
import os
import pickle
import resource
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import attrs

import composition as c
import curator
import mechanisms as m
import queryable as q
from curator.codec import encode
from curator.service import LocalService
from curator.wire import MessageReply
from mechanisms import column
from mechanisms.first_good import FirstGood
from tests.curator.fuzzing import message
from tests.datasets import opened
from tests.guard.rows import TYPES, plain
from tests.guard.worlds import in_memory
from tests.stored import KEY, MemoryLedger


def records() -> dict[str, Any]:
    """Forty records, in memory; new ones, as each root has data of its own."""
    return in_memory("arrays", [*map(plain, range(40))]) | {
        "age": [*range(40)],
        "b": [0, 1] * 20,
        "city": ["a", "b"] * 20,
        "a": [1.5] * 40,
        "patient": [*range(40)],
    }


PLENTY = 10**300
_KEYS = Random(1)
_OPEN = ExitStack()
SECONDS = 20
"""Of processor time, after which nobody waits any longer."""
AGE, CITY = column("age"), column("city")
_COLUMNS = [{"age": range(40)}, {"b": [0, 1]}, {"city": ["a", "b"]}]


def _alone(mechanism: Any) -> tuple[Any, Any]:
    return mechanism, q.Launch(mechanism)


ROOTS: dict[str, tuple[Any, Any]] = {
    "zCDP": _alone(c.FiltCon(q.ZCDP(PLENTY))),
    "pure": _alone(c.FiltCon(q.PureDP(PLENTY))),
    "approximate": _alone(c.FiltCon(q.ApproxDP(10**6, "1/10"))),
    "odometer": (c.OdomCon(q.ZCDP), q.Launch(c.OdomCon(q.ZCDP), d_out=q.ZCDP(10**12))),
    "ex post": _alone(c.ExPost(q.PureDP(10**12))),
    "individual": (c.FiltCon(q.ZCDP(PLENTY)), q.Launch(c.Individual(10**12))),
    "rdp": _alone(c.FiltCon(q.RDP(8, 10**12))),
    "gdp": _alone(c.FiltCon(q.GDP(10**6))),
    "units": _alone(c.FiltCon(q.ZCDP(PLENTY))),
    "units, approximate": _alone(c.FiltCon(q.ApproxDP(10**6, "1/10"))),
}
"""A root and what an analyst is granted in it, by name."""
UNITS = ("units", "units, approximate")
"""Roots over a table whose rows belong to units."""


def _frugal() -> Any:
    return m.Frugal() @ c.FiltCon(q.ZCDP(10**12))


def _synthetic(**more: Any) -> Any:
    return m.Synthetic(_COLUMNS, **more) @ c.FiltCon(q.ZCDP(10**12))


_FIT = m.Fit("1/10", rounds=1)
_LAUNCH = q.Launch(m.Gaussian(m.Count(AGE >= 30), variance=10**6))
_WIDE = [{f"c{each}": range(12)} for each in range(20)]
HOSTS: dict[str, tuple[str, Any, tuple[Any, ...]]] = {
    "frugal": ("zCDP", _frugal(), (m.Estimate(m.Count(AGE >= 30), 50),)),
    "busy frugal": (
        "zCDP",
        _frugal(),
        (
            *(m.Estimate(m.Count(3 * each <= AGE), 50 - each) for each in range(12)),
            m.Estimate(m.GroupBy([{"city": ["a", "b"]}, {"b": [0, 1]}], m.Count()), 20),
            m.Estimate(m.Histogram("age", range(0, 40, 3)), 20),
        ),
    ),
    "synthetic": ("zCDP", _synthetic(), (_FIT, _FIT)),
    "new synthetic": ("zCDP", _synthetic(), ()),
    "wide synthetic": (
        "zCDP",
        m.Synthetic(
            [{"age": range(140)}, {"b": range(140)}, {"city": range(140)}], max_cells=1 << 18
        )
        @ c.FiltCon(q.ZCDP(10**12)),
        (),
    ),
    "brownian": (
        "zCDP",
        m.BrownianNoiseReduction() @ c.FiltCon(q.ZCDP(10**12)),
        (m.Open(m.Histogram("age", range(40)), (900, 100, 9)), q.Ask("estimate 0", m.Refine())),
    ),
    "wide brownian": (
        "zCDP",
        m.BrownianNoiseReduction() @ c.FiltCon(q.ZCDP(10**12)),
        (m.Open(m.GroupBy([{"age": range(300)}, {"b": range(300)}], m.Count()), (10**50, 100, 9)),),
    ),
    "doubling": (
        "zCDP",
        m.Doubling(100) @ c.FiltCon(q.ZCDP(10**12)),
        (m.Open(m.Count(AGE >= 3)), q.Ask("estimate 0", m.Refine())),
    ),
    "laplace reduction": (
        "pure",
        m.LaplaceNoiseReduction(m.Histogram("age", range(40)), scales=range(900, 1, -1)),
        (m.Refine(),),
    ),
    "long laplace reduction": (
        "pure",
        m.LaplaceNoiseReduction(
            m.GroupBy([{"age": range(50)}, {"b": range(50)}], m.Count()), scales=range(9, 1, -1)
        ),
        (),
    ),
    "sparse vector": ("pure", m.SparseVector(300, epsilon="1/10", cutoff=300), ()),
    "search": ("ex post", FirstGood(100, m.TruncatedNegativeBinomial(0, "1/10"), 300), ()),
    "weights": (
        "pure",
        m.PrivateMultiplicativeWeights(
            m.Histogram("age", range(40)), records=40, epsilon=1, threshold=3, updates=200
        )
        @ c.FiltCon(q.PureDP(10**12)),
        (m.LinearQuery([1, 0.5] * 20),),
    ),
    "wide weights": (
        "pure",
        m.PrivateMultiplicativeWeights(
            m.GroupBy([{"age": range(900)}, {"b": range(900)}], m.Count()),
            records=40,
            epsilon=1,
            threshold=3,
            updates=200,
        )
        @ c.FiltCon(q.PureDP(10**12)),
        (),
    ),
    "renyi": (
        "approximate",
        c.FiltCon(q.ApproxDP(1, "1e-3"), rule=c.ViaRenyi(range(2, 40))),
        (_LAUNCH,),
    ),
    "filter": ("zCDP", c.FiltCon(q.ZCDP(10**12)), (_LAUNCH, _LAUNCH)),
    "odometer": ("zCDP", q.Launch(c.OdomCon(q.ZCDP), d_out=q.ZCDP(10**9)), (_LAUNCH,)),
    "menu": (
        "approximate",
        c.FiltCon(q.ApproxDP(1, "1e-3"), rule=c.Menu("1/100", [1, 2, 3], slack="1e-4")),
        (),
    ),
    "parallel": (
        "zCDP",
        c.Parallel(c.Partition("city", ["a", "b"]), {"a": c.FiltCon(q.ZCDP(10**9))}),
        (),
    ),
    "together": ("zCDP", c.ConComp([c.FiltCon(q.ZCDP(10**9)), c.FiltCon(q.ZCDP(1))]), ()),
    "universal": ("zCDP", c.Universal(q.ZCDP(10**9)), ()),
    "tree": ("zCDP", m.TreeCounter(m.Histogram("age", range(40)), rho=1), ()),
    "users": ("zCDP", m.TreeCounter(m.Count(), rho="1/10", neighbours=q.UserLevel("who", 2)), ()),
    "matrix": ("zCDP", m.ToeplitzCounter(m.Count(), rho=1, horizon=1000), ()),
    "blocks": ("zCDP", c.Blocks(c.FiltCon(q.ZCDP(10**9))), ()),
    "blocks of a menu": (
        "approximate",
        c.Blocks(c.FiltCon(q.ApproxDP(1, "1e-3"), rule=c.Menu("1/100", [1, 2, 3], slack="1e-4"))),
        (),
    ),
    "a year": ("zCDP", c.AtMostADay(q.ZCDP(10**8)) @ c.Blocks(c.FiltCon(q.ZCDP(10**9))), ()),
    "a day": ("zCDP", c.AtMostADay(q.ZCDP(10**8)) @ c.Blocks(c.FiltCon(q.ZCDP(10**9))), ()),
}
"""A root, what is launched in it, and what that is asked, by name."""
FED = {
    "tree": 9,
    "users": 9,
    "matrix": 9,
    "blocks": 30,
    "blocks of a menu": 30,
    "a day": 30,
    "a year": 365,
}
"""How many batches the owner feeds after the launch."""


@attrs.frozen
class Sent:
    """A message, and where it is sent: a name of `ROOTS` or `HOSTS`."""

    name: str
    text: str
    place: str


@attrs.frozen
class World:
    """A root that is served, with its ledger; `path` is where the child is that is asked."""

    root: Any
    served: LocalService
    ledger: MemoryLedger
    path: tuple[Any, ...]
    faults: list[BaseException]

    def tell(self, query: Any, path: tuple[Any, ...] | None = None) -> tuple[str, str, int]:
        """The kind of the outcome, its text, and the length of the body."""
        place = self.path[1:] if path is None else path
        text = query if isinstance(query, str) else str(encode(query), "ascii")
        where = json.dumps([*place])
        body = message(text, _KEYS, where).encode()
        reply = self.served.tell((0,), body)
        if reply.status != 200:
            return f"status {reply.status}", str(reply.body[:300]), len(body)
        outcome = MessageReply.read(reply.body).outcome
        return str(outcome.kind), str(outcome.text), len(body)

    def size(self) -> int:
        """Bytes of the ledger."""
        return sum(len(each.body) for each in self.ledger.events["a"])


@cache
def world(name: str) -> World:
    """The world of a root or a host of this name."""
    root, host, asked = HOSTS.get(name, (name, None, ()))
    ledger, faults = MemoryLedger(), list[BaseException]()
    mechanism, granted = ROOTS[root]
    handle = curator.open(ledger, mechanism, _data(root), name="a", key=KEY)
    handle.launch(granted.mechanism, d_out=granted.d_out)
    served = LocalService(handle, on_fault=faults.append)
    if host is None:
        return World(handle._root, served, ledger, (0,), faults)
    found = World(handle._root, served, ledger, (0, 0), faults)
    kind, text, _ = found.tell(host if isinstance(host, q.Launch) else q.Launch(host), ())
    assert kind == "answer", (name, text)
    for query in asked:
        kind, text, _ = found.tell(query)
        assert kind == "answer", (name, query, text)
    for number in range(FED.get(name, 0)):
        handle.feed(records(), block=number)
        handle.feed.close(number)
    return found


def _data(root: str) -> Any:
    if root not in UNITS:
        return records()
    rows = [plain(number, number // 3) for number in range(40)]
    unit = {"privacy_unit": "who", "max_rows": 3, "seed": 5, "threads": 1}
    return _OPEN.enter_context(opened("table on arrow", TYPES, rows, **unit))


@attrs.frozen
class Cost:
    """What a message has cost.

    Attributes:
        kind: of its outcome.
        bytes: of the message.
        growth: bytes that the ledger has more, as a multiple of the message's.
        text: the start of the query.
        told: the start of the outcome.
    """

    name: str
    place: str
    kind: str
    bytes: int
    seconds: float
    megabytes: float
    growth: float
    text: str
    told: str

    @property
    def line(self) -> str:
        cost = f"{self.seconds:6.2f} s {self.megabytes:4.0f} MB {self.growth:6.1f} x"
        about = f"{self.place:18} {self.name:30} {self.kind:12} {self.bytes:6} bytes"
        return f"{about} {cost}  {self.text[:150]} | {self.told[:120]}"


def costs_of(messages: Sequence[Sent], together: int = 60) -> Iterator[Cost]:
    """What messages cost. Each process sends some of them, so what was answered stays answered."""
    places: dict[str, list[Sent]] = {}
    for each in messages:
        places.setdefault(each.place, []).append(each)
    for place, sent in places.items():
        if place not in UNITS:  # DuckDB's threads are not in a process that is forked
            world(place)
        left = sent
        while left:
            found = list(_apart(place, left[:together]))
            yield from found
            left = left[len(found) :]


def _apart(place: str, messages: Sequence[Sent]) -> Iterator[Cost]:
    """The costs of messages in a process of their own, up to one that ends it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            with os.fdopen(write, "wb") as stream:
                _measure(world(place), messages, stream)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    count = 0
    with os.fdopen(read, "rb") as stream, suppress(EOFError):
        while True:
            yield pickle.load(stream)
            count += 1
    _, status = os.waitpid(child, 0)
    if count < len(messages):
        lost = messages[count]
        ended = f"ended by signal {os.WTERMSIG(status)}"
        size = len(lost.text)
        yield Cost(lost.name, lost.place, "too long", size, SECONDS, 0, 0, lost.text, ended)


def _measure(there: World, messages: Sequence[Sent], stream: Any) -> None:
    there.root._process = os.getpid()  # which a queryable asks for
    before = 1024 * _kilobytes("VmSize")  # all that earlier tests in this process have loaded
    most = before + (4 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    for each in messages:
        used = round(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, resource.RLIM_INFINITY))
        pickle.dump(_measured(there, each), stream)
        stream.flush()


def _measured(there: World, sent: Sent) -> Cost:
    before, rest = there.size(), _memory()
    start = time.process_time()
    kind, told, size = there.tell(sent.text)
    seconds = time.process_time() - start
    megabytes = (_memory(peak=True) - rest) / 1024
    if there.faults:
        kind, told = f"{kind}, fault", repr(there.faults.pop())
    growth = (there.size() - before) / size
    return Cost(sent.name, sent.place, kind, size, seconds, megabytes, growth, sent.text, told)


def _memory(*, peak: bool = False) -> int:
    """Kilobytes that the process has, or had at most since this was called without `peak`."""
    if not peak:
        Path("/proc/self/clear_refs").write_text("5")
    return _kilobytes("VmHWM" if peak else "VmRSS")


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])
