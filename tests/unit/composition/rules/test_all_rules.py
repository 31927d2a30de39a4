"""Laws of all rules, and what sums, declared ones and weights add."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import Rogers2023, admitted
from composition.rules import (
    Account,
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from composition.rules.additive import AdditiveAccount, RunningSum
from composition.rules.declared import common_measure, maps_at
from composition.rules.rogers import drift
from composition.verdicts import kind_of
from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PrivacyClaimError, PureDP
from queryable.losses import AdditiveLoss, Dominated, RenyiCurve
from tests import instances
from tests.instances import BUDGET, BUDGETS, SMALL, rule_for
from tests.strategies import LOSSES, Toy


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
    rule, budget, loss = case
    account = rule.open(budget)
    for _ in range(2):
        account = account.add(loss)
        remaining: Any = account.remaining()
        full = account.add(remaining)
        assert full.within
        assert full.total() <= budget
        parts: Any = remaining.parts
        if type(rule) in CURVES:
            more = [part * (1 + Fraction(1, 10**12)) for part in parts]
        else:
            more = [parts[0] * (1 + Fraction(1, 10**15)), *parts[1:]]
        assert not account.add(remaining.of_parts(tuple(more))).within


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


@pytest.mark.parametrize("order", [0, 1])
def test_epsilon_and_delta_must_both_fit(order: int) -> None:
    """A launch is refused if its epsilon or its delta exceeds the budget."""
    account = Basic().open(ApproxDP(1, "1e-6"))
    over = [ApproxDP("1.01", 0), ApproxDP(0, "1.01e-6")][order]
    assert not account.add(over).within


def test_whitehouse_splits_delta_once() -> None:
    """slack + sum of deltas <= delta; the slack is fixed, and an unused slack is not returned."""
    account: Account = Whitehouse2023("9e-7").open(BUDGET)
    assert account.add(ApproxDP("0.01", "1e-7")).within
    assert not account.add(ApproxDP("0.01", "1.0001e-7")).within
    assert account.add(ApproxDP("0.01", "1e-7")).total().delta == BUDGET.delta  # type: ignore[attr-defined]
    # If the slack is all of delta, the refusal says what to pass.
    account = Whitehouse2023().open(BUDGET)
    loss = ApproxDP("0.01", "1e-9")
    assert not account.add(loss).within
    assert "slack" in account.hint(loss)
    assert account.hint(ApproxDP(2, 0)) == ""


@pytest.mark.parametrize(
    "rule",
    [
        *(Whitehouse2023, ViaZCDP, ViaGDP, GDPResidue),
        lambda slack: Menu("0.01", [1], slack=slack),
        lambda slack: ViaRenyi([2, 4], slack=slack),
    ],
)
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


def maps(*losses: Loss) -> Any:
    return maps_at([Toy(loss) for loss in losses], 1)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_one_measure_stays(loss: Loss) -> None:
    assert common_measure(maps(loss, loss)) == loss.measure


@pytest.mark.parametrize(
    ("losses", "measure"),
    [
        ((), PureDP),
        ((PureDP(1), ApproxDP(1, "0.1")), ApproxDP),
        ((PureDP(1), GDP(1)), GDP),
        ((PureDP(1), ZCDP(1)), ZCDP),
        ((GDP(1), ZCDP(1)), ZCDP),
        ((ZCDP(1), ApproxDP(1, "0.1")), ApproxZCDP),
        ((RDP(3, 1), RDP(2, 1)), RDP.at(2)),
        ((RenyiCurve((2, 3, 8), (1, 1, 1)), ZCDP(1), PureDP(1)), RDP.at(2, 3, 8)),
        ((RenyiCurve((2, 3, 8), (1, 1, 1)), RDP(4, 1)), RDP.at(2, 3)),
    ],
)
def test_mixed_measures_have_a_common_measure(losses: Any, measure: Any) -> None:
    """It is the first measure to which theorems convert all of them."""
    assert common_measure(maps(*losses)) == measure


def test_some_measures_have_no_common_measure() -> None:
    """Curves of different orders have no common measure here."""
    with pytest.raises(PrivacyClaimError, match="no measure"):
        common_measure(maps(RenyiCurve((2,), (1,)), RenyiCurve((3,), (1,))))


ORDERS = (2, 8, 32)


def test_a_budget_of_curves_holds_at_every_order() -> None:
    """A launch is refused if any order exceeds the budget, even if another order fits."""
    budget = RenyiCurve(ORDERS, ("1", "1", "1"))
    account = Basic().open(budget).add(RenyiCurve(ORDERS, ("0.1", "0.2", "0.9")))
    assert account.within
    assert account.remaining() == RenyiCurve(ORDERS, ("0.9", "0.8", "0.1"))
    for over in range(3):
        most = list(account.remaining().parts)
        most[over] += Fraction(1, 10**30)
        assert not account.add(RenyiCurve(ORDERS, most)).within
    assert account.add(account.remaining()).within
    # The count of equal mechanisms is that of the most expensive order.
    budget = RenyiCurve(ORDERS, ("0.1", "0.1", "0.1"))
    loss = PureDP("0.1").to(RDP.at(*ORDERS))
    assert isinstance(loss, RenyiCurve)
    fewest = min(Fraction(1, 10) // part for part in loss.parts)
    assert admitted(budget, Basic(), loss) == fewest < Fraction(1, 10) // loss.parts[0]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_an_account_after_a_launch_is_one_that_the_constructor_takes(loss: Loss) -> None:
    """Adding leaves the constructor's checks out, and gives what it would have given."""
    account = Basic().open(loss)
    for _ in range(3):
        account = account.add(loss)
        made = AdditiveAccount(
            RunningSum(account.sum.zero, account.sum.parts), account.budget, account.most
        )
        assert (made, hash(made), repr(made)) == (account, hash(account), repr(account))
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            account.most = ()  # type: ignore[misc]


def test_a_loss_of_a_class_of_ones_own_is_checked_when_it_is_added() -> None:
    """Its constructor may have checked nothing."""

    class Gift(AdditiveLoss):
        """Epsilon may be below 0."""

        measure = PureDP
        parts = (Fraction(-1),)
        of_parts = room = _to = None  # type: ignore[assignment]

    with pytest.raises(ValueError, match="from 0 on"):
        Basic().open(PureDP(1)).add(Gift())  # type: ignore[abstract]


def test_many_at_once_equal_many_in_turn(case: tuple[Rule, Loss, Loss]) -> None:
    """Adding five at once gives the account of five, deltas included."""
    rule, budget, loss = case
    account = one_by_one = rule.open(budget).add(loss)
    for _ in range(5):
        one_by_one = one_by_one.add(loss)
    assert account.add_many(loss, 5) == one_by_one


def test_constants_and_sums_of_published_rules() -> None:
    """2 rho for epsilon = 10 and delta = 1e-6: 2.70603, and by the tight conversion 3.0786."""
    budget = (Fraction(10), Fraction("1e-6"))
    assert round(2 * Rogers2023().capacity(*budget), 5) == Fraction("2.70603")
    assert round(2 * ViaZCDP().capacity(*budget), 4) == Fraction("3.0786")
    # V and S, each loss by itself; the bound is no privacy loss, so the report is the budget.
    account = Rogers2016().open(ROGERS).add(PureDP("0.1")).add(PureDP("0.05"))
    assert account.variance == Fraction(125, 10**4)
    assert account.drift == drift(Fraction(1, 10)) + drift(Fraction(1, 20))
    assert account.total() == ROGERS


ROGERS = ApproxDP(1, "1e-6")
