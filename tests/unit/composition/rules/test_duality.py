"""Lemma 2.19 as two functions: rules from accumulators, and accumulators from rules."""

from fractions import Fraction
from typing import Any

import pytest

from composition import (
    Basic,
    FiltCon,
    LinearOdometer,
    OdomCon,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.rules import Additive
from composition.rules.duality import AccumulatorRule, RuleAccumulator
from composition.rules.least_budget import Line
from composition.rules.odometers.time_uniform import Stopping
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Launch,
    PureDP,
    Queryable,
    QueryRefusedError,
    UnprovenCompositionError,
)
from queryable.losses import Dominated
from tests.strategies import LOSSES, TENTH, RandomWord, Toy

F = Fraction
OF_BASIC = accumulator_of(Basic(), PureDP)
LINE, NARROW = Line(PureDP(0)), Line(ApproxDP(0, 0), "1e-6")  # type: ignore[arg-type]


def test_a_filter_of_an_accumulator_refuses_what_exceeds_the_budget() -> None:
    """The refusal states the remaining budget."""
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


def test_the_budget_is_in_the_accumulators_measure() -> None:
    """A budget in another measure is refused at construction."""
    with pytest.raises(ValueError, match="totals are PureDP, the budget is ZCDP"):
        FiltCon(ZCDP(1), filter_of(Additive(PureDP)))


def test_an_accumulator_of_a_rule_reports() -> None:
    """The report is zero at first, then the least budget that admits the launches."""
    q = Queryable(OdomCon(PureDP, accumulator_of(Basic(), PureDP)), None)
    assert q.privacy_loss() == PureDP(0)
    for count in range(1, 4):
        q.launch(Toy())
        report = q.privacy_loss()
        assert isinstance(report, PureDP)
        assert F(count, 10) <= report.epsilon <= F(count, 10) * (1 + F(1, 2**50))


@pytest.mark.parametrize(
    ("measure", "delta"),
    [(PureDP, None), (ZCDP, None), (GDP, None), (RDP.at(8), None), (ApproxDP, "1e-6")],
)
def test_totally_ordered_measures_have_an_accumulator(measure: Any, delta: Any) -> None:
    """Each of these measures has an accumulator of its basic rule."""
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


def test_the_filter_of_an_accumulator_of_a_rule_is_the_rule() -> None:
    """Under a budget of the line the least budget that admits is within it if it admits."""
    assert filter_of(OF_BASIC) == Basic()
    assert filter_of(accumulator_of(ViaZCDP(), ApproxDP, "1e-6")) == ViaZCDP()


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


def test_with_room_for_deltas_they_are_admitted() -> None:
    """The rule's slack is fixed, and the rest of the fixed delta is for the deltas of launches."""
    rule = Whitehouse2023("1e-6")
    q = Queryable(OdomCon(ApproxDP, accumulator_of(rule, ApproxDP, "2e-6")), None)
    for _ in range(10):
        q.ask(Launch(Toy(ApproxDP("0.1", "1e-7"))))
    with pytest.raises(QueryRefusedError):
        q.ask(Launch(Toy(ApproxDP("0.1", "1e-9"))))
    assert q.privacy_loss().delta == F("2e-6")  # type: ignore[attr-defined]


def test_duals_are_values() -> None:
    """Rules and filters made of equal parts are equal."""
    assert filter_of(Additive(PureDP)) == filter_of(Additive(PureDP))
    assert FiltCon(TENTH, filter_of(Additive(PureDP))) == FiltCon(
        TENTH, filter_of(Additive(PureDP))
    )
    assert FiltCon(TENTH, filter_of(Additive(PureDP))) != FiltCon(TENTH)


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
