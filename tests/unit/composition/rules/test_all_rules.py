"""All rules: which launches fit, the reported total, and the remaining budget."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition.rules import (
    Account,
    Additive,
    Basic,
    GDPResidue,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from composition.verdicts import kind_of
from queryable import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses import Dominated, zero_of
from tests import instances
from tests.instances import BUDGET, BUDGETS, SMALL, rule_for
from tests.strategies import LOSSES


def of(rule: Rule) -> tuple[Rule, Loss, Loss]:
    """A rule, a budget, and a small loss that fits it several times."""
    budget = BUDGETS[ApproxDP]
    return rule, budget, SMALL[kind_of(rule.child_measure(budget))]


RULES: dict[str, tuple[Rule, Loss, Loss]] = {
    **{f"Basic {loss}": (Basic(), loss + loss + loss, loss) for loss in LOSSES},
    **{kind.__name__: of(rule_for(kind)) for kind in instances.RULES if kind is not Basic},
    "Whitehouse2023, all slack": (Whitehouse2023(), BUDGET, ApproxDP("0.01", 0)),
    "ViaZCDP, all slack": (ViaZCDP(), BUDGET, ApproxZCDP("0.001", 0)),
    "GDPResidue, all slack": (GDPResidue(), BUDGET, Dominated("0.01", "0.01", 0)),
}
CURVES = {ViaRenyi}
"""Rules whose losses are curves: more than what remains is more at every order."""
ORDERED = {GDPResidue}
"""Rules of which the order of launches matters: what each leaves depends on those before it."""


def admitted(rule: Rule, budget: Loss, loss: Loss, most: int = 2000) -> int:
    """Count the equal launches that a new account admits, up to `most`."""
    account = rule.open(budget)
    for count in range(most):
        account = account.add(loss)
        if not account.within:
            return count
    return most


@pytest.fixture(params=RULES)
def case(request: pytest.FixtureRequest) -> tuple[Rule, Loss, Loss]:
    """A rule, a budget and a small loss."""
    return RULES[request.param]


def test_an_empty_account_reports_nothing(case: tuple[Rule, Loss, Loss]) -> None:
    """Before the first launch the loss is zero, and everything fits."""
    rule, budget, _ = case
    account = rule.open(budget)
    assert account.within
    assert account.total() == budget.zero()


def test_adding_does_not_change_the_account(case: tuple[Rule, Loss, Loss]) -> None:
    """Adding returns a new account."""
    rule, budget, loss = case
    account = rule.open(budget)
    before = (account.total(), account.remaining())
    account.add(loss).add(loss)
    assert (account.total(), account.remaining()) == before
    assert account == rule.open(budget)


def test_totals_grow_and_stay_within_the_budget(case: tuple[Rule, Loss, Loss]) -> None:
    """While launches fit, the reported loss grows and never exceeds the budget."""
    rule, budget, loss = case
    account, last = rule.open(budget), budget.zero()
    for _ in range(5):
        account = account.add(loss)
        if not account.within:
            break
        assert last <= account.total() <= budget
        last = account.total()


def test_what_remains_fits_and_more_does_not(case: tuple[Rule, Loss, Loss]) -> None:
    """`remaining` can be launched within the budget, and a little more cannot."""
    rule, budget, loss = case
    account = rule.open(budget).add(loss)
    remaining = account.remaining()
    full: Account = account.add(remaining)
    assert full.within
    assert full.total() <= budget
    parts: Any = remaining.parts  # type: ignore[attr-defined]
    if type(rule) in CURVES:
        more = [part * (1 + Fraction(1, 10**12)) for part in parts]
    else:
        more = [parts[0] * (1 + Fraction(1, 10**15)), *parts[1:]]
    larger = remaining.of_parts(tuple(more))  # type: ignore[attr-defined]
    assert not account.add(larger).within


def test_order_does_not_matter(case: tuple[Rule, Loss, Loss]) -> None:
    """Every rule is symmetric in the launches, but for those that fit each to what is left."""
    rule, budget, loss = case
    double = loss + loss
    one: Any = rule.open(budget).add(loss).add(double)
    other: Any = rule.open(budget).add(double).add(loss)
    assert one.within == other.within
    if type(rule) in ORDERED:
        assert abs(one.mu / other.mu - 1) < Fraction(1, 100)
    else:
        assert one == other


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_basic_admits_exactly_what_adds_up(loss: Loss) -> None:
    """A budget that is the exact sum of ten launches admits ten."""
    budget = loss
    for _ in range(9):
        budget = budget + loss
    expected = 100 if isinstance(loss, GDP) else 10
    if isinstance(loss, GDP):
        budget = GDP(1)
    assert admitted(Basic(), budget, loss) == expected


@pytest.mark.parametrize("order", [0, 1])
def test_epsilon_and_delta_must_both_fit(order: int) -> None:
    """A launch is refused if its epsilon or its delta exceeds the budget."""
    account = Basic().open(ApproxDP(1, "1e-6"))
    over = [ApproxDP("1.01", 0), ApproxDP(0, "1.01e-6")][order]
    assert not account.add(over).within


@settings(max_examples=40)
@given(
    losses=st.lists(st.fractions(0, Fraction(1, 5), max_denominator=1000), max_size=30),
    slack=st.fractions(Fraction(1, 10**9), Fraction(1, 10**6), max_denominator=10**9),
)
def test_whitehouse_is_the_theorem(losses: list[Fraction], slack: Fraction) -> None:
    """The report is sqrt(2 L V) + V/2 rounded up from 40 digits, and a launch fits if it does."""
    account: Any = Whitehouse2023(slack).open(BUDGET)
    for epsilon in losses:
        account = account.add(ApproxDP(epsilon, 0))
    with mpmath.workdps(40):
        v = sum(epsilon**2 for epsilon in losses)
        variance = mpmath.mpf(v.numerator) / v.denominator if losses else mpmath.mpf(0)
        log = -mpmath.log(mpmath.mpf(slack.numerator) / slack.denominator)
        true = mpmath.sqrt(2 * variance * log) + variance / 2
        reported = account.total().epsilon
        assert true <= mpmath.mpf(reported.numerator) / reported.denominator
        assert mpmath.mpf(reported.numerator) / reported.denominator <= true * (1 + 1e-12)
        assert account.within == (true <= 1)
    if losses:
        assert account.total().delta == slack


def test_whitehouse_splits_delta_once() -> None:
    """slack + sum of deltas <= delta; the slack is fixed, and an unused slack is not returned."""
    account: Account = Whitehouse2023("9e-7").open(BUDGET)
    assert account.add(ApproxDP("0.01", "1e-7")).within
    assert not account.add(ApproxDP("0.01", "1.0001e-7")).within
    assert account.add(ApproxDP("0.01", "1e-7")).total().delta == BUDGET.delta  # type: ignore[attr-defined]


def test_a_delta_with_no_room_is_explained() -> None:
    """If the slack is all of delta, the refusal says what to pass."""
    account = Whitehouse2023().open(BUDGET)
    loss = ApproxDP("0.01", "1e-9")
    assert not account.add(loss).within
    assert "slack" in account.hint(loss)
    assert account.hint(ApproxDP(2, 0)) == ""


@pytest.mark.parametrize("rule", [Whitehouse2023, ViaZCDP, ViaGDP])
@pytest.mark.parametrize("slack", ["1e-5", 0, -1, float("nan"), True, 2])
def test_a_bad_slack_is_refused(rule: Any, slack: Any) -> None:
    """A slack outside (0, delta] is refused at construction or when the account is opened."""
    with pytest.raises(ValueError, match="slack"):
        rule(slack).open(BUDGET)


@pytest.mark.parametrize("rule", [Whitehouse2023(), ViaZCDP(), ViaGDP(), Rogers2016()], ids=str)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxZCDP(1, "1e-6")], ids=str)
def test_a_budget_of_another_measure_is_refused(rule: Rule, budget: Loss) -> None:
    """These rules need an (epsilon, delta) budget, and the error says so."""
    with pytest.raises(ValueError, match="ApproxDP"):
        rule.open(budget)
    with pytest.raises(ValueError, match="ApproxDP"):
        rule.child_measure(budget)


@pytest.mark.parametrize("rule", [Whitehouse2023(), ViaZCDP(), ViaGDP()], ids=str)
def test_an_empty_budget_admits_nothing(rule: Rule) -> None:
    """A budget of epsilon zero is valid at every delta, and admits no launch."""
    for delta in ("1e-6", 1):
        account = rule.open(ApproxDP(0, delta))
        loss = PureDP("0.5").to(rule.child_measure(ApproxDP(0, delta)))
        assert account.within
        if delta != 1:
            assert not account.add(loss).within


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_an_additive_accumulator_has_no_budget(loss: Loss) -> None:
    """It starts at zero and adds every loss."""
    account = Additive(loss.measure).open()
    assert account.total() == zero_of(loss.measure)
    assert account.add(loss).add(loss).total() == loss + loss  # type: ignore[arg-type]
