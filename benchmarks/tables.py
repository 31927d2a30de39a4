"""The time to bound contributions beside hand-written SQL, and the memory for a large file.

Run it with `make bench ONLY=tables`; it writes 2 GB to the temporary folder.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory, gettempdir

import duckdb

from benchmarks.measure import Goal, Row, at_most, seconds
from mechanisms import Count, GroupBy, Sum, Table

ROWS, PERSONS = 5_000_000, 500_000
STATES = [f"s{number:02}" for number in range(50)]

VISITS = """
COPY (
    SELECT
        hash(i, 1) % {persons} AS person_id,
        's' || lpad((hash(i, 2) % 50)::VARCHAR, 2, '0') AS state,
        (hash(i, 3) % 100)::INTEGER AS hours,
        hash(i, 4) / 2e18 AS weight,
        (hash(i, 5) % 3650)::INTEGER AS day,
        {more}
    FROM range({rows}) AS numbers(i)
) TO '{path}' (FORMAT PARQUET)
"""

BY_HAND = """
SELECT state, sum(least(greatest(hours, 0), 80)) FROM (
    SELECT * FROM (
        SELECT * FROM (SELECT *, hash({columns}) AS h FROM '{path}' WHERE person_id IS NOT NULL)
        QUALIFY row_number() OVER (PARTITION BY person_id ORDER BY h) <= 5
    )
    WHERE state IN ({states})
    QUALIFY dense_rank() OVER (PARTITION BY person_id ORDER BY hash(person_id, state), state) <= 3
)
GROUP BY state
"""


def generated(path: Path, rows: int, persons: int, more: int) -> None:
    """Write a file of visits with `more` further columns of random numbers."""
    columns = ", ".join(f"hash(i, {100 + j}) AS c{j}" for j in range(more)) or "i AS visit"
    with duckdb.connect() as connection:
        connection.execute(VISITS.format(persons=persons, rows=rows, path=path, more=columns))


def bounding(folder: Path) -> Iterator[Row]:
    """Grouped bounded sums, five rows and three groups a person, from one Parquet file."""
    path = folder / "visits.parquet"
    generated(path, ROWS, PERSONS, 0)
    table = Table(path, privacy_unit="person_id", max_rows=5, max_groups=3)
    statistic = GroupBy({"state": STATES}, Sum("hours", 0, 80, per=table.unit))
    hand = BY_HAND.format(
        path=path,
        columns=", ".join(table.columns),
        states=", ".join(f"'{state}'" for state in STATES),
    )
    connection = duckdb.connect()
    unbounded = f"SELECT state, sum(hours) FROM '{path}' GROUP BY state"
    measured = seconds(
        {
            "ours": (lambda: statistic(table), 1),
            "by hand": (lambda: connection.execute(hand).fetchall(), 1),
            "unbounded": (lambda: connection.execute(unbounded).fetchall(), 1),
        },
        5,
    )
    ratio = measured["ours"] / measured["by hand"]
    yield Row(
        "tables",
        f"bounded sums by group, {ROWS:,} rows of {PERSONS:,} persons",
        measured.pop("ours"),
        peers=measured,
        goals=(Goal(f"<= 2x by hand ({ratio:.2f}x)", ratio <= 2),),
    )
    once = Count()
    plain = Table(path)
    (taken,) = seconds({"": (lambda: once(plain), 10)}, 3).values()
    yield Row("tables", "a count of all rows, statement and all", taken)


def memory(folder: Path) -> Iterator[Row]:
    """Peak memory of a fresh process that bounds and counts a file of more than 1 GB."""
    path = folder / "large.parquet"
    generated(path, 16_000_000, 1_000_000, 6)
    size = path.stat().st_size
    for limit in ("300MB", "600MB"):
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.tables", str(path), limit],
            capture_output=True,
            text=True,
            check=True,
        )
        used = int(run.stdout)
        yield Row(
            "tables",
            f"peak memory at memory_limit={limit}, a file of {size / 1e9:.2f} GB",
            used / 1e6,
            "MB",
            goals=(
                Goal("the file > 1 GB", size > 10**9),
                at_most(used, size, f"the file's size ({used / size:.2f}x)"),
            ),
        )


def peak(path: str, limit: str) -> int:
    """Bound and count the whole file, and return the peak memory of this process in bytes."""
    with Table(
        path, privacy_unit="person_id", max_rows=5, max_groups=3, memory_limit=limit
    ) as table:
        counts = GroupBy({"state": STATES}, Count(per=table.unit))(table)
    assert 0 < counts.sum() <= 5_000_000
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * (1 if sys.platform == "darwin" else 1024)


def rows() -> Iterator[Row]:
    if disk_usage(gettempdir()).free < 8 * 10**9:
        sys.exit(f"the benchmark of tables needs 8 GB free in {gettempdir()}")
    with TemporaryDirectory(prefix="queryable-bench-") as folder:
        yield from bounding(Path(folder))
        yield from memory(Path(folder))


if __name__ == "__main__":
    print(peak(*sys.argv[1:]))
