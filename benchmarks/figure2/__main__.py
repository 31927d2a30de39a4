"""`make figure2`: run the missing trials; write results.json, two charts and the docs' tables."""

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from tqdm import tqdm

from benchmarks.figure2 import picture, report
from benchmarks.figure2.runs import run
from benchmarks.figure2.settings import FLIGHTS, ZIPF, cells

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "accuracy_first.md"


def arguments(values: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figure2", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="trials of each cell (1000)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (all processors)"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="output folder (beside this)")
    parser.add_argument("--fresh", action="store_true", help="delete the stored trials first")
    read = parser.parse_args(values)
    if read.trials < 1 or read.jobs < 1:
        parser.error("--trials and --jobs must be at least 1")
    return read


def main(values: list[str] | None = None) -> int:
    asked = arguments(values)
    for setting in FLIGHTS:
        setting.counts(0)  # missing data end the run here, before any process is started
    asked.out.mkdir(parents=True, exist_ok=True)
    trials_file = asked.out / "cache" / "trials.jsonl"
    if asked.fresh:
        trials_file.unlink(missing_ok=True)
    every = cells((*ZIPF, *FLIGHTS))
    try:
        found = run(every, asked.trials, trials_file, asked.jobs, tqdm)
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to continue", file=sys.stderr)
        return 130
    rows = [report.summary(cell, asked.trials, found) for cell in every]
    about = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "versions": {"python": platform.python_version(), "numpy": version("numpy")},
    }
    text = json.dumps(report.as_json(rows, about), indent=1)
    (asked.out / "results.json").write_text(text + "\n", encoding="utf-8")
    picture.draw_zipf(rows, asked.out / "zipf.svg")
    picture.draw_flights(rows, asked.out / "flights.svg")
    if asked.out == HERE:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(report.main_table(rows), report.accounting_table(rows), sep="\n")
    for text, met in report.goals(rows):
        print("ok    " if met else "MISSED", text)
    return 0


def with_tables(page: str, rows: list[report.Summary]) -> str:
    """Return the page with its two tables and the number of trials from the results."""
    for name, table in (
        ("returned", report.main_table(rows)),
        ("accounting", report.accounting_table(rows)),
    ):
        begin, end = f"<!-- {name}: begin (make figure2) -->\n", f"<!-- {name}: end -->"
        before, rest = page.split(begin)
        page = (
            f"{before}{begin}{table}\n{rows[0].trials:,} trials of each.\n{end}{rest.split(end)[1]}"
        )
    return page


if __name__ == "__main__":
    sys.exit(main())
