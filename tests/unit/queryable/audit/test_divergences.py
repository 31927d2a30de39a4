"""Divergences of two laws, compared with brute force and with 60-digit arithmetic."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import inf
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable import RDP, ZCDP, PureDP
from queryable.audit import (
    hockey_stick,
    least_epsilon,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
    zcdp,
)
from queryable.audit.divergences import (
    best_event,
    conditioned,
    hockey_stick_below,
    renyi_divergence_below,
)
from queryable.audit.views.enumeration import CUT
from queryable.losses.conversions import log_up
from queryable.randomness.intervals import Interval

F = Fraction
RESPONSE = ({True: F(3, 4), False: F(1, 4)}, {True: F(1, 4), False: F(3, 4)})


@st.composite
def laws(draw: Any, size: int = 4) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Two laws on the same few outcomes, all of positive probability."""
    pair = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(1, 50), min_size=size, max_size=size))
        pair.append({i: F(weight, sum(weights)) for i, weight in enumerate(weights)})
    return pair[0], pair[1]


def real(value: Any) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.mpf(value.numerator) / value.denominator


@given(laws(), st.fractions(min_value=0, max_value=3, max_denominator=20))
def test_hockey_stick_is_the_best_event(pair: Any, epsilon: Fraction) -> None:
    """The value is the largest P(S) - e^epsilon Q(S) over events S, or barely above it."""
    p, q = pair
    with mpmath.workdps(60):
        factor = mpmath.exp(real(epsilon))
        best = max(
            sum((real(p[i]) - factor * real(q[i]) for i in event), mpmath.mpf(0))
            for size in range(len(p) + 1)
            for event in combinations(p, size)
        )
        found = real(hockey_stick(p, q, epsilon))
        assert best - mpmath.mpf(10) ** -58 <= found <= best + mpmath.mpf(10) ** -45


def test_hockey_stick_at_rational_odds() -> None:
    """At e^epsilon = 2 only rounding is lost; at e^epsilon = 3 the value is 0."""
    p, q = RESPONSE
    assert hockey_stick(p, q, 0) == F(1, 2)
    assert abs(hockey_stick(p, q, log_up(F(2))) - F(1, 4)) < F(1, 10**25)
    assert hockey_stick(p, q, log_up(F(3))) == 0
    assert hockey_stick(p, q, log_up(F(3)) - F(1, 10**20)) > 0


def test_an_outcome_impossible_under_q_counts_as_delta() -> None:
    """An outcome that is impossible under q counts fully at every epsilon."""
    assert hockey_stick({0: F(1, 10), 1: F(9, 10)}, {1: F(1)}, 50) == F(1, 10)
    assert hockey_stick({1: F(1)}, {0: F(1, 10), 1: F(9, 10)}, 1) == 0


def test_profile_takes_the_worse_direction() -> None:
    """The profile is the maximum over both directions at every epsilon."""
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    assert privacy_profile(p, q, [0, 5]) == [(0, F(1, 10)), (5, F(1, 10))]
    assert privacy_profile(q, p, [0, 5]) == [(0, F(1, 10)), (5, F(1, 10))]


@given(laws(), st.fractions(min_value=F(101, 100), max_value=60, max_denominator=100))
def test_renyi_divergence_is_never_below(pair: Any, alpha: Fraction) -> None:
    """The value is at or barely above the 60-digit value."""
    p, q = pair
    with mpmath.workdps(60):
        a = real(alpha)
        moment = sum(real(p[i]) ** a * real(q[i]) ** (1 - a) for i in p)
        exact = max(mpmath.log(moment) / (a - 1), mpmath.mpf(0))
        found = real(F(renyi_divergence(p, q, alpha)))
        # a sum close to one loses digits by cancellation
        assert exact - mpmath.mpf(10) ** -55 <= found <= exact + mpmath.mpf(10) ** -20


def test_renyi_divergence_of_randomized_response() -> None:
    """It equals the conversion from pure DP, which is tight for randomized response."""
    found = renyi_divergence(*RESPONSE, 8)
    assert isinstance(found, Fraction)
    stated = PureDP(log_up(F(3))).to(RDP.at(8)).epsilon  # type: ignore[attr-defined]
    assert abs(found - stated) < F(1, 10**25)


def test_renyi_divergence_is_infinite_where_q_is_zero() -> None:
    """It is finite in the other direction."""
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    assert renyi_divergence(p, q, 2) == inf
    assert renyi_divergence(q, p, 2) < inf


@pytest.mark.parametrize("alpha", [1, "1/2", 0])
def test_renyi_orders_are_above_one(alpha: Any) -> None:
    with pytest.raises(ValueError, match="alpha"):
        renyi_divergence(*RESPONSE, alpha)


@given(laws())
def test_equal_laws_have_divergence_zero(pair: Any) -> None:
    """Every divergence of a law from itself is zero, up to rounding up."""
    p, _ = pair
    assert hockey_stick(p, p, 0) == 0
    assert max_divergence(p, p) == 0
    assert 0 <= renyi_divergence(p, p, 3) < F(1, 10**25)


@given(laws())
def test_max_divergence_is_the_least_pure_epsilon(pair: Any) -> None:
    """It is the log of the largest ratio, and delta is 0 at that epsilon."""
    p, q = pair
    epsilon = max_divergence(p, q)
    assert hockey_stick(p, q, F(epsilon)) == 0
    assert epsilon == log_up(max([F(1), *(p[i] / q[i] for i in p)]))


def test_zcdp_of_randomized_response() -> None:
    """The value is never below the exact epsilon*tanh(epsilon/2), and at most 6/5 of it."""
    exact = PureDP(log_up(F(3))).to(ZCDP).rho  # type: ignore[attr-defined]
    found = F(zcdp(*RESPONSE))
    assert exact * (1 - F(1, 10**20)) <= found <= exact * F(6, 5)


def test_the_curve_of_randomized_response() -> None:
    """The curve has three knots; the test rejects the more probable answer first."""
    assert trade_off(*RESPONSE) == [(0, 1), (F(1, 4), F(1, 4)), (1, 0)]


def test_enclosed_chances_count_against_the_mechanism() -> None:
    """The upper end counts under p and the lower under q; cut-off mass counts as lost."""
    p = {0: Interval(F(1, 4), F(1, 2)), 1: F(1, 2)}
    q = {0: Interval(F(1, 4), F(1, 2)), 1: F(1, 2)}
    assert hockey_stick(p, q, 0) == F(1, 4)
    assert hockey_stick({0: F(9, 10), CUT: F(1, 10)}, {0: F(9, 10), CUT: F(1, 10)}, 0) == F(1, 10)
    assert renyi_divergence({0: F(9, 10), CUT: F(1, 10)}, {0: F(1)}, 2) == inf


def test_a_naive_hockey_stick_is_below() -> None:
    """Mutation: with e^epsilon rounded to nearest, some delta is below the true value."""
    below = 0
    p, q = {0: F(1)}, {0: F(1, 2**60), 1: 1 - F(1, 2**60)}
    for k in range(1, 60):
        epsilon = F(k, 20)
        with mpmath.workdps(60):
            factor = mpmath.exp(real(epsilon))
            truth = 1 - factor / 2**60
            below += real(1 - F(float(factor)) / 2**60) < truth
            assert real(hockey_stick(p, q, epsilon)) >= truth - mpmath.mpf(10) ** -58
    assert below > 0


@given(laws(), st.fractions(min_value=0, max_value=3, max_denominator=20))
def test_lower_bounds_are_at_most_the_true_value(pair: Any, epsilon: Fraction) -> None:
    """The bounds from below and above enclose the true value closely."""
    p, q = pair
    with mpmath.workdps(60):
        factor = mpmath.exp(real(epsilon))
        exact = sum(max(mpmath.mpf(0), real(p[i]) - factor * real(q[i])) for i in p)
        below = real(hockey_stick_below(p, q, epsilon))
        assert exact - mpmath.mpf(10) ** -45 <= below <= exact + mpmath.mpf(10) ** -58
    assert renyi_divergence_below(p, q, 2) <= renyi_divergence(p, q, 2)


def test_cut_off_mass_of_q_lowers_the_lower_bound() -> None:
    """Cut-off mass of q may lie anywhere, even where p is largest."""
    p, q = {0: F(1, 2), 1: F(1, 2)}, {1: F(1, 2), CUT: Interval(F(0), F(1, 2))}
    assert hockey_stick_below(p, q, 0) == 0
    assert hockey_stick(p, q, 0) == F(1, 2)
    assert renyi_divergence_below(p, q, 2) == 0
    assert hockey_stick_below({0: F(1)}, {1: F(1)}, 10**6) == 1


def test_best_event_proves_the_hockey_stick() -> None:
    """Its probabilities give the divergence; the view with the largest term comes first."""
    p, q = {0: F(2, 10), 1: F(5, 10), 2: F(3, 10)}, {0: F(1, 10), 1: F(1, 10), 2: F(8, 10)}
    event = best_event(p, q, F(0))
    assert event == [1, 0]
    assert sum(p[i] - q[i] for i in event) == hockey_stick(p, q, 0)


@given(laws())
def test_least_epsilon_is_least(pair: Any) -> None:
    """Delta holds at this epsilon but not barely below; infinite if q misses the mass."""
    p, q = pair
    epsilon = F(least_epsilon(p, q, F(1, 100)))
    assert hockey_stick(p, q, epsilon) <= F(1, 100)
    if epsilon > 0:
        assert hockey_stick(p, q, epsilon * (1 - F(1, 2**40))) > F(1, 100)
    assert least_epsilon({0: F(1)}, {1: F(1)}, F(1, 2)) == inf


@given(laws())
def test_the_curve_is_the_best_of_all_tests(pair: Any) -> None:
    """No test that rejects a set of outcomes lies below it, and each knot is such a test."""
    p, q = pair
    knots = trade_off(p, q)
    tests = [
        (sum((p[i] for i in event), F(0)), 1 - sum((q[i] for i in event), F(0)))
        for size in range(len(p) + 1)
        for event in combinations(p, size)
    ]
    assert set(knots) <= set(tests)
    for alpha, missed in tests:
        for (a, f), (b, g) in pairwise(knots):
            if a <= alpha <= b and a < b:
                assert missed >= f + (g - f) * (alpha - a) / (b - a)


def test_the_curve_of_cut_laws_lies_below() -> None:
    """Cut-off mass counts as detected without a false alarm."""
    whole = trade_off({0: F(1, 2), 1: F(1, 2)}, {0: F(1, 4), 1: F(3, 4)})
    cut = trade_off({0: F(1, 2), 1: F(1, 2)}, {0: F(1, 4), 1: F(1, 2), CUT: F(1, 4)})
    assert whole[0] == (0, 1)
    assert cut[0] == (0, F(3, 4))


def test_conditioned_laws_exclude_views_impossible_under_either() -> None:
    """They sum to 1, and the larger excluded mass is returned; complete laws are unchanged."""
    p = {0: F(1, 2), 1: F(2, 5), CUT: Interval(F(0), F(1, 10))}
    q = {1: F(1, 2), 2: F(2, 5), CUT: Interval(F(0), F(1, 10))}
    kept, against, missed = conditioned(p, q)
    assert (dict(kept), dict(against)) == ({1: Interval(F(1), F(1))}, {1: Interval(F(1), F(1))})
    assert missed == F(3, 5)
    assert conditioned(*RESPONSE) == (*RESPONSE, 0)
