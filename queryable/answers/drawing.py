"""Helpers for all figures, which are legible on a white and on a black page.

Backgrounds are transparent, and colours have middle lightness. matplotlib (extra `plot`) is
imported only here.
"""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from queryable.wording.quoting import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#7a828c"
CLAIMED = "#d9822b"
EXACT = "#3d8bd9"
SERIES = (EXACT, CLAIMED, "#2f9e57", "#a678c9", "#d65f8a", "#2f9c9c", "#a8893a", "#8a8f98")
"""Colours of series in one figure."""


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of `width` times `height` inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "install matplotlib for figures: pip install '.[plot]' in a checkout"
        ) from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="none")


def make_plain(axes: "Axes") -> None:
    """Show only the left and the bottom axis, in the colour `INK`."""
    axes.set_facecolor("none")
    axes.title.set_color(INK)
    axes.tick_params(colors=INK)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
    for side, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))


def floats(points: Iterable[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    """Return the coordinates as two lists of floats.

    Raises:
        ValueError: a coordinate is above 1e308.
    """
    pairs = list(points)
    try:
        return [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    except OverflowError:
        raise ValueError("a number above 1e308 cannot be drawn") from None


def saved(figure: "Figure", path: str | Path | None) -> "Figure":
    """Save the figure if a path is given, in the format of its suffix, and return it."""
    if path is not None:
        if not isinstance(path, str | Path):
            raise TypeError(f"path is {quoted(path)}; it should be a string or a Path")
        figure.savefig(path, dpi=160)
    return figure
