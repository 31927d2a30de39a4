"""The optimal rule, and the duality of filters and odometers."""

from fractions import Fraction
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import (
    Basic,
    ConComp,
    FiltCon,
    LinearOdometer,
    OdomCon,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.rules import Additive, optimal
from composition.rules.duality import AccumulatorRule, RuleAccumulator
from composition.rules.least_budget import Line
from composition.rules.odometers.time_uniform import Stopping
from composition.rules.optimal import optimal_delta, optimal_epsilon
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Loss,
    PureDP,
    Queryable,
    QueryRefusedError,
    UnprovenCompositionError,
)
from queryable.losses import Dominated
from tests.strategies import LOSSES, TENTH, RandomWord, Toy, among

F = Fraction
TINY = F(1, 10**24)
MILLIONTH = F(1, 10**6)

epsilons = st.one_of(among(0, 2, 12), st.integers(0, 2 * 10**6).map(lambda n: F(n, 10**6)))
deltas = st.sampled_from([F(0), F(1, 10**9), F(1, 1000), F(1, 3)])
approximate = st.builds(ApproxDP, epsilons, deltas)
several = st.lists(approximate, min_size=1, max_size=5)


def test_zero_delta_is_the_sum_and_deltas_alone_add_up() -> None:
    """Without delta nothing is better than adding, exactly."""
    losses = [PureDP("0.1"), PureDP("0.7"), PureDP("1/3")]
    assert optimal_epsilon(losses, 0) == F(1, 10) + F(7, 10) + F(1, 3)
    assert optimal_delta(losses, "1.2") == 0
    # 1 - product of (1 - delta_i), which is a little less than the sum.
    losses = [ApproxDP(0, "0.1"), ApproxDP(0, "0.2")]
    assert optimal_delta(losses, 0) - F("0.28") <= TINY
    assert optimal_epsilon(losses, "0.28") == 0
    assert optimal_epsilon([ApproxDP(1, "0.1"), ApproxDP(1, "0.2")], "0.28") == 2
    # The empty composition has zero loss; full disclosure has delta one.
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
    # At two records the children's group bounds are composed, not the total grouped.
    together = ConComp([Toy(ApproxDP("0.1", "1e-9")), Toy(PureDP("0.2"))], delta=MILLIONTH)
    grouped = [ApproxDP("0.1", "1e-9").group(2), PureDP("0.4")]
    assert together.privacy_map(2) == ApproxDP(optimal_epsilon(grouped, MILLIONTH), MILLIONTH)
    assert together.privacy_map(0) == ApproxDP(0, 0)
    # The stated delta is about (epsilon, delta)-DP.
    together = ConComp([Toy(PureDP("0.1")), Toy(PureDP("0.2"))], delta=MILLIONTH)
    assert together.privacy_map(1, PureDP) == PureDP("0.3")
    assert together.privacy_map(1, ZCDP) == PureDP("0.1").to(ZCDP) + PureDP("0.2").to(ZCDP)
    with pytest.raises(ValueError, match="at least 1 - product"):
        ConComp(MANY, delta="1e-9").privacy_map(1)


def test_con_comp_of_curves_is_their_tensor_product() -> None:
    """In FDP, whatever the children state their own loss in."""
    first, second = ApproxDP("0.3", "1e-6"), FDP([(0, "0.9"), ("0.3", "0.4"), (1, 0)])
    together = ConComp([Toy(first), Toy(second)]).privacy_map(1, FDP)
    assert together == first.to(FDP) + second
    assert ConComp([Toy(second)] * 2).privacy_map(1) == second + second
    assert ConComp([Toy(second)] * 2).privacy_map(2) == second.group(2) + second.group(2)
    assert ConComp([]).privacy_map(1, FDP) == second.zero()
    # No filter and no odometer adds up curves: the error names the problem and a way out.
    for refused in (lambda: FiltCon(FDP.of_approx(1)), lambda: OdomCon(FDP)):
        with pytest.raises(UnprovenCompositionError, match=r"Tran et al\. 2026.*ConComp"):
            refused()


OF_BASIC = accumulator_of(Basic(), PureDP)
LINE, NARROW = Line(PureDP(0)), Line(ApproxDP(0, 0), "1e-6")  # type: ignore[arg-type]


def test_a_filter_of_an_accumulator_refuses_what_exceeds_the_budget() -> None:
    q = Queryable(FiltCon(PureDP("0.25"), filter_of(Additive(PureDP))), None)
    q.launch(Toy())
    q.launch(Toy())
    with pytest.raises(QueryRefusedError) as refused:
        q.launch(Toy())
    assert refused.value.spent == PureDP("0.2")
    left = refused.value.remaining
    assert isinstance(left, PureDP)
    assert F("0.05") * (1 - F(1, 2**50)) <= left.epsilon <= F("0.05")
    q.launch(Toy(left))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_additive_accumulator_has_a_filter(loss: Any) -> None:
    """Ten equal launches fit ten times their loss, exactly, and no eleventh does."""
    budget = loss
    for _ in range(9):
        budget = budget + loss
    q = Queryable(FiltCon(budget, filter_of(Additive(loss.measure))), None)
    for _ in range(10):
        q.launch(RandomWord(loss))
    with pytest.raises(QueryRefusedError):
        q.launch(RandomWord(loss))


def test_an_accumulator_of_a_rule_reports() -> None:
    """The report is zero at first, then the least budget that admits the launches."""
    q = Queryable(OdomCon(PureDP, accumulator_of(Basic(), PureDP)), None)
    assert q.privacy_loss() == PureDP(0)
    for count in range(1, 4):
        q.launch(Toy())
        report = q.privacy_loss()
        assert isinstance(report, PureDP)
        assert F(count, 10) <= report.epsilon <= F(count, 10) * (1 + F(1, 2**50))
    # A budget in another measure is refused at construction.
    with pytest.raises(ValueError, match="totals are PureDP, the budget is ZCDP"):
        FiltCon(ZCDP(1), filter_of(Additive(PureDP)))
    # Under a budget of the line the least budget that admits is within it if it admits.
    assert filter_of(OF_BASIC) == Basic()
    assert filter_of(accumulator_of(ViaZCDP(), ApproxDP, "1e-6")) == ViaZCDP()


@pytest.mark.parametrize(
    ("measure", "delta"),
    [(PureDP, None), (ZCDP, None), (GDP, None), (RDP.at(8), None), (ApproxDP, "1e-6")],
)
def test_totally_ordered_measures_have_an_accumulator(measure: Any, delta: Any) -> None:
    account = accumulator_of(Basic(), measure, delta).open()
    assert account.total().measure == measure
    loss = TENTH.to(measure) if measure != GDP else GDP("0.1")
    assert loss <= account.add(loss).total()


CURVE = ZCDP(0).to(RDP.at(2, 8))
ZERO = ApproxDP(0, 0)


@pytest.mark.parametrize(
    ("zero", "delta", "why"),
    [
        (CURVE, "1/2", "takes no delta"),
        (CURVE, None, "not totally ordered"),
        (Dominated(0, 0, 0), None, "not totally ordered"),
        (FDP.of_approx(0), None, "not totally ordered"),
        (ZERO, None, "needs a fixed delta"),
        (PureDP(0), "1/2", "takes no delta"),
        (ZERO, 2, "at most 1"),
        (ZERO, -1, "negative"),
        (PureDP(1), None, "least loss"),
        (ApproxDP(0, "1/2"), "1/2", "least loss"),
    ],
)
def test_a_line_is_of_totally_ordered_budgets(zero: Any, delta: Any, why: str) -> None:
    """Whoever builds it. At 1b177ec a line of curves took its second order for a delta.

    Then a filter over it had no limit: beyond the line's budgets its total was (first order, 1).
    """
    with pytest.raises(ValueError, match=why):
        Line(zero, delta)


@pytest.mark.parametrize("wrong", [PureDP, 1, None, Basic(), Additive(PureDP)])
def test_a_line_is_of_losses(wrong: Any) -> None:
    with pytest.raises(TypeError, match="zero is"):
        Line(wrong, None)


@pytest.mark.parametrize(
    ("build", "error", "why"),
    [
        (lambda: AccumulatorRule(LinearOdometer("1e-6", 1)), ValueError, "filter of its own"),
        (lambda: AccumulatorRule(OF_BASIC), ValueError, "filter of its own"),
        (lambda: AccumulatorRule(Basic()), TypeError, "accumulator is Basic"),  # type: ignore[arg-type]
        (lambda: RuleAccumulator(Additive(PureDP), LINE), TypeError, "rule is"),  # type: ignore[arg-type]
        (lambda: RuleAccumulator(Basic(), ZERO), TypeError, "line is"),  # type: ignore[arg-type]
        (lambda: RuleAccumulator(ViaZCDP(), LINE), ValueError, "takes ApproxDP"),
        (lambda: RuleAccumulator(ViaRenyi([2, 8]), NARROW), ValueError, "monotone"),
        (lambda: RuleAccumulator(ViaZCDP("1/2"), NARROW), ValueError, "slack is 0.5"),
        (lambda: Stopping(OF_BASIC), TypeError, "odometer is"),  # type: ignore[arg-type]
        (lambda: Additive(FDP), UnprovenCompositionError, "do not add up"),
    ],
)
def test_a_constructor_checks_what_the_helper_does(build: Any, error: Any, why: str) -> None:
    """At 1b177ec all of these could be built; some then failed with an error that is not ours."""
    with pytest.raises(error, match=why):
        build()


def test_a_launch_that_no_budget_admits_changes_nothing() -> None:
    """Its delta exceeds the fixed one, so it is refused before it is charged or run."""
    rule = Whitehouse2023("1e-6")
    q = Queryable(OdomCon(ApproxDP, accumulator_of(rule, ApproxDP, "1e-6")), None)
    q.launch(Toy())
    before = q.privacy_loss()
    with pytest.raises(QueryRefusedError, match="no budget up to"):
        q.launch(Toy(ApproxDP("0.1", "1e-9")))
    assert not q.can_afford(Toy(ApproxDP("0.1", "1e-9")))
    assert q.privacy_loss() == before
    assert list(q.children) == [0]


def test_theorem_3_8_in_closed_form() -> None:
    """The report is (sqrt(2 log(1/delta') V) + V/2, delta), if the deltas are within their share.

    The account keeps sums only, so the cost of a report does not depend on the number of launches.
    """
    slack, delta = F("1e-6"), F("2e-6")
    account: Any = accumulator_of(Whitehouse2023(slack), ApproxDP, delta).open()
    assert account.total() == ApproxDP(0, 0)
    for _ in range(3000):
        account = account.add(ApproxDP("0.01", "1e-10"))
    variance = 3000 * F("0.0001")
    epsilon = Whitehouse2023(slack).epsilon(variance, slack)
    assert epsilon <= account.total().epsilon <= epsilon * (1 + F(1, 2**80))
    assert account.total().delta == delta
    assert not account.losses
    assert not account.objection
    beyond = account.add(ApproxDP("0.01", "1e-6"))
    assert beyond.total().delta == 1
    assert "no budget" in beyond.objection
    assert not beyond.total() <= ApproxDP(10**6, "1/2")
