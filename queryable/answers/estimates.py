"""Estimates with the keys of their entries and their confidence intervals, as they are read.

Responsible for taking an interval, and for an estimate as a frame, as text and as HTML. How an
interval is computed is the `Evidence`'s part. No data are read.
"""

from abc import ABC, abstractmethod
from collections.abc import Container
from fractions import Fraction
from html import escape
from itertools import product
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from queryable.answers.half_widths import confidence_of
from queryable.answers.values import (
    Value,
    entries,
    frame_numbers,
    html_cells,
    in_words,
    key_in_words,
)
from queryable.data.frozen import read_only
from queryable.losses.numbers import shown

_ROWS = 20
_USUAL = Fraction(19, 20)
_COLUMNS = ("estimate", "low", "high")
_TOWARDS = {"estimate": None, "low": -inf, "high": inf}


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


class Evidence(ABC):
    """What the intervals of an answer are computed from: released values and public facts."""

    most: Fraction | None = Fraction(1)
    """Intervals are served below this confidence, or up to it if it is below 1. None if an interval
    does not apply; then `interval` raises."""

    holds: ClassVar[str] = "each by itself"
    """What the intervals of displays hold for, in words."""

    @property
    def usual(self) -> Fraction | None:
        """The confidence of displays: 0.95, or less where that is not served."""
        return None if self.most is None else min(self.most, _USUAL)

    @abstractmethod
    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The ends of the interval, shaped as the estimate; they hold with `confidence`.

        Args:
            simultaneous: whether `confidence` holds for all entries at once, or for each by itself.
        """


def _frozen(value: Value) -> Value:
    return read_only(np.asarray(value).view()) if isinstance(value, np.ndarray) else value


@attrs.frozen(eq=False, repr=False)
class LabelledEstimate:
    """An estimate, one number or an array, with what is needed to read it; see `Released`."""

    estimate: Value = attrs.field(converter=_frozen)
    axes: tuple[Axis, ...] = ()
    title: str = ""
    evidence: Evidence = attrs.field(kw_only=True)

    def interval(
        self, confidence: Any = None, *, simultaneous: bool = False
    ) -> tuple[Value, Value]:
        """The ends of a confidence interval for the value without noise, ends included.

        The probability is over the noise, and is at least `confidence`. It is about the value that
        the statistic computes without noise, so about the rows that it counts.

        Args:
            confidence: a probability above 0 and below 1. By default 0.95, or the confidence for
                which the answer was released if it serves no higher one.
            simultaneous: whether it holds for all entries at once, and so for any selection of
                them; otherwise for each entry that was selected before the values were seen.
        """
        if confidence is None:
            confidence = self.evidence.usual or _USUAL
        low, high = self.evidence.interval(confidence_of(confidence), simultaneous=simultaneous)
        return _frozen(low), _frozen(high)

    def to_pandas(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """A pandas frame: the keys, then `estimate`, `low` and `high`; see `interval`."""
        columns = self._columns(confidence, simultaneous=simultaneous)
        return _imported("pandas").DataFrame(columns)

    def to_polars(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """A polars frame: the keys, then `estimate`, `low` and `high`; see `interval`."""
        columns = self._columns(confidence, simultaneous=simultaneous)
        return _imported("polars").DataFrame(columns, strict=False)

    def to_arrow(self, confidence: Any = None, *, simultaneous: bool = False) -> Any:
        """An Arrow table: the keys, then `estimate`, `low` and `high`; see `interval`."""
        columns = self._columns(confidence, simultaneous=simultaneous)
        return _imported("pyarrow").table(columns)

    def _columns(self, confidence: Any, *, simultaneous: bool) -> dict[str, list[Any]]:
        values = [self.estimate]
        if self.evidence.most is not None:
            values += self.interval(confidence, simultaneous=simultaneous)
        columns: dict[str, list[Any]] = {}
        keys = [sum(each, ()) for each in product(*(axis.values for axis in self.axes))]
        for place, name in enumerate(name for axis in self.axes for name in axis.names):
            columns[_free(name, columns)] = _column([key[place] for key in keys])
        for name, each in zip(_COLUMNS, values, strict=False):  # without intervals, the first
            columns[name] = frame_numbers(entries(each), _TOWARDS[name])
        return columns

    def __str__(self) -> str:
        if not self.axes:
            return f"{self.title or 'estimate'}: {self._in_words()}"
        head, rows = self._table()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        keys = head.index(_COLUMNS[0])
        lines = [
            "  ".join(
                each.ljust(width) if place < keys else each.rjust(width)
                for place, (each, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in (head, *rows)
        ]
        return "\n".join([self._caption(), *lines, *self._left_out(len(rows))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.axes:
            return f"<p>{escape(str(self))}</p>"
        head, rows = self._table()
        body = "".join(f"<tr>{html_cells('td', row)}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(line)}</p>" for line in self._left_out(len(rows)))
        return (
            f"<table><caption>{escape(self._caption())}</caption><thead><tr>"
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

    def _caption(self) -> str:
        percent = self._percent()
        return (
            f"{self.title}; {percent} intervals, {self.evidence.holds}" if percent else self.title
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns(None, simultaneous=False)
        rows = list(zip(*(each[:_ROWS] for each in columns.values()), strict=True))
        keys = list(columns).index(_COLUMNS[0])
        return list(columns), [
            [*map(key_in_words, row[:keys]), *in_words(*row[keys:])] for row in rows
        ]

    def _left_out(self, shown: int) -> list[str]:
        more = np.size(self.estimate) - shown
        return [f"and {more} more rows: see to_pandas(), to_polars(), to_arrow()"] if more else []


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
    while name in taken or name in _COLUMNS:
        name += "_key"
    return name


def _column(values: list[Any]) -> list[Any]:
    """Keys of one type; bins, and keys of several types, as texts."""
    mixed = len({type(each) for each in values}) > 1
    return [str(each) if mixed or isinstance(each, Bin) else each for each in values]
