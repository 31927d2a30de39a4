"""Trade-off curves on exact knots: order, envelopes, products, and rounding to the safe side.

The functions are pure and work on `Knots`: the corners (alpha, f(alpha)) of a convex,
non-increasing and piecewise-linear f with f(alpha) <= 1 - alpha (Dong, Roth, Su 2022, Proposition
2.2). A lower curve is a weaker claim, so a function that shortens a curve may only lower it.

Theory of operation: such a curve has three equivalent forms.

- *Knots*: it is the lower convex hull of its corners.
- *Lines*: it is the maximum of its sides, extended to lines alpha -> 1 - delta - ratio*alpha. Each
  line is a point of the (epsilon, delta)-profile, at epsilon = log(ratio).
- *Masses*: it is a pair of distributions P and Q with one outcome for each side. The width of a
  side is the probability under P, its height that under Q. Sides are in falling order of the ratio
  Q/P.
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
"""Deltas below this may be lost when knots are merged."""

LONGEST = 2**14
"""Knots whose common denominator has more bits than this are moved to a grid."""

_GRID = 2**192
_ZERO, _ONE = Fraction(0), Fraction(1)
_THE_ZERO_LINE: Line = (_ZERO, _ONE)


def checked(points: Iterable[Point]) -> Knots:
    """Return the corners among the knots of a trade-off curve.

    Raises:
        ValueError: they are not the knots of a trade-off curve. The message says why.
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
    """Return the corners of the lower convex hull, left to right."""
    corners: list[Point] = []
    for x, y in sorted(points):
        if corners and corners[-1][0] == x:
            continue  # it is above the last one
        while len(corners) > 1 and _not_below(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    return tuple(corners)


def _not_below(left: Point, middle: Point, right: Point) -> bool:
    """Whether the middle point is on or above the chord."""
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run >= rise * (middle[0] - left[0])


def value(knots: Knots, alpha: Fraction) -> Fraction:
    """Return f(alpha)."""
    right = bisect_left(knots, alpha, key=lambda knot: knot[0])
    x, y = knots[right]
    if x == alpha:
        return y
    before, above = knots[right - 1]
    return above + (y - above) * (alpha - before) / (x - before)


def below(lower: Knots, upper: Knots) -> bool:
    """Whether `lower` is nowhere above `upper`.

    Between two knots of `upper` the difference is concave, so its minimum is at a knot.
    """
    return all(value(lower, alpha) <= f for alpha, f in upper)


def delta_at(knots: Knots, ratio: Fraction) -> Fraction:
    """Return the maximum of 1 - f(alpha) - ratio*alpha, 1 + f*(-ratio) (Dong et al. 2022, 2.12).

    It is at the first knot after which the curve falls by at most the ratio, because f is convex.
    """

    def falls_less(side: int) -> bool:
        (left, high), (right, low) = knots[side], knots[side + 1]
        return high - low <= ratio * (right - left)

    alpha, f = knots[bisect_left(range(len(knots) - 1), True, key=falls_less)]
    return 1 - f - ratio * alpha


def lines_of(ratio: Fraction, delta: Fraction) -> tuple[Line, Line]:
    """Return the sides of f_{epsilon, delta} at epsilon = log(ratio), the steep one first.

    f is max(0, 1 - delta - ratio*alpha, (1 - delta - alpha)/ratio) (Dong et al. 2022, Prop 2.3).
    """
    return (ratio, delta), (1 / ratio, 1 - (1 - delta) / ratio)


def lines(knots: Knots) -> list[Line]:
    """Return the sides, extended to lines, the steepest first."""
    return [_through(start, end) for start, end in pairwise(knots)]


def _through(start: Point, end: Point) -> Line:
    (left, high), (right, low) = start, end
    ratio = (high - low) / (right - left)
    return ratio, 1 - high - ratio * left


def envelope(sides: Iterable[Line]) -> Knots:
    """Return the least curve that is above all these lines.

    At each alpha the highest line has the least delta + ratio*alpha. So the lines that are highest
    somewhere are the decreasing part of the lower hull of the points (ratio, delta).
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
    """Return the maximum of two curves."""
    return envelope([*lines(left), *lines(right)])


def lowest(left: Knots, right: Knots) -> Knots:
    """Return the largest curve that is above neither: the convex hull of their minimum."""
    return hull(left + right)


def inverse(knots: Knots) -> Knots:
    """Return alpha -> the least t with f(t) <= alpha, the curve with P and Q swapped."""
    return hull([*((f, alpha) for alpha, f in knots), (_ONE, _ZERO)])


def chain(outer: Knots, inner: Knots) -> Knots:
    """Return alpha -> outer(1 - inner(alpha)), a curve for x and x'' (Dong et al. 2022, 2.14).

    `inner` is the curve for x and x', `outer` that for x' and x''.
    """
    back = inverse(inner)
    corners = {alpha for alpha, _ in inner} | {value(back, 1 - alpha) for alpha, _ in outer}
    return hull((alpha, value(outer, 1 - value(inner, alpha))) for alpha in corners)


def _masses(knots: Knots) -> tuple[int, int, list[tuple[int, int]]]:
    """Return common denominators for P and Q, and the numerators (p, q) of each outcome."""
    width = lcm(*(alpha.denominator for alpha, _ in knots))
    height = lcm(*(f.denominator for _, f in knots))
    corners = [(0, height)]
    for alpha, f in knots:
        units = alpha.numerator * (width // alpha.denominator)
        corners.append((units, f.numerator * (height // f.denominator)))
    return width, height, [(x - w, v - y) for (w, v), (x, y) in pairwise(corners)]


def tensor(left: Knots, right: Knots) -> Knots:
    """Return the exact curve of the product of both pairs (Dong et al. 2022, Definition 3.1).

    Outcomes of the product with the same likelihood ratio are merged into one side.
    """
    (p_left, q_left, one), (p_right, q_right, other) = _masses(left), _masses(right)
    width, height = p_left * p_right, q_left * q_right
    digits = 2 * width.bit_length()  # ratios differ by 1/width**2 or more, so the integers differ
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
    """Return the curve, or one below it of at most `most` knots with short coordinates."""
    if len(knots) > most:
        kept = _spread(knots, most - 2)
        knots = envelope(_through(*knots[side : side + 2]) for side in kept)
    elif lcm(*(each.denominator for knot in knots for each in knot)).bit_length() <= LONGEST:
        return knots
    return lowered(knots)


def lowered(knots: Knots) -> Knots:
    """Move the knots left and down onto a grid, so that the new curve is nowhere above the old."""
    return hull((_grid(alpha), _grid(f)) for alpha, f in knots)


def _grid(coordinate: Fraction) -> Fraction:
    return Fraction(coordinate.numerator * _GRID // coordinate.denominator, _GRID)


def _spread(knots: Knots, most: int) -> list[int]:
    """Choose which sides to keep, so that about the same share is lost between any two.

    The choice is made in floats: any selection of sides gives a curve below. Between sides a and b
    at most (ratio_a - ratio_b)*(alpha_b - alpha_a)/4 is lost, with alpha_a at the end of a and
    alpha_b at the start of b.
    """
    width, height, (jump, *sides) = _masses(knots)
    p, q = np.array([(run / width, rise / height) for run, rise in sides]).T
    after = np.cumsum(p[::-1])[::-1]  # precise if alpha is near 1
    with np.errstate(all="ignore"):
        ratios = q / p
        steep = jump[1] / height + np.cumsum(q) - ratios * np.cumsum(p)
        flat = ratios * after - np.cumsum(q[::-1])[::-1]
    ratio, upto, rest, last = ratios.tolist(), np.cumsum(p).tolist(), after.tolist(), len(sides) - 1
    deltas = np.maximum((steep, flat), 0) + float(FLOOR)
    from_steep, from_flat = deltas.tolist()

    def sides_within(share: float) -> list[int]:
        """Select greedily: the furthest side with a loss within the share, or the next side."""
        chosen = [0]
        while chosen[-1] < last and len(chosen) <= most:
            a = chosen[-1]

            def too_far(b: int, a: int = a) -> bool:
                run = upto[b - 1] - upto[a] if ratio[a] > 1 else rest[a + 1] - rest[b]
                lost = (ratio[a] - ratio[b]) * run / 4
                return not lost <= share * min(from_steep[a], from_flat[b])

            chosen.append(bisect_left(range(last + 1), True, a + 2, key=too_far) - 1)
        return chosen

    exponents = range(-480, 640)  # the share is 2**(exponent/8)
    fits = bisect_left(exponents, True, key=lambda each: sides_within(2 ** (each / 8))[-1] == last)
    return sides_within(2 ** (exponents[fits] / 8)) if fits < len(exponents) else [0, last]


def rounding(lower: Knots, upper: Callable[[Fraction], Fraction]) -> Fraction:
    """Return a share r such that D' - D <= r*(D' + FLOOR) for all epsilon, between two curves.

    D' is the minimum of delta(epsilon) and delta(epsilon) - 1 + e^epsilon for the lower curve, and
    D the same for the upper curve. For epsilon >= 0 this is delta. For epsilon < 0 it is the delta
    of the inverse curve, rescaled. At the knot alpha where the lower curve attains its delta, the
    delta of the upper curve is at least 1 - upper(alpha) - e^epsilon*alpha. Among the epsilons of
    one knot, D' is least at an end.

    Shares add up under tensor products. With outcomes (p_j, q_j) of the other pair, the delta of
    the product is the sum of q_j*delta(epsilon - log(q_j/p_j)). The sum of the bounds q_j*r*(D' +
    FLOOR) is at most r*(D' + FLOOR) for the product.
    """
    sides = lines(lower)
    steeper = [1 - lower[0][1], *(delta for _, delta in sides)]
    flatter = [*(delta - 1 + ratio for ratio, delta in sides), _ZERO]
    shares = (
        (upper(alpha) - f) / (min(steep, flat) + FLOOR)
        for (alpha, f), steep, flat in zip(lower, steeper, flatter, strict=True)
    )
    return min(_ONE, max(shares))
