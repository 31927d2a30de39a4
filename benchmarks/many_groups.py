"""Histograms and group-bys of many keys, and bounded sums by group, beside SQL by hand."""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.asked import taken
from benchmarks.measure import Goal, Row
from benchmarks.visits import ITEMS, STATES, parquet_file
from composition import FiltCon
from mechanisms import GroupBy, Laplace, Sum, Table
from queryable import PureDP, Queryable

BOUNDED_SUMS = """
SELECT state, sum(least(greatest(hours, 0), 80)) FROM (
    SELECT * FROM (
        SELECT * FROM (SELECT *, hash({columns}) AS h FROM source WHERE person_id IS NOT NULL)
        QUALIFY row_number() OVER (PARTITION BY person_id ORDER BY h) <= 5
    )
    WHERE state IN ({states})
    QUALIFY dense_rank() OVER (PARTITION BY person_id ORDER BY hash(person_id, state), state) <= 3
)
GROUP BY state
"""


def alternating(parties: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median seconds of each after a first call, in turns."""
    for work in parties.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in parties}
    for _ in range(rounds):
        for name, work in parties.items():
            times[name].append(taken(work))
    return {name: median(seconds) for name, seconds in times.items()}


def many_keys(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """A histogram of many keys beside the plain GROUP BY, with and without a privacy unit."""
    file = parquet_file(folder, rows)
    for keys in (10_000, ITEMS):
        for unit, options in (
            ("rows", {}),
            ("persons", {"privacy_unit": "person_id", "max_rows": 4}),
        ):
            with Table(file, **options) as table:
                measured = histogram(table, file, keys, rounds)
            ours, theirs = measured.pop("ours"), measured["plain GROUP BY"]
            yield Row(
                "tables",
                f"count by {keys:,} keys, unit: {unit}, {rows:,} rows",
                ours,
                peers=measured,
                goals=(Goal(f"<= 2x plain ({ours / theirs:.2f}x)", ours <= 2 * theirs),),
            )


def histogram(table: Table, file: Path, keys: int, rounds: int) -> dict[str, float]:
    """The seconds of a first and of later counts by keys, and of the plain SQL."""
    queryable = Queryable(FiltCon(PureDP(10_000)), table)
    connection = duckdb.connect()
    plain = f"SELECT item, count(*) FROM '{file}' WHERE item < {keys} GROUP BY item"
    # Each question has other keys: equal questions are computed once.
    asked = (table.group_by({"item": range(low, keys)}).count() for low in range(99))

    def ask() -> object:
        return queryable(Laplace(next(asked), epsilon=1))

    first = taken(ask)
    measured = alternating(
        {"ours": ask, "plain GROUP BY": lambda: connection.execute(plain).fetchall()}, rounds
    )
    return measured | {"first": first}


def grouped_sums(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """Bounded sums in 50 groups, five rows and three groups a person, beside SQL by hand."""
    file = parquet_file(folder, rows, 10)
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW source AS SELECT * FROM '{file}'")
    first: list[float] = []
    tops = iter(range(1, 99))

    def opened() -> Table:
        return Table(file, privacy_unit="person_id", max_rows=5, max_groups=3)

    def asked(table: Table) -> object:
        return GroupBy({"state": STATES}, Sum("hours", 0, 80 + next(tops), per=table.unit))(table)

    def asked_first() -> None:
        with opened() as table:
            first.append(taken(lambda: asked(table)))

    with opened() as table:
        hand = BOUNDED_SUMS.format(
            columns=", ".join(table.columns), states=", ".join(f"'{state}'" for state in STATES)
        )
        unbounded = "SELECT state, sum(hours) FROM source GROUP BY state"
        measured = alternating(
            {
                "later": lambda: asked(table),
                "first": asked_first,
                "by hand": lambda: connection.execute(hand).fetchall(),
                "unbounded": lambda: connection.execute(unbounded).fetchall(),
            },
            rounds,
        )
    theirs = measured["by hand"]
    measured["first"] = median(first)
    for name in ("first", "later"):
        ours = measured.pop(name)
        yield Row(
            "tables",
            f"bounded sums by group, {name}, {rows:,} rows of {rows // 10:,} persons",
            ours,
            peers={each: measured[each] for each in ("by hand", "unbounded")},
            goals=(Goal(f"<= 1x by hand ({ours / theirs:.2f}x)", ours <= theirs),),
        )
