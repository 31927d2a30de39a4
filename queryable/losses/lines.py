"""Lines above the epsilon of zCDP, if answers decide about rho (docs/theory.md, zCDP ex post).

At a rho that is known in advance any order converts it to (epsilon, delta), and the best one may be
chosen. If the answers decide how far rho goes, the orders are chosen before: order 1 + lambda gives
a line, an epsilon of (1 + lambda) rho and a constant, its start.
"""

from fractions import Fraction
from functools import lru_cache

from flint import arb

from queryable.losses.conversions import order_within
from queryable.losses.numbers import round_up

_BITS = 12


def start(slope: arb, missed: arb) -> arb:
    """log(k/missed)/lambda, with k = lambda^lambda/(1+lambda)^(1+lambda)."""
    odds = slope * (slope / (1 + slope)).log() - (1 + slope).log()
    return (odds - missed.log()) / slope


@lru_cache(maxsize=4096)
def start_of(slope: Fraction, missed: Fraction) -> Fraction:
    """The start of the line of a lambda, rounded up; it may be below 0."""
    return round_up(start, slope, missed)


@lru_cache(maxsize=4096)
def slopes_within(epsilon: Fraction, missed: Fraction, count: int) -> tuple[Fraction, ...]:
    """The lambdas of `count` lines, each of which has its share of `missed`.

    The first line reaches epsilon at the largest rho, the next one half of epsilon, and so on.
    """
    return tuple(_best(epsilon / 2**place, missed / count) for place in range(count))


def _best(epsilon: Fraction, missed: Fraction) -> Fraction:
    """The lambda of few digits whose line reaches epsilon at the largest rho.

    A search in floats is only near it, and elsewhere may end beside it: what is written in a ledger
    should not depend on that.
    """
    near = shortened(order_within(epsilon, missed) - 1)
    beside = (near + step * _unit(near) for step in (-1, 0, 1, 2))
    return max(
        (slope for slope in beside if slope > 0),
        key=lambda slope: (epsilon - start_of(slope, missed)) / (1 + slope),
    )


def shortened(slope: Fraction) -> Fraction:
    """A lambda with few digits, slightly smaller: any positive one gives a bound."""
    unit = _unit(slope)
    return max(slope // unit * unit, unit)


def _unit(slope: Fraction) -> Fraction:
    digits = slope.numerator.bit_length() - slope.denominator.bit_length()
    return Fraction(2) ** (digits - _BITS)
