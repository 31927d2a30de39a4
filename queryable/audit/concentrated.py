"""The zero-concentrated loss of two laws: a supremum over all Renyi orders, enclosed.

Responsible for bounding all orders at once.

Theory of operation: with s = alpha - 1, s*D_alpha is the logarithm of a moment generating function:
convex in s, and zero at s = 0. So between two orders it lies below its chord, beyond the last one
below s times the max divergence, and D_alpha/alpha is at most the chord over s(1 + s), whose
largest value is known in closed form. The cell whose bound is largest is halved until that bound is
within a relative 2**-11 of the best order found.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf

import attrs

from queryable.audit.divergences import (
    Bound,
    Law,
    max_divergence,
    renyi_divergence,
    renyi_divergence_below,
)
from queryable.numbers import sqrt_down

GAP = Fraction(1, 2**11)
"""How far the bound may stay above the best order found, relatively."""

_STARTS = tuple(Fraction(1, 2**power) for power in (40, 20, 16))
_MOST_CELLS = 4000


@attrs.frozen
class Concentration:
    """Between `below`, which the order `alpha` proves, and `above`."""

    below: Bound
    above: Bound
    alpha: Fraction


def zcdp(p: Law, q: Law) -> Bound:
    """The supremum of D_alpha/alpha over all alpha > 1, from above, both directions."""
    return max(concentration(p, q).above, concentration(q, p).above)


def concentration(p: Law, q: Law, enough: Fraction | None = None) -> Concentration:
    """The supremum of D_alpha(p || q)/alpha over all alpha > 1, enclosed.

    Args:
        enough: stop as soon as it is known on which side of this it lies.
    """
    largest = max_divergence(p, q)
    if largest == inf:
        return Concentration(renyi_divergence_below(p, q, 2) / 2, inf, Fraction(2))
    above, below = partial(renyi_divergence, p, q), partial(renyi_divergence_below, p, q)
    return supremum(above, below, Fraction(largest), enough)


def supremum(
    above: Callable[[Fraction], Bound],
    below: Callable[[Fraction], Bound],
    largest: Fraction,
    enough: Fraction | None = None,
    starts: Sequence[Fraction] = _STARTS,
    most: int = _MOST_CELLS,
) -> Concentration:
    """The supremum of D_alpha/alpha over all alpha > 1, for any D whose s*D_(1+s) is convex.

    That of two laws is, and so is the largest of many pairs of laws.

    Args:
        above: D at an order, from above; finite.
        below: the same from below.
        largest: what D never exceeds.
        enough: stop as soon as it is known on which side of this it lies.
        starts: the lowest orders to look at, less 1.
        most: after how many halvings to give up.
    """
    if largest == 0:
        return Concentration(Fraction(0), Fraction(0), Fraction(2))
    wanted = Fraction(-1) if enough is None else enough
    return _Search(above, below, largest, wanted, starts, most).run()


@attrs.define
class _Search:
    at_most: Callable[[Fraction], Bound]
    at_least: Callable[[Fraction], Bound]
    largest: Fraction
    enough: Fraction
    starts: Sequence[Fraction]
    most: int
    below: Fraction = Fraction(0)
    alpha: Fraction = Fraction(2)

    def run(self) -> Concentration:
        # Up to the first order D_alpha is at most D there; enclosed chances blur the lowest orders.
        settled, start = min((self._log_moment(each) / each, each) for each in self.starts)
        end, at_end = Fraction(1), self._log_moment(Fraction(1))
        cells = [self._cell(start, settled * start, end, at_end)]
        while self.largest / (1 + end) > max(self.below, settled, self.enough) and end < 2**40:
            following = 2 * end
            value = self._log_moment(following)
            cells.append(self._cell(end, at_end, following, value))
            end, at_end = following, value
        settled = max(settled, self.largest / (1 + end))
        heapify(cells)
        for _ in range(self.most):
            above, start, low, stop, high = cells[0]
            if -above <= max(self.below * (1 + GAP), settled, self.enough):
                break
            if self.below > self.enough * (1 + 2 * GAP) >= 0:
                break
            heappop(cells)
            middle = (start + stop) / 2 if stop <= 4 * start else _between(start, stop)
            value = self._log_moment(middle)
            heappush(cells, self._cell(start, low, middle, value))
            heappush(cells, self._cell(middle, value, stop, high))
        return Concentration(self.below, max(settled, -cells[0][0]), self.alpha)

    def _log_moment(self, s: Fraction) -> Fraction:
        """s * D_(1+s) from above; remembers the best order from below."""
        above = Fraction(self.at_most(1 + s))
        if above > self.below * (1 + s):
            found = Fraction(self.at_least(1 + s)) / (1 + s)
            if found > self.below:
                self.below, self.alpha = found, 1 + s
        return s * above

    @staticmethod
    def _cell(
        start: Fraction, low: Fraction, stop: Fraction, high: Fraction
    ) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
        """Minus the bound, which the heap sorts by, and the ends with their values."""
        return -_chord(start, low, stop, high), start, low, stop, high


def _between(start: Fraction, stop: Fraction) -> Fraction:
    """A power of two about halfway in logarithms."""
    octaves = (stop // start).bit_length() // 2
    return start * Fraction(2**octaves)


def _chord(start: Fraction, low: Fraction, stop: Fraction, high: Fraction) -> Fraction:
    """The largest value of (a + b*s)/(s*(1 + s)) for the chord a + b*s, s from start to stop.

    Where a < 0 it rises up to s = (sqrt(a*a - a*b) - a)/b, where it is b/(1 + 2s), then falls.
    """
    slope = (high - low) / (stop - start)
    offset = low - slope * start
    ends = max(low / (start * (1 + start)), high / (stop * (1 + stop)))
    if offset >= 0 or slope <= 0:
        return ends
    peak = (sqrt_down(offset * offset - offset * slope) - offset) / slope
    return max(ends, slope / (1 + 2 * peak)) if start < peak < stop else ends
