"""Small analyses that are held on neighbours of their data."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from composition import Blocks, FiltCon, Individual, Parallel, Partition, budget
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    Histogram,
    Laplace,
    PrivateKeys,
    SparseVector,
    Sum,
    Table,
    Total,
    TreeCounter,
    column,
)
from queryable import ZCDP, PureDP, Queryable
from queryable.audit import keep_batches
from queryable.randomness.coins import SeededCoins
from queryable.streams.levels import UserLevel

COLUMNS = {
    "age": np.array([31, 47, 62, 18, 75, 47, 50, 29]),
    "cost": np.array([0.0, 12.5, 99.0, 250.0, 40.0, 40.0, 7.25, 3.0]),
    "who": np.array([1, 1, 1, 2, 2, 3, 4, 5]),
    "clinic": np.array(["a", "b", "a", "c", "a", "b", "a", "a"]),
}

Analysis = Callable[[], Queryable]


def opened(mechanism: Any, data: Any = None) -> Queryable:
    given = dict(COLUMNS) if data is None else data
    return Queryable(mechanism, given, coins=SeededCoins(5), allow_seeded=True)


def counts() -> Queryable:
    """Counts, sums, a choice and a sparse vector, of columns in memory."""
    root = opened(FiltCon(PureDP(40)))
    old = Count(column("age") >= 47)
    root.launch(Laplace(Count(), epsilon=1))
    root.launch(Laplace(old, epsilon=1))
    root.launch(Laplace(Sum("cost", 0, 100), epsilon=1))
    root.launch(Laplace(Histogram("clinic", ["a", "b"]), epsilon=1))
    root.launch(ExponentialMechanism(Histogram("age", [18, 31, 47, 62]), 1))
    root.launch(ExponentialMechanism(Histogram("age", [18, 31, 47, 62]), 1, monotone=True))
    child = root.launch(FiltCon(PureDP(3)))
    child.launch(Laplace(old, epsilon=2))
    search = child.launch(SparseVector(3, epsilon=1, cutoff=2))
    for age in (30, 50, 70):
        search.ask(Count(column("age") < age))
    return root


def squares() -> Queryable:
    """Gaussian noise, of columns in memory."""
    root = opened(FiltCon(ZCDP(9)))
    root.launch(Gaussian(Count(column("age") >= 47), rho=1))
    root.launch(Gaussian(Histogram("clinic", ["a", "b"]), rho=1))
    child = root.launch(FiltCon(ZCDP(2)))
    child.launch(Gaussian(Sum("cost", 0, 100), rho=2))
    return root


def units() -> Queryable:
    """A table whose units have several rows."""
    table = Table(dict(COLUMNS), privacy_unit="who", max_rows=2, seed=3)
    root = opened(FiltCon(ZCDP(20)), table)
    for statistic in (
        table.count(column("age") >= 20),
        table.sum("cost", 0, 100),
        table.histogram("clinic", ["a", "b", "c"]),
        table.mean("age", 0, 90),
        table.variance("age", 0, 90),
        table.covariance("age", "cost", {"age": (0, 90), "cost": (0, 100)}),
        table.count_units(),
        table.group_by({"clinic": ["a", "b"]}).sum("cost", 0, 100),
    ):
        root.launch(Gaussian(statistic, rho=1))
    root.release(table.quantile("cost", 0.5, [0, 10, 50, 100]), loss=ZCDP(1))
    return root


def parts() -> Queryable:
    """Mechanisms on disjoint parts."""
    clinics = Partition("clinic", ["a", "b"])
    noisy = Laplace(Count(column("age") >= 20), epsilon=1)
    root = opened(FiltCon(PureDP(2)))
    root.launch(Parallel(clinics, {"a": noisy, "b": noisy}))
    return root


def individually() -> Queryable:
    """Records that pay for what they add."""
    root = opened(Individual(1))
    for _ in range(3):
        root.launch(Gaussian(Sum("cost", 0, 100), variance=10_000))
    root.launch(Gaussian(Count(column("age") >= 47), variance=1))
    return root


def blocks() -> Queryable:
    """Batches of days, of which a unit counts in one."""
    days = [date(2024, 1, day) for day in (1, 2, 3)]
    root = opened(Blocks(FiltCon(ZCDP(2)), unit="who", unit_blocks=1), {"who": [], "age": []})
    keep_batches(root)
    for place, day in enumerate(days):
        root.feed({"who": [1, 2 + place, 2], "age": [40 + place, 50, 60]}, block=day)
        root.feed.close(day)
        root.launch_over(Gaussian(Count(column("age") >= 45), rho="1/2"), [day])
    return root


def counter() -> Queryable:
    """A count of batches in which a unit's first record counts."""
    level = UserLevel("who", 1)
    counted = TreeCounter(Count(column("age") >= 45), rho=1, horizon=4, neighbours=level)
    root = opened(counted, {"who": [], "age": []})
    keep_batches(root)
    for batch in ([1, 2], [2, 3], [4, 1]):
        root.feed({"who": batch, "age": [50] * len(batch)})
        root.ask(Total())
    return root


def found() -> Queryable:
    """Keys that are found in a table."""
    table = Table(dict(COLUMNS), privacy_unit="who", max_rows=3, seed=3)
    root = opened(budget(epsilon=9, delta="1/1000"), table)
    root.launch(PrivateKeys(table.discovered_keys("clinic", max_keys=2), rho=1, delta="1/10000"))
    return root


_FOLDER = TemporaryDirectory()


def in_a_file() -> Queryable:
    """A file of texts with quotation marks."""
    path = Path(_FOLDER.name) / "notes.csv"
    path.write_text('note,age\n"a, b",31\n"two\nlines",47\nplain,62\n', encoding="utf-8")
    root = opened(FiltCon(ZCDP(9)), Table(str(path), seed=3))
    root.launch(Gaussian(Count(), rho=1))
    root.launch(Gaussian(Count(column("age") >= 40), rho=1))
    return root


ANALYSES: dict[str, Analysis] = {
    each.__name__: each
    for each in (counts, squares, units, parts, individually, blocks, counter, found, in_a_file)
}
