"""Answers as pictures: estimates as points, with their intervals, and with a label for each group.

Responsible for `plot` of an estimate. matplotlib (extra `plot`) is imported where it is used. Texts
of data are drawn as they are: no part of them is read as mathematics.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import numpy as np

from queryable.answers.drawing import INK, SERIES, make_plain, new_figure
from queryable.answers.values import for_sheets, frame_numbers, key_in_words
from queryable.wording.quoting import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ends: TypeAlias = tuple[Sequence[Any], Sequence[Any]]

MOST_DRAWN = 400
"""The largest number of estimates in one picture."""

_LABELS = 40
_SPREAD = 0.5


@attrs.frozen
class Plotted:
    """What a picture shows of an answer.

    Attributes:
        caption: its title.
        labels: one for each group along the axis; one empty label for a single number.
        groups: what the labels are of, such as "sex, age".
        series: the names of the series, which have a colour each; one empty name for one series.
        legend: what the series are of.
        values: the estimates, those of one label after the other.
        ends: the ends of their intervals, in the same order; None if there are none.
    """

    caption: str
    labels: tuple[str, ...]
    groups: str
    series: tuple[str, ...]
    legend: str
    values: Sequence[Any]
    ends: Ends | None

    def require_drawable(self) -> None:
        """Check that it can be drawn.

        Raises:
            TypeError: the estimates are no numbers or times.
            ValueError: there are too many.
        """
        if len(self.values) > MOST_DRAWN:
            raise ValueError(
                f"take to_pandas() and draw a part: {len(self.values):,} estimates are more than "
                f"{MOST_DRAWN} in one picture"
            )
        kinds = {type(each).__name__ for each in self.values if not _is_place(each)}
        if kinds:
            raise TypeError(f"only numbers and times are drawn, and this answer has {min(kinds)}")


def plotted(
    caption: str,
    keys: Sequence[tuple[tuple[str, ...], Sequence[tuple[Any, ...]]]],
    values: Sequence[Any],
    ends: Ends | None,
) -> Plotted:
    """What to draw of an answer: the last of several dimensions are series, if there are few keys.

    Args:
        keys: the names and the keys of each dimension.
    """
    last = keys[-1] if len(keys) > 1 and len(keys[-1][1]) <= len(SERIES) else None
    along = keys if last is None else keys[:-1]
    labels = [""]
    for _, each in along:
        labels = [f"{one}, {_label(key)}" if one else _label(key) for one in labels for key in each]
    groups = key_in_words(", ".join(name for names, _ in along for name in names))
    if last is None:
        return Plotted(caption, tuple(labels), groups, ("",), "", values, ends)
    series, legend = tuple(map(_label, last[1])), key_in_words(", ".join(last[0]))
    return Plotted(caption, tuple(labels), groups, series, legend, values, ends)


def draw(shown: Plotted, axes: "Axes | None") -> "Axes":
    """Draw into some axes, or into a new figure of pyplot, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed.
        TypeError, ValueError: it cannot be drawn.
    """
    shown.require_drawable()
    if axes is not None and not hasattr(axes, "errorbar"):
        raise TypeError(
            f"axes is {quoted(axes)}; it should be axes of matplotlib. For a confidence write "
            "plot(confidence=0.9)"
        )
    if axes is None:
        new_figure(1, 1)  # says what to install
        from matplotlib import pyplot as plt

        width = min(max(4.0, 0.5 * len(shown.values)), 14.0)
        axes = plt.figure(figsize=(width, 4.0), layout="constrained").subplots()
    _drawn(shown, axes)
    return axes


def as_png(shown: Plotted) -> bytes | None:
    """The picture for a notebook; None if matplotlib is not installed, or it cannot be drawn."""
    if find_spec("matplotlib") is None or len(shown.labels) > _LABELS:
        return None
    try:
        shown.require_drawable()
    except (TypeError, ValueError):
        return None
    figure = new_figure(min(max(4.0, 0.5 * len(shown.values)), 14.0), 4.0)
    _drawn(shown, figure.subplots())
    written = BytesIO()
    figure.savefig(written, format="png", dpi=80)
    return written.getvalue()


def _drawn(shown: Plotted, axes: Any) -> None:
    count = len(shown.series)
    places = np.arange(len(shown.labels))
    finite = [_finite(each) for each in shown.values]
    for at in range(count):
        moved = places + (at - (count - 1) / 2) * _SPREAD / count
        colour = SERIES[at]
        axes.plot(moved, finite[at::count], "o", color=colour)
        if shown.ends is not None:
            low, high = (each[at::count] for each in shown.ends)
            _draw_intervals(axes, moved, low, high, finite[at::count], colour)
    step = -(-len(places) // _LABELS)
    axes.set_xticks(places[::step], shown.labels[::step], parse_math=False)
    if max(map(len, shown.labels)) * len(places[::step]) > 80:
        axes.tick_params("x", rotation=90)
    axes.set_xlim(-0.7, len(shown.labels) - 0.3)
    axes.set_xlabel(shown.groups, parse_math=False)
    axes.set_title(shown.caption, parse_math=False, wrap=True, fontsize="medium")
    make_plain(axes)
    if count > 1:
        _draw_legend(axes, shown)


def _draw_intervals(
    axes: Any, places: Any, low: Sequence[Any], high: Sequence[Any], values: Any, colour: str
) -> None:
    """Draw an interval at each place; an end that is infinite is at the end of the axis."""
    ends = [[_finite(each) for each in side] for side in (low, high)]
    known = [each for each in zip(places, *ends, strict=True) if None not in each]
    if known:
        at, lows, highs = zip(*known, strict=True)
        axes.vlines(at, lows, highs, color=colour, linewidth=2)
    for place, below, above, value in zip(places, *ends, values, strict=True):
        if value is None or None not in (below, above):
            continue
        for end, tip in ((below, "v"), (above, "^")):
            if end is None:  # the interval goes on beyond the picture
                axes.plot(place, value, marker=tip, color=colour, markersize=11, fillstyle="none")
            else:
                axes.vlines(place, *sorted((end, value)), color=colour, linewidth=2)


def _draw_legend(axes: Any, shown: Plotted) -> None:
    marks = [axes.plot([], [], "o", color=SERIES[at])[0] for at in range(len(shown.series))]
    places = [f"{at}" for at in range(len(marks))]  # matplotlib leaves out what begins with "_"
    legend = axes.legend(
        marks, places, frameon=False, title=" ", bbox_to_anchor=(1, 1), loc="upper left"
    )
    for text, label in zip(
        [*legend.get_texts(), legend.get_title()], [*shown.series, shown.legend], strict=True
    ):
        text.set_text(label)
        text.set_parse_math(False)
        text.set_color(INK)


def _label(key: tuple[Any, ...]) -> str:
    return ", ".join(map(key_in_words, key))


def _is_place(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return value is None or is_number or hasattr(value, "year")


def _finite(value: Any) -> Any:
    """A number or a time; None if it is infinite, missing or no number."""
    value = for_sheets(frame_numbers([value], None))[0]
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    return value
