"""Many bounded counts about one table, beside plain SQL, SQL by hand and an earlier version.

A *bounded count* counts the rows of a condition, at most four of each person. The plain SQL is
`SELECT count(*)` of the same condition on the same source, without bounds. Everything is asked
through a `Queryable`, with a charge and noise.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np

from benchmarks.asked import opened, taken
from benchmarks.measure import Goal, Row
from benchmarks.visits import csv_file, parquet_file
from mechanisms import Count, Laplace, column

HERE = Path(__file__).resolve()
BEFORE = "af34aaa"  # the last commit that chose the rows of a unit anew at each question


def in_state(i: int) -> Any:
    return (column("state").cast("text") > f"s{i:02}") & (column("hours") <= i)


CONDITIONS: tuple[tuple[str, Callable[[int], Any]], ...] = (
    ("hours > {}", lambda i: column("hours") > i),
    ("amount > {}", lambda i: column("amount") > i),
    ("item <= {}", lambda i: column("item") <= i),
    ("state > 's{0:02}' AND hours <= {0}", in_state),
)
ALL = "person_id, state, hours, amount, day, item"

CHOICES = {
    "one window": f"""
        SELECT state, hours, amount, day, item FROM (SELECT *, hash({ALL}, 7) AS h FROM source)
        QUALIFY row_number() OVER (PARTITION BY person_id ORDER BY h) <= 4""",
    "one window, ties kept": f"""
        SELECT state, hours, amount, day, item FROM (SELECT *, hash({ALL}, 7) AS h FROM source)
        QUALIFY rank() OVER (PARTITION BY person_id ORDER BY h) <= 4""",
    "a threshold for each person": f"""
        WITH hashed AS (SELECT *, hash({ALL}, 7) AS h FROM source),
        most AS (SELECT person_id, list_max(min(h, 4)) AS m FROM hashed GROUP BY person_id)
        SELECT state, hours, amount, day, item FROM hashed JOIN most USING (person_id)
        WHERE h <= m""",
    "numbers of rows first": f"""
        WITH kept AS (
            SELECT r FROM (
                SELECT person_id, hash({ALL}, 7) AS h, file_row_number AS r FROM numbered
            ) QUALIFY rank() OVER (PARTITION BY person_id ORDER BY h) <= 4
        )
        SELECT state, hours, amount, day, item FROM numbered SEMI JOIN kept ON file_row_number = r
    """,
}
"""Ways to write the rows that count into a table by hand; the fastest is the peer."""


def condition(i: int) -> tuple[str, Any]:
    """The i-th condition, as SQL and as ours: four sorts, a hundred numbers each."""
    sql, ours = CONDITIONS[i % len(CONDITIONS)]
    return sql.format(i // len(CONDITIONS) % 100), ours(i // len(CONDITIONS) % 100)


def counted(queryable: Any, table: Any, where: Any) -> object:
    return queryable(Laplace(Count(where, per=table.unit), epsilon=1))


def plain(kind: str, file: Path) -> duckdb.DuckDBPyConnection:
    """A connection on which `source` is the same rows: a CSV file is imported, as ours is."""
    connection = duckdb.connect()
    if kind == "frame":
        import pandas as pd

        connection.register("source", pd.read_parquet(file))
        return connection
    what = "VIEW" if kind == "parquet" else "TABLE"
    connection.execute(f"CREATE {what} source AS SELECT * FROM '{file}'")
    return connection


def later(kind: str, folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """A later bounded count beside the plain count of the same condition."""
    file = (csv_file if kind == "csv" else parquet_file)(folder, rows)
    queryable, table = opened(kind, str(file))
    connection = plain(kind, file)
    times: dict[str, list[float]] = {"new": [], "ours": [], "plain": []}
    opening = taken(lambda: counted(queryable, table, column("day").is_null()))
    for i in range(len(CONDITIONS) * (rounds + 1)):
        sql, where = condition(i)
        ours = taken(lambda where=where: counted(queryable, table, where))
        query = f"SELECT count(*) FROM source WHERE {sql}"
        theirs = taken(lambda query=query: connection.execute(query).fetchall())
        if i >= len(CONDITIONS):  # the others read a column for the first time
            times["ours"].append(ours)
            times["plain"].append(theirs)
        else:
            times["new"].append(ours)
    table.close()
    ours, theirs = median(times["ours"]), median(times["plain"])
    yield Row(
        "tables",
        f"later bounded count, {kind}, {rows:,} rows",
        ours,
        peers={"plain": theirs, "first": opening, "new column": median(times["new"])},
        goals=(Goal(f"<= 2x plain ({ours / theirs:.2f}x)", ours <= 2 * theirs),),
    )


def a_later_count(kind: str, file: Path) -> float:
    """The median seconds of a count after the first."""
    queryable, table = opened(kind, str(file))
    asked = (column("hours") > i for i in count())
    with table:
        counted(queryable, table, next(asked))
        return median(taken(lambda: counted(queryable, table, next(asked))) for _ in range(7))


def slope(kind: str, folder: Path, sizes: tuple[int, ...]) -> Iterator[Row]:
    """How the time of a later count grows with rows: the slope on logarithmic scales."""
    times = [a_later_count(kind, parquet_file(folder, rows)) for rows in sizes]
    (steepness, _) = np.polyfit(np.log(sizes), np.log(times), 1)
    yield Row(
        "tables",
        f"growth of a later count, {kind}, {sizes[0]:,} to {sizes[-1]:,} rows",
        float(steepness),
        "slope",
        peers={f"{rows:,}": round(seconds, 5) for rows, seconds in zip(sizes, times, strict=True)},
        goals=(Goal("<= 1", steepness <= 1),),
    )


def hundred(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """A hundred different counts: together and one by one, beside the best SQL by hand."""
    file = parquet_file(folder, rows)
    conditions = [condition(i) for i in range(100)]
    counts = ", ".join(f"count(*) FILTER ({sql})" for sql, _ in conditions)
    connection = plain("parquet", file)
    numbered = f"SELECT * FROM read_parquet('{file}', file_row_number = true)"
    connection.execute(f"CREATE VIEW numbered AS {numbered}")

    def by_hand(choice: str) -> None:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE kept AS {choice}")
        connection.execute(f"SELECT {counts} FROM kept").fetchall()

    def asked(together: bool) -> float:
        queryable, table = opened("parquet", str(file))
        launches = [Laplace(Count(where, per=table.unit), epsilon=1) for _, where in conditions]
        with table:
            if together:
                return taken(lambda: queryable.launch_many(launches))
            return taken(lambda: [queryable(each) for each in launches])

    hand = {
        name: median(taken(lambda sql=sql: by_hand(sql)) for _ in range(rounds))
        for name, sql in CHOICES.items()
    }
    best = min(hand.values())
    for name, together, goal in (("launch_many", True, 1.5), ("one by one", False, 3)):
        ours = median(asked(together) for _ in range(rounds))
        yield Row(
            "tables",
            f"100 bounded counts, {name}, {rows:,} rows",
            ours,
            peers={f"by hand, {way}": seconds for way, seconds in hand.items()},
            goals=(Goal(f"<= {goal}x by hand ({ours / best:.2f}x)", ours <= goal * best),),
        )


def fresh(tree: Path, *arguments: str) -> dict[str, Any]:
    """Run `asked.py` in a process of its own, with the code of `tree`."""
    run = subprocess.run(
        [sys.executable, "-P", str(HERE.with_name("asked.py")), *arguments],
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def version_before(folder: Path) -> Path:
    """The code of `BEFORE`, unpacked below `folder`."""
    tree = folder / BEFORE
    if not tree.exists():
        tree.mkdir()
        archive = subprocess.run(
            ["git", "-C", str(HERE.parents[1]), "archive", BEFORE], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    return tree


def first(kind: str, folder: Path, rows: int, per_person: int, rounds: int) -> Iterator[Row]:
    """The first bounded count of a table beside the version before; their processes alternate."""
    file = (csv_file if kind == "csv" else parquet_file)(folder, rows, per_person)
    trees = {"before": version_before(folder), "now": HERE.parents[1]}
    times: dict[str, list[float]] = {name: [] for name in trees}
    for _ in range(rounds):
        for name, tree in trees.items():
            times[name] += fresh(tree, "first", kind, str(file))["seconds"]
    now, before = median(times["now"]), median(times["before"])
    yield Row(
        "tables",
        f"first bounded count, {kind}, {rows:,} rows, {per_person} a person",
        now,
        peers={"before": before},
        goals=(Goal(f"<= 1.1x before ({now / before:.2f}x)", now <= 1.1 * before),),
    )


def sparse_vector(folder: Path, rows: int, asked: int) -> Iterator[Row]:
    """A sparse vector over many counts: one by one and together, beside the version before."""
    file = str(parquet_file(folder, rows))
    before = fresh(version_before(folder), "sparse", "parquet", file, "alone", str(asked))[
        "seconds"
    ]
    for how in ("alone", "together"):
        now = fresh(HERE.parents[1], "sparse", "parquet", file, how, str(asked))["seconds"]
        goal = Goal(f">= 20x before ({before / now:.1f}x)", before >= 20 * now)
        yield Row(
            "tables",
            f"a sparse vector over {asked:,} bounded counts, {how}, {rows:,} rows",
            now,
            peers={"before": before},
            goals=(goal,),
        )


def memory(folder: Path, rows: int, limit: str, size: int) -> Iterator[Row]:
    """The peak of memory of a fresh process, above what it used before the table was opened."""
    file = parquet_file(folder, rows)
    used = fresh(HERE.parents[1], "memory", "parquet", str(file), limit)["bytes"]
    above = (used - size) / 1e6
    yield Row(
        "tables",
        f"peak memory at memory_limit={limit}, {rows:,} rows",
        used / 1e6,
        "MB",
        goals=(Goal(f"<= the limit + 300 MB ({above:+.0f} MB)", above <= 300),),
    )
