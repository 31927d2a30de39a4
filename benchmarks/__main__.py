"""`make bench`: print the table of all benchmarks, and write results.json and chart.svg here.

With some groups only, `make bench ONLY=rules`, it prints their rows and writes no files.
"""

import json
import os
import platform
import sys
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import attrs
import opendp.prelude as dp

from benchmarks import (
    accuracy_first,
    audit,
    blocks,
    compositors,
    counters,
    display,
    durable,
    growing,
    noise,
    rules,
    served,
    sparse_vectors,
    tables,
)
from benchmarks.chart import draw
from benchmarks.measure import Row, line

HERE = Path(__file__).parent
GROUPS = {
    "noise": noise.rows,
    "compositors": compositors.rows,
    "blocks": blocks.rows,
    "accuracy_first": accuracy_first.rows,
    "rules": rules.rows,
    "display": display.rows,
    "audit": audit.rows,
    "growing": growing.rows,
    "sparse_vectors": sparse_vectors.rows,
}
LARGE = {  # they run only if named: they write gigabytes to disk, or take a minute
    "tables": tables.rows,
    "large_tables": tables.large_rows,
    "counters": counters.rows,
    "durable": durable.rows,
    "served": served.rows,
}


def main(only: list[str]) -> None:
    dp.enable_features("contrib", "honest-but-curious")
    rows = []
    for each in chain.from_iterable((GROUPS | LARGE)[name]() for name in only or GROUPS):
        rows.append(each)
        print(line(each), flush=True)
    if not only:
        save(rows)
    missed = sum(not goal.met for row in rows for goal in row.goals)
    print(f"\n{missed} goals missed" if missed else "\nevery goal reached")


def save(rows: list[Row]) -> None:
    results = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "opendp", "attrs", "python-flint")},
        },
        "measured": "medians of processor time, in seconds where no unit is given",
        "rows": [attrs.asdict(row) for row in rows],
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    draw(rows, HERE / "chart.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
