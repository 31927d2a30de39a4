"""The worst case of launches from a menu, from below (docs/theory/proofs/menu.md).

With b units left and a loss of l steps so far,

    w_b(l) = max( (1 - e^(epsilon - l*step))+,
                  max over u with cost c_u <= b of p_u*w_{b-c_u}(l+u) + (1-p_u)*w_{b-c_u}(l-u) ).

Every value here is at or below the true one: beyond the upper edge it is (1 - e^(epsilon -
l*step))+, beyond the lower edge it is 0, and constants are smaller by more than a step in floats
can gain. So units whose worst case exceeds the slack do so truly.
"""

from collections import deque
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, sqrt, tanh

import numpy as np

Priced = tuple[tuple[int, int], ...]
"""(steps, cost) of each entry, in rising order."""

_LESS = 1 - 2.0**-48
_WIDE = 9.0
_NEAR = Fraction(1, 2**20)


def units_within(
    units: int, epsilon: Fraction, unit: Fraction, priced: Priced, slack: Fraction
) -> bool | None:
    """Whether the worst case of so many units is at most the slack.

    Values from below cannot tell that it is; True is given if it is less by a share of 2**-20.
    """
    if units * max(Fraction(steps, cost) for steps, cost in priced) * unit <= epsilon:
        return True  # they lose at most epsilon
    size = 64
    while size <= units:
        size *= 2
    worst = Fraction(_worst_cases(epsilon, unit, priced, size)[units])
    if worst > slack:
        return False
    return True if worst <= slack * (1 - _NEAR) else None


@lru_cache(maxsize=16)
def _worst_cases(epsilon: Fraction, unit: Fraction, priced: Priced, size: int) -> tuple[float, ...]:
    """w_b(0) from below, for b < size."""
    step, largest = float(unit), max(steps for steps, _ in priced)
    low, high = _edges(step, priced, size, float(epsilon))
    levels = np.arange(-low, high + largest + 1)
    stop = np.array([_stopped(unit * int(level) - epsilon) for level in levels])
    moves = [(cost, steps, *_chances(float(unit * steps))) for steps, cost in priced]
    rows: deque[np.ndarray] = deque(maxlen=max(cost for cost, *_ in moves))
    count, found = low + high + 1, []
    for _ in range(size):
        row = np.concatenate((np.zeros(largest), stop))
        middle = row[largest : largest + count]
        for cost, steps, up, down in moves:
            if cost <= len(rows):
                later = rows[-cost]
                value = up * later[largest + steps :][:count]
                value += down * later[largest - steps :][:count]
                np.maximum(middle, value, out=middle)
        rows.append(row)
        found.append(float(middle[low]))
    return tuple(found)


def _edges(step: float, priced: Priced, size: int, epsilon: float) -> tuple[int, int]:
    """How many steps below and above 0 are kept: all that can be reached, or nine deviations."""
    reach = max(steps * (size // cost) for steps, cost in priced) + 1
    variance = max((steps * step) ** 2 * size / cost for steps, cost in priced)
    drift = max(steps * step * tanh(steps * step / 2) * size / cost for steps, cost in priced)
    spread = _WIDE * sqrt(variance) + max(steps for steps, _ in priced) * step
    up = ceil((max(drift, epsilon) + spread) / step)
    return min(reach, ceil(spread / step)), min(reach, up)


def _stopped(excess: Fraction) -> float:
    return -expm1(-float(min(excess, Fraction(1000)))) * _LESS if excess > 0 else 0.0


def _chances(loss: float) -> tuple[float, float]:
    """p and 1 - p of a randomized response, from below."""
    odds = exp(-min(loss, 700.0))
    return _LESS / (1 + odds), _LESS * odds / (1 + odds)
