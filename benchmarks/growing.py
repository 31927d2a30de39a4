"""Data that grow: the time and memory of batches of one record, and of blocks of a table."""

import tracemalloc
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks.measure import Row, at_most, seconds
from composition import FiltCon
from mechanisms import Count, SparseVector, Table, column
from queryable import PureDP, Queryable

SOME, MANY, RUNS, YEAR = 100_000, 1_000_000, 5, 365
LIMIT = 20e-6


def opened(data: Any, depth: int = 0, searches: int = 0) -> Queryable:
    """A filter over data, with filters in it and with sparse vectors beside them."""
    root = handle = Queryable(FiltCon(PureDP(1000)), data)
    for _ in range(depth):
        handle = handle.launch(FiltCon(PureDP(999)))
    for _ in range(searches):
        root.launch(SparseVector(10, epsilon="1/10"))
    return root


def a_batch(root: Queryable, batch: Any, count: int) -> float:
    """The seconds that feeding one of these batches takes."""
    feed, began = root.feed, process_time()
    for _ in range(count):
        feed(batch)
    return (process_time() - began) / count


def batches() -> Iterator[Row]:
    """Forms of data, and children that get the batches too."""
    columns = {"age": np.array([31]), "town": ["Graz"]}
    parties: tuple[tuple[str, Any, dict[str, int], bool], ...] = (
        ("a list", [1], {}, True),
        ("an array", np.array([1]), {}, True),
        ("two columns", columns, {}, True),
        ("a list, 3 filters in each other", [1], {"depth": 3}, False),
        ("a list, 10 sparse vectors", [1], {"searches": 10}, False),
    )
    for form, data, inside, goal in parties:
        taken = median(a_batch(opened(data, **inside), data, SOME) for _ in range(RUNS))
        goals = (at_most(taken, LIMIT, "20 us"),) if goal else ()
        yield Row("growing", f"feed one record to {form}", taken, goals=goals)


def much() -> Iterator[Row]:
    """A million batches: time, and the memory that stays."""
    taken = a_batch(opened([1]), [1], MANY)
    goals = (at_most(taken, LIMIT, "20 us"),)
    yield Row("growing", f"feed one record, {MANY:,} times", taken, goals=goals)
    tracemalloc.start()
    root = opened([1], depth=3)
    a_batch(root, [1], MANY // 10)
    used = tracemalloc.get_traced_memory()[0] / (MANY // 10)
    tracemalloc.stop()
    memory = (at_most(used, 16, "16 bytes"),)
    yield Row("growing", "memory of a record, filters 3 deep", used, "bytes", goals=memory)
    del root


def folders() -> Iterator[Row]:
    """Counts over a year of folders, beside the same files without blocks."""
    import pyarrow as pa
    from pyarrow import parquet

    with TemporaryDirectory() as name:
        ages = np.random.default_rng(1).integers(0, 100, (YEAR, 10_000))
        for day in range(YEAR):
            folder = Path(name, f"day={day}")
            folder.mkdir()
            parquet.write_table(pa.table({"age": ages[day]}), folder / "x.parquet")
        whole, year = Table(f"{name}/*/x.parquet"), Table(name, blocks="day")
        days, other = year.blocks, count()

        def ask(table: Table) -> None:
            Count(column("age") != next(other)).totals(table)  # another one each time

        taken = seconds(
            {
                "name": (lambda: year.over(days), 100),
                "over": (lambda: ask(year.over(days)), 3),
                "week": (lambda: ask(year.over(days[:7])), 20),
                "whole": (lambda: ask(whole), 3),
            }
        )
        whole.close()
        year.close()
    goals = (at_most(taken["name"], 1e-3, "1 ms"),)
    yield Row(
        "growing", f"name {YEAR} folders of a table, without the scan", taken["name"], goals=goals
    )
    yield Row("growing", f"count over {YEAR} folders of 10,000 rows", taken["over"])
    yield Row("growing", "count over 7 of them", taken["week"])
    yield Row("growing", "count in these files without blocks", taken["whole"])


def appended() -> Iterator[Row]:
    """Batches of one row for a table in memory."""
    batch = {"age": np.array([31])}
    table, began = Table(batch), process_time()
    for _ in range(SOME // 10):
        table = table.append(batch)
    yield Row("growing", "append one row to a table", (process_time() - began) / (SOME // 10))


def rows() -> Iterator[Row]:
    yield from batches()
    yield from much()
    yield from folders()
    yield from appended()
