"""Charts: Figure 2 of the paper with our results, and the same for the flights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from benchmarks.figure2.report import NAMES, Summary, by_cell, key, settings_of
from benchmarks.figure2.settings import METHODS

COLOURS = {"brownian": "#1b6ca8", "doubling": "#d98c3f", "laplace": "#3a8f5c"}
MARKS = {"brownian": "o", "doubling": "s", "laplace": "^"}


def draw_zipf(rows: list[Summary], path: Path) -> None:
    """Draw counts returned and precision by number of records, as in the paper."""
    cells, settings = by_cell(rows), settings_of(rows, "zipf")
    figure, panels = begun(9.5)
    for place, method in enumerate(METHODS):
        found = [cells[key(setting, method, "paper")] for setting in settings]
        # Side by side, because the bars of the methods would overlap.
        at = [setting.records * 1.05 ** (place - 1) for setting in settings]
        bars(panels, at, found, method, line="-")
    for axes in panels:
        axes.set_xscale("log", base=2)
        axes.set_xticks(
            [setting.records for setting in settings],
            [f"{setting.records:,}" for setting in settings],
        )
        axes.minorticks_off()
        axes.set_xlabel("records, n")
    panels[0].legend(loc="upper left", frameon=False)
    budget = settings[0].epsilon
    finished(figure, f"Zipf data, ε = {budget}: mean ± sd, {rows[0].trials:,} trials", path)


def draw_flights(rows: list[Summary], path: Path) -> None:
    """Draw counts returned and precision at each budget."""
    cells, settings = by_cell(rows), settings_of(rows, "flights")
    figure, panels = begun(8)
    for place, method in enumerate(METHODS):
        found = [cells[key(setting, method, "paper")] for setting in settings]
        at = [index + 0.18 * (place - 1) for index in range(len(settings))]
        bars(panels, at, found, method, line="")
    for axes in panels:
        ticks = [f"ε = {setting.epsilon}" for setting in settings]
        axes.set_xticks(range(len(settings)), ticks)
        axes.set_xlim(-0.5, len(settings) - 0.5)
    panels[1].legend(loc="lower left", frameon=False)
    finished(figure, f"Aircraft at 105 destinations: mean ± sd, {rows[0].trials:,} trials", path)


def begun(width: float) -> tuple[Figure, Any]:
    mpl.rcParams["svg.hashsalt"] = "queryable"  # equal figures give equal files
    mpl.rcParams["svg.fonttype"] = "none"  # keep text as text
    figure = Figure(figsize=(width, 3.9), layout="constrained")
    panels = figure.subplots(1, 2)
    panels[0].set_title("counts returned", loc="left", fontsize=10)
    panels[1].set_title("precision: share of these within 10%", loc="left", fontsize=10)
    return figure, panels


def bars(panels: Any, at: Sequence[float], found: list[Summary], method: str, line: str) -> None:
    style: dict[str, Any] = {
        "color": COLOURS[method],
        "marker": MARKS[method],
        "linestyle": line,
        "ms": 5,
        "lw": 1.4,
        "capsize": 3,
        "label": NAMES[method],
    }
    panels[0].errorbar(at, [e.returned for e in found], [e.returned_sd for e in found], **style)
    panels[1].errorbar(at, [e.precision for e in found], [e.precision_sd for e in found], **style)


def finished(figure: Figure, title: str, path: Path) -> None:
    for axes in figure.axes:
        axes.grid(axis="y", color="#eeeeee")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylim(bottom=0)
    low, high = figure.axes[1].get_ylim()
    figure.axes[1].set_ylim(min(low, 0.8), max(high, 1.0))
    figure.axes[1].yaxis.set_major_locator(MultipleLocator(0.05))
    figure.axes[1].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
