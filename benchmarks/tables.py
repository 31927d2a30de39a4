"""What questions about tables cost, beside plain SQL, SQL by hand and an earlier version.

Run it with `make bench ONLY=tables`; `ONLY=large_tables` measures 5*10^7 rows. It writes files to
the temporary folder and removes them. With names of parts it measures these only, in a folder that
is kept: `python -m benchmarks.tables FOLDER hundred slope`.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory, gettempdir

from benchmarks.by_hand import by_hand, in_lists
from benchmarks.found_keys import found_keys
from benchmarks.many_groups import grouped_sums, many_keys
from benchmarks.many_questions import first, hundred, later, memory, slope, sparse_vector
from benchmarks.measure import Row, line

KINDS = ("parquet", "csv", "frame")
MILLION, TEN, FIFTY = 10**6, 10**7, 5 * 10**7
SIZES = (10**5, 3 * 10**5, MILLION, 3 * MILLION, TEN)

Rows = Iterator[Row]


def firsts(folder: Path) -> Rows:
    for kind in KINDS:
        yield from first(kind, folder, MILLION, 4, 3)
    yield from first("parquet", folder, MILLION, 40, 3)
    yield from first("parquet", folder, TEN, 4, 2)


def laters(folder: Path) -> Rows:
    for rows, rounds in ((MILLION, 8), (TEN, 3)):
        for kind in KINDS:
            yield from later(kind, folder, rows, rounds)


def hundreds(folder: Path) -> Rows:
    yield from hundred(folder, MILLION, 3)
    yield from hundred(folder, TEN, 1)


def sparse_vectors(folder: Path) -> Rows:
    yield from sparse_vector(folder, MILLION, 1_000)


def slopes(folder: Path) -> Rows:
    yield from slope("parquet", folder, SIZES)


def memories(folder: Path) -> Rows:
    yield from memory(folder, TEN, "300MB", 300 * 10**6)
    yield from memory(folder, TEN, "600MB", 600 * 10**6)


def groups(folder: Path) -> Rows:
    yield from many_keys(folder, MILLION, 5)
    yield from many_keys(folder, TEN, 3)
    yield from grouped_sums(folder, TEN, 3)


def founds(folder: Path) -> Rows:
    yield from found_keys(folder, TEN, 3)


def laters_by_hand(folder: Path) -> Rows:
    yield from by_hand(folder, MILLION, 15)
    yield from by_hand(folder, TEN, 5)
    yield from in_lists(10**4, 10**3, 9)


PARTS: dict[str, Callable[[Path], Rows]] = {
    "first": firsts,
    "later": laters,
    "by_hand": laters_by_hand,
    "hundred": hundreds,
    "sparse_vector": sparse_vectors,
    "slope": slopes,
    "memory": memories,
    "groups": groups,
    "found": founds,
}


def large(folder: Path) -> Rows:
    """The same at 5*10^7 rows, where a laptop still has room."""
    for kind in ("parquet", "frame"):
        yield from later(kind, folder, FIFTY, 1)
    yield from slope("parquet", folder, (10**5, MILLION, TEN, FIFTY))
    yield from memory(folder, FIFTY, "600MB", 600 * 10**6)
    yield from memory(folder, FIFTY, "1GB", 10**9)


def temporary(parts: list[Callable[[Path], Rows]], room: int) -> Rows:
    if disk_usage(gettempdir()).free < room:
        sys.exit(f"the benchmark of tables needs {room:.0e} bytes free in {gettempdir()}")
    with TemporaryDirectory(prefix="queryable-bench-") as folder:
        for part in parts:
            yield from part(Path(folder))


def rows() -> Rows:
    return temporary(list(PARTS.values()), 8 * 10**9)


def large_rows() -> Rows:
    return temporary([large], 20 * 10**9)


if __name__ == "__main__":
    for name in sys.argv[2:] or PARTS:
        for each in (PARTS | {"large": large})[name](Path(sys.argv[1])):
            print(line(each), flush=True)
