"""Rules against exact worst cases, over analysts that choose launches adaptively.

A launch is a response that also reveals everything with probability delta_i: the worst
(epsilon_i, delta_i)-DP mechanism. The search covers every account that a rule permits, in 60-digit
arithmetic. It does not use the rules' formulas.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from composition import (
    Basic,
    Filt,
    GDPResidue,
    Menu,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from composition.rules import Account
from composition.rules.residue import ResidueAccount
from queryable import ApproxDP, Launch, Loss, PureDP
from queryable.losses import Dominated
from tests.audit.toys import F, Response, excess, nats, worst_case
from tests.reference import gaussian_profile, likelier, mp, over, real

BUDGET = ApproxDP(1, "1/20")
SIZES = ("1/4", "1/2")
ORDERS = ("1.5", 2, 4, 8, 16)


def worst(rule: Rule, losses: list[Loss], budget: ApproxDP = BUDGET, at: Any = None) -> Any:
    """The largest true delta at the budget's epsilon (or `at`), over all adaptive launches."""
    epsilon = real(budget.epsilon if at is None else at)
    measure = rule.child_measure(budget)
    stated = [(loss.to(ApproxDP), loss.to(measure)) for loss in losses]

    @cache
    def value(account: Account, gone: Any) -> Any:
        best = max(over(epsilon - real(gone)), ending(account, epsilon - real(gone)))
        for true, charged in stated:
            after = account.add(charged)
            if not after.within or after == account:
                continue
            assert isinstance(true, ApproxDP)
            p, reveal = likelier(true.epsilon), real(true.delta)
            later = p * value(after, gone + true.epsilon)
            later += (1 - p) * value(after, gone - true.epsilon)
            best = max(best, reveal + (1 - reveal) * later)
        return best

    return value(rule.open(budget), PureDP(0).epsilon)


def ending(account: Account, t: Any) -> Any:
    """The hockey stick of a last Gaussian, the largest that the residue admits."""
    if not isinstance(account, ResidueAccount) or account.mu is None:
        return mp.mpf(0)
    assert account.add(Dominated(0, account.mu, 0)).within
    return gaussian_profile(account.mu, t)


@pytest.mark.parametrize(
    ("rule", "least"),
    [
        (Basic(), "0"),
        (Rogers2016(), "0"),
        (Whitehouse2023(), "0"),
        (ViaZCDP(), "0.012"),
        (ViaGDP(), "0.012"),
        (ViaRenyi(ORDERS), "0.024"),
        (GDPResidue(), "0.04999"),
        (Menu("1/4", [1, 2]), "0.036"),
        (Menu("1/4", [1, 2], [1, 2]), "0.048"),
        (Menu("1/4", [1]), "0.024"),
    ],
    ids=str,
)
def test_no_analyst_exceeds_the_claim(rule: Rule, least: str) -> None:
    """Responses of two sizes in adaptive order; some rules are nearly tight."""
    found = worst(rule, [PureDP(size) for size in SIZES])
    assert real(least) <= found <= real(BUDGET.delta)


@pytest.mark.parametrize(
    "rule",
    [
        Basic(),
        Whitehouse2023("1/40"),
        ViaZCDP("1/40"),
        GDPResidue("1/40"),
        Menu("1/4", [1, 2], slack="1/40"),
    ],
    ids=str,
)
def test_no_analyst_exceeds_the_claim_with_deltas(rule: Rule) -> None:
    """Some launches may reveal everything; the analyst chooses their time adaptively."""
    losses: list[Loss] = [PureDP("1/4"), ApproxDP("1/4", "1/100"), ApproxDP(0, "1/80")]
    found = worst(rule, losses)
    assert real("0.0125") < found <= real(BUDGET.delta)


def test_a_budget_that_is_larger_than_claimed_is_caught() -> None:
    """The search refutes that a filter at (3, 1/20) keeps (1, 1/20)."""
    for rule in (Whitehouse2023(), GDPResidue(), Menu("1/4", [1, 2])):
        losses: list[Loss] = [PureDP("1/2")]
        assert worst(rule, losses, ApproxDP(3, "1/20"), at=1) > real(BUDGET.delta)


@pytest.mark.parametrize(
    ("unit", "costs"), [("1/4", {1: 1, 2: 4}), ("1/4", {1: 2, 3: 7}), ("1/5", {1: 2, 2: 5, 3: 9})]
)
def test_the_menu_filter_is_exact(unit: str, costs: dict[int, int]) -> None:
    """Its report is the worst case up to rounding; one more unit exceeds the budget."""
    rule = Menu(unit, costs, costs)
    losses: list[Loss] = [PureDP(entry * PureDP(unit).epsilon) for entry in costs]
    found = worst(rule, losses)
    account: Any = rule.open(BUDGET)
    reported = real(account.terms.worst[account.terms.units])
    assert 0 < found <= reported <= found * (1 + real("1e-9"))
    more: Any = rule.open(ApproxDP(1, "1/2"))
    one_more = ApproxDP(1, Fraction(more.terms.worst[account.terms.units + 1]))
    assert worst(rule, losses, one_more) > real(BUDGET.delta)


# Through the compositor.


def whitehouse(odds: tuple[Fraction, ...], capacity: Fraction, factor: Fraction) -> Fraction:
    """The worst case of launches of responses while the sum of epsilon squared fits.

    An independent recursion over the loss so far and the remaining capacity. Values are relative to
    the law under x.
    """
    weights = {each: nats(each) ** 2 for each in odds}

    @cache
    def best_of(ratio: Fraction, left: Fraction) -> Fraction:
        best = max(1 - factor / ratio, F(0))
        for each, weight in weights.items():
            if weight <= left:
                up, down = (best_of(after, left - weight) for after in (ratio * each, ratio / each))
                best = max(best, (each * up + down) / (1 + each))
        return best

    return best_of(F(1), capacity)


def test_the_worst_case_of_whitehouse_is_the_dynamic_program() -> None:
    """The worst case through the compositor equals an independent recursion over losses."""
    odds, budget = (F(2), F(3, 2)), ApproxDP("2.2", "1/5")
    capacity = Whitehouse2023().open(budget).capacity
    filtered = Filt(budget, Whitehouse2023())
    launches = [Launch(Response(each)) for each in odds]
    for factor in (F(2), F(3), F(5)):
        found = worst_case(filtered, 0, 1, launches, 8, excess(factor))
        assert found == whitehouse(odds, capacity, factor) > 0
