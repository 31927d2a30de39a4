"""Results: means and deviations of every cell, the tables, and whether the goals are met."""

from collections.abc import Iterator
from fractions import Fraction
from statistics import fmean, stdev
from typing import Any

import attrs

from benchmarks.figure2.runs import Kept
from benchmarks.figure2.settings import ACCOUNTING, METHODS, Cell, Setting

GOAL_RATIO = 1.35
GOAL_FROM = 64_000
GOAL_POINTS = 0.02
NAMES = {
    "brownian": "Brownian noise reduction",
    "doubling": "doubling",
    "laplace": "Laplace noise reduction",
}


@attrs.frozen
class Summary:
    """Statistics over the trials of one cell. The precision is 1 if nothing was returned."""

    setting: str
    records: int
    epsilon: float
    method: str
    accounting: str
    trials: int
    returned: float
    returned_sd: float
    precision: float
    precision_sd: float


def summary(cell: Cell, trials: int, found: Kept) -> Summary:
    """Return mean and sample standard deviation of counts returned and of precision."""
    pairs = [found[cell.key, number] for number in range(trials)]
    returned = [float(count) for count, _ in pairs]
    precision = [near / count if count else 1.0 for count, near in pairs]
    return Summary(
        cell.setting.name,
        cell.setting.records,
        float(cell.setting.epsilon),
        cell.method,
        cell.accounting,
        trials,
        *(round(each, 4) for each in (*spread(returned), *spread(precision))),
    )


def spread(values: list[float]) -> tuple[float, float]:
    return fmean(values), stdev(values) if len(values) > 1 else 0.0


Summaries = dict[tuple[str, int, float, str, str], Summary]


def by_cell(rows: list[Summary]) -> Summaries:
    return {(r.setting, r.records, r.epsilon, r.method, r.accounting): r for r in rows}


def key(setting: Setting, method: str, accounting: str) -> tuple[str, int, float, str, str]:
    return setting.name, setting.records, float(setting.epsilon), method, accounting


def settings_of(rows: list[Summary], name: str) -> list[Setting]:
    """Return the settings of a dataset in the order of the rows."""
    pairs = dict.fromkeys((row.records, row.epsilon) for row in rows if row.setting == name)
    return [Setting(name, records, Fraction(epsilon)) for records, epsilon in pairs]


def main_table(rows: list[Summary]) -> str:
    """Table of counts and precision of each method, with the paper's conversion of rho."""
    cells = by_cell(rows)
    head = ["data", "ε", *(NAMES[method] for method in METHODS), "Brownian / doubling"]
    lines = [head, ["---"] * len(head)]
    for setting in (*settings_of(rows, "zipf"), *settings_of(rows, "flights")):
        found = {method: cells[key(setting, method, "paper")] for method in METHODS}
        ratio = found["brownian"].returned / found["doubling"].returned
        shown = (
            f"{each.returned:.1f} ± {each.returned_sd:.1f}; "
            f"{each.precision:.1%} ± {100 * each.precision_sd:.1f}"
            for each in found.values()
        )
        lines.append([label(setting), str(setting.epsilon), *shown, f"{ratio:.2f}"])
    return markdown(lines)


def accounting_table(rows: list[Summary]) -> str:
    """Table of the counts that the tight conversion adds."""
    cells = by_cell(rows)
    head = ["data", "ε", *(NAMES[method] for method in METHODS)]
    lines = [head, ["---"] * len(head)]
    for setting in (*settings_of(rows, "zipf"), *settings_of(rows, "flights")):
        shown = []
        for method in METHODS:
            paper, tight = (cells[key(setting, method, each)].returned for each in ACCOUNTING)
            shown.append(f"{paper:.1f} → {tight:.1f} ({tight / paper - 1:+.1%})")
        lines.append([label(setting), str(setting.epsilon), *shown])
    return markdown(lines)


def label(setting: Setting) -> str:
    return f"Zipf, n = {setting.records:,}" if setting.name == "zipf" else "flights"


def markdown(lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def goals(rows: list[Summary]) -> Iterator[tuple[str, bool]]:
    """Goals for Brownian noise reduction beside doubling, on 64,000 Zipf records and more."""
    cells = by_cell(rows)
    for setting in settings_of(rows, "zipf"):
        if setting.records < GOAL_FROM:
            continue
        ours, theirs = (cells[key(setting, each, "paper")] for each in METHODS[:2])
        ratio, points = ours.returned / theirs.returned, ours.precision - theirs.precision
        yield (
            f"{label(setting)}: {ratio:.2f}x as many as doubling (goal {GOAL_RATIO}x)",
            ratio >= GOAL_RATIO,
        )
        yield (
            f"{label(setting)}: precision {100 * points:+.2f} points (goal within 2)",
            abs(points) <= GOAL_POINTS,
        )


def as_json(rows: list[Summary], about: dict[str, Any]) -> dict[str, Any]:
    return {"about": about, "rows": [attrs.asdict(row) for row in rows]}


def from_json(document: dict[str, Any]) -> list[Summary]:
    return [Summary(**row) for row in document["rows"]]
