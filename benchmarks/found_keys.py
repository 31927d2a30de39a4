"""Keys that are found in the data, beside the engine's own GROUP BY of the same rows.

Run it with `python -m benchmarks.found_keys FOLDER`. Each ratio is the median of the ratios of
pairs of runs, one after the other, in processor time: so other programs matter little.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import attrs
import duckdb

from benchmarks.asked import taken
from benchmarks.measure import Goal, Row, line
from benchmarks.visits import parquet_file
from composition import OdomCon
from mechanisms import DiscoveredKeys, PrivateKeys, Table
from queryable import ApproxDP, Queryable

MILLION, TEN = 10**6, 10**7
COLUMNS: tuple[tuple[str, list[str]], ...] = (
    ("50 texts", ["state"]),
    ("50,000 numbers", ["item"]),
    ("180,000 combinations", ["state", "day"]),
    ("9.7 million combinations", ["item", "day"]),
)


def found_keys(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """Keys of rows and of persons, by how many keys there are."""
    file = parquet_file(folder, rows)
    for named, columns in COLUMNS:
        yield measured(file, named, columns, rounds)
    for named, columns in COLUMNS[:2]:
        yield measured(file, named, columns, rounds, {"privacy_unit": "person_id", "max_rows": 2})
    yield measured(file, *COLUMNS[-1], rounds, {"memory_limit": "500MB"})


def rows() -> Iterator[Row]:
    """For `make bench`: fewer rows. `make bench ONLY=tables` has ten times as many."""
    with TemporaryDirectory(prefix="queryable-bench-") as folder:
        file = parquet_file(Path(folder), MILLION)
        for named, columns in COLUMNS[:3]:
            row = measured(file, named, columns, 5)
            yield attrs.evolve(row, group="found keys", goals=())


def measured(
    file: Path,
    named: str,
    columns: list[str],
    rounds: int,
    options: dict[str, object] | None = None,
) -> Row:
    """The seconds of a launch, and its ratio to the plain SQL."""
    options = options or {}
    persons, by = "privacy_unit" in options, ", ".join(columns)
    counted = "count(DISTINCT person_id)" if persons else "count(*)"
    connection = duckdb.connect()
    if "memory_limit" in options:
        connection.execute(f"SET memory_limit = '{options['memory_limit']}'")
    plain = f"SELECT {by}, {counted} FROM '{file}' GROUP BY {by}"
    ours, theirs = list[float](), list[float]()
    with Table(file, **options) as table:  # type: ignore[arg-type]
        queryable = Queryable(OdomCon(ApproxDP), table)
        asked = DiscoveredKeys(columns, 2 if persons else None, per=table.unit)
        mechanism = PrivateKeys(asked, epsilon=1, delta="1e-6")
        for _ in range(rounds):
            theirs.append(taken(lambda: sum(1 for _ in connection.sql(plain).to_arrow_reader())))
            ours.append(taken(lambda: queryable(mechanism)))
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    limit, peers = options.get("memory_limit"), {"plain GROUP BY": median(theirs)}
    name = f"keys found, {named}{', persons' * persons}"
    if limit:  # more of the sort is on disk than of the plain query, which does not sort
        return Row(
            "tables", f"{name}, within {limit} ({ratio:.2f}x plain)", median(ours), peers=peers
        )
    goal = Goal(f"<= 2x plain GROUP BY ({ratio:.2f}x)", ratio <= 2)
    return Row("tables", name, median(ours), peers=peers, goals=(goal,))


if __name__ == "__main__":
    for each in found_keys(Path(sys.argv[1]), TEN, 5):
        print(line(each), flush=True)
