"""f-DP: curves against 60-digit arithmetic, their order, composition, groups and conversions."""

from fractions import Fraction
from functools import cache, reduce
from typing import Any

import attrs
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable import FDP, GDP, RDP, ZCDP, ApproxDP, PureDP
from queryable.losses import total, zero_of
from queryable.losses.curves import FLOOR
from queryable.losses.tradeoff import KNOTS
from tests.strategies import among, deltas, positive_rationals

F = Fraction
TINY = F(1, 10**24)
NOISE = F(1, 10**50)  # of the 60-digit arithmetic itself
PERFECT = FDP([(0, 1), (1, 0)])
EPSILONS = [F(n, 4) for n in range(12)]

small = among(0, 3, 100)
units = among(0, 1, 100)
profiles = st.lists(st.tuples(small, units), min_size=1, max_size=3)
curves = profiles.map(FDP.of_profile)


def real(value: Fraction) -> Any:
    """The value in the working precision of mpmath."""
    return mpmath.mpf(value.numerator) / value.denominator


def approx_tradeoff(epsilon: Any, delta: Any, alpha: Any) -> Any:
    """f_{epsilon, delta}(alpha)."""
    grown = mpmath.exp(epsilon)
    return max(0, 1 - delta - grown * alpha, (1 - delta - alpha) / grown)


def approx_delta(stated: Any, delta: Any, epsilon: Any) -> Any:
    """The least delta at another epsilon of what is (stated, delta)-DP: KOV 2017, equation (6)."""
    p = mpmath.exp(stated) / (1 + mpmath.exp(stated))
    return delta + (1 - delta) * max(0, p - mpmath.exp(epsilon) * (1 - p))


def gaussian_tradeoff(mu: Any, alpha: Any) -> Any:
    """G_mu(alpha)."""
    return mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha) - mu)


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    """The privacy profile of mu-GDP."""
    below = mpmath.ncdf(-epsilon / mu - mu / 2)
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * below


@settings(max_examples=40)
@given(epsilon=positive_rationals, delta=deltas, alpha=units)
def test_of_approx_is_at_most_the_curve(
    epsilon: Fraction, delta: Fraction, alpha: Fraction
) -> None:
    """f_{epsilon, delta} with e^epsilon rounded: never above, and by no more than 1e-24 below."""
    f = FDP.of_approx(epsilon, delta)(alpha)
    with mpmath.workdps(60):
        true = approx_tradeoff(real(epsilon), real(delta), real(alpha))
        assert true - real(TINY) <= real(f) <= true + real(NOISE)


def test_without_epsilon_and_without_mu_curves_are_exact() -> None:
    """(0, delta)-DP is 1 - delta - alpha, and (0, 0)-DP is zero loss."""
    assert FDP.of_approx(0, "1/4") == FDP([(0, "3/4"), ("3/4", 0), (1, 0)])
    assert FDP.of_approx(0) == PERFECT
    assert FDP.of_approx(3, 1) == FDP([(0, 0), (1, 0)])
    assert FDP.of_gaussian(0) == PERFECT


@settings(max_examples=40)
@given(stated=small, delta=deltas, epsilon=small)
def test_the_profile_of_approx(stated: Fraction, delta: Fraction, epsilon: Fraction) -> None:
    bound = FDP.of_approx(stated, delta).delta(epsilon)
    with mpmath.workdps(60):
        true = approx_delta(real(stated), real(delta), real(epsilon))
        assert true - real(NOISE) <= real(bound) <= true + real(TINY)


@settings(max_examples=40)
@given(epsilon=small, delta=deltas)
def test_there_and_back(epsilon: Fraction, delta: Fraction) -> None:
    curve = ApproxDP(epsilon, delta).to(FDP)
    back = curve.to(ApproxDP, delta)
    assert isinstance(back, ApproxDP)
    assert epsilon <= back.epsilon <= epsilon + TINY / delta
    assert delta <= curve.delta(epsilon) <= delta + TINY
    assert curve.delta(back.epsilon) <= delta + TINY


@settings(max_examples=40)
@given(guarantees=profiles, alpha=units)
def test_several_guarantees_are_the_largest_curve(
    guarantees: list[tuple[Fraction, Fraction]], alpha: Fraction
) -> None:
    each = [FDP.of_approx(*guarantee) for guarantee in guarantees]
    together = FDP.of_profile(guarantees)
    assert together(alpha) == max(curve(alpha) for curve in each)
    assert all(together <= curve for curve in each)


gaussian = cache(FDP.of_gaussian)
inner = st.fractions(min_value=F(1, 10**6), max_value=F(999, 1000), max_denominator=10**6)


@settings(max_examples=40)
@given(mu=st.sampled_from([F(83, 100), F(5)]), alpha=inner, epsilon=small)
def test_of_gaussian(mu: Fraction, alpha: Fraction, epsilon: Fraction) -> None:
    """Of middling and large mu, whose curves are made once."""
    require_of_gaussian(mu, alpha, epsilon)


@pytest.mark.slow
@settings(max_examples=30)
@given(mu=among(F(1, 100), 5, 100), alpha=inner, epsilon=small)
def test_of_any_gaussian(mu: Fraction, alpha: Fraction, epsilon: Fraction) -> None:
    require_of_gaussian(mu, alpha, epsilon)


def require_of_gaussian(mu: Fraction, alpha: Fraction, epsilon: Fraction) -> None:
    """Never above G_mu, and its deltas exceed the true ones by no more than the stated share."""
    curve = gaussian(mu)
    assert len(curve.knots) <= KNOTS
    assert 0 < curve.rounding < F(1, 50)
    bound = curve.delta(epsilon)
    with mpmath.workdps(60):
        assert real(curve(alpha) - NOISE) <= gaussian_tradeoff(real(mu), real(alpha))
        true = gaussian_delta(real(mu), real(epsilon))
        assert true <= real(bound) <= true + real(curve.rounding * (bound + FLOOR))


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [
        pytest.param(0.1, 0.1, 0.008751768145809545, marks=pytest.mark.slow),
        (0.5, 1, 0.006829594983114591),
        (0.5, 2, 9.439168634947287e-06),
        pytest.param(1, 0.5, 0.2384217081348766, marks=pytest.mark.slow),
        pytest.param(1, 2, 0.02092363582111376, marks=pytest.mark.slow),
    ],
)
def test_gaussian_reference_values(mu: float, epsilon: float, delta: float) -> None:
    """With many knots the profile is that of the reference to a third of a percent."""
    bound = gaussian(mu, 512).delta(epsilon)
    assert delta <= float(bound) <= delta * 1.0035


@pytest.mark.parametrize(
    "mu",
    ["1e-30", *(pytest.param(each, marks=pytest.mark.slow) for each in ("1e-3", 9, 60)), 10**6],
)
def test_extreme_gaussians_stay_on_the_safe_side(mu: object) -> None:
    """For very small and large mu the curve is below G_mu, within its stated rounding."""
    curve = FDP.of_gaussian(mu)  # type: ignore[arg-type]
    assert 0 <= curve.rounding <= 1
    assert PERFECT <= curve <= FDP([(0, 0), (1, 0)])
    with mpmath.workdps(400):
        for alpha in (F(1, 10**9), F(1, 3), 1 - F(1, 10**9)):
            true = gaussian_tradeoff(mpmath.mpf(str(mu)), real(alpha))
            assert real(curve(alpha)) <= true


@pytest.mark.parametrize("knots", [0, 3])
def test_too_few_knots_are_refused(knots: int) -> None:
    """A curve below a Gaussian needs at least four knots."""
    with pytest.raises(ValueError, match=f"knots is {knots}; it should be at least 4"):
        FDP.of_gaussian(1, knots)


@settings(max_examples=40)
@given(first=curves, second=curves)
def test_the_order_is_reflexive_and_antisymmetric(first: FDP, second: FDP) -> None:
    """A curve is within itself, and two curves within each other are equal."""
    assert first <= first  # noqa: PLR0124
    assert (first <= second <= first) == (first == second)


@settings(max_examples=40)
@given(first=curves, second=curves, third=curves)
def test_the_order_is_transitive(first: FDP, second: FDP, third: FDP) -> None:
    upper = first.join(second)
    assert first <= upper
    assert upper <= upper.join(third)
    assert first <= upper.join(third)


@settings(max_examples=40)
@given(first=curves, second=curves, alpha=units)
def test_the_order_is_pointwise(first: FDP, second: FDP, alpha: Fraction) -> None:
    """A larger curve is less loss; crossing curves are incomparable."""
    if first <= second:
        assert first(alpha) >= second(alpha)
    if first(alpha) < second(alpha):
        assert not first <= second


def test_curves_may_be_incomparable() -> None:
    """A smaller epsilon with a larger delta is incomparable."""
    pure, approximate = FDP.of_approx(1), FDP.of_approx("0.9", "0.01")
    assert not pure <= approximate
    assert not approximate <= pure
    # A curve is neither compared nor composed with another measure's value.
    with pytest.raises(TypeError, match="different measures"):
        PureDP(1) <= PERFECT  # noqa: B015
    with pytest.raises(TypeError, match="different measures"):
        PERFECT + PureDP(1)


@settings(max_examples=40)
@given(first=small, second=small)
def test_the_order_extends_that_of_pure_losses(first: Fraction, second: Fraction) -> None:
    assert (FDP.of_approx(first) <= FDP.of_approx(second)) == (first <= second)


@settings(max_examples=40)
@given(first=curves, second=curves, third=curves)
def test_composition_is_monotone(first: FDP, second: FDP, third: FDP) -> None:
    """Composition increases the loss, and a smaller loss composes to a smaller one."""
    assert first <= first + second
    assert first + third <= first.join(second) + third


@settings(max_examples=40)
@given(curve=curves)
def test_no_loss_is_the_unit(curve: FDP) -> None:
    assert curve.zero() == PERFECT == zero_of(FDP) == total([], FDP) == curve.group(0)
    assert curve + PERFECT == curve
    assert curve >= PERFECT


@settings(max_examples=40)
@given(first=small, second=small)
def test_pure_losses_compose_to_less_than_their_sum(first: Fraction, second: Fraction) -> None:
    """The product of two responses is within the response at the sum."""
    both = FDP.of_approx(first) + FDP.of_approx(second)
    assert both <= FDP.of_approx(first + second + TINY)
    assert both.rounding == 0


def test_long_products_keep_few_knots_and_state_the_error() -> None:
    """Eight different losses: more knots exactly, at most 256 kept, deltas off by a known share."""
    losses = [FDP.of_approx(F(10 + n, 50), F(n, 10**7)) for n in range(8)]
    short = reduce(FDP.compose, losses)
    exact = reduce(_product, losses)
    assert len(short.knots) <= KNOTS < len(exact.knots)
    assert exact <= short
    assert 0 < short.rounding < F(1, 100)
    for epsilon in EPSILONS:
        bound = short.delta(epsilon)
        assert 0 <= bound - exact.delta(epsilon) <= short.rounding * (bound + FLOOR)


def _product(left: FDP, right: FDP) -> FDP:
    """The tensor product with all its knots."""
    from queryable.losses.curves import tensor

    return FDP(tensor(left.knots, right.knots))


def test_rounding_adds_up() -> None:
    """Rounding survives composition, joins and symmetry; groups magnify it by slope and floor."""
    first = attrs.evolve(FDP.of_approx(0, "1/4"), rounding=F(1, 7))
    second = attrs.evolve(FDP([(0, 1), ("1/4", "1/4"), (1, 0)]), rounding=F(1, 5))
    assert (first + second).rounding == F(1, 7) + F(1, 5)
    assert first.join(second).rounding == F(1, 5)
    assert second.symmetric().rounding == F(1, 5)
    assert (second + second).compose(second + second).compose(second + second).rounding == 1
    little = attrs.evolve(second, rounding=FLOOR / 1000)
    assert little.group(2).rounding == (3 + 1) * (1 + FLOOR) / 1000
    assert second.group(2).rounding == 1


def test_curves_of_very_many_knots_compose() -> None:
    """A declared curve of thousands of knots is shortened before its knots are multiplied."""
    long = FDP([(F(n, 3000), F(3000 - n, 3000) ** 2) for n in range(3001)])
    assert len(long.knots) == 3001
    both = long + PERFECT
    assert len(both.knots) <= KNOTS
    assert long <= both
    assert 0 < both.rounding < F(1, 50)


@pytest.mark.parametrize(
    ("knots", "share"), [(128, F(1, 6)), pytest.param(KNOTS, F(1, 15), marks=pytest.mark.slow)]
)
def test_gaussians_compose_in_quadrature(knots: int, share: Fraction) -> None:
    """G_0.6 and G_0.8 together are below G_1, by no more than the stated share."""
    both = FDP.of_gaussian("0.6", knots) + FDP.of_gaussian("0.8", knots)
    assert both.rounding < share
    for epsilon in EPSILONS:
        bound, true = both.delta(epsilon), GDP(1).delta(epsilon)
        assert true < bound <= true + both.rounding * (bound + FLOOR) + TINY


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_groups_of_pure_losses(size: int) -> None:
    """A group curve is above f_{k epsilon}, by 1 - (1 - f) applied k times."""
    curve = FDP.of_approx("0.3")
    grouped = curve.group(size)
    assert grouped <= FDP.of_approx(size * F("0.3") + TINY)
    for alpha in (F(0), F(1, 100), F(1, 10), F(1, 2), F(1)):
        expected = alpha
        for _ in range(size):
            expected = 1 - curve(expected)
        assert grouped(alpha) == 1 - expected
    assert grouped.rounding == 0


def test_groups_of_approximate_losses() -> None:
    loss = ApproxDP("0.3", "1e-6")
    stated = loss.group(4)
    assert loss.to(FDP).group(4) <= FDP.of_approx(stated.epsilon + TINY, stated.delta + TINY)
    # An asymmetric claim holds the other way round too, and epsilon is read off both.
    steep = FDP([(0, 1), ("1/4", "1/2"), (1, 0)])
    both = steep.symmetric()
    assert both == FDP([(0, 1), ("2/5", "2/5"), (1, 0)])
    assert both <= steep
    loss = steep.to(PureDP)
    assert isinstance(loss, PureDP)
    assert float(loss.epsilon) == pytest.approx(0.4054651081081644, rel=1e-15)


@pytest.mark.slow
def test_groups_of_gaussians() -> None:
    """Close to G_2mu, below it; what the tangents lose is no longer known."""
    curve = FDP.of_gaussian("0.5")
    doubled = curve.group(2)
    assert doubled.rounding == 1
    for epsilon in EPSILONS:
        true = float(GDP(1).delta(epsilon))
        assert true < float(doubled.delta(epsilon)) < 1.05 * true + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("losses", "size"), [(6, 5), (7, 16), (7, 1000)])
def test_groups_of_any_size_keep_few_knots(losses: int, size: int) -> None:
    """Large groups of curves with many knots are computed in bounded time."""
    many = reduce(FDP.compose, (FDP.of_approx(F(1, n)) for n in range(2, 2 + losses)))
    grouped = many.group(size)
    assert len(grouped.knots) <= KNOTS
    assert many.group(3) <= grouped
    assert 0 < grouped.rounding <= 1


@settings(max_examples=40)
@given(knots=curves, alpha=units)
def test_the_join_is_the_least_loss_above_both(knots: FDP, alpha: Fraction) -> None:
    """Any curve that both imply is implied by their join."""
    other = FDP.of_approx(1, "1/5")
    join = knots.join(other)
    assert knots <= join
    assert other <= join
    weaker = FDP([(0, min(knots(0), other(0))), (alpha / 2 + F(1, 4), 0), (1, 0)])
    if knots <= weaker and other <= weaker:
        assert join <= weaker


@settings(max_examples=40)
@given(knots=curves)
def test_symmetric_curves_are_their_own_inverse(knots: FDP) -> None:
    """f_{epsilon, delta} is symmetric, and so are maxima of these."""
    assert knots.symmetric() == knots


def test_conversions_to_curves() -> None:
    assert PureDP(1).to(FDP) == FDP.of_approx(1)
    assert ApproxDP(1, "1e-6").to(FDP) == FDP.of_approx(1, "1e-6")
    assert ApproxDP(1, 0).to(FDP) == FDP.of_approx(1)
    assert GDP(1).to(FDP) == FDP.of_gaussian(1)
    assert PERFECT.to(FDP) is PERFECT
    # A curve without delta is a pure loss, and through it one of every measure.
    curve = FDP.of_approx(1)
    pure = curve.to(PureDP)
    assert isinstance(pure, PureDP)
    assert 1 <= pure.epsilon <= 1 + TINY
    assert curve.to(ZCDP) == pure.to(ZCDP)
    assert curve.to(RDP.at(8)) == pure.to(RDP.at(8))
    assert curve.to(ApproxDP, 0) == ApproxDP(pure.epsilon, 0)
    with pytest.raises(ValueError, match="no theorem"):
        FDP.of_approx(1, "1e-6").to(PureDP)


def test_a_bound_at_a_delta_is_the_least() -> None:
    curve = FDP.of_profile([(1, "1e-6"), ("1/2", "1e-3")])
    for delta in ("1e-6", "1e-4", "1e-3", "1e-2"):
        bound = curve.to(ApproxDP, delta)
        assert isinstance(bound, ApproxDP)
        assert curve.delta(bound.epsilon) <= F(delta) + TINY
        assert curve.delta(bound.epsilon - F(1, 10**9)) > F(delta)
    assert curve.to(ApproxDP, 1) == ApproxDP(0, 1)
    # A curve has an epsilon for each delta >= 1 - f(0), and the caller chooses delta.
    curve = FDP.of_approx(1, "1e-6")
    with pytest.raises(ValueError, match="say delta"):
        curve.to(ApproxDP)
    with pytest.raises(ValueError, match="only for delta >= 1/1000000"):
        curve.to(ApproxDP, "1e-7")


@pytest.mark.parametrize("value", [-1, "x", float("inf"), True])
def test_bad_parameters_are_refused(value: Any) -> None:
    for make in (FDP.of_approx, FDP.of_gaussian, PERFECT.delta):
        with pytest.raises(ValueError, match="should be"):
            make(value)
    with pytest.raises(ValueError, match="delta"):
        FDP.of_approx(1, 2)
    with pytest.raises(ValueError, match="rounding"):
        FDP([(0, 1), (1, 0)], rounding=2)


def test_a_curve_is_a_frozen_value() -> None:
    """Equality compares knots, not `rounding`; the repr of a curve is an expression for it."""
    curve = FDP.of_approx("0.1", "1e-6")
    known = attrs.evolve(curve, rounding=F(1, 7))
    assert (known, hash(known)) == (curve, hash(curve))
    assert eval(repr(known)).rounding == F(1, 7)
    assert eval(repr(curve)) == curve
    assert str(curve) == "FDP(4 knots)"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        curve.knots = ()  # type: ignore[misc]
    # Beyond epsilon = 4096 a curve is practically zero, and computations end.
    curve = FDP.of_approx("1e300")
    assert curve == FDP([(0, 0), (1, 0)])
    assert FDP.of_gaussian("1e300") == curve
    assert FDP.of_approx(1).delta("1e300") == 0
    assert curve.to(ApproxDP, 1) == ApproxDP(0, 1)
