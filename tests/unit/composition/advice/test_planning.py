"""Counting launches, and choosing a rule for a plan."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import (
    Basic,
    ConComp,
    GDPResidue,
    Menu,
    Rogers2016,
    Rule,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    admitted,
    recommend,
)
from composition.advice.admission import taken
from mechanisms import Best, Gaussian, Laplace, TruncatedNegativeBinomial
from queryable import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP, Statistic
from queryable.losses import RenyiCurve
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")
PUBLISHED: tuple[Rule, ...] = (Basic(), Rogers2016(), Whitehouse2023())


@pytest.mark.parametrize(
    ("epsilon", "each", "optimum"),
    [
        *((1, "0.1", 10), (1, "0.01", 562), (2, "0.1", 24)),
        pytest.param(2, "0.01", 2012, marks=pytest.mark.slow),
        (5, "0.1", 108),
    ],
)
def test_equal_launches_get_the_optimum_or_nearly(epsilon: int, each: str, optimum: int) -> None:
    """At least 97% of the optimum for fixed parameters, and no less than published rules admit."""
    budget = ApproxDP(epsilon, "1e-6")
    found = recommend(budget, [PureDP(each)] * (optimum + 50))
    assert Fraction(97, 100) * optimum <= found.admitted <= optimum
    assert found.admitted >= max(admitted(budget, rule, PureDP(each)) for rule in PUBLISHED)
    assert admitted(budget, found.rule, PureDP(each)) == found.admitted


def plans() -> list[list[Loss]]:
    """Mixed plans of several sizes, with and without deltas."""
    random, found = Random(29), []
    for _ in range(5):
        sizes = [Fraction(random.randint(1, 20), 100) for _ in range(random.randint(2, 4))]
        deltas = [Fraction(0), Fraction(1, 10**9)]
        count = random.randint(5, 60)
        found.append([ApproxDP(random.choice(sizes), random.choice(deltas)) for _ in range(count)])
    return found


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(p, marks=[pytest.mark.slow] if n in (1, 3) else [])
        for n, p in enumerate(plans())
    ],
)
def test_no_published_rule_admits_more(plan: list[Loss]) -> None:
    """The recommended rule admits at least as many launches, in each of the orders tried."""
    found = recommend(BUDGET, plan)
    for order in (plan, plan[::-1]):
        for rule in (*PUBLISHED, Whitehouse2023("5e-7")):
            try:
                stated = [loss.to(rule.child_measure(BUDGET)) for loss in order]
            except ValueError:
                continue
            by_weight = sorted(stated, key=lambda loss: loss.parts, reverse=True)  # type: ignore[attr-defined]
            assert found.admitted >= fitting(rule, by_weight)
        assert fitting(
            found.rule, [loss.to(found.rule.child_measure(BUDGET)) for loss in order]
        ) >= (found.admitted)


def fitting(rule: Rule, losses: list[Any]) -> int:
    """Count the launches before the first refusal."""
    account = rule.open(BUDGET)
    for count, loss in enumerate(losses):
        account = account.add(loss)
        if not account.within:
            return count
    return len(losses)


def test_a_plan_that_fits_gets_the_rule_with_most_room() -> None:
    """Of rules that admit the whole plan, the one that admits it most often, or the simplest."""
    found = recommend(BUDGET, [PureDP("0.01")] * 20)
    assert found.admitted == found.planned == 20
    assert found.candidates[0].times == 28 == max(each.times or 0 for each in found.candidates)
    assert isinstance(recommend(BUDGET, [PureDP("0.5"), PureDP("0.5")]).rule, Basic)


def test_a_plan_may_come_in_any_order() -> None:
    """The order of the plan does not change the recommendation."""
    losses: list[Loss] = [*[PureDP("0.02")] * 40, *[PureDP("0.2")] * 5, *[PureDP("0.1")] * 8]
    shuffled = losses.copy()
    Random(31).shuffle(shuffled)
    first, second = recommend(BUDGET, losses), recommend(BUDGET, shuffled)
    assert first.admitted == second.admitted
    assert {type(each.rule): each.admitted for each in first.candidates} == {
        type(each.rule): each.admitted for each in second.candidates
    }


def test_rules_that_do_not_take_the_plan_say_why() -> None:
    """With a Gaussian in the plan only rules that accept zCDP or Renyi privacy remain."""
    found = recommend(BUDGET, [PureDP("0.01"), ZCDP("0.001")])
    assert isinstance(found.rule, ViaZCDP)
    excluded = {type(each.rule) for each in found.candidates if each.admitted is None}
    assert {Basic, Whitehouse2023, GDPResidue} <= excluded
    assert all(each.why for each in found.candidates if each.admitted is None)
    assert "no theorem converts" in str(found)
    assert "2 of 2" in str(found)


def test_the_slack_leaves_room_for_the_deltas_of_the_plan() -> None:
    """The slack leaves the launches' deltas if these are at most half of the budget's delta."""
    found = recommend(BUDGET, [ApproxDP("0.01", "1e-10")] * 600)
    slack = found.rule.slack  # type: ignore[attr-defined]
    assert slack == Fraction(1, 10**6) - 600 * Fraction(1, 10**10)
    assert found.admitted >= 545
    greedy = recommend(BUDGET, [ApproxDP("0.01", "1e-8")] * 600)
    assert greedy.admitted >= 50


def test_other_budgets_have_one_rule() -> None:
    """Without a delta basic composition is optimal."""
    for budget, loss in ((PureDP(1), PureDP("0.1")), (ZCDP(1), ZCDP("0.1")), (GDP(1), GDP("0.1"))):
        found = recommend(budget, [loss] * 200)
        assert isinstance(found.rule, Basic)
        assert found.admitted == (100 if budget == GDP(1) else 10)
    assert isinstance(recommend(ApproxDP(1, 0), [PureDP("0.1")]).rule, Basic)


def test_odd_epsilons_get_a_coarser_menu() -> None:
    """Parameters without a useful common unit are rounded up to one; many get no menu."""
    found = recommend(BUDGET, [PureDP("0.0537")] * 12 + [PureDP(Fraction(1, 17))] * 3)
    assert Menu in {type(each.rule) for each in found.candidates if each.admitted}
    many = recommend(BUDGET, [PureDP(Fraction(n, 1000)) for n in range(1, 40)])
    assert many.admitted == 39
    assert Menu not in {type(each.rule) for each in many.candidates}
    assert recommend(BUDGET, [PureDP(0), PureDP("0.1")]).admitted == 2


def test_an_empty_or_invalid_plan_is_refused() -> None:
    """An empty plan, and an entry that is not a loss."""
    with pytest.raises(ValueError, match="empty"):
        recommend(BUDGET, [])
    with pytest.raises(TypeError, match="no privacy loss"):
        recommend(BUDGET, [0.1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "loss", [ZCDP("1/2000"), PureDP("1/100"), RenyiCurve((4, 16, 64), ("1/500", "1/120", "1/30"))]
)
def test_a_fixed_plan_needs_no_rule(loss: Any) -> None:
    """`ConComp(..., delta=)` admits at least as many launches of equal loss as every filter."""
    budget, plan = ApproxDP(1, "1e-6"), [loss] * 700
    found = recommend(budget, plan)
    assert found.fixed is not None
    assert found.admitted <= found.fixed < 700

    def epsilon(count: int) -> Any:
        return ConComp([Toy(loss)] * count, delta="1e-6").privacy_map(1)

    assert epsilon(found.fixed) <= budget
    assert not epsilon(found.fixed + 1) <= budget
    assert f"{found.fixed} of 700" in str(found)
    assert recommend(PureDP(1), [PureDP("0.1")]).fixed is None


def test_curves_get_a_rule_at_their_orders() -> None:
    """A plan of Renyi losses is stated at the orders that all of them have, and fits as it says."""
    curve = RenyiCurve((2, 4, 16, 64), ("1/500", "1/500", "1/120", "1/30"))
    other = RenyiCurve((3, 4, 16, 64, 128), ("1/500",) * 5)
    plans: list[list[Loss]] = [
        [curve] * 9,
        [curve, other, ZCDP("1/4000")],
        [curve, RDP(16, "1/100")],
        [RDP(30, "1/100"), RDP(40, "1/50")],
    ]
    orders = [(2, 4, 16, 64), (4, 16, 64), (2, 4, 16), (30,)]
    for plan, wanted in zip(plans, orders, strict=True):
        found = recommend(BUDGET, plan)
        assert isinstance(found.rule, ViaRenyi)
        assert found.rule.orders == wanted
        assert found.admitted == len(plan) == taken(BUDGET, found.rule, plan)
    apart = recommend(BUDGET, [curve, RenyiCurve((5,), (1,))])
    assert apart.admitted == 0
    assert apart.hints == ("no rule takes this plan under this budget: the table says why",)


def test_a_fixed_plan_of_gaussians_and_curves_fits_as_much_as_through_a_rule() -> None:
    """Gaussian noise in `Dominated`, and pure launches beside a `Best` at its orders."""
    count = Statistic(len, l1=1, l2=1)
    best = Best(Gaussian(count, rho="1/1000"), "largest", TruncatedNegativeBinomial(0, "1/9"))
    mixed = [best, Laplace(count, epsilon="1/20"), Gaussian(count, rho="1/400")] * 4
    for plan in ([Gaussian(count, rho="1/500")] * 20, mixed):
        found = recommend(BUDGET, plan)
        assert found.fixed is not None
        assert 3 < found.admitted <= found.fixed < len(plan)
        together = ConComp(plan[: found.fixed], delta=BUDGET.delta)
        assert together.privacy_map(1) <= BUDGET
        assert not ConComp(plan[: found.fixed + 1], delta=BUDGET.delta).privacy_map(1) <= BUDGET
