"""The demo's analysis and bounded questions on a Spark cluster of 1, 2 and 3 executors.

Run it where PySpark and Java 17 are installed: `python -m benchmarks.cluster 1000000 10000000`. The
master is `local-cluster[n,1,1536]`: each executor is a process of its own, with one core, that
receives its tasks and exchanges its rows by sockets, as on a real cluster. All of them run on this
machine, so wall-clock times improve only while there are idle processors. What a larger cluster
would gain is seen from the share of the busiest executor in the time of all tasks: 1/n is ideal.
"""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from urllib.request import urlopen

import duckdb

from mechanisms import Count, CountUnits, GroupBy, Sum, Table, column

EXECUTORS = (1, 2, 3)
ROUNDS = 2
ROOT = Path(__file__).parent.parent
STATES = [f"s{number:02}" for number in range(50)]
FILES = 6
VISITS = """
COPY (
    SELECT
        (hash(i, 1) % {persons})::BIGINT AS person_id,
        's' || lpad((hash(i, 2) % 50)::VARCHAR, 2, '0') AS state,
        (hash(i, 3) % 100)::INTEGER AS hours,
        (hash(i, 5) % 3650)::INTEGER AS day,
        i AS visit
    FROM range({begin}, {end}) AS numbers(i)
) TO '{path}' (FORMAT PARQUET)
"""


def cluster(executors: int, folder: str) -> Any:
    """A session on so many executors, which have all registered."""
    import pyspark
    from pyspark.sql import SparkSession

    home = Path(folder) / f"spark-{executors}"  # executors are started from here, and log here
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (home / each.name).symlink_to(each)
    os.environ["SPARK_HOME"] = str(home)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return (
        SparkSession.builder.master(f"local-cluster[{executors},1,1536]")
        .appName("queryable")
        .config("spark.executor.memory", "1200m")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.network.timeout", "600s")
        .config("spark.sql.shuffle.partitions", "6")
        .config("spark.sql.files.maxPartitionBytes", "4m")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def executors_of(session: Any) -> dict[str, tuple[int, float]]:
    """By executor: how many tasks it has completed, and their seconds."""
    context = session.sparkContext
    port = context.uiWebUrl.rsplit(":", 1)[-1]
    url = f"http://127.0.0.1:{port}/api/v1/applications/{context.applicationId}/executors"
    with urlopen(url) as answer:
        found = json.load(answer)
    return {
        each["id"]: (each["completedTasks"], each["totalDuration"] / 1000)
        for each in found
        if each["id"] != "driver"
    }


def measured(session: Any, work: Callable[[], object], rounds: int) -> dict[str, Any]:
    """Wall-clock seconds, seconds of all tasks, and the share of the busiest executor."""
    before, walls = executors_of(session), []
    for _ in range(rounds):
        began = perf_counter()
        work()
        walls.append(perf_counter() - began)
    after = executors_of(session)
    taken = [after[name][1] - before.get(name, (0, 0.0))[1] for name in after]
    tasks = [after[name][0] - before.get(name, (0, 0.0))[0] for name in after]
    return {
        "wall": median(walls),
        "tasks": sum(taken) / rounds,
        "busiest": max(taken) / sum(taken) if sum(taken) else 0.0,
        "tasks of each": tasks,
    }


def demo() -> str:
    """What the demo prints; its session is the one that runs already."""
    printed, given = io.StringIO(), sys.argv
    sys.argv = ["demo.py", "--spark"]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(ROOT / "notebooks" / "demo.py"), run_name="__main__")
    finally:
        sys.argv = given
    return printed.getvalue()


def write(folder: Path, rows: int) -> None:
    """Visits of a tenth as many persons, in several files."""
    folder.mkdir()
    with duckdb.connect() as connection:
        for part in range(FILES):
            begin, end = part * rows // FILES, (part + 1) * rows // FILES
            path = folder / f"{part}.parquet"
            connection.execute(VISITS.format(persons=rows // 10, begin=begin, end=end, path=path))


def questions(session: Any, folder: Path, rows: int) -> dict[str, Any]:
    """Bounded questions: 5 rows and 3 groups a person."""
    import ibis

    session.read.parquet(str(folder)).createOrReplaceTempView("visits")
    visits = ibis.pyspark.connect(session).table("visits")
    bounds = {"privacy_unit": "person_id", "max_rows": 5, "max_groups": 3, "seed": 1}
    found = {}
    with Table(visits, **bounds) as table:
        per = table.unit
        hours = iter(range(20, 80))
        by_hand = "SELECT count(*) FROM visits WHERE hours > "
        work: dict[str, Callable[[], object]] = {
            "plain SELECT count(*)": lambda: session.sql(f"{by_hand}{next(hours)}").collect(),
            "persons": lambda: CountUnits(column("hours") > next(hours), per=per).value(table),
            "first bounded count": lambda: Count(column("hours") > 5, per=per).value(table),
            "next bounded counts": lambda: Count(column("hours") > next(hours), per=per).value(
                table
            ),
            "bounded sums in 50 groups": lambda: GroupBy(
                {"state": STATES}, Sum("hours", 0, next(hours), per=per)
            ).value(table),
        }
        session.sql(f"{by_hand}1").collect()  # executors have started
        for name, each in work.items():
            found[name] = measured(session, each, 1 if name.startswith("first") else ROUNDS)
        print(name, found[name], file=sys.stderr, flush=True)
    return {f"{name}, {rows:,} rows": each for name, each in found.items()}


def one(executors: int, folder: str, sizes: list[int]) -> dict[str, Any]:
    """All measurements on one cluster."""
    session = cluster(executors, folder)
    found = {}
    printed: list[str] = []
    found["the demo"] = measured(session, lambda: printed.append(demo()), 1)
    print("the demo", found["the demo"], file=sys.stderr, flush=True)
    assert printed[0].rstrip().endswith("add up to it exactly? Yes."), printed[0]
    for rows in sizes:
        found |= questions(session, Path(folder) / str(rows), rows)
    session.stop()
    return found


def main(sizes: list[int]) -> None:
    with TemporaryDirectory(prefix="queryable-cluster-") as folder:
        for rows in sizes:
            write(Path(folder) / str(rows), rows)
        results = {}
        for executors in EXECUTORS:
            command = [sys.executable, "-m", "benchmarks.cluster", "--one", str(executors), folder]
            run = subprocess.run(
                [*command, *map(str, sizes)], stdout=subprocess.PIPE, text=True, check=True
            )
            results[executors] = json.loads(run.stdout.splitlines()[-1])
            for name, each in results[executors].items():
                print(f"{executors} executors | {name} | {each}", flush=True)
    for name in results[EXECUTORS[0]]:
        cells = [
            f"{each[name]['wall']:.1f} s, {each[name]['busiest']:.0%}" for each in results.values()
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _, _, executors, folder, *rows = sys.argv
        print(json.dumps(one(int(executors), folder, [int(each) for each in rows])))
    else:
        main([int(each) for each in sys.argv[1:]] or [10**6])
