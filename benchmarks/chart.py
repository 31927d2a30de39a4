"""A chart of the times of this library and of its peers, on one logarithmic axis."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.measure import Row

COLOURS = {"ours": "#1b6ca8", "numpy": "#9aa5b1", "OpenDP": "#d98c3f", "another way": "#5b8c5a"}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw one dot per library, or other way to do the same; a line joins the dots of a row."""
    timed = [row for row in rows if row.unit == "s"][::-1]
    mpl.rcParams["svg.hashsalt"] = "queryable"  # equal figures give equal files
    mpl.rcParams["svg.fonttype"] = "none"  # keep text as text
    figure = Figure(figsize=(9, 0.34 * len(timed) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(timed):
        values = {"ours": row.ours, **row.peers}
        ends = min(values.values()), max(values.values())
        axes.plot(ends, (place, place), color="#d5dae0", zorder=1)
        for name, value in values.items():
            colour = COLOURS.get(name, COLOURS["another way"])
            axes.scatter(value, place, color=colour, s=36, zorder=2)
    for name, colour in COLOURS.items():
        axes.scatter([], [], color=colour, label=name)
    axes.set_xscale("log")
    ticks = [10.0**power for power in range(-9, 2, 1)]
    shown = ["1 ns", "10", "100", "1 us", "10", "100", "1 ms", "10", "100", "1 s", "10"]
    axes.set_xticks(ticks, shown)
    axes.set_yticks(range(len(timed)), [row.work for row in timed])
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.legend(loc="lower right", frameon=False)
    axes.set_title("Median processor time, lower is better", loc="left", fontsize=10)
    figure.savefig(path, metadata={"Date": None})
