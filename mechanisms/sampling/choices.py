"""Laws of choosing one of several candidates by integer scores, sampled exactly.

The samplers turn scores into an index with the stated probabilities, from fair bits and with
integers alone.

Theory of operation. A candidate whose score is g below the best has weight exp(-rate * g). Its
level l is the whole part of rate * g, at most 45. All candidates of a level have the same number of
tickets out of 2**64, an integer at or above 2**64 e^-l. The weight is the product of three
probabilities: that a uniform ticket is one of these, exp(-(rate * g - l)), and a correction for
rounding the tickets up. Tickets are compared for all candidates at once; coins for the other two
probabilities are tossed for few candidates.
"""

from bisect import bisect_right
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from operator import mul
from typing import Any, TypeAlias

import attrs
import numpy as np
from flint import arb

from mechanisms.sampling.blocks import coin
from mechanisms.sampling.cks import coin_exp
from queryable.losses.numbers import ball, enclosed, positive, round_down, round_up
from queryable.randomness.intervals import Chance, Interval
from queryable.randomness.laws import FairBits, Law

Array: TypeAlias = np.ndarray[Any, Any]

_LAST = 45  # e**-45 is below 2**-64
_UNIT = 1 << 64
_NARROW = 1 << 62  # products below this stay within int64


def _rate(value: Any) -> Fraction:
    return positive(value, "rate")


def _gaps(scores: Any) -> Array:
    array = np.asarray(scores)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"scores have shape {array.shape}; there should be one per candidate")
    best, worst = int(array.max()), int(array.min())
    wide = array if best - worst < _NARROW else array.astype(object)
    return np.asarray(best - wide)


@attrs.frozen(eq=False)
class _ByScore(Law[int]):
    """A law that depends on the differences of the scores to the best."""

    gaps: Array = attrs.field(converter=_gaps, repr=False)
    rate: Fraction = attrs.field(converter=_rate)
    _levels: Array = attrs.field(init=False, repr=False)

    @_levels.default
    def _cut(self) -> Array:
        """The whole part of rate * gap, at most `_LAST`."""
        top, bottom = self.rate.numerator, self.rate.denominator
        reach = -(-_LAST * bottom // top)  # larger gaps have the last level
        gaps = self.gaps if reach * top < _NARROW else self.gaps.astype(object)
        levels = np.minimum(np.minimum(gaps, reach) * top // bottom, _LAST)
        return np.asarray(levels.astype(np.int64))

    def exponent(self, candidate: int) -> Fraction:
        """rate * gap; the weight is exp(-exponent)."""
        return self.rate * int(self.gaps[candidate])

    def _is_accepted(self, candidate: int, source: FairBits) -> bool:
        """True with probability weight * 2**64 / tickets."""
        level = int(self._levels[candidate])
        rest = self.exponent(candidate) - level
        return coin_exp(rest.numerator, rest.denominator, source) and (
            level == 0 or coin(partial(_share, level), source)
        )


@attrs.frozen(eq=False)
class Softmax(_ByScore):
    """Index i with probability proportional to exp(rate * scores[i]).

    A uniform ticket proposes a candidate, which is kept or not; more than a third are kept.

    Args:
        gaps: the scores: integers, shape (candidates,), converted to their gaps to the best.
        rate: a positive rational.
    """

    _ends: list[int] = attrs.field(init=False, repr=False)

    @_ends.default
    def _lay_out(self) -> list[int]:
        """The end of the tickets of each level."""
        counts = np.bincount(self._levels, minlength=_LAST + 1).tolist()
        return list(accumulate(map(mul, counts, _tickets())))

    def sample(self, source: FairBits) -> int:
        """One draw."""
        while True:
            candidate = self._proposed(source.below(self._ends[-1]))
            if self._is_accepted(candidate, source):
                return candidate

    def _proposed(self, ticket: int) -> int:
        """The candidate of a ticket."""
        level = bisect_right(self._ends, ticket)
        first = self._ends[level - 1] if level else 0
        same = np.flatnonzero(self._levels == level)
        return int(same[(ticket - first) // _tickets()[level]])

    def outcomes(self) -> tuple[tuple[int, Chance], ...]:
        """Every candidate, with intervals that enclose the irrational probabilities."""
        weights = [_enclosed_exp(self.exponent(each)) for each in range(len(self.gaps))]
        least, most = sum(each.low for each in weights), sum(each.high for each in weights)
        return tuple(
            (index, Interval(each.low / most, min(each.high / least, Fraction(1))))
            for index, each in enumerate(weights)
        )


@attrs.frozen(eq=False)
class PermuteAndFlipLaw(_ByScore):
    """Candidates in random order, each taken with probability exp(-rate * gap), until one is taken.

    The best is taken with certainty, so one is. Index i is chosen with probability w_i times the
    integral from 0 to 1 of the product of (1 - t w_j) over the others j. For let each candidate
    have a uniform arrival time: i is chosen at its own time t if no earlier one was taken.
    """

    def sample(self, source: FairBits) -> int:
        """One draw. Only candidates that have a ticket need an order; others are never taken."""
        drawn = np.frombuffer(source.bytes(8 * len(self.gaps)), dtype="<u8")
        has_one = (self._levels == 0) | (drawn < _ticket_limits()[self._levels])
        order = np.flatnonzero(has_one).tolist()
        for left in range(len(order), 0, -1):
            place = source.below(left)
            candidate, order[place] = order[place], order[left - 1]
            if self._is_accepted(candidate, source):
                return int(candidate)
        raise AssertionError("the best candidate was not taken")

    def outcomes(self) -> tuple[tuple[int, Chance], ...]:
        """Every candidate, with intervals that enclose the irrational probabilities."""
        exponents = [self.exponent(each) for each in range(len(self.gaps))]
        bits = 96 + len(exponents)  # one bit per factor may cancel in the integral
        chances = []
        for index, own in enumerate(exponents):
            others = exponents[:index] + exponents[index + 1 :]
            least = round_down(_taken, own, *others, bits=bits)
            most = round_up(_taken, own, *others, bits=bits)
            chances.append((index, Interval(max(least, Fraction(0)), min(most, Fraction(1)))))
        return tuple(chances)


def _taken(own: arb, *others: arb) -> arb:
    """w_i times the integral of the product, which is a polynomial in t."""
    product = [arb(1)]
    for exponent in others:
        weight = (-exponent).exp()
        shifted = [arb(0), *(weight * each for each in product)]
        product = [each - more for each, more in zip([*product, arb(0)], shifted, strict=True)]
    integral = sum((each / (power + 1) for power, each in enumerate(product)), arb(0))
    return (-own).exp() * integral


@cache
def _tickets() -> tuple[int, ...]:
    """The tickets of one candidate of each level: at least 2**64 e**-level."""
    rounded = (enclosed(partial(_exp, Fraction(level)), 64)[1] for level in range(1, _LAST + 1))
    return (_UNIT, *rounded)


@cache
def _ticket_limits() -> Array:
    """The same as 64-bit integers, for comparisons; 2**64 - 1 where all tickets count."""
    return np.array([_UNIT - 1, *_tickets()[1:]], dtype=np.uint64)


def _share(level: int) -> arb:
    return _exp(Fraction(level)) * _UNIT / _tickets()[level]


def _exp(exponent: Fraction) -> arb:
    return (-ball(exponent)).exp()


def _enclosed_exp(exponent: Fraction) -> Interval:
    return Interval(round_down(arb.exp, -exponent), round_up(arb.exp, -exponent))
