"""Conversions at their edges, and what their formulas say.

tests/audit/test_rounding.py compares every conversion with 60-digit arithmetic.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable import RDP, ZCDP, ApproxDP, PureDP
from queryable.losses import conversions, joint_range
from tests.strategies import orders


def real(value: Fraction) -> Any:
    """The value in the working precision of mpmath."""
    return mpmath.mpf(value.numerator) / value.denominator


def test_conversions_at_their_edges() -> None:
    # A group of 10**30 records is answered without computing a huge exponential.
    for size in (10**6, 10**12, 10**30):
        assert conversions.group_delta(Fraction(1), Fraction(1, 10**6), size) == 1
    assert conversions.group_delta(Fraction(0), Fraction(1, 100), 7) == Fraction(7, 100)
    for alpha in (10**30, 10**40):  # rounded up, it would be above epsilon
        assert conversions.pure_to_rdp(Fraction(1, 3), Fraction(alpha)) <= Fraction(1, 3)
    mu = Fraction(10**6)
    epsilon = conversions.gdp_to_approx(mu, Fraction("1e-6"))
    assert mu**2 / 2 < epsilon < mu**2
    # At width 1 the bound is epsilon*tanh(epsilon/2), not the smaller continuous one.
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        discrete = conversions.discrete_laplace_to_zcdp(Fraction(1), 1 / epsilon)
        pure = conversions.pure_to_zcdp(epsilon)
        assert abs(discrete - pure) <= pure / 10**20


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


@pytest.mark.parametrize("rho", ["1e-399", "1e-30", "1e30", "1e308", "1e399"])
def test_zcdp_at_the_edges_gives_a_bound(rho: str) -> None:
    """Losses outside the range of floats convert too, rounded up."""
    delta = Fraction("1e-6")
    epsilon = conversions.zcdp_to_approx(Fraction(rho), delta)
    assert epsilon >= Fraction(rho) * (rho[:3] != "1e-")
    assert epsilon <= 2 * Fraction(rho) + 1


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


@pytest.mark.parametrize("alpha", ["1.1", "2", "9", "80"])
@pytest.mark.parametrize("p", ["1e-6", "1/100", "2/5"])
@pytest.mark.parametrize("ratio", ["2", "20"])
def test_two_outcomes_attain_the_epsilon_of_their_renyi_divergence(
    alpha: str, p: str, ratio: str
) -> None:
    """With the divergence of two outcomes, their delta is within the bound at every epsilon.

    Some outcomes, those that decide, attain it.
    """
    with mpmath.workdps(50):
        a, share = mpmath.mpf(alpha), real(Fraction(p))
        odds = share / real(Fraction(ratio))
        moment = share**a * odds ** (1 - a) + (1 - share) ** a * (1 - odds) ** (1 - a)
        loss = RDP(
            alpha, Fraction(mpmath.nstr(mpmath.log(moment) / (a - 1), 45)) + Fraction("1e-40")
        )
        closest = mpmath.inf
        for place in range(1, 40):
            delta = Fraction(p) * place / 40
            stated: Any = loss.to(ApproxDP, delta)
            needed = mpmath.log((share - real(delta)) / odds)
            assert stated.epsilon >= needed
            closest = min(closest, real(stated.epsilon) - needed)
        assert closest <= mpmath.mpf("0.05")


@pytest.mark.parametrize("steps", [0, 6])
@pytest.mark.parametrize(("alpha", "loss", "delta"), [(8, "1/10", "1e-6"), (2, "1", "1/100")])
def test_a_proposed_epsilon_is_checked(
    monkeypatch: pytest.MonkeyPatch, alpha: int, loss: str, delta: str, steps: int
) -> None:
    """One below the least is not taken, wherever the tangent is."""
    given = Fraction(alpha), Fraction(loss), Fraction(delta)
    least, most = conversions.rdp_to_approx(*given), conversions.concentrated_to_approx(*given)
    assert least < most * Fraction(99, 100)
    monkeypatch.setattr(joint_range, "_NEWTON", steps)
    for share in (0.5, 0.9, 0.999, 0.99997):
        for odds in (-14.0, -10.0, -5.0, 0.0, 5.0):
            proposed = float(least) * share, odds
            monkeypatch.setattr(joint_range, "_proposed", lambda *_, it=proposed: it)
            assert joint_range.least_epsilon(*given, most) == most


@pytest.mark.parametrize("own", ["0", "1/100"])
@pytest.mark.parametrize("delta", ["1/50", "1/10", "2/5", "99/200"])
def test_the_least_epsilon_of_a_response_is_attained(own: str, delta: str) -> None:
    """With odds 3 the response's own delta is the stated one, and at less epsilon it is larger."""
    epsilon = conversions.log_up(Fraction(3))
    stated = ApproxDP(epsilon, own).to(ApproxDP, delta)
    assert isinstance(stated, ApproxDP)
    revealed, likely = Fraction(own), Fraction(3, 4)

    def attained(at: Fraction) -> Any:
        return real(revealed) + real(1 - revealed) * (
            real(likely) - mpmath.exp(real(at)) * real(1 - likely)
        )

    with mpmath.workdps(50):
        assert 0 < stated.epsilon < epsilon
        assert attained(stated.epsilon) <= real(Fraction(delta))
        assert attained(stated.epsilon * Fraction(999, 1000)) > real(Fraction(delta))


@pytest.mark.parametrize("epsilon", ["1e-300", "1", "1e4", "1e300"])
def test_a_response_at_the_edges_of_delta(epsilon: str) -> None:
    """A delta of the total variation distance or more needs no epsilon, and none keeps all."""
    loss = PureDP(epsilon)
    assert loss.to(ApproxDP, 1) == ApproxDP(0, 1)
    assert loss.to(ApproxDP, 0) == ApproxDP(epsilon, 0)
    assert ApproxDP(epsilon, 1).to(ApproxDP, 1) == ApproxDP(epsilon, 1)
    distance = min(conversions.round_up(lambda e: (e / 2).tanh(), loss.epsilon), Fraction(1))
    assert loss.to(ApproxDP, distance) == ApproxDP(0, distance)
    assert loss.to(ApproxDP, "1e-390").parts[0] <= loss.epsilon  # type: ignore[attr-defined]
    almost = 1 - Fraction(1, 10**399)
    assert loss.to(ApproxDP, almost).parts[0] <= loss.epsilon  # type: ignore[attr-defined]


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
