"""What parts lose together when records are spread over them, in each measure.

Responsible for suprema: of additive losses, coordinate by coordinate, and of trade-off curves.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from itertools import chain, pairwise

from queryable.errors import PrivacyClaimError
from queryable.losses import FDP, AdditiveLoss, Loss, Measure, Parts, measure_name, zero_of
from queryable.losses.loss import stated_in

_LARGEST_CONVOLUTION = 100
"""The largest d_in with an exact convolution of additive losses; the time grows with its square."""

_LARGEST_PRODUCT = 8
"""The same for trade-off curves, whose tensor products take longer."""


def additive_zero(measure: Measure) -> AdditiveLoss:
    """The loss of nothing in a measure.

    Raises:
        ValueError: parallel composition is not stated in it.
    """
    zero = zero_of(measure)
    if not isinstance(zero, AdditiveLoss):
        raise ValueError(f"parallel composition is not stated in {measure_name(measure)}")
    return zero


def parts_of(loss: Loss, measure: Measure) -> Parts:
    """The parts of an additive loss in a measure.

    Raises:
        PrivacyClaimError: it is stated in another one.
    """
    if not isinstance(loss, AdditiveLoss) or not stated_in(loss, measure):
        raise PrivacyClaimError(f"a part states {loss}, asked for {measure_name(measure)}")
    return loss.parts


def join(losses: Iterable[Loss], measure: Measure) -> Loss:
    """The least loss in a measure that is at least each of these; for curves their convex hull."""
    if measure is FDP:
        return reduce(FDP.join, map(curve_of, losses), FDP.of_approx(0))
    zero = additive_zero(measure)
    columns = zip(zero.parts, *(parts_of(loss, measure) for loss in losses), strict=True)
    return zero.of_parts(tuple(max(column) for column in columns))


def supremum(curves: "Counter[tuple[Parts, ...]]", coordinate: int, d_in: int) -> Fraction:
    """The supremum of the summed losses over all d_1 + d_2 + ... <= d_in.

    If all curves are convex and start at 0, one part with all records attains it. Otherwise it is a
    max-plus convolution; of parts with equal curves only `d_in` need to be counted. Above
    `_LARGEST_CONVOLUTION` records the sum of every part's maximum is used as an upper bound.
    """
    columns = [([parts[coordinate] for parts in curve], n) for curve, n in curves.items()]
    if all(_convex(column) for column, _ in columns):
        return max((column[-1] for column, _ in columns), default=Fraction(0))
    if d_in > _LARGEST_CONVOLUTION:
        return sum((n * max(column) for column, n in columns), Fraction(0))
    best = [Fraction(0)] * (d_in + 1)
    for column, n in columns:
        for _ in range(min(n, d_in)):
            best = [
                max(best[records - k] + column[k] for k in range(records + 1))
                for records in range(d_in + 1)
            ]
    return best[d_in]


def curve_of(loss: Loss) -> FDP:
    """A loss that is a trade-off curve.

    Raises:
        PrivacyClaimError: it is none.
    """
    if type(loss) is not FDP:
        raise PrivacyClaimError(f"a part states {loss}, asked for FDP")
    return loss


def worst_curve(curves: "Counter[tuple[FDP, ...]]", d_in: int) -> FDP:
    """The join of the composed curves over all ways to spread `d_in` records, or a curve below it.

    The same convolution with joins for maxima and tensor products for sums. A product with a join
    is below each product that it replaces. Above `_LARGEST_PRODUCT` records every part that may
    differ counts with the join of all curves.
    """
    nothing = FDP.of_approx(0)
    if d_in > _LARGEST_PRODUCT:
        most = reduce(FDP.join, chain.from_iterable(curves), nothing)
        return reduce(FDP.compose, [most] * min(sum(curves.values()), d_in), nothing)
    best = [nothing] * (d_in + 1)
    for column, n in curves.items():
        for _ in range(min(n, d_in)):
            best = [
                reduce(
                    FDP.join,
                    (_both(best[records - k], column[k]) for k in range(1, records + 1)),
                    best[records],
                )
                for records in range(d_in + 1)
            ]
    return best[d_in]


def _both(one: FDP, other: FDP) -> FDP:
    """The tensor product. A factor without any loss is left out, so that the curve stays exact."""
    if one == one.zero():
        return other
    return one if other == other.zero() else one.compose(other)


def _convex(column: list[Fraction]) -> bool:
    steps = [after - before for before, after in pairwise(column)]
    return column[0] == 0 and all(a <= b for a, b in pairwise(steps))
