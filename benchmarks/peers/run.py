"""Measure one library in its own environment: lines, tries, time per question, intervals.

    PYTHON benchmarks/peers/run.py with_opendp FOLDER

`FOLDER` has the files that `data.py` wrote. The result is merged into `results.json` beside this
file. Lines are those of each function's body, wrapped at 100 columns by the formatter, without
comments. Time is the processor time of this process and of all that it started (Spark's Java and
workers), the median of `ROUNDS` calls after the first.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import data
from lines import lines

HERE = Path(__file__).parent
ROUNDS, REPETITIONS = 3, 200
TASKS = (
    *("count", "known_keys", "month", "mean", "median", "group_median", "variance", "histogram"),
    *("top_k", "cross_tab", "correlation_and_slope", "join", "people", "people_who", "pattern"),
    *("dates", "nulls", "sparse_vector", "accuracy_first", "follow_up"),
)
TICK = os.sysconf("SC_CLK_TCK")


def processor_time() -> float:
    """Seconds that this process, its children and their children have used."""
    parents, used = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        used[int(folder.name)] = sum(map(int, fields[11:15]))
    family, own = {os.getpid()}, process_time()
    while more := {each for each, parent in parents.items() if parent in family} - family:
        family |= more
    return own + sum(used.get(each, 0) for each in family - {os.getpid()}) / TICK


def timed(work: Callable[[], object]) -> tuple[object, float]:
    """The first answer, and the median of the seconds of the calls after it."""
    answer, seconds = work(), []
    for _ in range(ROUNDS):
        began = processor_time()
        work()
        seconds.append(processor_time() - began)
    return answer, median(seconds)


def held(answer: Callable[[], float], half: float, truth: float, times: int) -> int:
    """How often the answer is within `half` of the truth."""
    return sum(abs(answer() - truth) <= half for _ in range(times))


def measured(name: str, folder: Path) -> dict[str, object]:
    library = importlib.import_module(name)
    session = library.opened(folder)
    given = session if isinstance(session, tuple) else (session,)
    counted = lines(HERE / f"{name}.py")
    truths = data.truths(folder, **getattr(library, "KEPT", {}))
    rows: dict[str, object] = {}
    for task in TASKS:
        if reason := library.IMPOSSIBLE.get(task):
            rows[task] = {"impossible": reason}
            continue
        answer, seconds = timed(lambda task=task: getattr(library, task)(*given))
        tries, why = library.TRIES.get(task, (1, ""))
        interval = "given" if task in getattr(library, "GIVEN", ()) else "none"
        interval = "by hand" if task in library.BY_HAND else interval
        row = {"lines": counted[task], "tries": tries, "seconds": round(seconds, 4)}
        row |= {"interval": interval, "answer": str(answer)[:200]} | ({"why": why} if why else {})
        if task in getattr(library, "HELD", {}):
            ask, half = library.HELD[task]
            width, times = half(*given), getattr(library, "REPETITIONS", REPETITIONS)
            hits = held(lambda ask=ask: ask(*given), width, truths[task], times)
            row |= {"held": hits, "of": times, "half": width}
        if hit := getattr(library, "CONTAINED", {}).get(task):
            hits = sum(hit(*given) for _ in range(REPETITIONS))
            row |= {"held": hits, "of": REPETITIONS}
        rows[task] = row
        print(name, task, row, flush=True)
    tries, why = library.TRIES.get("opening", (1, ""))
    return {"opening": {"tries": tries, "why": why}, "tasks": rows}


def main(name: str, folder: str) -> None:
    path = HERE / "results.json"
    result = measured(name, Path(folder))
    results = json.loads(path.read_text()) if path.exists() else {}
    results[name.removeprefix("with_")] = result
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
