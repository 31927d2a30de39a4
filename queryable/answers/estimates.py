"""Estimates with the keys of their entries and their confidence intervals, as they are read.

Responsible for taking an interval, and for an estimate as a frame, as text and as HTML. How an
interval is computed is the `Evidence`'s part. No data are read.
"""

from collections.abc import Container
from html import escape
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from queryable.answers.evidence import USUAL, Evidence
from queryable.answers.half_widths import confidence_of
from queryable.answers.values import (
    Value,
    entries,
    for_sheets,
    frame_numbers,
    html_cells,
    in_words,
    key_in_words,
    printable,
)
from queryable.data.frozen import read_only
from queryable.losses.numbers import shown
from queryable.wording.quoting import truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queryable.answers.plotting import Plotted

_ROWS = 20
_TOWARDS = {
    "estimate": None,
    "low": -inf,
    "high": inf,
    "sampling_low": -inf,
    "sampling_high": inf,
}
COLUMNS = tuple(_TOWARDS)


@attrs.frozen(order=True)
class Bin:
    """The values from `low` up to, but without, `high`. It prints as "[0, 10)"."""

    low: Any
    high: Any

    def __str__(self) -> str:
        return f"[{self.low}, {self.high})"


@attrs.frozen
class Axis:
    """The keys along one dimension of an estimate.

    Attributes:
        names: the columns that the keys are of.
        values: one key per entry of the dimension: a tuple with one entry per name.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


def _frozen(value: Value) -> Value:
    return read_only(np.asarray(value).view()) if isinstance(value, np.ndarray) else value


@attrs.frozen(eq=False, repr=False)
class LabelledEstimate:
    """An estimate, one number or an array, with what is needed to read it; see `Released`."""

    estimate: Value = attrs.field(converter=_frozen)
    axes: tuple[Axis, ...] = ()
    title: str = attrs.field(default="", converter=printable)
    evidence: Evidence = attrs.field(kw_only=True)

    def interval(
        self,
        confidence: Any = None,
        *,
        simultaneous: bool = False,
        fixed_in_advance: bool = False,
        sampling: bool = False,
    ) -> tuple[Value, Value]:
        """The ends of a confidence interval for the value without noise, ends included.

        The probability is over the noise, and is at least `confidence`. It is about the value that
        the statistic computes without noise, so about the rows that it counts.

        Args:
            confidence: a probability above 0 and below 1. By default 0.95, or the confidence for
                which the answer was released if it serves no higher one.
            simultaneous: whether it holds for all entries at once, and so for any selection of
                them; otherwise for each entry that was selected before the values were seen.
            fixed_in_advance: whether all questions that this is computed from, and how accurately
                they were asked, had been fixed before the first of them was answered. The interval
                of a difference of separate answers is then narrower. It need not hold otherwise.
            sampling: whether it is for the population that the rows are a sample of, which is
                approximate. Only a question that asked for it has one; see `Regression`.

        Raises:
            ValueError: such an interval does not apply to this answer.
        """
        truth(simultaneous, "simultaneous")
        truth(fixed_in_advance, "fixed_in_advance")
        if confidence is None:
            confidence = self.evidence.usual or USUAL
        if sampling and fixed_in_advance:
            raise ValueError("give either fixed_in_advance or sampling")
        take = self.evidence.fixed_in_advance if fixed_in_advance else self.evidence.interval
        take = self.evidence.sampling if sampling else take
        low, high = take(confidence_of(confidence), simultaneous=simultaneous)
        return _frozen(low), _frozen(high)

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the numbers may overlook, such as a mean at one of its bounds.

        It follows from the released numbers and from public facts.
        """
        return self.evidence.notes(self.estimate)

    def to_pandas(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """A pandas frame: the keys, then `estimate`, `low` and `high`; see `interval`.

        Its `attrs` have the `title`, which says how many rows of each unit are counted; the
        `confidence` of the intervals, what they are `about`, and all of it as a `caption`.
        `to_excel` writes it: times are in UTC and without a zone, and bytes are texts.
        """
        columns = self._columns(confidence, simultaneous=simultaneous)
        plain = {name: for_sheets(column) for name, column in columns.items()}
        frame = _imported("pandas").DataFrame(plain)
        frame.attrs |= self._about(confidence, simultaneous=simultaneous)
        return frame

    def to_polars(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """A polars frame: the keys, then `estimate`, `low` and `high`; see `interval`."""
        columns = self._columns(confidence, simultaneous=simultaneous)
        return _imported("polars").DataFrame(columns, strict=False)

    def to_arrow(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """An Arrow table: the keys, then `estimate`, `low` and `high`; see `interval`."""
        columns = self._columns(confidence, simultaneous=simultaneous)
        return _imported("pyarrow").table(columns)

    def plot(
        self, axes: "Axes | None" = None, confidence: Any = None, *, simultaneous: bool = False
    ) -> "Axes":
        """Draw the estimates with their intervals; the groups are labelled.

        Of several dimensions the last is drawn as series of different colours, if it has few keys.
        An arrow stands for an end of an interval that is infinite. Needs matplotlib (extra `plot`).

        Args:
            axes: where to draw; by default in a new figure of pyplot, which notebooks show.
            confidence, simultaneous: see `interval`.

        Raises:
            ImportError: matplotlib is not installed.
            TypeError: the estimates are no numbers and no times.
            ValueError: there are more than 400.
        """
        from queryable.answers.plotting import draw

        return draw(self._plotted(confidence, simultaneous=simultaneous), axes)

    def _repr_png_(self) -> bytes | None:
        """The picture of groups; frontends show it that have no HTML."""
        if not self.axes:
            return None
        from queryable.answers.plotting import as_png

        return as_png(self._plotted(None, simultaneous=False))

    def _plotted(self, confidence: Any, *, simultaneous: bool) -> "Plotted":
        from queryable.answers.plotting import plotted

        ends = None
        if self.evidence.most is not None:
            low, high = self.interval(confidence, simultaneous=simultaneous)
            ends = entries(low), entries(high)
        caption = str(self._about(confidence, simultaneous=simultaneous)["caption"])
        keys = [(axis.names, axis.values) for axis in self.axes]
        return plotted(caption, keys, entries(self.estimate), ends)

    def _about(self, confidence: Any, *, simultaneous: bool) -> dict[str, Any]:
        """What the columns are about, as plain values."""
        usual = self.evidence.usual
        if usual is None:
            return {"title": self.title, "caption": self.title}
        level = usual if confidence is None else confidence_of(confidence)
        about = "all at once" if simultaneous else self.evidence.holds
        return {
            "title": self.title,
            "confidence": float(level),
            "about": about,
            "caption": f"{self.title}; {shown(100 * level)}% intervals, {about}",
        }

    def _columns(self, confidence: Any, *, simultaneous: bool) -> dict[str, list[Any]]:
        values = [self.estimate]
        if self.evidence.most is not None:
            values += self.interval(confidence, simultaneous=simultaneous)
        if self.evidence.has_sampling:
            values += self.interval(confidence, simultaneous=simultaneous, sampling=True)
        columns: dict[str, list[Any]] = {}
        keys = [sum(each, ()) for each in product(*(axis.values for axis in self.axes))]
        for place, name in enumerate(name for axis in self.axes for name in axis.names):
            columns[_free(name, columns)] = _column([key[place] for key in keys])
        for name, each in zip(COLUMNS, values, strict=False):  # without intervals, the first
            columns[name] = frame_numbers(entries(each), _TOWARDS[name])
        return columns

    def __str__(self) -> str:
        if not self.axes:
            return "\n".join([f"{self.title or 'estimate'}: {self._in_words()}", *self._noted()])
        head, rows, keys = self.as_texts()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(
                each.ljust(width) if place < keys else each.rjust(width)
                for place, (each, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in (head, *rows)
        ]
        return "\n".join([self.caption, *lines, *self._left_out(len(rows))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.axes:
            return f"<p>{escape(str(self))}</p>"
        head, rows, _ = self.as_texts()
        body = "".join(f"<tr>{html_cells('td', row)}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(line)}</p>" for line in self._left_out(len(rows)))
        return (
            f"<table><caption>{escape(self.caption)}</caption><thead><tr>"
            f"{html_cells('th', head)}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )

    def _in_words(self) -> str:
        if not (percent := self._percent()):
            return in_words(self.estimate)[0]
        estimate, low, high = in_words(self.estimate, *self.interval())
        return f"{estimate} ({percent} interval: {low} to {high})"

    def _percent(self) -> str:
        """The confidence of displays; empty if there are no intervals."""
        usual = self.evidence.usual
        return f"{shown(100 * usual)}%" if usual else ""

    @property
    def caption(self) -> str:
        """What is estimated, and what the intervals of displays hold for."""
        return str(self._about(None, simultaneous=False)["caption"])

    @property
    def count(self) -> int:
        """How many estimates there are."""
        return int(np.size(self.estimate))

    def as_texts(
        self, most: int = _ROWS
    ) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
        """The names of the columns, the first rows as texts, and how many columns have keys."""
        columns = self._columns(None, simultaneous=False)
        rows = list(zip(*(each[:most] for each in columns.values()), strict=True))
        keys = list(columns).index(COLUMNS[0])
        texts = ((*map(key_in_words, row[:keys]), *in_words(*row[keys:])) for row in rows)
        return tuple(map(key_in_words, columns)), tuple(texts), keys

    def _left_out(self, shown: int) -> list[str]:
        more = self.count - shown
        left = [f"and {more} more rows: see to_pandas(), to_polars(), to_arrow()"] if more else []
        return [*left, *self._noted()]

    def _noted(self) -> list[str]:
        return [f"note: {each}" for each in self.notes]


def _imported(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise ImportError(
            f"install {name} first (pip install {name}), or use another of to_pandas(), "
            "to_polars() and to_arrow()"
        ) from None


def _free(name: str, taken: Container[str]) -> str:
    """A name for a column of keys that no other column has."""
    while name in taken or name in COLUMNS:
        name += "_key"
    return name


def _column(values: list[Any]) -> list[Any]:
    """Keys of one type; bins, and keys of several types, as texts."""
    mixed = len({type(each) for each in values}) > 1
    return [str(each) if mixed or isinstance(each, Bin) else each for each in values]
