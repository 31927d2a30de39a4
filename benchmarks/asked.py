"""Questions about one file in a fresh process, so that two versions of the code can be compared.

    PYTHONPATH=TREE python -P benchmarks/asked.py TASK KIND FILE [MORE]

`TREE` is the version that answers. The result is printed as JSON: seconds of processor time, or
bytes. Only what the oldest version has is imported at the top.
"""

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from composition import FiltCon
from mechanisms import Count, Laplace, SparseVector, Sum, Table, column
from queryable import PureDP, Queryable

TABLE = {"privacy_unit": "person_id", "max_rows": 4, "seed": 16}


def source(kind: str, file: str) -> Any:
    """A path of a Parquet or CSV file, or the frame in memory."""
    if kind != "frame":
        return Path(file)
    import pandas as pd

    return pd.read_parquet(file)


def opened(kind: str, file: str, **options: Any) -> tuple[Queryable, Table]:
    table = Table(source(kind, file), **TABLE | options)
    return Queryable(FiltCon(PureDP(10_000)), table), table


def taken(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def first(kind: str, file: str) -> dict[str, Any]:
    """The first bounded count of a table; the first of three tables warms the libraries up."""
    given, seconds = source(kind, file), []
    for _ in range(4):
        with Table(given, **TABLE) as table:
            queryable = Queryable(FiltCon(PureDP(10)), table)
            count = Laplace(Count(column("hours") > 40, per=table.unit), epsilon=1)
            seconds.append(taken(lambda queryable=queryable, count=count: queryable(count)))
    return {"seconds": seconds[1:]}


def sparse(kind: str, file: str, how: str, number: str) -> dict[str, Any]:
    """A sparse vector that is asked about `number` counts, all far below its threshold."""
    queryable, table = opened(kind, file)
    search = queryable(SparseVector(10**12, epsilon=1, sensitivity=4))
    asked = [
        Count((column("hours") >= i % 100) & (column("amount") > i // 100), per=table.unit)
        for i in range(int(number))
    ]
    if how == "together":
        return {"seconds": taken(lambda: search.ask_many(asked))}
    return {"seconds": taken(lambda: [search(each) for each in asked])}


def memory(kind: str, file: str, limit: str) -> dict[str, Any]:
    """The peak of memory above what is used before a table is opened."""
    options = {"memory_limit": limit}
    with Table({"person_id": [1], "hours": [2]}, **TABLE, **options) as small:
        Count(column("hours") > 1, per=small.unit)(small)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = resident("VmRSS")
    queryable, table = opened(kind, file, **options)
    for statistic in (
        Count(column("hours") > 40, per=table.unit),
        Count((column("amount") > 20) & (column("item") > 100), per=table.unit),
        Sum("hours", 0, 60, per=table.unit),
    ):
        queryable(Laplace(statistic, epsilon=1))
    return {"bytes": resident("VmHWM") - before, "peak": resident("VmHWM")}


def resident(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


TASKS = {"first": first, "sparse": sparse, "memory": memory}

if __name__ == "__main__":
    result = TASKS[sys.argv[1]](*sys.argv[2:])
    result["maxrss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(result))
