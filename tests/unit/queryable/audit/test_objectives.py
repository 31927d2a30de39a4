"""Divergences, and the objectives of an audit."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import inf
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable import RDP, ZCDP, PureDP
from queryable.audit import (
    HockeyStick,
    MaxDivergence,
    Renyi,
    hockey_stick,
    least_epsilon,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
    zcdp,
)
from queryable.audit.claims import HockeyStickBelow, RenyiBelow
from queryable.audit.concentrated import GAP, concentration
from queryable.audit.divergences import (
    best_event,
    conditioned,
    hockey_stick_below,
    renyi_divergence_below,
)
from queryable.audit.objectives import Divergence, Settled, Summed, Unbounded
from queryable.audit.views.enumeration import CUT
from queryable.losses.conversions import log_up
from queryable.randomness.intervals import Interval
from tests.reference import mp, real
from tests.strategies import among

F = Fraction
chances = among(0, F(1, 2), 30)
MEASURES: tuple[Divergence, ...] = (
    HockeyStick(0),
    HockeyStick("1/2"),
    HockeyStickBelow(F(1, 2)),
    Renyi(2),
    Renyi(5),
    Settled(),
    Summed(lambda p, q: hockey_stick(p, q, "1/2")),
)


def term(measure: Divergence, p: Fraction, q: Fraction) -> Any:
    try:
        return measure.term(p, q)
    except Unbounded:
        return inf


@settings(max_examples=40)
@given(chances, chances, st.integers(1, 9))
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: type(measure).__name__)
def test_terms_are_homogeneous(measure: Divergence, p: Fraction, q: Fraction, factor: int) -> None:
    """Scaling both probabilities scales the term, so beliefs can be normalised."""
    assert term(measure, p, q) == factor * term(measure, p / factor, q / factor)


@settings(max_examples=40)
@given(chances, chances)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: type(measure).__name__)
def test_terms_are_linear_where_one_law_is_zero(measure: Divergence, p: Any, q: Any) -> None:
    """Further queries change nothing once one dataset is ruled out."""
    whole, nothing = p + q, F(0)
    for one, other, together in (
        (term(measure, p, nothing), term(measure, q, nothing), term(measure, whole, nothing)),
        (term(measure, nothing, p), term(measure, nothing, q), term(measure, nothing, whole)),
    ):
        assert one + other == together


@settings(max_examples=40)
@given(chances, chances)
def test_the_hockey_stick_has_close_bounds(p: Any, q: Any) -> None:
    above, below = (kind(F(1, 2)).term(p, q) for kind in (HockeyStick, HockeyStickBelow))
    assert 0 <= above - below <= F(1, 10**40)


def test_the_total_is_the_divergence_of_laws() -> None:
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    for measure, exact in (
        (HockeyStick("1/2"), hockey_stick(p, q, "1/2")),
        (Renyi(3), renyi_divergence(p, q, 3)),
    ):
        total = sum((measure.term(p[i], q[i]) for i in p), F(0))
        assert abs(F(measure.value(total)) - F(exact)) < F(1, 10**25)


@settings(max_examples=40)
@given(chances, among(F(1, 50), 1, 50))
@pytest.mark.parametrize("alpha", [F(1) + F(1, 2**24), F(3, 2), F(9, 4), F(40)])
def test_irrational_terms_are_enclosed(alpha: Any, p: Any, q: Any) -> None:
    """For orders that are not small integers, terms and divergences have close bounds."""
    above, below = (kind(alpha).term(p, q) for kind in (Renyi, RenyiBelow))
    assert 0 <= above - below <= above / 10**25
    exact = real(p) ** real(alpha) * real(q) ** (1 - real(alpha))
    digits = 1 + mp.mpf(10) ** -50
    assert real(below) <= exact * digits
    assert exact <= real(above) * digits
    assert Renyi(alpha).value(above + 1) - RenyiBelow(alpha).value(below + 1) >= 0


@given(chances, chances, st.integers(1, 9))
def test_the_largest_ratio_does_not_depend_on_the_scale(p: Any, q: Any, factor: int) -> None:
    """It is not a sum: scaling a belief does not change its value."""
    largest = MaxDivergence()
    assert not largest.additive
    assert term(largest, p, q) == term(largest, p / factor, q / factor)
    assert largest.value(F(3)) == log_up(F(3))
    assert largest.value(F(1, 3)) == 0


def test_a_function_that_is_not_a_sum_is_refused() -> None:
    """The check compares with the complete laws, including infinite values."""
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    largest = Summed(lambda one, other: max(one.values()))
    total = sum((largest.term(p[i], q[i]) for i in p), F(0))
    with pytest.raises(ValueError, match="not a sum"):
        largest.require_sum(p, q, total)
    with pytest.raises(ValueError, match="not a sum"):
        largest.require_sum(p, q, inf)
    Summed(max_divergence).require_sum(p, {0: F(1)}, inf)
    # As in the sum of p*p/q; a division by zero of the function itself is raised.
    squares = Summed(lambda p, q: sum(p[i] * p[i] / q[i] for i in p))
    assert squares.term(F(1, 2), F(1, 4)) == 1
    with pytest.raises(Unbounded):
        squares.term(F(1, 2), F(0))
    with pytest.raises(ZeroDivisionError):
        Summed(lambda p, q: F(1) / 0).term(F(1, 2), F(1, 4))


GRID = [F(101, 100) + F(k, 10) for k in range(60)] + [F(2**k) for k in range(3, 12)]


@st.composite
def triples(draw: Any) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Two triples on three outcomes, all of positive probability."""
    weights = [draw(st.lists(st.integers(1, 60), min_size=3, max_size=3)) for _ in range(2)]
    p, q = ({i: F(w, sum(each)) for i, w in enumerate(each)} for each in weights)
    return p, q


@settings(max_examples=25, deadline=None)
@given(triples())
def test_never_below_a_dense_grid(pair: Any) -> None:
    """The bound exceeds every order of the grid, and is close to the order that it returns."""
    p, q = pair
    found = concentration(p, q)
    for order in GRID:
        assert F(renyi_divergence(p, q, order)) / order <= F(found.above) + F(1, 10**20)
    assert F(found.above) <= F(found.below) * (1 + 2 * GAP) + F(1, 10**15)
    at_order = F(renyi_divergence(p, q, found.alpha)) / found.alpha
    assert abs(at_order - F(found.below)) < F(1, 10**10)


@pytest.mark.parametrize("odds", [F(101, 100), F(3), F(1000)])
def test_tight_for_randomized_response(odds: Fraction) -> None:
    """The supremum is at the lowest orders, where a grid alone is too low."""
    p = {True: odds / (1 + odds), False: 1 / (1 + odds)}
    q = {True: p[False], False: p[True]}
    exact = PureDP(log_up(odds)).to(ZCDP).rho  # type: ignore[attr-defined]
    assert exact * (1 - F(1, 10**20)) <= F(zcdp(p, q)) <= exact * (1 + GAP)


def test_both_directions_count() -> None:
    """An outcome impossible under q makes one direction, and the supremum, infinite."""
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    assert concentration(p, q).above == inf
    assert concentration(q, p).above < inf
    assert zcdp(p, q) == zcdp(q, p) == inf
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    exact = F(zcdp(p, q))
    assert concentration(p, q, enough=2 * exact).above <= 2 * exact
    assert concentration(p, q, enough=exact / 2).below > exact / 2


RESPONSE = ({True: F(3, 4), False: F(1, 4)}, {True: F(1, 4), False: F(3, 4)})


@st.composite
def laws(draw: Any, size: int = 4) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Two laws on the same few outcomes, all of positive probability."""
    pair = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(1, 50), min_size=size, max_size=size))
        pair.append({i: F(weight, sum(weights)) for i, weight in enumerate(weights)})
    return pair[0], pair[1]


def as_mpf(value: Any) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.mpf(value.numerator) / value.denominator


@given(laws(), st.fractions(min_value=0, max_value=3, max_denominator=20))
def test_hockey_stick_is_the_best_event(pair: Any, epsilon: Fraction) -> None:
    """The value is the largest P(S) - e^epsilon Q(S) over events S, or barely above it."""
    p, q = pair
    with mpmath.workdps(60):
        factor = mpmath.exp(as_mpf(epsilon))
        best = max(
            sum((as_mpf(p[i]) - factor * as_mpf(q[i]) for i in event), mpmath.mpf(0))
            for size in range(len(p) + 1)
            for event in combinations(p, size)
        )
        found = as_mpf(hockey_stick(p, q, epsilon))
        assert best - mpmath.mpf(10) ** -58 <= found <= best + mpmath.mpf(10) ** -45


def test_hockey_stick_at_rational_odds_and_where_q_is_zero() -> None:
    """At e^epsilon = 2 only rounding is lost; at e^epsilon = 3 the value is 0."""
    p, q = RESPONSE
    assert hockey_stick(p, q, 0) == F(1, 2)
    assert abs(hockey_stick(p, q, log_up(F(2))) - F(1, 4)) < F(1, 10**25)
    assert hockey_stick(p, q, log_up(F(3))) == 0
    assert hockey_stick(p, q, log_up(F(3)) - F(1, 10**20)) > 0
    assert hockey_stick({0: F(1, 10), 1: F(9, 10)}, {1: F(1)}, 50) == F(1, 10)
    assert hockey_stick({1: F(1)}, {0: F(1, 10), 1: F(9, 10)}, 1) == 0
    # The profile is the maximum over both directions at every epsilon.
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    assert privacy_profile(p, q, [0, 5]) == [(0, F(1, 10)), (5, F(1, 10))]
    assert privacy_profile(q, p, [0, 5]) == [(0, F(1, 10)), (5, F(1, 10))]


@given(laws(), st.fractions(min_value=F(101, 100), max_value=60, max_denominator=100))
def test_renyi_divergence_is_never_below(pair: Any, alpha: Fraction) -> None:
    """The value is at or barely above the 60-digit value."""
    p, q = pair
    with mpmath.workdps(60):
        a = as_mpf(alpha)
        moment = sum(as_mpf(p[i]) ** a * as_mpf(q[i]) ** (1 - a) for i in p)
        exact = max(mpmath.log(moment) / (a - 1), mpmath.mpf(0))
        found = as_mpf(F(renyi_divergence(p, q, alpha)))
        # a sum close to one loses digits by cancellation
        assert exact - mpmath.mpf(10) ** -55 <= found <= exact + mpmath.mpf(10) ** -20


def test_renyi_divergence_of_randomized_response() -> None:
    """It equals the conversion from pure DP, which is tight for randomized response."""
    found = renyi_divergence(*RESPONSE, 8)
    assert isinstance(found, Fraction)
    stated = PureDP(log_up(F(3))).to(RDP.at(8)).epsilon  # type: ignore[attr-defined]
    assert abs(found - stated) < F(1, 10**25)
    # It is finite in the other direction.
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


def test_the_curve_of_randomized_response() -> None:
    """The curve has three knots; the test rejects the more probable answer first."""
    assert trade_off(*RESPONSE) == [(0, 1), (F(1, 4), F(1, 4)), (1, 0)]
    # Cut-off mass counts as detected without a false alarm.
    whole = trade_off({0: F(1, 2), 1: F(1, 2)}, {0: F(1, 4), 1: F(3, 4)})
    cut = trade_off({0: F(1, 2), 1: F(1, 2)}, {0: F(1, 4), 1: F(1, 2), CUT: F(1, 4)})
    assert whole[0] == (0, 1)
    assert cut[0] == (0, F(3, 4))


def test_enclosed_chances_count_against_the_mechanism() -> None:
    """The upper end counts under p and the lower under q; cut-off mass counts as lost."""
    p = {0: Interval(F(1, 4), F(1, 2)), 1: F(1, 2)}
    q = {0: Interval(F(1, 4), F(1, 2)), 1: F(1, 2)}
    assert hockey_stick(p, q, 0) == F(1, 4)
    assert hockey_stick({0: F(9, 10), CUT: F(1, 10)}, {0: F(9, 10), CUT: F(1, 10)}, 0) == F(1, 10)
    assert renyi_divergence({0: F(9, 10), CUT: F(1, 10)}, {0: F(1)}, 2) == inf
    # Cut-off mass of q may lie anywhere, even where p is largest.
    p, q = {0: F(1, 2), 1: F(1, 2)}, {1: F(1, 2), CUT: Interval(F(0), F(1, 2))}
    assert hockey_stick_below(p, q, 0) == 0
    assert hockey_stick(p, q, 0) == F(1, 2)
    assert renyi_divergence_below(p, q, 2) == 0
    assert hockey_stick_below({0: F(1)}, {1: F(1)}, 10**6) == 1


def test_a_naive_hockey_stick_is_below() -> None:
    """Mutation: with e^epsilon rounded to nearest, some delta is below the true value."""
    below = 0
    p, q = {0: F(1)}, {0: F(1, 2**60), 1: 1 - F(1, 2**60)}
    for k in range(1, 60):
        epsilon = F(k, 20)
        with mpmath.workdps(60):
            factor = mpmath.exp(as_mpf(epsilon))
            truth = 1 - factor / 2**60
            below += as_mpf(1 - F(float(factor)) / 2**60) < truth
            assert as_mpf(hockey_stick(p, q, epsilon)) >= truth - mpmath.mpf(10) ** -58
    assert below > 0


@given(laws(), st.fractions(min_value=0, max_value=3, max_denominator=20))
def test_lower_bounds_are_at_most_the_true_value(pair: Any, epsilon: Fraction) -> None:
    p, q = pair
    with mpmath.workdps(60):
        factor = mpmath.exp(as_mpf(epsilon))
        exact = sum(max(mpmath.mpf(0), as_mpf(p[i]) - factor * as_mpf(q[i])) for i in p)
        below = as_mpf(hockey_stick_below(p, q, epsilon))
        assert exact - mpmath.mpf(10) ** -45 <= below <= exact + mpmath.mpf(10) ** -58
    assert renyi_divergence_below(p, q, 2) <= renyi_divergence(p, q, 2)


def test_best_event_proves_the_hockey_stick() -> None:
    """Its probabilities give the divergence; the view with the largest term comes first."""
    p, q = {0: F(2, 10), 1: F(5, 10), 2: F(3, 10)}, {0: F(1, 10), 1: F(1, 10), 2: F(8, 10)}
    event = best_event(p, q, F(0))
    assert event == [1, 0]
    assert sum(p[i] - q[i] for i in event) == hockey_stick(p, q, 0)
    # They sum to 1, and the larger excluded mass is returned; complete laws are unchanged.
    p = {0: F(1, 2), 1: F(2, 5), CUT: Interval(F(0), F(1, 10))}
    q = {1: F(1, 2), 2: F(2, 5), CUT: Interval(F(0), F(1, 10))}
    kept, against, missed = conditioned(p, q)
    assert (dict(kept), dict(against)) == ({1: Interval(F(1), F(1))}, {1: Interval(F(1), F(1))})
    assert missed == F(3, 5)
    assert conditioned(*RESPONSE) == (*RESPONSE, 0)


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
