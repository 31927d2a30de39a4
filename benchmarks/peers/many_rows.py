"""Measure first and later questions about many rows with one library, in its own environment.

    PYTHON benchmarks/peers/many_rows.py opendp FOLDER ROWS

`FOLDER` is where `python -m benchmarks.visits FOLDER ROWS` wrote the file, and one of 100,000 rows
for the warming up. The result is merged into `many_rows.json` beside this file after each task.
Times are seconds of processor time of this process and of all that it started, as in `run.py`.

- *First*: opening the file, starting the session and the first answer. The library is imported and
  has answered a question about the small file before.
- *Later*: another question of the same kind, with other bounds or another condition, in a session
  that has answered before.

Each is the median of up to five runs; no run starts after `ENOUGH` seconds. Where runs would take
many minutes, ten of the hundred counts are asked and their time is multiplied by ten, and Tumult
Analytics is opened for the first task only.
"""

import importlib
import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from run import processor_time

RESULTS = Path(__file__).parent / "many_rows.json"
TASKS = ("count", "total", "mean", "histogram", "group_by", "hundred_counts")
ENOUGH, RUNS = 15, 5
TEN_COUNTS_FROM = {"tumult": 0, "opendp": 10**7}


def timed(work: Callable[[], object]) -> dict[str, Any]:
    """The median of the seconds of some calls, how many, and the last answer."""
    times: list[float] = []
    answer = None
    while len(times) < RUNS and sum(times) < ENOUGH:
        began = processor_time()
        answer = work()
        times.append(processor_time() - began)
    shown = " ".join(str(answer).split())[:160]
    return {"seconds": round(median(times), 4), "runs": len(times), "answer": shown}


def save(name: str, rows: int, task: str, measured: dict[str, Any]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results.setdefault(name, {}).setdefault(str(rows), {})[task] = measured
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(name, rows, task, measured, flush=True)


def main(name: str, folder: str, rows: int, tasks: list[str]) -> None:
    library = importlib.import_module(f"many_rows_{name}")
    questions = count(1)  # each question has another number, so that no answer is asked for twice
    file = f"{folder}/visits-{rows}-4.parquet"
    session = library.opened(f"{folder}/visits-100000-4.parquet")
    library.count(session, 0)
    for task in tasks:
        ask: Callable[[Any, int], object] = getattr(library, task)

        def first(ask: Callable[[Any, int], object] = ask) -> object:
            nonlocal session
            library.closed(session)
            session = library.opened(file)
            return ask(session, next(questions))

        measured = {}
        if task == "hundred_counts" and rows >= TEN_COUNTS_FROM.get(name, rows + 1):
            later = timed(lambda: library.counts(session, next(questions), range(0, 100, 10)))
            answer = "ten counts, their time taken ten times"
            save(
                name,
                rows,
                task,
                {"later": later | {"seconds": 10 * later["seconds"], "answer": answer}},
            )
            continue
        if name != "tumult" or task == tasks[0]:
            measured["first"] = timed(first)
        measured["later"] = timed(lambda ask=ask: ask(session, next(questions)))
        save(name, rows, task, measured)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:] or list(TASKS))
