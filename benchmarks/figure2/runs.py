"""Run trials on several processes, and store each in a file, so that a run can continue.

The file has one line of JSON per trial. A run computes only the trials that are missing, so an
interrupted run, a longer one and one on more processes end with the same results.
"""

import json
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.figure2.analysts import trial
from benchmarks.figure2.settings import Cell

Task = tuple[Cell, int]
Outcome = tuple[int, int]
"""How many counts were returned, and how many of these were near."""
Kept = dict[tuple[str, int], Outcome]


def kept(path: Path) -> Kept:
    """Read the trials of a file; a last line that was cut off is ignored."""
    found: Kept = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                cell, number, returned, near = json.loads(line)
            except ValueError:
                continue
            found[cell, number] = returned, near
    return found


def run(
    cells: Iterable[Cell],
    trials: int,
    path: Path,
    jobs: int = 1,
    bar: Callable[..., Any] = lambda outcomes, **_: outcomes,
) -> Kept:
    """Return every trial of every cell; those in the file are read, the others are run.

    Args:
        cells: the cells to run.
        trials: how many of each.
        path: the file of stored trials.
        jobs: number of processes; 1 runs everything in this process.
        bar: shows progress, as `tqdm` does.
    """
    tasks = [(cell, number) for number in range(trials) for cell in cells]
    found = kept(path)
    missing = [(cell, number) for cell, number in tasks if (cell.key, number) not in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        done = bar(
            outcomes(missing, jobs),
            total=len(tasks),
            initial=len(tasks) - len(missing),
            unit="trial",
        )
        for key, number, outcome in done:
            found[key, number] = outcome
            file.write(json.dumps([key, number, *outcome]) + "\n")
            file.flush()
    return {(cell.key, number): found[cell.key, number] for cell, number in tasks}


def outcomes(tasks: list[Task], jobs: int) -> Iterator[tuple[str, int, Outcome]]:
    """Run trials; their outcomes come in any order."""
    if jobs == 1:
        yield from map(outcome, tasks)
    elif tasks:
        with get_context("spawn").Pool(jobs, initializer=uninterrupted) as pool:
            yield from pool.imap_unordered(outcome, tasks)


def outcome(task: Task) -> tuple[str, int, Outcome]:
    cell, number = task
    return cell.key, number, trial(cell, number)


def uninterrupted() -> None:
    """Ignore Ctrl-C in a worker; the parent process ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
