"""Trade-off curves: the three forms agree; products; rounding to the safe side."""

from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable.losses import curves
from queryable.losses.curves import FLOOR, Knots
from tests.strategies import among

F = Fraction
ZERO = F(0)
IDENTITY: Knots = ((F(0), F(1)), (F(1), F(0)))
ALPHAS = [F(n, 24) for n in range(25)]

units = among(0, 1, 60)
ratios = among(0, 100, 7)


@st.composite
def tradeoffs(draw: st.DrawFn) -> Knots:
    """Convex curves below 1 - alpha: hulls of any points there."""
    points = draw(st.lists(st.tuples(units, units), max_size=5))
    start = draw(units)
    return curves.hull([*((a, (1 - a) * y) for a, y in points), (F(0), start), (F(1), F(0))])


def response(ratio: Fraction, delta: Fraction = ZERO) -> Knots:
    """f_{epsilon, delta} at e^epsilon = ratio."""
    return curves.envelope(curves.lines_of(ratio, delta))


def outcomes(knots: Knots) -> list[tuple[Fraction, Fraction]]:
    """The pair of distributions that a curve is the trade-off of."""
    corners = [(F(0), F(1)), *knots]
    return [(right[0] - left[0], left[1] - right[1]) for left, right in pairwise(corners)]


def resolved(knots: Knots, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """delta, and the smaller of delta and delta - 1 + ratio, with the floor."""
    delta = curves.delta_at(knots, ratio)
    return delta, min(delta, delta - 1 + ratio) + FLOOR


def probes(*of: Knots) -> list[Fraction]:
    """Ratios at and between all corners of the profiles of these curves."""
    turns = sorted({ratio for knots in of for ratio, _ in curves.lines(knots)} | {F(0), F(1)})
    return [*turns, *((a + b) / 2 for a, b in pairwise(turns)), turns[-1] + 1]


@settings(max_examples=40)
@given(knots=tradeoffs())
def test_the_conditions_hold_for_hulls_below_the_diagonal(knots: Knots) -> None:
    """The strategy generates trade-off curves, which `checked` returns unchanged."""
    assert curves.checked(knots) == knots


def test_points_that_are_not_corners_are_dropped() -> None:
    """A curve has exactly one representation."""
    assert curves.checked([(F(0), F(1)), (F(1, 3), F(2, 3)), (F(1), F(0))]) == IDENTITY
    # f is a probability, so it is at least 0.
    with pytest.raises(ValueError, match="between 0"):
        curves.checked([(F(0), F(1)), (F(1, 2), F(-1, 4)), (F(1), F(-1, 4))])
    knots = response(F(2), F(1, 10))
    assert curves.shortened(knots, 4) is knots


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([], "from alpha = 0 to alpha = 1"),
        ([(0, 1)], "from alpha = 0 to alpha = 1"),
        ([(0, 1), ("1/2", "1/4")], "from alpha = 0 to alpha = 1"),
        ([("1/2", "1/4"), (1, 0)], "from alpha = 0 to alpha = 1"),
        ([(0, 1), ("1/2", 0), (2, 0)], "from alpha = 0 to alpha = 1"),
        ([(0, 1), ("1/2", "1/4"), ("1/2", 0), (1, 0)], "increasing alphas"),
        ([(0, 1), ("2/3", 0), ("1/3", 0), (1, 0)], "increasing alphas"),
        ([(0, "1/4"), ("1/4", "1/2"), (1, 0)], "increases between"),
        ([(0, 1), ("1/2", "3/4"), (1, 0)], r"f\(1/2\) = 3/4 .* 1 - alpha = 1/2"),
        ([(0, 2), (1, 0)], r"f\(0\) = 2"),
        ([(0, "1/2"), (1, "1/4")], r"f\(1\) = 1/4"),
        ([(0, "1/2"), ("1/4", "1/2"), (1, 0)], "not convex at alpha = 1/4"),
    ],
)
def test_invalid_curves_are_refused(points: list[tuple[object, object]], reason: str) -> None:
    """Not convex, not decreasing, above 1 - alpha or off [0, 1]: refused with the reason."""
    with pytest.raises(ValueError, match=reason):
        curves.checked([(F(alpha), F(f)) for alpha, f in points])  # type: ignore[arg-type]


@settings(max_examples=40)
@given(knots=tradeoffs(), alpha=units)
def test_a_curve_is_the_largest_of_its_lines(knots: Knots, alpha: Fraction) -> None:
    """Interpolating knots and maximising extended sides give the same value."""
    largest = max(1 - delta - ratio * alpha for ratio, delta in curves.lines(knots))
    assert curves.value(knots, alpha) == max(largest, F(0))


@settings(max_examples=40)
@given(lines=st.lists(st.tuples(ratios, units), max_size=6))
def test_the_envelope_is_the_largest_line(lines: list[tuple[Fraction, Fraction]]) -> None:
    sides = [side for ratio, delta in lines for side in curves.lines_of(1 + ratio, delta)]
    knots = curves.envelope(sides)
    assert curves.checked(knots) == knots
    for alpha in ALPHAS:
        expected = max([F(0), *(1 - delta - ratio * alpha for ratio, delta in sides)])
        assert curves.value(knots, alpha) == expected


@settings(max_examples=40)
@given(left=tradeoffs(), right=tradeoffs())
def test_highest_and_lowest(left: Knots, right: Knots) -> None:
    """The maximum is pointwise; the hull of the minimum is the largest curve below both."""
    top, bottom = curves.highest(left, right), curves.lowest(left, right)
    for alpha in ALPHAS:
        values = curves.value(left, alpha), curves.value(right, alpha)
        assert curves.value(top, alpha) == max(values)
        assert curves.value(bottom, alpha) <= min(values)
    for alpha, f in bottom:
        assert f == min(curves.value(left, alpha), curves.value(right, alpha))


@settings(max_examples=40)
@given(left=tradeoffs(), right=tradeoffs())
def test_below_is_pointwise(left: Knots, right: Knots) -> None:
    """The order read off one curve's knots is the order at every knot of both."""
    everywhere = {alpha for alpha, _ in left + right}
    expected = all(curves.value(left, each) <= curves.value(right, each) for each in everywhere)
    assert curves.below(left, right) == expected


@settings(max_examples=40)
@given(knots=tradeoffs(), alpha=units)
def test_the_inverse_is_the_least_argument(knots: Knots, alpha: Fraction) -> None:
    """f^-1(alpha) is reached by f and by nothing to the left of it; twice inverted is f."""
    back = curves.inverse(knots)
    least = curves.value(back, alpha)
    assert curves.value(knots, least) <= alpha
    assert least == 0 or curves.value(knots, least * F(999, 1000)) > alpha
    assert curves.inverse(back) == knots


@settings(max_examples=40)
@given(knots=tradeoffs(), ratio=ratios)
def test_delta_is_the_largest_over_all_knots(knots: Knots, ratio: Fraction) -> None:
    """Where it is searched for is where it is."""
    for each in (ratio, *probes(knots)):
        assert curves.delta_at(knots, each) == max(1 - f - each * alpha for alpha, f in knots)


@settings(max_examples=40)
@given(left=tradeoffs(), right=tradeoffs())
def test_the_product_is_that_of_the_distributions(left: Knots, right: Knots) -> None:
    joint = curves.tensor(left, right)
    assert curves.checked(joint) == joint
    pairs = [(p * r, q * s) for (p, q), (r, s) in product(outcomes(left), outcomes(right))]
    for ratio in probes(joint):
        brute = sum(max(q - ratio * p, F(0)) for p, q in pairs)
        assert curves.delta_at(joint, ratio) == brute


@settings(max_examples=40)
@given(first=tradeoffs(), second=tradeoffs(), third=tradeoffs())
def test_products_commute_and_associate(first: Knots, second: Knots, third: Knots) -> None:
    tensor = curves.tensor
    assert tensor(first, second) == tensor(second, first)
    assert tensor(tensor(first, second), third) == tensor(first, tensor(second, third))
    assert tensor(first, IDENTITY) == first


@settings(max_examples=40)
@given(outer=tradeoffs(), inner=tradeoffs())
def test_a_chain_is_a_trade_off_curve_of_values(outer: Knots, inner: Knots) -> None:
    chained = curves.chain(outer, inner)
    assert curves.checked(chained) == chained
    for alpha in ALPHAS:
        expected = curves.value(outer, 1 - curves.value(inner, alpha))
        assert curves.value(chained, alpha) == expected


MANY = reduce(curves.tensor, (response(F(11 + n, 10), F(n, 10**6)) for n in range(8)))
SMOOTH = curves.lowered(reduce(curves.tensor, [response(F(21, 20))] * 200))


@pytest.mark.parametrize(
    ("knots", "most"),
    [
        pytest.param(
            *(knots, most),
            id=f"{name}-{most}",
            marks=[] if (name, most) in {("many", 8), ("smooth", 32)} else [pytest.mark.slow],
        )
        for name, knots in (("many", MANY), ("smooth", SMOOTH))
        for most in (4, 8, 32, 128)
    ],
)
def test_shortened_curves_are_below_and_their_rounding_is_true(knots: Knots, most: int) -> None:
    """A shortened curve is below, and at every epsilon the error is within `rounding`."""
    assert len(knots) > most
    short = curves.shortened(knots, most)
    assert 2 <= len(short) <= most
    assert curves.checked(short) == short
    assert curves.below(short, knots)
    share = curves.rounding(short, partial(curves.value, knots))
    assert 0 <= share <= 1
    for ratio in probes(short, knots):
        loose, floor = resolved(short, ratio)
        assert 0 <= loose - curves.delta_at(knots, ratio) <= share * floor


@settings(max_examples=40)
@given(upper=tradeoffs(), other=tradeoffs(), weight=st.integers(1, 99))
def test_rounding_bounds_what_any_lower_curve_loses(
    upper: Knots, other: Knots, weight: int
) -> None:
    """For epsilons of both signs, wherever the lower curve is lower."""
    dent = curves.lowest(upper, other)
    lower = curves.hull(
        (alpha, (weight * curves.value(upper, alpha) + curves.value(dent, alpha)) / (weight + 1))
        for alpha, _ in upper + dent
    )
    assert curves.below(lower, upper)
    share = curves.rounding(lower, partial(curves.value, upper))
    for ratio in probes(lower, upper):
        loose, floor = resolved(lower, ratio)
        assert loose - curves.delta_at(upper, ratio) <= share * floor


@pytest.mark.parametrize("dent", [(F(3, 5), F(14, 100)), (F(14, 100), F(3, 5))])
def test_rounding_sees_a_dent_at_either_end(dent: tuple[Fraction, Fraction]) -> None:
    """At either end, `rounding` is at least the error and at most twice the error."""
    upper = response(F(2), F(1, 10))
    lower = curves.hull([*upper, dent])
    share = curves.rounding(lower, partial(curves.value, upper))
    lost = []
    for ratio in probes(lower, upper):
        loose, floor = resolved(lower, ratio)
        lost.append((loose - curves.delta_at(upper, ratio)) / floor)
    assert F(1, 20) < max(lost) <= share < 2 * max(lost)


def test_more_knots_lose_less() -> None:
    """Twice the knots divide the error by four or more, as for chords of a smooth curve."""
    shares = [
        curves.rounding(curves.shortened(MANY, most), partial(curves.value, MANY))
        for most in (16, 32, 64, 128)
    ]
    assert all(fewer > 4 * more for fewer, more in pairwise(shares))
    assert shares[-1] < F(1, 1000)
    other = reduce(curves.tensor, (response(F(12 + n, 10)) for n in range(6)))
    exact = curves.tensor(MANY, other)
    first, second = curves.shortened(MANY, 24), curves.shortened(other, 24)
    share = curves.rounding(first, partial(curves.value, MANY))
    share += curves.rounding(second, partial(curves.value, other))
    assert share < F(1, 2)
    for ratio in (F(1, 9), F(1, 2), F(1), F(3, 2), F(4), F(20)):
        loose, floor = resolved(curves.tensor(first, second), ratio)
        assert 0 < loose - curves.delta_at(exact, ratio) <= share * floor


def test_long_coordinates_are_moved_to_a_grid_below() -> None:
    long = response(F(3**12000, 2**19000))
    short = curves.shortened(long, 100)
    assert len(short) == len(long)
    assert curves.below(short, long)
    assert max(each.denominator for knot in short for each in knot) <= 2**192
    assert curves.rounding(short, partial(curves.value, long)) < F(1, 2**60)
