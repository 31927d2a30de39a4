"""The exact worst case of launches from a public menu, by dynamic programming.

w_b(0) is the supremum of (P - e^epsilon * P')+ over all adaptive analysts that launch randomized
responses from a menu within b units.

Theory of operation: with b units left and a loss of l steps so far, in units of the probability
under P (docs/theory.md, menu filter),

    w_b(l) = max( (1 - e^(epsilon - l*step))+,
                  max over u with cost c_u <= b of p_u*w_{b-c_u}(l+u) + (1-p_u)*w_{b-c_u}(l-u) ),

p_u = 1/(1 + e^(-u*step)). It rises with l and with b, and is at most 1. Every value here is at or
above the true one: above the upper edge of the lattice it is 1, below the lower edge it is the
value at the edge, and constants are enlarged by more than a step in floats can lose.
"""

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, takewhile
from math import expm1, log, sqrt

import numpy as np
from numpy.typing import NDArray

from queryable.effort import is_quick, take
from queryable.losses import conversions
from queryable.losses.numbers import named, round_up, shown

Priced = tuple[tuple[int, int], ...]
"""(steps, cost) of each entry."""

MOST_UNITS = 2**17
"""Budgets of more units are refused, because they would take too long."""

MOST_STEPS = 2**15
"""Lattices of more steps are refused for the same reason."""

MOST_WORK = 2**32
"""Menus that need more products of a lattice's step and an entry are refused: some seconds."""

MOST_KEPT = 2**26
"""Menus that need more numbers in memory at once are refused: half a gigabyte."""

_QUICK_STEPS, _QUICK_WORK = 2**11, 2**24
"""The same for queries of analysts: some hundredths of a second."""

_PER_STEP = 400
"""How many of these products are a step of `effort`."""

_OVERHEAD = 3000
"""What a product of rows takes besides its numbers, in numbers."""

_TOO_LARGE = (
    "take a coarser unit, lower costs or a menu of fewer entries: this one is too much work for "
    "the budget"
)
_STEP = 1 + Fraction(1, 2**49)  # two roundings, and one of the constant, lose under 4/2**53
_STOP = 1 + 2.0**-46  # expm1 and a conversion lose under 16/2**53, whatever the platform
_FLOOR = 1e-250  # above the subnormal floats, below any delta
_FAR = Fraction(1000)  # e^-1000 is below the precision of floats
_ENDLESS = Fraction(2**40)  # the budget with which odometers are made of filters
_SHARP = 16  # the lattice ends where about e^-16 of the slack is left


def worst_cases(epsilon: Fraction, step: Fraction, priced: Priced, slack: Fraction) -> list[float]:
    """w_b(0), rounded up, for b = 0, 1, ... while it is within the slack.

    Raises:
        ValueError: the lattice is too fine for the budget.
    """
    most = MOST_UNITS * max(Fraction(steps, cost) for steps, cost in priced) * step
    if epsilon >= max(_ENDLESS, most):
        return [0.0] * (MOST_UNITS + 1)  # these lose at most epsilon
    some = islice(levels(epsilon, step, priced, slack), MOST_UNITS + 1)
    found = list(takewhile(lambda worst: Fraction(worst) <= slack, some))
    if len(found) > MOST_UNITS:
        raise ValueError(
            f"the budget is more than {MOST_UNITS} units of cost; take a coarser unit or lower "
            "costs"
        )
    return found


def levels(epsilon: Fraction, step: Fraction, priced: Priced, slack: Fraction) -> Iterator[float]:
    """w_b(0), rounded up, for b = 0, 1, ... without end.

    Raises:
        ValueError: this takes too much work.
    """
    largest = max(steps for steps, _ in priced)
    low, high = _edges(epsilon, step, largest, slack)
    size = high - low + 1
    work, quick = 0, is_quick()
    steps_of_row = (size + _OVERHEAD) * len(priced) // _PER_STEP
    most = _QUICK_WORK if quick else MOST_WORK
    stop = np.array([_stopped(step * level - epsilon) for level in range(low, high + 1)])
    moves = [(cost, steps, *_chances(steps * step)) for steps, cost in priced]
    rows: deque[NDArray[np.float64]] = deque(
        maxlen=min(max(cost for _, cost in priced), MOST_UNITS)
    )
    scratch, other = np.empty(size), np.empty(size)
    while True:
        work += (size + _OVERHEAD if quick else size) * len(moves)
        kept = len(rows) * (size + 2 * largest)
        if not (work <= most and kept <= MOST_KEPT and take(steps_of_row)):
            raise ValueError(_TOO_LARGE)
        row = np.empty(size + 2 * largest)
        middle = row[largest : largest + size]
        middle[:] = stop
        for cost, steps, up, down in moves:
            if cost > len(rows):
                continue
            later = rows[-cost]
            np.multiply(later[largest + steps : largest + steps + size], up, out=scratch)
            np.multiply(later[largest - steps : largest - steps + size], down, out=other)
            np.add(scratch, other, out=scratch)
            np.maximum(middle, scratch, out=middle)
        row[:largest] = middle[0]
        row[largest + size :] = _STOP
        rows.append(row)
        yield float(middle[-low])


def _edges(epsilon: Fraction, step: Fraction, largest: int, slack: Fraction) -> tuple[int, int]:
    """The edges of the lattice. Bad edges make the bound looser, never too small."""
    mu = float(conversions.largest_gdp(epsilon, slack))
    far = mu * sqrt(2 * (_SHARP + log(slack.denominator) - log(slack.numerator)))
    high = max(epsilon, Fraction(far + mu * mu / 2)) / step + 2 * largest + 2
    low = Fraction(far) / (2 * step) + largest + 2
    most = _QUICK_STEPS if is_quick() else MOST_STEPS
    if not low + high <= most:
        raise ValueError(
            f"unit is {shown(step)}; for {named('epsilon', epsilon)} that is a lattice of more "
            f"than {most} steps, take a coarser one"
        )
    return -int(low), int(high)


def _stopped(excess: Fraction) -> float:
    """max(1 - e^-excess, 0), rounded up."""
    return max(-expm1(-float(min(excess, _FAR))) * _STOP, _FLOOR) if excess > 0 else _FLOOR


def _chances(loss: Fraction) -> tuple[float, float]:
    """p and 1 - p, rounded up."""
    likely = round_up(lambda e: 1 / (1 + (-e).exp()), loss) if loss < _FAR else Fraction(1)
    unlikely = round_up(lambda e: 1 / (1 + e.exp()), min(loss, _FAR))
    return float(likely * _STEP), float(unlikely * _STEP)
