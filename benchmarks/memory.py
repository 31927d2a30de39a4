"""Memory of children, measurements and asks, and the time of the first and the last launches.

Bytes are those that `tracemalloc` sees, of many calls after some first ones. A mechanism that is
made anew for each launch stays with its log entry, so its own fields are counted.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

import attrs

from benchmarks.measure import Goal, Row, at_most
from composition import FiltCon
from mechanisms import Count, Gaussian, RandomizedResponse
from queryable import SYSTEM, ZCDP, Coins, InteractiveMechanism, Loss, PureDP, Queryable

GROUP = "memory"
MANY, FIRST, LAST = 10_000, 100, 1_000_000
BATCH, BATCHES = 1000, 100
PURE, CONCENTRATED = FiltCon(PureDP(10**7)), FiltCon(ZCDP(10**7))
DATA = {"age": list(range(50))}


@attrs.frozen
class Counter(InteractiveMechanism[int]):
    """A child with a small state."""

    def loss(self, d_in: int) -> Loss:
        return PureDP("1e-6") if d_in == 1 else PureDP("1e-6").group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, None]:
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, int]:
        return state + 1, state


Act = Callable[[Queryable], object]


def bytes_of(act: Act, root: FiltCon = PURE) -> float:
    """The memory of one more call, of what the tree and the results keep."""

    def used(count: int) -> int:
        gc.collect()
        tracemalloc.start()
        tree = Queryable(root, DATA)
        kept = [act(tree) for _ in range(count)]
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del kept
        return taken

    used(FIRST)
    return (used(FIRST + MANY) - used(FIRST)) / MANY


def launching(make: Callable[[], Any]) -> Act:
    """A launch, of which the tree keeps what it has to; nobody keeps a handle."""
    return lambda tree: tree.launch(make()) and None


def children() -> Iterator[Row]:
    one = Counter()
    rows = {
        "a child and its handle, one mechanism for all": lambda tree: tree.launch(one),
        "a child, one mechanism for all": launching(lambda: one),
        "a child, its mechanism made anew": launching(Counter),
    }
    for work, act in rows.items():
        each = bytes_of(act)
        yield Row(GROUP, work, each, "bytes", goals=(at_most(each, 900, "900 bytes"),))


def measurements() -> Iterator[Row]:
    response = RandomizedResponse(bool, odds=3)
    rows: dict[str, tuple[Act, FiltCon]] = {
        "a randomized response, one mechanism for all": (launching(lambda: response), PURE),
        "a randomized response, made anew": (
            launching(lambda: RandomizedResponse(bool, odds=3)),
            PURE,
        ),
        "a Gaussian count, made anew": (
            launching(lambda: Gaussian(Count(), rho="1/1000")),
            CONCENTRATED,
        ),
    }
    for work, (act, root) in rows.items():
        each = bytes_of(act, root)
        yield Row(GROUP, work, each, "bytes", goals=(at_most(each, 800, "800 bytes"),))


def asks() -> Iterator[Row]:
    child = Counter()

    def ask(tree: Queryable) -> None:
        (tree.children[0] if tree.children else tree.launch(child)).ask("next")

    yield Row(GROUP, "an ask", bytes_of(ask), "bytes")


def million() -> Iterator[Row]:
    """A million launches; a new tree makes its first ones in the same minute as the last ones."""
    response = RandomizedResponse(bool, odds=3)

    def batch(tree: Queryable) -> float:
        began = process_time()
        for _ in range(BATCH):
            tree.launch(response)
        return process_time() - began

    old, new = Queryable(PURE, True), Queryable(PURE, True)
    for _ in range(LAST // BATCH - BATCHES):
        batch(old)
    pairs = [(batch(new), batch(old)) for _ in range(BATCHES)]
    first, last = (median(times) / BATCH for times in zip(*pairs, strict=True))
    goals = (Goal(f"<= 1.2x of the first ({last / first:.2f}x)", last <= 1.2 * first),)
    work = f"one of the last {BATCH * BATCHES:,} of {LAST:,} launches"
    yield Row(GROUP, work, last, peers={"of the first": first}, goals=goals)


def rows() -> Iterator[Row]:
    yield from children()
    yield from measurements()
    yield from asks()
    yield from million()
