"""Trade-off curves on exact knots: order, envelopes, products, and rounding to the safe side.

Responsible for pure functions on `Knots`, the corners (alpha, f(alpha)) of a convex, non-increasing
and piecewise-linear f with f(alpha) <= 1 - alpha (Dong, Roth, Su 2022, Proposition 2.2). Knows no
`Loss`. A lower curve is a weaker claim, so whatever shortens a curve may only lower it.

Theory of operation: such a curve is three things at once. As *knots* it is a lower convex hull. As
*lines*, the sides prolonged, it is the largest of alpha -> 1 - delta - ratio*alpha: its (epsilon,
delta)-profile at epsilon = log(ratio). As *masses* it is a pair of distributions, one outcome a
side: as wide as P gives it probability, as high as Q does, the likeliest under Q first.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

Point = tuple[Fraction, Fraction]
Knots = tuple[Point, ...]
Line = tuple[Fraction, Fraction]
"""(ratio, delta): alpha -> 1 - delta - ratio*alpha."""

FLOOR = Fraction(1, 2**50)
"""Deltas below this are not resolved where knots are merged."""

LONGEST = 2**14
"""Bits of a common denominator beyond which knots are moved to a grid."""

_GRID = 2**192
_ZERO, _ONE = Fraction(0), Fraction(1)
_THE_ZERO_LINE: Line = (_ZERO, _ONE)


def checked(points: Iterable[Point]) -> Knots:
    """The knots of a trade-off curve, without those that are no corner.

    Raises:
        ValueError: they are not those of a trade-off curve, and why.
    """
    knots = tuple(points)
    alphas = [alpha for alpha, _ in knots]
    if len(knots) < 2 or alphas[0] != 0 or alphas[-1] != 1:
        raise ValueError("a trade-off curve needs knots from alpha = 0 to alpha = 1")
    for (alpha, f), (following, g) in pairwise(knots):
        if not alpha < following:
            raise ValueError(f"knots should have increasing alphas: {following} after {alpha}")
        if not f >= g:
            raise ValueError(f"the curve increases between alpha = {alpha} and {following}")
    for alpha, f in knots:
        if not 0 <= f <= 1 - alpha:
            raise ValueError(f"f({alpha}) = {f} should lie between 0 and 1 - alpha = {1 - alpha}")
    corners = hull(knots)
    for alpha, f in knots:
        if value(corners, alpha) != f:
            raise ValueError(f"the curve is not convex at alpha = {alpha}")
    return corners


def hull(points: Iterable[Point]) -> Knots:
    """The corners of the lower convex hull, left to right."""
    corners: list[Point] = []
    for x, y in sorted(points):
        if corners and corners[-1][0] == x:
            continue  # above the last one
        while len(corners) > 1 and _not_below(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    return tuple(corners)


def _not_below(left: Point, middle: Point, right: Point) -> bool:
    """Whether the middle point is on or above the chord."""
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run >= rise * (middle[0] - left[0])


def value(knots: Knots, alpha: Fraction) -> Fraction:
    """f(alpha)."""
    right = bisect_left(knots, alpha, key=lambda knot: knot[0])
    x, y = knots[right]
    if x == alpha:
        return y
    before, above = knots[right - 1]
    return above + (y - above) * (alpha - before) / (x - before)


def below(lower: Knots, upper: Knots) -> bool:
    """Whether one curve is nowhere above another.

    Between two knots of `upper` their difference is concave, so it is least at a knot.
    """
    return all(value(lower, alpha) <= f for alpha, f in upper)


def delta_at(knots: Knots, ratio: Fraction) -> Fraction:
    """The convex conjugate: the largest 1 - f(alpha) - ratio*alpha (Dong et al. 2022, 2.12)."""
    return max(1 - f - ratio * alpha for alpha, f in knots)


def lines_of(ratio: Fraction, delta: Fraction) -> tuple[Line, Line]:
    """The sides of f_{epsilon, delta} at epsilon = log(ratio), steep and flat.

    max(0, 1 - delta - ratio*alpha, (1 - delta - alpha)/ratio): Dong et al. 2022, Proposition 2.3.
    """
    return (ratio, delta), (1 / ratio, 1 - (1 - delta) / ratio)


def lines(knots: Knots) -> list[Line]:
    """The sides prolonged, the steepest first."""
    return [_through(start, end) for start, end in pairwise(knots)]


def _through(start: Point, end: Point) -> Line:
    (left, high), (right, low) = start, end
    ratio = (high - low) / (right - left)
    return ratio, 1 - high - ratio * left


def envelope(sides: Iterable[Line]) -> Knots:
    """The least curve that is above all these lines.

    The largest of lines at alpha is where delta + ratio*alpha is least, so the lines that matter
    are the lower hull of the points (ratio, delta) as far as it falls.
    """
    profile = hull([_THE_ZERO_LINE, *sides])
    kept = [profile[0]]
    kept += [line for before, line in pairwise(profile) if line[1] < before[1]]
    corners = [(_ONE, _ZERO)]
    for (flat, more), (steep, less) in pairwise(kept):
        alpha = (more - less) / (steep - flat)
        corners.append((alpha, 1 - more - flat * alpha))
    return hull([*corners, (_ZERO, 1 - kept[-1][1])])


def highest(left: Knots, right: Knots) -> Knots:
    """The larger of two curves everywhere."""
    return envelope([*lines(left), *lines(right)])


def lowest(left: Knots, right: Knots) -> Knots:
    """The largest curve that is above neither: the convex hull of the smaller."""
    return hull(left + right)


def inverse(knots: Knots) -> Knots:
    """alpha -> the least t with f(t) <= alpha: the trade-off of the pair taken the other way."""
    return hull([*((f, alpha) for alpha, f in knots), (_ONE, _ZERO)])


def chain(outer: Knots, inner: Knots) -> Knots:
    """alpha -> outer(1 - inner(alpha)): from x over x' to x'' (Dong et al. 2022, Theorem 2.14)."""
    back = inverse(inner)
    corners = {alpha for alpha, _ in inner} | {value(back, 1 - alpha) for alpha, _ in outer}
    return hull((alpha, value(outer, 1 - value(inner, alpha))) for alpha in corners)


def _masses(knots: Knots) -> tuple[int, int, list[tuple[int, int]]]:
    """How many units make one, under P and Q, and each outcome's whole units under both."""
    width = lcm(*(alpha.denominator for alpha, _ in knots))
    height = lcm(*(f.denominator for _, f in knots))
    corners = [(0, height)]
    for alpha, f in knots:
        units = alpha.numerator * (width // alpha.denominator)
        corners.append((units, f.numerator * (height // f.denominator)))
    return width, height, [(x - w, v - y) for (w, v), (x, y) in pairwise(corners)]


def tensor(left: Knots, right: Knots) -> Knots:
    """The trade-off of the product of both pairs, exactly (Dong et al. 2022, Definition 3.1).

    Outcomes of the product with the same likelihood ratio make one side; sides by falling ratio.
    """
    (p_left, q_left, one), (p_right, q_right, other) = _masses(left), _masses(right)
    width, height = p_left * p_right, q_left * q_right
    digits = 2 * width.bit_length()  # ratios differ by at least 1/width**2, so whole parts do
    sides: dict[int, list[int]] = {}
    impossible = 0  # under P
    for p, q in one:
        for p_other, q_other in other:
            run, rise = p * p_other, q * q_other
            if run == 0:
                impossible += rise
                continue
            side = sides.setdefault((rise << digits) // run, [0, 0])
            side[0] += run
            side[1] += rise
    alpha, f = 0, height - impossible
    knots = [(_ZERO, Fraction(f, height))]
    for key in sorted(sides, reverse=True):
        run, rise = sides[key]
        alpha, f = alpha + run, f - rise
        knots.append((Fraction(alpha, width), Fraction(f, height)))
    return tuple(knots)


def shortened(knots: Knots, most: int) -> Knots:
    """The curve itself, or one below it of at most `most` knots with short coordinates."""
    if len(knots) > most:
        kept = _spread(knots, most - 2)
        knots = envelope(_through(*knots[side : side + 2]) for side in kept)
    elif lcm(*(each.denominator for knot in knots for each in knot)).bit_length() <= LONGEST:
        return knots
    return lowered(knots)


def lowered(knots: Knots) -> Knots:
    """Knots pushed left and down onto a grid, so that the old curve is nowhere below the new."""
    return hull((_grid(alpha), _grid(f)) for alpha, f in knots)


def _grid(coordinate: Fraction) -> Fraction:
    return Fraction(coordinate.numerator * _GRID // coordinate.denominator, _GRID)


def _spread(knots: Knots, most: int) -> list[int]:
    """Which sides to keep, so that about the same share is lost between any two.

    Only a choice, made in floats: any sides give a curve below. Between sides a and b at most
    (ratio_a - ratio_b)*(alpha_b - alpha_a)/4 is lost, from the end of a to the start of b.
    """
    width, height, (jump, *sides) = _masses(knots)
    p, q = np.array([(run / width, rise / height) for run, rise in sides]).T
    after = np.cumsum(p[::-1])[::-1]  # precise where alpha is near one
    with np.errstate(all="ignore"):
        ratios = q / p
        steep = jump[1] / height + np.cumsum(q) - ratios * np.cumsum(p)
        flat = ratios * after - np.cumsum(q[::-1])[::-1]
    ratio, upto, rest, last = ratios.tolist(), np.cumsum(p).tolist(), after.tolist(), len(sides) - 1
    deltas = np.maximum((steep, flat), 0) + float(FLOOR)
    from_steep, from_flat = deltas.tolist()

    def kept(share: float) -> list[int]:
        """Each time the furthest side that loses no more than the share, or the next."""
        chosen = [0]
        while chosen[-1] < last and len(chosen) <= most:
            a = chosen[-1]

            def too_far(b: int, a: int = a) -> bool:
                run = upto[b - 1] - upto[a] if ratio[a] > 1 else rest[a + 1] - rest[b]
                lost = (ratio[a] - ratio[b]) * run / 4
                return not lost <= share * min(from_steep[a], from_flat[b])

            chosen.append(bisect_left(range(last + 1), True, a + 2, key=too_far) - 1)
        return chosen

    exponents = range(-480, 640)  # of the share, in eighths of a binary digit
    fits = bisect_left(exponents, True, key=lambda each: kept(2 ** (each / 8))[-1] == last)
    return kept(2 ** (exponents[fits] / 8)) if fits < len(exponents) else [0, last]


def rounding(lower: Knots, upper: Callable[[Fraction], Fraction]) -> Fraction:
    """A share r such that, for all epsilon, D' - D <= r*(D' + FLOOR) between two curves.

    D' is the smaller of delta(epsilon) and delta(epsilon) - 1 + e^epsilon of the lower curve, D the
    same of the upper: delta for epsilon >= 0, and for epsilon < 0 the delta of the inverse curve,
    rescaled. Where a knot alpha of the lower curve attains its delta, the upper curve has at least
    1 - upper(alpha) - e^epsilon*alpha; and on the epsilons of that knot D' is least at an end.

    Under tensor products shares add up: with outcomes (p_j, q_j) of the other pair, the delta of
    the product is the sum of q_j*delta(epsilon - log(q_j/p_j)), and the sum of the bounds q_j*r*(D'
    + FLOOR) is at most r*(D' + FLOOR) of the product.
    """
    sides = lines(lower)
    steeper = [1 - lower[0][1], *(delta for _, delta in sides)]
    flatter = [*(delta - 1 + ratio for ratio, delta in sides), _ZERO]
    shares = (
        (upper(alpha) - f) / (min(steep, flat) + FLOOR)
        for (alpha, f), steep, flat in zip(lower, steeper, flatter, strict=True)
    )
    return min(_ONE, max(shares))
