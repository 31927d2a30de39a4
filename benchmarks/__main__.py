"""`make bench`: print the table of all benchmarks, and write results.json and chart.svg here.

With some groups only, `make bench ONLY=rules`, it prints their rows and writes no files. With
`make bench ONLY="rules --save"` their rows replace those in the files, and other rows stay.
"""

import json
import os
import platform
import sys
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import attrs
import opendp.prelude as dp

from benchmarks import (
    accuracy_first,
    audit,
    best,
    blocks,
    compositors,
    counters,
    display,
    durable,
    found_keys,
    frugal,
    growing,
    individual,
    memory,
    more_answers,
    noise,
    rules,
    served,
    sparse_vectors,
    synthetic,
    tables,
)
from benchmarks.chart import draw
from benchmarks.measure import Goal, Row, line

HERE = Path(__file__).parent
GROUPS = {
    "noise": noise.rows,
    "compositors": compositors.rows,
    "blocks": blocks.rows,
    "accuracy_first": accuracy_first.rows,
    "rules": rules.rows,
    "memory": memory.rows,
    "display": display.rows,
    "audit": audit.rows,
    "growing": growing.rows,
    "sparse_vectors": sparse_vectors.rows,
    "more_answers": more_answers.rows,
    "counters": counters.rows,
    "frugal": frugal.rows,
    "found_keys": found_keys.rows,
    "individual": individual.rows,
    "best": best.rows,
    "synthetic": synthetic.rows,
}
LARGE = {  # they run only if named: they write gigabytes to disk, or take long
    "tables": tables.rows,
    "large_tables": tables.large_rows,
    "durable": durable.rows,
    "served": served.rows,
}


def main(only: list[str]) -> None:
    saves = not only or "--save" in only
    only = [name for name in only if name != "--save"]
    dp.enable_features("contrib", "honest-but-curious")
    rows = []
    for each in chain.from_iterable((GROUPS | LARGE)[name]() for name in only or GROUPS):
        rows.append(each)
        print(line(each), flush=True)
    if saves:
        save(rows, whole=not only)
    missed = sum(not goal.met for row in rows for goal in row.goals)
    print(f"\n{missed} goals missed" if missed else "\nevery goal reached")


def save(measured: list[Row], *, whole: bool) -> None:
    """Write the files; rows of groups that were not measured now stay, if not all were."""
    path, rows, kept = HERE / "results.json", measured, {}
    if not whole:
        before = json.loads(path.read_text("utf-8"))
        new = {row.group for row in measured}
        old = [_row(each) for each in before["rows"] if each["group"] not in new]
        rows = [*old, *measured]
        groups = [*dict.fromkeys(row.group for row in old)]
        run = {"groups": groups, "load": before["load"], "versions": before["versions"]}
        kept = {"measured earlier": before.get("measured earlier", run)}
    results = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "opendp", "attrs", "python-flint")},
        },
        "measured": "medians of processor time, in seconds where no unit is given",
        **kept,
        "rows": [attrs.asdict(row) for row in rows],
    }
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    draw(rows, HERE / "chart.svg")


def _row(stored: dict[str, Any]) -> Row:
    return Row(**{**stored, "goals": tuple(Goal(**goal) for goal in stored["goals"])})


if __name__ == "__main__":
    main(sys.argv[1:])
