"""Every conversion compared with 60-digit arithmetic and with reference values."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable import RDP, ZCDP, ApproxDP
from queryable.losses import conversions
from tests.strategies import deltas, orders, positive_rationals

DIGITS = 60
TIGHT = mpmath.mpf("1e-9")


def real(value: Fraction) -> Any:
    """The value in the working precision of mpmath."""
    return mpmath.mpf(value.numerator) / value.denominator


def assert_just_above(bound: Fraction, formula: Callable[..., Any], *arguments: Fraction) -> None:
    """`bound` is not below the true value, and within 1e-9 of it."""
    with mpmath.workdps(DIGITS + 40):
        true = formula(*map(real, arguments))
        assert true <= real(bound) <= true * (1 + TIGHT)


def pure_to_rdp(epsilon: Any, alpha: Any) -> Any:
    """The Renyi divergence of order alpha of randomized response, by its definition."""
    p = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
    q = 1 - p
    return mpmath.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)


def gdp_delta(mu: Any, epsilon: Any) -> Any:
    """The privacy profile of mu-GDP."""
    below = mpmath.ncdf(-epsilon / mu - mu / 2)
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * below


def near(divergence: Any, delta: Any) -> bool:
    """The total variation distance is within delta: Pinsker; Bretagnolle and Huber.

    Equal numbers, such as 1/50 halved and the square of 1/10, may differ in their last digits.
    """
    rounding = 1 + mpmath.mpf(10) ** (10 - DIGITS)
    return bool(min(divergence / 2, -mpmath.expm1(-divergence)) <= delta**2 * rounding)


def rdp_to_approx(alpha: Any, loss: Any, delta: Any) -> Any:
    """Canonne, Kamath, Steinke 2020, Proposition 12."""
    return loss + mpmath.log1p(-1 / alpha) - mpmath.log(delta * alpha) / (alpha - 1)


def zcdp_to_approx(rho: Any, delta: Any) -> Any:
    """The same at rho*alpha, minimised over alpha by bisection of the derivative's sign."""

    def bound(log_excess: Any) -> Any:
        alpha = 1 + mpmath.exp(log_excess)
        return rdp_to_approx(alpha, rho * alpha, delta)

    low, high = mpmath.mpf(-15), mpmath.mpf(30)
    for _ in range(120):  # golden-section would do; thirds are simpler
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return bound((low + high) / 2)


def discrete_laplace_to_zcdp(width: Any, scale: Any) -> Any:
    """The formula for integer noise, against the law itself."""
    s = 1 / scale
    epsilon = width * s
    return epsilon + mpmath.expm1(-epsilon) * s / mpmath.sinh(s)


@settings(max_examples=50)
@given(epsilon=positive_rationals)
def test_pure_to_zcdp(epsilon: Fraction) -> None:
    """epsilon*tanh(epsilon/2), from above."""
    bound = conversions.pure_to_zcdp(epsilon)
    assert_just_above(bound, lambda e: e * mpmath.tanh(e / 2), epsilon)


@settings(max_examples=50)
@given(epsilon=positive_rationals, alpha=orders)
def test_pure_to_rdp(epsilon: Fraction, alpha: Fraction) -> None:
    """The divergence of randomized response, from above, and never above epsilon."""
    bound = conversions.pure_to_rdp(epsilon, alpha)
    assert bound <= epsilon
    assert_just_above(bound, pure_to_rdp, epsilon, alpha)


@settings(max_examples=50)
@given(epsilon=positive_rationals)
def test_pure_to_gdp(epsilon: Fraction) -> None:
    """mu with Phi(mu/2) = e^eps/(1 + e^eps), from above: checked by inverting it."""
    mu = conversions.pure_to_gdp(epsilon)
    with mpmath.workdps(DIGITS):
        tail = 1 / (1 + mpmath.exp(real(epsilon)))
        assert mpmath.ncdf(-real(mu) / 2) <= tail
        assert tail <= mpmath.ncdf(-real(mu) * (1 - TIGHT) / 2)


@settings(max_examples=50)
@given(alpha=orders, loss=positive_rationals, delta=deltas)
def test_rdp_to_approx(alpha: Fraction, loss: Fraction, delta: Fraction) -> None:
    """Proposition 12, from above, and zero where the formula is negative."""
    bound = conversions.rdp_to_approx(alpha, loss, delta)
    with mpmath.workdps(DIGITS):
        true = rdp_to_approx(real(alpha), real(loss), real(delta))
        if near(real(loss), real(delta)):
            true = mpmath.mpf(0)
        assert max(0, true) <= real(bound) <= max(0, true + abs(true) * TIGHT)


@settings(max_examples=30)
@given(rho=positive_rationals, delta=deltas)
def test_zcdp_to_approx(rho: Fraction, delta: Fraction) -> None:
    """The best order is found to 1e-9, and what it gives is a bound at that order."""
    bound = conversions.zcdp_to_approx(rho, delta)

    def true(r: Any, d: Any) -> Any:
        return 0 if near(r, d) else max(0, zcdp_to_approx(r, d))

    assert_just_above(bound, true, rho, delta)


@settings(max_examples=50)
@given(mu=positive_rationals, epsilon=positive_rationals)
def test_gdp_delta(mu: Fraction, epsilon: Fraction) -> None:
    """The profile of mu-GDP from above, far into the tail, as long as it can be written."""
    bound = conversions.gdp_delta(mu, epsilon)
    with mpmath.workdps(DIGITS):
        # The two terms agree to many digits in the tail: give mpmath as many more.
        far = int((epsilon / mu) ** 2 + mu**2) + 40
    if far > 2000:
        assert 0 < bound <= 1
        return
    with mpmath.workdps(DIGITS + far):
        true = gdp_delta(real(mu), real(epsilon))
        assert true <= real(bound) <= min(1, true * (1 + TIGHT))


@settings(max_examples=30)
@given(mu=st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100), delta=deltas)
def test_gdp_to_approx(mu: Fraction, delta: Fraction) -> None:
    """The result is enough for delta, and 1e-9 less is not."""
    epsilon = conversions.gdp_to_approx(mu, delta)
    assert conversions.gdp_delta(mu, epsilon) <= delta
    if epsilon > 0:
        less = epsilon * (1 - Fraction(1, 10**9))
        assert conversions.gdp_delta(mu, less) > delta


@settings(max_examples=50)
@given(
    epsilon=positive_rationals.filter(lambda epsilon: epsilon < 5),
    delta=deltas,
    size=st.integers(1, 20),
)
def test_group_delta(epsilon: Fraction, delta: Fraction, size: int) -> None:
    """delta*(e^(k eps) - 1)/(e^eps - 1), at most one, from above."""
    bound = conversions.group_delta(epsilon, delta, size)

    def grown(e: Any, d: Any) -> Any:
        return min(1, d * mpmath.expm1(size * e) / mpmath.expm1(e))

    assert_just_above(bound, grown, epsilon, delta)


@pytest.mark.parametrize("size", [10**6, 10**12, 10**30])
def test_group_delta_of_an_astronomic_group_is_one(size: int) -> None:
    """A group of 10**30 records is answered without computing a huge exponential."""
    assert conversions.group_delta(Fraction(1), Fraction(1, 10**6), size) == 1


def test_group_delta_at_epsilon_zero() -> None:
    """(0, delta) grows linearly: the formula's limit."""
    assert conversions.group_delta(Fraction(0), Fraction(1, 100), 7) == Fraction(7, 100)


@given(
    width=st.fractions(min_value=1, max_value=50, max_denominator=1),
    scale=st.fractions(min_value=Fraction(1, 20), max_value=1000, max_denominator=50),
)
def test_discrete_laplace_to_zcdp(width: Fraction, scale: Fraction) -> None:
    """Integer Laplace noise, from above."""
    bound = conversions.discrete_laplace_to_zcdp(width, scale)
    assert_just_above(bound, discrete_laplace_to_zcdp, width, scale)


@given(
    width=st.integers(1, 8),
    scale=st.fractions(min_value=Fraction(1, 4), max_value=8, max_denominator=8),
    alpha=orders,
)
@settings(max_examples=30)
def test_discrete_laplace_is_what_the_formula_says(
    width: int, scale: Fraction, alpha: Fraction
) -> None:
    """The Renyi divergence, summed over the integers, is at most alpha times the claimed rho."""
    rho = conversions.discrete_laplace_to_zcdp(Fraction(width), scale)
    with mpmath.workdps(30):
        s, a = 1 / real(scale), real(alpha)
        mass = mpmath.tanh(s / 2)
        reach = int(60 * scale) + width + 1
        moment = mpmath.fsum(
            mass * mpmath.exp(-s * (a * abs(k) + (1 - a) * abs(k - width)))
            for k in range(-reach, reach + width)
        )
        # Outside the range the ratio is constant: the two geometric tails in closed form.
        left = mpmath.exp(-s * (reach + 1 + (1 - a) * width)) / (1 + mpmath.exp(-s))
        right = mpmath.exp(-s * (reach + width - (1 - a) * width)) / (1 + mpmath.exp(-s))
        divergence = mpmath.log(moment + left + right) / (a - 1)
        assert divergence <= a * real(rho) * (1 + mpmath.mpf("1e-20"))


def test_discrete_laplace_of_sensitivity_one_is_randomized_response() -> None:
    """At width 1 the bound is epsilon*tanh(epsilon/2), not the smaller continuous one."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        discrete = conversions.discrete_laplace_to_zcdp(Fraction(1), 1 / epsilon)
        pure = conversions.pure_to_zcdp(epsilon)
        assert abs(discrete - pure) <= pure / 10**20


@given(value=st.fractions(min_value=1, max_value=10**9, max_denominator=10**9))
def test_logarithms_bracket(value: Fraction) -> None:
    """`log_down` and `log_up` are on their sides of the logarithm."""
    with mpmath.workdps(DIGITS):
        true = mpmath.log(real(value))
        assert real(conversions.log_down(value)) <= true <= real(conversions.log_up(value))


@pytest.mark.parametrize("rho", ["1e-399", "1e-30", "1e30", "1e308", "1e399"])
def test_zcdp_at_the_edges_gives_a_bound(rho: str) -> None:
    """Losses outside the range of floats convert too, rounded up."""
    delta = Fraction("1e-6")
    epsilon = conversions.zcdp_to_approx(Fraction(rho), delta)
    assert epsilon >= Fraction(rho) * (rho[:3] != "1e-")
    assert epsilon <= 2 * Fraction(rho) + 1


def test_large_gaussian_losses_convert() -> None:
    """A very large mu converts to a very large epsilon in bounded time."""
    mu = Fraction(10**6)
    epsilon = conversions.gdp_to_approx(mu, Fraction("1e-6"))
    assert mu**2 / 2 < epsilon < mu**2


@settings(max_examples=50)
@given(cut=st.fractions(min_value=0, max_value=10**6, max_denominator=10**6))
def test_least_and_greatest_find_the_cut(cut: Fraction) -> None:
    """Bisection ends on the safe side of a threshold, within 2**-59 of it."""
    from_above = conversions.least(lambda x: x >= cut)
    from_below = conversions.greatest(lambda x: x <= cut)
    assert from_below <= cut <= from_above
    assert from_above - cut <= cut / 2**59
    assert cut - from_below <= cut / 2**59 + Fraction(1, 2**300)


@pytest.mark.parametrize(
    ("loss", "delta", "within"),
    [
        (RDP("1.027", "2.8e-7"), "0.035", True),
        (RDP(2, "1/50"), "1/10", True),  # Pinsker: r/2 = delta^2
        (RDP(2, "0.0201"), "1/10", False),
        (RDP(2, 2), "0.93", True),  # 1 - e^-2 = 0.8647, by Bretagnolle and Huber
        (RDP(2, 2), "0.929", False),
        (ZCDP("2e-12"), "1e-6", True),
        (ZCDP("2.1e-12"), "1e-6", False),
    ],
)
def test_small_divergences_are_within_delta_alone(loss: Any, delta: Any, within: bool) -> None:
    """(0, delta)-DP says that the total variation distance is at most delta."""
    stated = loss.to(ApproxDP, delta)
    assert isinstance(stated, ApproxDP)
    epsilon = stated.epsilon
    assert (epsilon == 0) == within
    squared = conversions.distance_squared(loss.parts[0])
    assert (squared <= Fraction(delta) ** 2) == within
    assert conversions.largest_zcdp(Fraction(0), Fraction(delta)) >= 2 * Fraction(delta) ** 2


@pytest.mark.parametrize("alpha", ["1.01", "2", "50"])
def test_the_distance_holds_of_binary_pairs(alpha: str) -> None:
    """Of every pair on two points the distance is within what its Renyi divergence allows.

    Binary pairs suffice: the distance of any pair is that of one that it postprocesses to, whose
    divergence is no larger.
    """
    a = float(alpha)
    for p, q in itertools.product([n / 40 for n in range(1, 40)], repeat=2):
        moment = p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)
        divergence = Fraction(math.log(moment) / (a - 1) + 1e-12)
        if divergence > 0:
            assert (p - q) ** 2 <= conversions.distance_squared(divergence)
