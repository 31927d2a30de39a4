"""How many launches fit, which rule admits the most, and hints."""

from fractions import Fraction
from math import inf
from random import Random
from typing import Any

import pytest

from composition import (
    Basic,
    ConComp,
    FiltCon,
    GDPResidue,
    Menu,
    OdomCon,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    admitted,
    filter_of,
    recommend,
)
from composition.advice import hints
from composition.advice.admission import before_refusal, taken, whole_plans
from composition.advice.residues import MuLeft, more, times
from composition.advice.slacks import Tried, orders_of
from composition.rules import Additive
from mechanisms import (
    Best,
    BrownianNoiseReduction,
    Count,
    Frugal,
    Gaussian,
    Keys,
    Laplace,
    RandomizedResponse,
    SparseVector,
    Threshold,
    TruncatedNegativeBinomial,
    column,
)
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Loss,
    PureDP,
    Queryable,
    QueryRefusedError,
    Statistic,
)
from queryable.losses import Dominated, RenyiCurve
from tests.strategies import LOSSES, Toy

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


def test_a_plan_that_fits_gets_the_rule_with_most_room_in_any_order() -> None:
    found = recommend(BUDGET, [PureDP("0.01")] * 20)
    assert found.admitted == found.planned == 20
    assert found.candidates[0].times == 28 == max(each.times or 0 for each in found.candidates)
    assert isinstance(recommend(BUDGET, [PureDP("0.5"), PureDP("0.5")]).rule, Basic)
    # Without a delta basic composition is optimal.
    for budget, loss in ((PureDP(1), PureDP("0.1")), (ZCDP(1), ZCDP("0.1")), (GDP(1), GDP("0.1"))):
        found = recommend(budget, [loss] * 200)
        assert isinstance(found.rule, Basic)
        assert found.admitted == (100 if budget == GDP(1) else 10)
    assert isinstance(recommend(ApproxDP(1, 0), [PureDP("0.1")]).rule, Basic)
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
    with pytest.raises(ValueError, match="empty"):
        recommend(BUDGET, [])
    with pytest.raises(TypeError, match="no privacy loss"):
        recommend(BUDGET, [0.1])  # type: ignore[list-item]


def test_the_slack_leaves_room_for_deltas_and_odd_epsilons_get_a_coarser_menu() -> None:
    """The slack is what the deltas of the launches that fit with it leave."""
    found = recommend(BUDGET, [ApproxDP("0.01", "1e-10")] * 600)
    slack = found.rule.slack  # type: ignore[attr-defined]
    assert slack == Fraction(1, 10**6) - found.admitted * Fraction(1, 10**10)
    assert found.admitted >= 545
    greedy = recommend(BUDGET, [ApproxDP("0.01", "1e-8")] * 600)
    assert greedy.admitted == 100
    # Parameters without a useful common unit are rounded up to one; many get no menu.
    found = recommend(BUDGET, [PureDP("0.0537")] * 12 + [PureDP(Fraction(1, 17))] * 3)
    assert Menu in {type(each.rule) for each in found.candidates if each.admitted}
    many = recommend(BUDGET, [PureDP(Fraction(n, 1000)) for n in range(1, 40)])
    assert many.admitted == 39
    assert Menu not in {type(each.rule) for each in many.candidates}
    assert recommend(BUDGET, [PureDP(0), PureDP("0.1")]).admitted == 2


@pytest.mark.parametrize(
    ("plan", "budget", "counts"),
    [
        ([Gaussian(Count(), scale=30)], ApproxDP(2, "1e-6"), {GDPResidue: 180, ViaZCDP: 158}),
        (
            [PureDP("0.004")],
            ApproxDP("1.85", "1e-3"),
            {Menu: 26_307, GDPResidue: 26_304, ViaZCDP: 21_182},
        ),
        ([PureDP("1/10000")], ApproxDP("1.85", "1e-3"), {GDPResidue: 42_089_936}),
        ([PureDP(0)], BUDGET, {Basic: inf, GDPResidue: inf, ViaZCDP: inf}),
    ],
)
def test_one_launch_says_how_often_it_fits(
    plan: list[Any], budget: ApproxDP, counts: dict[type, float]
) -> None:
    """No count is where a search stopped, and the slack leaves the deltas of all of them."""
    found = recommend(budget, plan)
    told = {type(each.rule): each for each in found.candidates}
    for kind, many in counts.items():
        assert told[kind].times == many
        assert f"| {kind.__name__} | 1 of 1 | {many if many < inf else 'any number'} |" in str(
            found
        )
    if isinstance(plan[0], Gaussian):
        loss = plan[0].privacy_map(1, Dominated)
        assert admitted(budget, told[GDPResidue].rule, loss) == 180


@pytest.mark.parametrize(
    "loss",
    [Dominated("1/150", 0, 0), Dominated("1/150", "1/160", "1e-11"), Dominated(0, "1/99", 0)],
)
def test_launches_at_once_are_as_many_as_in_turn(loss: Dominated) -> None:
    """Launches of `GDPResidue` are counted in floats, many at once, by runs and by plans.

    The mu that is left is that of the account, which charges them one by one, up to the share
    10^-4 of a launch.
    """
    account = GDPResidue("5e-7").open(BUDGET)
    start = MuLeft.of(account)
    count = int(more(start, loss)[1])
    assert count > 300
    for launches in range(1, count + 2):
        account = account.add(loss)
        assert account.within == (launches <= count)
        if launches in (1, 2, 130, 300):
            mu, true = more(start, loss, launches)[0].mu, account.mu
            assert mu is not None
            assert true is not None
            assert abs(Fraction(mu) ** 2 - true**2) <= (loss.epsilon**2 + loss.mu**2) / 10**4
    assert times(start, [(loss, 1)]) == count
    assert times(start, [(loss, 2), (loss, 3)]) == count // 5


@pytest.mark.parametrize("kind", [Whitehouse2023, ViaZCDP, GDPResidue, Menu])
@pytest.mark.parametrize("delta", ["1e-13", "1e-9", "2e-8", "6e-7"])
def test_no_other_slack_admits_more(kind: type, delta: str) -> None:
    """Of as many launches as are planned, and of a plan of several, in the worst order."""
    plans = ([ApproxDP("0.1", delta)], [ApproxDP("0.2", 0), ApproxDP("0.1", delta)] * 40)
    for plan in plans:
        planned = recommend(BUDGET, plan)
        (best,) = (each for each in planned.candidates if type(each.rule) is kind)
        for tenth in (*range(1, 10), "9.9", "9.999"):
            other = with_slack(best.rule, BUDGET.delta * Fraction(tenth) / 10)
            found = tried(other, BUDGET, plan)
            assert (found.admitted, found.times) <= (best.admitted, best.times)


def with_slack(rule: Rule, slack: Fraction) -> Rule:
    """The same rule with another slack."""
    if isinstance(rule, Menu):
        return Menu.of_written(rule.unit, rule.priced, slack)
    return type(rule)(slack)  # type: ignore[call-arg]


def tried(rule: Rule, budget: Loss, plan: list[Loss]) -> Any:
    """What a rule makes of a plan, with the slack that it has."""
    stated = [(loss.to(rule.child_measure(budget)), 1) for loss in plan]
    account = rule.open(budget)
    fewest = min(before_refusal(account, order) for order in orders_of(stated))
    return Tried(rule, fewest, whole_plans(account, stated))


@pytest.mark.parametrize(
    ("epsilon", "delta", "each", "residue", "most"),
    [(1, "1e-6", "0.1", 5, 10), ("1.5", "1e-6", "0.125", 7, 12), (3, "1e-5", "0.125", 32, 36)],
)
def test_few_launches_get_a_menu(
    epsilon: int | str, delta: str, each: str, residue: int, most: int
) -> None:
    """Where few large launches fit, the residue filter admits fewer, and a menu is first."""
    budget = ApproxDP(epsilon, delta)
    found = recommend(budget, [PureDP(each)] * 100)
    assert isinstance(found.rule, Menu | Basic)
    assert found.admitted == found.fixed == most
    assert admitted(budget, GDPResidue(), PureDP(each)) == residue


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


def in_turn(budget: Loss, rule: Rule, loss: Loss) -> int:
    """Count launches by adding them one by one until one does not fit."""
    account, count = rule.open(budget), 0
    stated = loss.to(rule.child_measure(budget))
    while (account := account.add(stated)).within:
        count += 1
    return count


@pytest.mark.parametrize(
    "rule",
    [
        Basic(),
        Rogers2016(),
        Whitehouse2023(),
        ViaZCDP(),
        ViaGDP(),
        ViaRenyi([2, 8, 32, 64]),
        GDPResidue(),
        Menu("0.005", [1, 4, 20, 40, 80]),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_admitted_equals_launching_one_by_one(rule: Rule) -> None:
    """The count equals the number found by adding one loss after the other."""
    random = Random(23)
    for _ in range(6):
        loss = PureDP(Fraction(random.randint(30, 300), 1000))
        assert admitted(BUDGET, rule, loss) == in_turn(BUDGET, rule, loss)


def test_admitted_counts_under_any_rule() -> None:
    """This includes a rule made from an accumulator, and budgets in other measures."""
    assert admitted(ZCDP(1), filter_of(Additive(ZCDP)), ZCDP("0.03")) == 33
    for loss in LOSSES:
        assert admitted(loss, Basic(), loss) == 1
    assert admitted(BUDGET, Whitehouse2023(), PureDP(3)) == 0
    assert admitted(BUDGET, GDPResidue(), PureDP(3)) == 0


def test_what_has_no_largest_count_is_refused() -> None:
    """A loss of zero, or a loss that the rule does not charge, has no largest count."""
    for rule in (Basic(), GDPResidue(), Menu("0.1", [1]), ViaZCDP(), ViaRenyi([2, 64])):
        with pytest.raises(ValueError, match="any number fits"):
            admitted(BUDGET, rule, PureDP(0))
    with pytest.raises(ValueError, match="delta"):
        admitted(BUDGET, Whitehouse2023(), ZCDP("0.01"))


def test_refused_launches_are_skipped() -> None:
    """Launches are tried in the given order; earlier ones use budget that later ones need."""
    losses = [PureDP("1/2"), PureDP(2), PureDP("1/4"), PureDP("1/2"), PureDP("1/4")]
    assert taken(PureDP(1), Basic(), losses) == 3
    assert taken(PureDP(1), Basic(), losses[::-1]) == 3
    assert taken(PureDP("1/2"), Basic(), losses) == 1
    assert taken(PureDP("1/2"), Basic(), losses[::-1]) == 2
    assert taken(PureDP(1), Basic(), []) == 0


age = column("age")
SMALL, LARGE = ZCDP(1), ZCDP("1/100")
COUNTS = [Gaussian(Count((age >= low) & (age < low + 30)), rho="1/500") for low in range(0, 70, 10)]
EITHER = Statistic(len, l1=1, l2=1)
DELTA = RandomizedResponse(bool, epsilon="1/9", delta="1/999")

GROUPS, OVERLAP, ABOVE, LARGEST, BEST, INDIVIDUAL, NONE = (
    "do not overlap",
    "Frugal, from about 4 on",
    "one SparseVector",
    "one ExponentialMechanism",
    "one Best",
    "Individual refuses none",
    "no rule takes this plan",
)
LAPLACE = [Laplace(Count(age > low), epsilon="1/10") for low in range(12)]
SHAPED = Statistic(len, l1=1, l2=1, shape=3)
RUNS = Best(Gaussian(EITHER, rho="1/2000"), "largest", Threshold(0, "1/9"))
SAID: dict[str, tuple[Any, list[Any], list[str]]] = {
    "one loss": (SMALL, [ZCDP("1/10")], []),
    "three": (SMALL, [ZCDP("1/10")] * 3, [GROUPS]),
    "four": (SMALL, [ZCDP("1/10")] * 4, [GROUPS, OVERLAP]),
    "six": (SMALL, [ZCDP("1/10")] * 6, [GROUPS, OVERLAP, LARGEST, BEST]),
    "twenty": (SMALL, [ZCDP("1/100")] * 20, [GROUPS, OVERLAP, ABOVE, LARGEST, BEST]),
    "too many": (LARGE, [ZCDP("1/100")] * 2, [GROUPS, INDIVIDUAL]),
    "different losses": (SMALL, [ZCDP("1/10"), ZCDP("1/20")], []),
    "pure": (PureDP(1), [PureDP("1/10")] * 4, [GROUPS, ABOVE, LARGEST, BEST]),
    "two pure": (PureDP(1), [PureDP("1/10")] * 2, [GROUPS]),
    "too many pure": (PureDP(1), [PureDP(1)] * 2, [GROUPS]),
    "pure, that do not add up": (SMALL, [PureDP("1/10")] * 4, [GROUPS]),
    "counts": (BUDGET, COUNTS, [GROUPS, OVERLAP, LARGEST]),
    "Laplace": (PureDP(1), LAPLACE[:3], [GROUPS, ABOVE]),
    "too many Laplace": (PureDP(1), LAPLACE, [GROUPS, ABOVE, LARGEST]),
    "Laplace, that do not add up": (SMALL, LAPLACE[:5], [GROUPS]),
    "no counts": (SMALL, [Gaussian(EITHER, rho="1/100")] * 30, [BEST]),
    "histograms": (BUDGET, [Gaussian(SHAPED, rho="1/600")] * 6, [BEST]),
    "too many histograms": (ZCDP("1/100"), [Gaussian(SHAPED, rho="1/100")] * 2, []),
    "no candidates": (ApproxDP(9, "1/2"), [DELTA] * 9, []),
    "several Best": (BUDGET, [RUNS] * 7, []),
    "curves": (BUDGET, [RUNS.privacy_map(1)] * 6, [BEST]),
    "interactive": (SMALL, [SparseVector(3, epsilon="1/10")] * 9, []),
    "interactive, too many": (LARGE, [SparseVector(3, epsilon="1/9")] * 9, []),
    "not taken": (PureDP(1), [ZCDP("1/10")] * 30, [NONE]),
}


@pytest.mark.parametrize("name", SAID)
def test_hints_are_about_the_plan(name: str) -> None:
    budget, plan, said = SAID[name]
    found = recommend(budget, plan)
    assert len(found.hints) == len(said), found.hints
    for hint, part in zip(found.hints, said, strict=True):
        assert part in hint
        assert f"- {hint}" in str(found)
    assert found.instead is None


def test_mechanisms_are_planned_with_what_they_state() -> None:
    """In each rule's measure: a filter admits as many, and the rule is that of their noise."""
    plan = COUNTS * 3
    found = recommend(BUDGET, plan)
    assert isinstance(found.rule, GDPResidue)
    assert found.admitted == 14
    assert {type(each.rule): each.admitted for each in found.candidates}[ViaZCDP] == 12
    assert admitted(BUDGET, ViaZCDP(), ZCDP("1/500")) == 12
    table = Queryable(FiltCon(BUDGET, rule=found.rule), {"age": [31, 47]})
    for each in plan[: found.admitted]:
        table(each)
    with pytest.raises(QueryRefusedError):
        table(plan[-1])


def test_a_person_says_what_the_plan_costs() -> None:
    person = Frugal(axes=Keys.bins("age", range(0, 101, 10)))
    found = recommend(BUDGET, COUNTS, instead=person)
    assert found.instead == person.priced(COUNTS)
    assert found.instead <= ZCDP("7/500")
    assert [each for each in found.hints if "through Frugal they cost" in each and "less" in each]
    assert not [each for each in found.hints if OVERLAP in each]
    together, alone = found.instead.rho, Fraction(7, 500)  # type: ignore[attr-defined]
    said = next(each for each in found.hints if "through Frugal" in each)
    ratio = Fraction(said.split(" times less")[0].split(", ")[-1])
    assert ratio <= alone / together < ratio + Fraction(1, 10)
    one = recommend(BUDGET, COUNTS[:1], instead=person)
    assert "no less than alone" in one.hints[0]
    assert (one.rule, one.admitted) == (recommend(BUDGET, COUNTS[:1]).rule, 1)


WRONG: dict[str, tuple[Any, list[Any], Any, str]] = {
    "losses": (TypeError, [ZCDP(1)], Frugal(), "plan with mechanisms"),
    "another person": (TypeError, COUNTS, BrownianNoiseReduction(), "knows prices"),
    "no person": (TypeError, COUNTS, 3, "instead is 3"),
    "a class": (TypeError, COUNTS, Frugal, "knows prices"),
    "no variance": (ValueError, [Gaussian(Count(), rho="1e-400")], Frugal(), "has no price"),
    "not estimated": (ValueError, [Laplace(Count(), scale=1)], Frugal(), "has no price"),
    "no claim": (ValueError, [OdomCon(ZCDP)], None, "loss"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_error_says_what_is_wrong(name: str) -> None:
    kind, plan, person, text = WRONG[name]
    with pytest.raises(kind, match=text):
        recommend(BUDGET, plan, instead=person)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1, "1"), ("1.09", "1"), ("1.1", "1.1"), ("9.99", "9.9"), (10, "10"), (128, "120")],
)
def test_savings_are_rounded_down(ratio: Any, said: str) -> None:
    assert hints._at_least(Fraction(ratio)) == said
