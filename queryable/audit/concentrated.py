"""Bounds on the zero-concentrated loss of two laws: sup D_alpha/alpha over all orders.

D_alpha is the Renyi divergence of order alpha. Let s = alpha - 1. Then s*D_alpha is the logarithm
of a moment generating function, so it is convex in s and zero at s = 0. Three facts follow:

- Between two orders, s*D_alpha lies below its chord.
- Beyond the last order, s*D_alpha lies below s times the max divergence.
- D_alpha/alpha is at most the chord over s(1 + s), whose maximum has a closed form.

The search divides the orders into cells. It halves the cell with the largest bound until that bound
is within a relative 2**-11 of the best order found.
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
from queryable.losses.numbers import sqrt_down

GAP = Fraction(1, 2**11)
"""The largest relative gap between the upper bound and the best order found."""

_STARTS = tuple(Fraction(1, 2**power) for power in (40, 20, 16))
_MOST_CELLS = 4000


@attrs.frozen
class Concentration:
    """Bounds on sup D_alpha/alpha. The order `alpha` proves `below`."""

    below: Bound
    above: Bound
    alpha: Fraction


def zcdp(p: Law, q: Law) -> Bound:
    """Return sup D_alpha/alpha over alpha > 1 and both directions, rounded up."""
    return max(concentration(p, q).above, concentration(q, p).above)


def concentration(p: Law, q: Law, enough: Fraction | None = None) -> Concentration:
    """Return bounds on the supremum of D_alpha(p || q)/alpha over all alpha > 1.

    Args:
        enough: stop as soon as the bounds decide whether the supremum exceeds this value.
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
    """Return bounds on sup D_alpha/alpha over alpha > 1, for any D with s*D_(1+s) convex in s.

    The Renyi divergence of two laws satisfies this, and so does the maximum over pairs of laws.

    Args:
        above: an upper bound on D at an order; finite.
        below: a lower bound on D at an order.
        largest: an upper bound on D at every order.
        enough: stop as soon as the bounds decide whether the supremum exceeds this value.
        starts: the lowest orders to evaluate, minus 1.
        most: the largest number of halvings.
    """
    if largest == 0:
        return Concentration(Fraction(0), Fraction(0), Fraction(2))
    wanted = Fraction(-1) if enough is None else enough
    return _ConcentratedSearch(above, below, largest, wanted, starts, most).run()


@attrs.define
class _ConcentratedSearch:
    at_most: Callable[[Fraction], Bound]
    at_least: Callable[[Fraction], Bound]
    largest: Fraction
    enough: Fraction
    starts: Sequence[Fraction]
    most: int
    below: Fraction = Fraction(0)
    alpha: Fraction = Fraction(2)

    def run(self) -> Concentration:
        # Below the first order, D_alpha is at most D at the first order. Enclosed probabilities
        # make the bounds at the lowest orders loose.
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
        """Return s * D_(1+s) rounded up, and record the order with the best lower bound."""
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
        """Return minus the bound (the sort key of the heap) and both ends with values."""
        return -_chord(start, low, stop, high), start, low, stop, high


def _between(start: Fraction, stop: Fraction) -> Fraction:
    """Return `start` times a power of two, near the geometric mean of both ends."""
    octaves = (stop // start).bit_length() // 2
    return start * Fraction(2**octaves)


def _chord(start: Fraction, low: Fraction, stop: Fraction, high: Fraction) -> Fraction:
    """Return the maximum of (a + b*s)/(s*(1 + s)) for the chord a + b*s, s from start to stop.

    If a < 0, the function rises up to s = (sqrt(a*a - a*b) - a)/b, where its value is b/(1 + 2s),
    and then falls.
    """
    slope = (high - low) / (stop - start)
    offset = low - slope * start
    ends = max(low / (start * (1 + start)), high / (stop * (1 + stop)))
    if offset >= 0 or slope <= 0:
        return ends
    peak = (sqrt_down(offset * offset - offset * slope) - offset) / slope
    return max(ends, slope / (1 + 2 * peak)) if start < peak < stop else ends
