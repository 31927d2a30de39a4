"""Compositors: asks, launches and reports through filters, beside OpenDP's."""

import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import cycle
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import numpy as np
import opendp.prelude as dp

from benchmarks.measure import Goal, Row, at_most, faster, seconds
from composition import FiltCon
from mechanisms import (
    LinearQuery,
    PrivateMultiplicativeWeights,
    RandomizedResponse,
    SparseVector,
)
from queryable import (
    SYSTEM,
    Coins,
    InteractiveMechanism,
    Loss,
    PureDP,
    Queryable,
    Statistic,
)

MANY = 10_000
SPACE = dp.atom_domain(T=bool), dp.discrete_distance()


@attrs.frozen
class Counter(InteractiveMechanism[int]):
    """A child that does almost nothing, so that the time measured is that of the compositors."""

    def loss(self, d_in: int) -> Loss:
        return PureDP("1e-6") if d_in == 1 else PureDP("1e-6").group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, None]:
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, int]:
        return state + 1, state


def opendp_counter() -> Any:
    def start(_data: bool) -> Any:
        state = 0

        def step(_query: int) -> int:
            nonlocal state
            state += 1
            return state

        return dp.new_queryable(step, Q=int, A=int)

    return dp.m.make_user_measurement(*SPACE, dp.max_divergence(), start, lambda d_in: 1e-6 * d_in)


def opendp_filter() -> Any:
    odometer = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
    return dp.c.make_privacy_filter(odometer, d_in=1, d_out=1e6)(True)


def asks() -> Iterator[Row]:
    q, peer = Queryable(FiltCon(PureDP(1)), True), opendp_filter()
    ours = cycle([q.launch(Counter()) for _ in range(2)])
    theirs = cycle([peer(opendp_counter()) for _ in range(2)])
    measured = seconds(
        {
            "ours": (lambda: next(ours).ask(1), 1000),
            "OpenDP": (lambda: next(theirs)(1), 200),
        }
    )
    yield versus("ask an interleaved child through a filter", measured, 10, 5)


def versus(work: str, measured: dict[str, float], micros: float, times: float) -> Row:
    ours, theirs = measured["ours"], measured["OpenDP"]
    goals = (at_most(ours, micros * 1e-6, f"{micros} us"), faster(ours, theirs, "OpenDP", times))
    return Row("compositors", work, ours, peers={"OpenDP": theirs}, goals=goals)


def launches() -> Iterator[Row]:
    response, theirs = RandomizedResponse(bool, odds=3), dp.m.make_randomized_response_bool(0.75)
    q, few, peer = (
        Queryable(FiltCon(PureDP(10**6)), True),
        Queryable(FiltCon(PureDP(10**6)), True),
        opendp_filter(),
    )
    for _ in range(MANY):
        q.launch(response)
        peer(theirs)
    for _ in range(100):
        few.launch(response)
    # OpenDP is timed apart: its ten milliseconds a call would evict our data from the caches
    theirs_taken = seconds({"OpenDP": (lambda: peer(theirs), 1)})
    measured = seconds(
        {
            "ours": (lambda: q.launch(response), 100),
            "few": (lambda: few.launch(response), 20),
        }
    )
    row = versus(f"launch through a filter that holds {MANY:,}", measured | theirs_taken, 25, 100)
    ratio = measured["ours"] / measured["few"]
    same = Goal(f"as among 100 ({ratio:.2f}x)", ratio <= 1.25)
    yield attrs.evolve(row, goals=(*row.goals, same))
    theirs_taken = seconds({"OpenDP": (lambda: peer.privacy_loss(1), 1)})
    measured = seconds({"ours": (q.privacy_loss, 500)})
    yield versus(f"privacy_loss after {MANY:,} launches", measured | theirs_taken, 5, 500)


def memory() -> Iterator[Row]:
    data = np.zeros(1_000_000)
    gc.collect()
    tracemalloc.start()
    q = Queryable(FiltCon(PureDP(1)), data)
    for _ in range(MANY):
        q.launch(Counter())
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    each = used / MANY
    goals = (Goal("<= 2048 bytes, data not copied", each <= 2048 and used < data.nbytes * 3),)
    work = f"memory of each of {MANY:,} live children over 10^6 rows"
    yield Row("compositors", work, each, "bytes", goals=goals)


def at_depth(depth: int) -> Any:
    handle = Queryable(FiltCon(PureDP(1)), True)
    for _ in range(depth - 1):
        handle = handle.launch(FiltCon(PureDP(1)))
    return handle.launch(Counter())


def depth() -> Iterator[Row]:
    handles = {str(each): at_depth(each) for each in (1, 4, 7, 10)}
    measured = seconds({name: (lambda h=h: h.ask(1), 300) for name, h in handles.items()})
    first, last = measured["4"] - measured["1"], measured["10"] - measured["7"]
    linear = Goal(f"linear (three levels: {last / first:.2f}x deeper)", last <= 1.5 * first)
    ours = measured["10"]
    goals = (at_most(ours, 30e-6, "30 us"), linear)
    yield Row("compositors", "ask at depth 10", ours, goals=goals)


IMPORTS = """
import time
began = time.process_time()
import numpy
numpy_took = time.process_time() - began
began = time.process_time()
import queryable, mechanisms, composition
print(numpy_took, time.process_time() - began)
"""


def imports() -> Iterator[Row]:
    """Import times in fresh interpreters that find compiled bytecode, as installed packages do."""
    runs = []
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(12):
            run = subprocess.run(
                [sys.executable, "-c", IMPORTS],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            runs.append([float(each) for each in run.stdout.split()])
    numpys, oneself = (median(column) for column in zip(*runs[1:], strict=True))
    goals = (at_most(oneself, 60e-3, "60 ms"),)
    work = "import the three packages, after numpy"
    yield Row("compositors", work, oneself, peers={"numpy": numpys}, goals=goals)


def mechanisms() -> Iterator[Row]:
    q = Queryable(FiltCon(PureDP(10)), True)
    sparse, below = q.launch(SparseVector(10**9, 1)), Statistic(lambda _data: 0, l1=1, l2=1)
    each = seconds({"": (lambda: sparse.ask(below), 1000)}, 10)[""]
    work = "sparse vector: one of 10,000 asks below the threshold"
    yield Row("compositors", work, each, goals=(at_most(each, 20e-6, "20 us"),))

    universe = 100_000
    generator = np.random.default_rng(1)
    records = generator.integers(0, universe, universe)
    person = PrivateMultiplicativeWeights(
        universe, records=universe, epsilon=1, threshold=universe, updates=10
    )
    weights = Queryable(person @ FiltCon(PureDP(1)), records)
    query = LinearQuery(generator.integers(0, 2, universe).astype(bool))
    each = seconds({"": (lambda: weights.ask(query), 20)})[""]
    work = "private multiplicative weights, universe 10^5: a query"
    yield Row("compositors", work, each, goals=(at_most(each, 1e-3, "1 ms"),))


def rows() -> Iterator[Row]:
    yield from asks()
    yield from launches()
    yield from memory()
    yield from depth()
    yield from imports()
    yield from mechanisms()
