"""Brackets of a quantile: a private estimate, and ends that enclose the exact quantile.

`Brackets` turns the counts of cells at and between public candidates into three laws on the
candidates. It reads the counts of one group and knows nothing of tables or of what a draw costs.

Theory of operation. At the level a/b, below(t) = b #(cell < t) - a n and upto(t) =
b #(cell <= t) - a n for n cells. Both are integers that do not decrease in t, and one row moves
each of them by at most max(a, b - a). A value is below every exact quantile if below < 0 there, and
above every one if upto > 0. The values of such a function at the candidates cut the integers into
consecutive brackets. A bracket's score is minus its distance from a public target, so one of them
has score 0. With the target -shift, a lower end that is wrong has a score of at most -shift.
"""

from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.sampling.choices import Softmax
from queryable.losses.numbers import round_up

Array: TypeAlias = np.ndarray[Any, Any]


def least_shift(candidates: int, rate: Fraction, missed: Fraction) -> int:
    """The shift at which a wrong end is chosen with probability `missed` at most.

    At most `candidates` brackets have a wrong end, and each has weight exp(-rate * shift) or less
    beside a bracket of weight 1. So the probability is at most w / (1 + w) with
    w = candidates exp(-rate * shift).
    """
    odds = candidates * (1 - missed) / missed
    return round_up(lambda x, y: x.log() / y, odds, rate).__ceil__()


def distances(cuts: Array, target: int) -> Array:
    """The distance of a target from each bracket.

    Bracket j reaches from cut j - 1 to cut j. The first bracket has no lower end and the last one
    has no upper end. The cuts do not decrease.
    """
    over, under = np.maximum(cuts - target, 0), np.maximum(target - cuts, 0)
    none = np.zeros(1, dtype=cuts.dtype)
    return np.asarray(np.maximum(np.append(none, over), np.append(under, none)))


@attrs.frozen
class Brackets:
    """The laws of an estimate and of two ends, for one level and one grid.

    Args:
        level: from 0 to 1.
        candidates: the number of candidates, at least 1.
    """

    level: Fraction
    candidates: int

    @property
    def sensitivity(self) -> int:
        """The most that one row moves a cut of `lower` and `upper`: max(a, b - a)."""
        above, whole = self.level.as_integer_ratio()
        return max(above, whole - above)

    def lower(self, counts: Array, shift: int, rate: Fraction) -> Softmax:
        """The number of candidates up to the lower end; 0 is an end at minus infinity."""
        below, _ = self._cuts(counts)
        return Softmax(-distances(below, -shift), rate)

    def upper(self, counts: Array, shift: int, rate: Fraction) -> Softmax:
        """The index of the upper end; the number of candidates is an end at infinity."""
        _, upto = self._cuts(counts)
        return Softmax(-distances(upto, shift), rate)

    def middle(self, counts: Array, rate: Fraction) -> Softmax:
        """The index of the estimate.

        A cut between two neighbours is upto(the first) + below(the second). It divides the cells
        between them in halves, so that the candidate which is nearer in rank has score 0. Such a
        cut moves by 2 `sensitivity` per row, which the rate accounts for.
        """
        below, upto = self._cuts(counts)
        return Softmax(-distances(upto[:-1] + below[1:], 0), rate / 2)

    def _cuts(self, counts: Array) -> tuple[Array, Array]:
        """`below` and `upto` at every candidate, as Python integers.

        Entry 2 i + 1 of the counts is the number of cells at candidate i; the entries before and
        after it are the numbers of cells below and above it, up to its neighbours.
        """
        above, whole = self.level.as_integer_ratio()
        reached = np.cumsum(counts.astype(object))
        scaled = whole * reached[:-1] - above * reached[-1]
        return scaled[::2], scaled[1::2]
