"""Trade-off curves of integer noise on one number, from the law of the noise.

The noise has a log-concave law, so the most powerful tests of two shifts are thresholds, and a
smaller shift is no easier to tell. A curve is rounded down. Proof: docs/theory.md, integer noise on
one number.
"""

from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import isqrt, prod

from flint import arb

from queryable.losses import FDP, curves
from queryable.losses.numbers import ball, enclosed, round_up
from queryable.statistics import IntegerStatistic

_SIDES = 512
"""The most sides of a curve of Laplace noise; of more, some are left out."""

_WIDE = 400
"""A variance from which discrete and continuous Gaussian noise hardly differ."""

_TAIL, _BITS = 240, 256
_LARGEST_EPSILON, _LARGEST_SHIFT = 64, 1000


def moves_one_number(statistic: IntegerStatistic, moved: Fraction) -> bool:
    """Whether at most one of its integers moves, if their L2 norm moves by at most so much."""
    return moved**2 < 2 or prod(statistic.shape or ()) == 1


def gaussian_curve(variance: Fraction, shift: int) -> FDP | None:
    """Return the curve of discrete Gaussian noise; None if it is wide, and has that of Gaussians.

    Its corners are the tests X >= t. Beyond a mass of e^-120 on each side it is lowered.
    """
    return _gaussian(variance, shift) if variance <= _WIDE and shift <= _LARGEST_SHIFT else None


@lru_cache(maxsize=256)
def _gaussian(variance: Fraction, shift: int) -> FDP:
    def weight(at: int) -> arb:
        return (-ball(at * at / (2 * variance))).exp()

    far = shift + isqrt(int(_TAIL * variance)) + 1
    law = [enclosed(partial(weight, at), _BITS) for at in range(far + 1)]
    most = [high for _, high in law]
    beyond = -(-most[far] * variance // far)  # of a geometric series with ratio e^(-far/variance)
    total = 2 * (sum(most) + beyond) - most[0]
    least = [law[abs(at)][0] for at in range(far, -far - 1, -1)]
    tails = [
        Fraction(sum_, total) for sum_ in accumulate(least)
    ]  # P(X >= t), t = far, far - 1, ...

    def tail(t: int) -> Fraction:
        return tails[min(far - t, 2 * far)] if t <= far else Fraction(0)

    points = [(tail(t), tail(1 - t + shift)) for t in range(far, -far - 1, -1)]
    ends = [(Fraction(0), points[0][1]), (Fraction(1), Fraction(0))]
    return FDP(curves.lowered(curves.hull([*points, *ends])))


@lru_cache(maxsize=256)
def laplace_curve(scale: Fraction, shift: int) -> FDP | None:
    """Return the curve of discrete Laplace noise; None if it is too steep.

    Its sides have delta = 1 - e^-(shift - t)/scale at epsilon = (2t - shift)/scale, t = 0 to shift.
    """
    if not 0 < shift <= _LARGEST_EPSILON * scale:
        return None
    places = sorted({shift * side // _SIDES for side in range(_SIDES + 1)})
    sides = [
        (
            round_up(arb.exp, (2 * at - shift) / scale),
            round_up(lambda loss: -(-loss).expm1(), (shift - at) / scale),
        )
        for at in places
    ]
    return FDP(curves.envelope(sides))
