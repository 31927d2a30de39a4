"""Visits of persons, the data of the benchmarks of tables: equal sizes give equal files.

`person_id` is drawn at random, so that a person has about `per_person` rows, scattered over the
file. `item` has 50,000 values, `state` 50.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

STATES = [f"s{number:02}" for number in range(50)]
ITEMS = 50_000
_PART = 1_000_000


def batches(rows: int, per_person: int) -> Iterator[pa.Table]:
    """The rows, in parts of a million."""
    for begin in range(0, rows, _PART):
        yield _part(min(_PART, rows - begin), rows // per_person, begin // _PART)


def _part(rows: int, persons: int, number: int) -> pa.Table:
    random = np.random.default_rng((16, number))
    states = pa.DictionaryArray.from_arrays(random.integers(50, size=rows, dtype=np.int8), STATES)
    days = random.integers(19_000, 19_000 + 3_650, size=rows, dtype=np.int32)
    return pa.table(
        {
            "person_id": random.integers(persons, size=rows),
            "state": states.cast(pa.string()),
            "hours": random.integers(100, size=rows, dtype=np.int32),
            "amount": np.round(random.lognormal(3, 0.7, size=rows), 2),
            "day": pa.array(days).cast(pa.date32()),
            "item": random.integers(ITEMS, size=rows, dtype=np.int32),
        }
    )


def parquet_file(folder: Path, rows: int, per_person: int = 4) -> Path:
    """Write the rows to a Parquet file, unless they are there."""
    path = folder / f"visits-{rows}-{per_person}.parquet"
    if not path.exists():
        parts = batches(rows, per_person)
        first = next(parts)
        with parquet.ParquetWriter(path, first.schema) as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(part)
    return path


def csv_file(folder: Path, rows: int, per_person: int = 4) -> Path:
    """Write the rows to a CSV file, unless they are there."""
    path = folder / f"visits-{rows}-{per_person}.csv"
    if not path.exists():
        parts = batches(rows, per_person)
        first = next(parts)
        with csv.CSVWriter(path, first.schema) as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(part)
    return path


if __name__ == "__main__":
    print(parquet_file(Path(sys.argv[1]), int(sys.argv[2])))
