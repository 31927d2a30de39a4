"""Optimal composition: references, 60-digit enumeration, the grid, and `ConComp` that states it."""

from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import ConComp, FiltCon, OdomCon
from composition.rules import optimal
from composition.rules.optimal import optimal_delta, optimal_epsilon
from queryable import FDP, GDP, ZCDP, ApproxDP, Loss, PureDP, UnprovenCompositionError
from tests.strategies import Toy, among

F = Fraction
TINY = F(1, 10**24)
NOISE = F(1, 10**50)  # of the 60-digit arithmetic itself
MILLIONTH = F(1, 10**6)

epsilons = st.one_of(among(0, 2, 12), st.integers(0, 2 * 10**6).map(lambda n: F(n, 10**6)))
deltas = st.sampled_from([F(0), F(1, 10**9), F(1, 1000), F(1, 3)])
approximate = st.builds(ApproxDP, epsilons, deltas)
several = st.lists(approximate, min_size=1, max_size=5)


def real(value: Fraction) -> Any:
    """The value in the working precision of mpmath."""
    return mpmath.mpf(value.numerator) / value.denominator


def enumerated(losses: list[ApproxDP], epsilon: Fraction) -> Any:
    """The delta of the product of randomized responses, over all 2^k answers."""
    grown, star = mpmath.exp(real(epsilon)), mpmath.mpf(0)
    for signs in product((1, -1), repeat=len(losses)):
        likely = unlikely = mpmath.mpf(1)
        for sign, loss in zip(signs, losses, strict=True):
            odds = mpmath.exp(sign * real(loss.epsilon))
            likely, unlikely = likely * odds / (1 + odds), unlikely / (1 + odds)
        star += max(0, likely - grown * unlikely)
    return 1 - mpmath.fprod(1 - real(loss.delta) for loss in losses) * (1 - star)


def test_equal_losses_have_the_closed_form() -> None:
    """Kairouz, Oh, Viswanath 2017, Theorem 3.3, at epsilon = (k - 2i)*epsilon_0."""
    k, epsilon, delta = 9, F(3, 10), F(1, 1000)
    with mpmath.workdps(60):
        e = real(epsilon)
        for i in range(k // 2 + 1):
            excess = mpmath.fsum(
                mpmath.binomial(k, n) * (mpmath.exp((k - n) * e) - mpmath.exp((k - 2 * i + n) * e))
                for n in range(i)
            )
            true = 1 - (1 - real(delta)) ** k * (1 - excess / (1 + mpmath.exp(e)) ** k)
            bound = optimal_delta([ApproxDP(epsilon, delta)] * k, (k - 2 * i) * epsilon)
            assert true - real(NOISE) <= real(bound) <= true + real(TINY)


@settings(max_examples=50)
@given(losses=several, epsilon=epsilons)
def test_delta_is_that_of_the_worst_responses(losses: list[ApproxDP], epsilon: Fraction) -> None:
    """Never below the enumeration of all answers, and within 1e-24."""
    bound = optimal_delta(losses, epsilon)
    with mpmath.workdps(60):
        true = enumerated(losses, epsilon)
        assert true - real(NOISE) <= real(bound) <= true + real(TINY)


@settings(max_examples=40)
@given(losses=several, delta=st.fractions(min_value=0, max_value=1, max_denominator=10**9))
def test_epsilon_is_the_least_with_this_delta(losses: list[ApproxDP], delta: Fraction) -> None:
    """delta(epsilon) <= delta, for no smaller epsilon, and epsilon is at most the sum."""
    hopeless = 1 - reduce(lambda good, loss: good * (1 - loss.delta), losses, F(1))
    if delta < hopeless:
        with pytest.raises(ValueError, match=r"should be at least 1 - product of"):
            optimal_epsilon(losses, delta)
        return
    epsilon = optimal_epsilon(losses, delta)
    assert epsilon <= sum(loss.epsilon for loss in losses)
    with mpmath.workdps(60):
        assert enumerated(losses, epsilon) <= real(delta + TINY / 10**12)
        if epsilon > 0 and delta < 1:
            assert enumerated(losses, epsilon * (1 - F(1, 10**9))) > real(delta)


def test_zero_delta_is_the_sum() -> None:
    """Without delta nothing is better than adding, exactly."""
    losses = [PureDP("0.1"), PureDP("0.7"), PureDP("1/3")]
    assert optimal_epsilon(losses, 0) == F(1, 10) + F(7, 10) + F(1, 3)
    assert optimal_delta(losses, "1.2") == 0


def test_deltas_alone() -> None:
    """1 - product of (1 - delta_i), which is a little less than the sum."""
    losses = [ApproxDP(0, "0.1"), ApproxDP(0, "0.2")]
    assert optimal_delta(losses, 0) - F("0.28") <= TINY
    assert optimal_epsilon(losses, "0.28") == 0
    assert optimal_epsilon([ApproxDP(1, "0.1"), ApproxDP(1, "0.2")], "0.28") == 2


def test_edges() -> None:
    """The empty composition has zero loss; full disclosure has delta one."""
    assert (optimal_delta([], 0), optimal_epsilon([], 0)) == (0, 0)
    assert optimal_delta([PureDP(1), ApproxDP(1, 1)], 100) == 1
    assert optimal_epsilon([PureDP(1), ApproxDP(1, 1)], 1) == 0
    assert optimal_epsilon([PureDP(1)] * 3, 1) == 0


def test_extreme_losses_stay_on_the_safe_side() -> None:
    """However large or small the losses, there is an answer, and it is not below the true one."""
    assert optimal_epsilon([PureDP("1e300")] * 3, MILLIONTH) == 3 * 10**300
    assert optimal_delta([PureDP("1e300")] * 3, 1) == 1
    assert 0 <= optimal_epsilon([PureDP("1e-300")] * 3, MILLIONTH) <= F(3, 10**300)
    assert 999 < optimal_epsilon([PureDP(1000), PureDP("1e-300")], MILLIONTH) < 1000
    assert optimal_epsilon([PureDP("0.1")] * 100, "1e-200") <= 10


@settings(max_examples=40)
@given(losses=several, epsilon=epsilons)
def test_it_is_the_tensor_product_of_curves(losses: list[ApproxDP], epsilon: Fraction) -> None:
    """The two implementations, polynomials and curves, agree."""
    curve = reduce(FDP.compose, [loss.to(FDP) for loss in losses])
    assert isinstance(curve, FDP)
    assert curve.rounding == 0
    assert abs(curve.delta(epsilon) - optimal_delta(losses, epsilon)) <= TINY


@settings(max_examples=20)
@given(losses=st.permutations([PureDP("0.1"), ApproxDP("0.3", MILLIONTH), PureDP("1/3")]))
def test_the_order_of_the_losses_does_not_matter(losses: list[Loss]) -> None:
    """The bound is symmetric in the losses."""
    assert optimal_epsilon(losses, "1e-3") == optimal_epsilon(losses[::-1], "1e-3")


@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_a_common_unit_is_as_exact_as_keeping_sums_apart(
    delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polynomials in steps of the unit give the bound that the table of sums gives."""
    losses = [PureDP("0.1")] * 5 + [PureDP("0.15")] * 4 + [ApproxDP("0.4", "1e-10")] * 2
    apart = optimal_epsilon(losses, delta), optimal_delta(losses, "0.9")
    optimal._least_epsilon.cache_clear()
    monkeypatch.setattr(optimal, "EXACT_SUMS", 0)
    in_steps = optimal_epsilon(losses, delta), optimal_delta(losses, "0.9")
    optimal._least_epsilon.cache_clear()
    assert apart != (0, 0)
    assert max(abs(a - b) for a, b in zip(apart, in_steps, strict=True)) <= TINY


@settings(max_examples=30)
@given(losses=st.lists(approximate, min_size=2, max_size=5), at=epsilons)
def test_the_grid_is_safe_and_within_its_bound(losses: list[ApproxDP], at: Fraction) -> None:
    """delta on the grid is between delta(epsilon) and delta(epsilon - k*h)."""
    total = sum(loss.epsilon for loss in losses)
    for steps in (16, 1024):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optimal, "EXACT_SUMS", 0)
            patch.setattr(optimal, "EXACT_STEPS", 0)
            patch.setattr(optimal, "GRID", steps)
            bound = optimal_delta(losses, at)
        earlier = at - len(losses) * 2 * total / steps
        with mpmath.workdps(60):
            assert enumerated(losses, at) <= real(bound + NOISE)
            assert real(bound) <= enumerated(losses, earlier) + real(TINY)


@pytest.mark.slow
def test_many_different_losses_are_added_up_on_a_grid() -> None:
    """Sixty losses without a common unit: close to and not below a finer grid's answer."""
    losses = [ApproxDP(F(1, 10 + n), F(1, 10**9)) for n in range(60)]
    coarse = optimal_epsilon(losses, MILLIONTH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "GRID", 4 * optimal.GRID)
        optimal._least_epsilon.cache_clear()
        fine = optimal_epsilon(losses, MILLIONTH)
    optimal._least_epsilon.cache_clear()
    assert fine < coarse < fine * F(10001, 10000)
    assert coarse < sum(loss.epsilon for loss in losses)


@pytest.mark.parametrize("loss", [ZCDP(1), GDP(1)], ids=str)
def test_losses_without_a_declared_delta_are_refused(loss: Loss) -> None:
    """Which delta a concentrated loss is stated at is the caller's choice."""
    with pytest.raises(ValueError, match="say delta"):
        optimal_epsilon([loss], MILLIONTH)


@pytest.mark.parametrize("value", [-1, True, float("nan"), "x"])
def test_bad_parameters_are_refused(value: Any) -> None:
    """Invalid epsilons and deltas raise errors."""
    with pytest.raises(ValueError, match="epsilon is"):
        optimal_delta([PureDP(1)], value)
    with pytest.raises(ValueError, match="delta is"):
        optimal_epsilon([PureDP(1)], value)
    with pytest.raises(ValueError, match="delta is"):
        ConComp([], delta=value)


MANY = [Toy(ApproxDP("0.1", "1e-9"))] * 30


def test_con_comp_states_the_optimal_composition() -> None:
    """With delta the loss is the optimal composition at it; the sum without."""
    declared = [toy.charged for toy in MANY]
    together = ConComp(MANY, delta=MILLIONTH)
    assert together.privacy_map(1) == ApproxDP(optimal_epsilon(declared, MILLIONTH), MILLIONTH)
    assert together.privacy_map(1, ApproxDP) == together.privacy_map(1)
    assert ConComp(MANY).privacy_map(1) == ApproxDP(3, "3e-8")
    assert together.privacy_map(1) <= ApproxDP("2.4", MILLIONTH)


def test_con_comp_regroups_its_children() -> None:
    """At two records the children's group bounds are composed, not the total grouped."""
    together = ConComp([Toy(ApproxDP("0.1", "1e-9")), Toy(PureDP("0.2"))], delta=MILLIONTH)
    grouped = [ApproxDP("0.1", "1e-9").group(2), PureDP("0.4")]
    assert together.privacy_map(2) == ApproxDP(optimal_epsilon(grouped, MILLIONTH), MILLIONTH)
    assert together.privacy_map(0) == ApproxDP(0, 0)


def test_con_comp_with_delta_in_other_measures_adds_up() -> None:
    """The stated delta is about (epsilon, delta)-DP."""
    together = ConComp([Toy(PureDP("0.1")), Toy(PureDP("0.2"))], delta=MILLIONTH)
    assert together.privacy_map(1, PureDP) == PureDP("0.3")
    assert together.privacy_map(1, ZCDP) == PureDP("0.1").to(ZCDP) + PureDP("0.2").to(ZCDP)


def test_con_comp_whose_delta_is_too_small_has_no_loss() -> None:
    """Thirty deltas of 1e-9 exceed a declared delta of 1e-9."""
    with pytest.raises(ValueError, match="at least 1 - product"):
        ConComp(MANY, delta="1e-9").privacy_map(1)


def test_con_comp_fits_a_filter_that_its_sum_does_not() -> None:
    """A budget of (2.4, 1e-6) takes thirty of (0.1, 1e-9) declared together."""
    budget = FiltCon(ApproxDP("2.4", MILLIONTH))
    assert ConComp(MANY, delta=MILLIONTH).privacy_map(1) <= budget.privacy_map(1)
    assert not ConComp(MANY).privacy_map(1) <= budget.privacy_map(1)


def test_con_comp_of_curves_is_their_tensor_product() -> None:
    """In FDP, whatever the children state their own loss in."""
    first, second = ApproxDP("0.3", "1e-6"), FDP([(0, "0.9"), ("0.3", "0.4"), (1, 0)])
    together = ConComp([Toy(first), Toy(second)]).privacy_map(1, FDP)
    assert together == first.to(FDP) + second
    assert ConComp([Toy(second)] * 2).privacy_map(1) == second + second
    assert ConComp([Toy(second)] * 2).privacy_map(2) == second.group(2) + second.group(2)
    assert ConComp([]).privacy_map(1, FDP) == second.zero()


def test_curves_chosen_on_the_way_are_refused() -> None:
    """No filter and no odometer adds up curves: the error names the problem and a way out."""
    for refused in (lambda: FiltCon(FDP.of_approx(1)), lambda: OdomCon(FDP)):
        with pytest.raises(UnprovenCompositionError, match=r"Tran et al\. 2026.*ConComp"):
            refused()
