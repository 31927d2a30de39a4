"""Margins of answers in groups: the sums of noisy cells, with the intervals of these sums.

Responsible for the evidence of a margin, and for an answer of two dimensions as a table with its
margins. They are computed from the released cells, so they add up and cost nothing. Reads no data.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable.answers.estimates import COLUMNS, Axis
from queryable.answers.evidence import DerivedEvidence
from queryable.answers.near import FOR_RANGES, Near
from queryable.answers.values import Value, key_in_words, with_half_width


@attrs.frozen
class Margin(DerivedEvidence):
    """That of sums of an answer's estimates, which add up, along some of its dimensions.

    Attributes:
        along: the dimensions, counted from 0, ascending.
    """

    along: tuple[int, ...]

    def near(self, missed: Fraction) -> Near | None:
        """The sums of the answer's."""
        near = self.whole.near(missed)
        return None if near is None else near.summed(self.along)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The interval of each sum of noise; by the union bound if for all sums at once."""
        missed = 1 - confidence
        near = self.near(missed * FOR_RANGES)
        assert near is not None
        if simultaneous:
            missed /= max(np.size(near.low), 1)
            near = self.near(missed * FOR_RANGES)
            assert near is not None
        low, high = near.interval(missed * (1 - FOR_RANGES), joint=True)
        return (low, high) if np.ndim(low) else (float(low), float(high))


def kept_of(axes: Sequence[Axis], names: Sequence[Any]) -> list[int]:
    """The dimensions that have some columns.

    Raises:
        KeyError: there is no such column.
    """
    known = [name for axis in axes for name in axis.names]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KeyError(f"there is no column {unknown[0]!r}: they are {', '.join(known)}")
    return [place for place, axis in enumerate(axes) if set(axis.names) & set(names)]


def stacked(parts: Sequence[Any], confidence: Fraction, *, simultaneous: bool) -> Any:
    """A pandas frame of an answer and its margins below each other, with the key "all" in these.

    Args:
        parts: the answer, then its margins.
        simultaneous: whether the intervals of all parts hold at once, by the union bound.
    """
    import pandas as pd

    if simultaneous:
        confidence = 1 - (1 - confidence) / len(parts)
    frames = [each.to_pandas(confidence, simultaneous=simultaneous) for each in parts]
    names = frames[0].columns
    whole = pd.concat([each.reindex(columns=names, fill_value="all") for each in frames])
    keys = [name for name in names if name not in COLUMNS]
    whole[keys] = whole[keys].astype(str)
    return whole.reset_index(drop=True)


def crossed(
    axes: Sequence[Axis],
    parts: Sequence[tuple[Value, tuple[Value, Value]]],
    caption: str,
) -> str:
    """Cells of two dimensions with their margins, each as `estimate ± half-width`.

    Args:
        parts: the estimates and ends of the cells, of the rows, of the columns and of all.
    """
    cells, rows, columns, whole = (_entries(*part) for part in parts)
    keys = [[", ".join(map(key_in_words, key)) for key in axis.values] for axis in axes]
    lines = [
        [", ".join(axes[0].names), *keys[1], "total"],
        *([key, *cells[i], rows[i]] for i, key in enumerate(keys[0])),
        ["total", *columns, whole],
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = (
        "  ".join(
            each.rjust(width) if place else each.ljust(width)
            for place, (each, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join([caption, *texts])


def _entries(estimate: Value, ends: tuple[Value, Value]) -> Any:
    """Each as text, shaped as the estimate; one text if it is a number."""
    found = np.frompyfunc(with_half_width, 3, 1)(
        *(np.asarray(each, object) for each in (estimate, *ends))
    )
    return found.tolist() if np.ndim(found) else found
