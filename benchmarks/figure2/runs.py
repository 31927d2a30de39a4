"""Running trials on several processes, kept in a file as they come so that a run can go on.

What is kept is one line of JSON a trial. Which trials are missing is all that a run looks at, so an
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
    """The trials in a file; a last line that was cut off is passed over."""
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
    """Every trial of every cell, those that are in the file from there.

    Args:
        jobs: processes; 1 for none but this one.
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
    """In any order."""
    if jobs == 1:
        yield from map(outcome, tasks)
    elif tasks:
        with get_context("spawn").Pool(jobs, initializer=uninterrupted) as pool:
            yield from pool.imap_unordered(outcome, tasks)


def outcome(task: Task) -> tuple[str, int, Outcome]:
    cell, number = task
    return cell.key, number, trial(cell, number)


def uninterrupted() -> None:
    """Ctrl-C is for the parent, which ends its processes itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
