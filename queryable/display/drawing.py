"""What all pictures share: figures that are legible on white and on black paper.

Responsible for matplotlib (extra `plot`), which is imported here alone. Backgrounds are transparent
and colours are of middle lightness.
"""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from queryable.quoting import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#7a828c"
CLAIMED = "#d9822b"
EXACT = "#3d8bd9"
SERIES = (EXACT, CLAIMED, "#2f9e57", "#a678c9", "#d65f8a", "#2f9c9c", "#a8893a", "#8a8f98")
"""Colours of things side by side."""


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of so many inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'queryable[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="none")


def make_plain(axes: "Axes") -> None:
    """Two axes, in ink."""
    axes.set_facecolor("none")
    axes.title.set_color(INK)
    axes.tick_params(colors=INK)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
    for side, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))


def floats(points: Iterable[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    """Coordinates to draw."""
    pairs = list(points)
    try:
        return [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    except OverflowError:
        raise ValueError("too large a number to draw, more than 1e308") from None


def saved(figure: "Figure", path: str | Path | None) -> "Figure":
    """The figure, written where asked, as what the suffix says."""
    if path is not None:
        if not isinstance(path, str | Path):
            raise TypeError(f"path is {quoted(path)}; it should be a string or a Path")
        figure.savefig(path, dpi=160)
    return figure
