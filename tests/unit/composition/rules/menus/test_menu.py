"""The menu filter: entries and costs, units, and the worst case in 60-digit arithmetic."""

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from composition import FiltCon, Menu, Whitehouse2023, accumulator_of, admitted
from composition.rules.menus import worst_case
from composition.rules.menus.costs import fitted
from composition.rules.menus.worst_case import worst_cases
from composition.rules.optimal import optimal_delta, optimal_epsilon
from queryable import ZCDP, ApproxDP, Launch, PrivacyLossQuery, PureDP, Refused
from queryable.effort import within_effort
from tests.reference import likelier, menu_worst_case, mp, over, real
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")
MENU = (1, 2, 3, 5, 10, 20)
SQUARES = Menu("0.01", MENU)


def test_narrow_edges_cost_tightness_never_soundness(monkeypatch: pytest.MonkeyPatch) -> None:
    """On lattices of any width the worst case is at or above the recursion on an endless one."""
    random, looser = Random(7), 0
    for _ in range(30):
        step, epsilon = Fraction(random.randint(10, 60), 100), Fraction(random.randint(0, 100), 100)
        costs = tuple(sorted((entry, entry) for entry in random.sample(range(1, 4), 2)))
        edges = (-random.randint(0, 3), int(epsilon / step) + random.randint(1, 30))
        monkeypatch.setattr(worst_case, "_edges", lambda *_, edges=edges: edges)
        found = worst_cases(epsilon, step, costs, Fraction(99, 100))
        for units in range(0, min(len(found), 13), 3):
            true = menu_worst_case(epsilon, step, dict(costs), units)
            assert true <= real(Fraction(found[units]))
            looser += real(Fraction(found[units])) > real("1.01") * true > 0
    assert looser > 5


def test_the_worst_case_rises_with_units_and_stops_at_the_slack() -> None:
    for slack in (Fraction(1, 10**6), Fraction(1, 10**3)):
        found = worst_cases(Fraction(1), Fraction(1, 10), ((1, 1), (2, 4)), slack)
        more = worst_cases(Fraction(1), Fraction(1, 10), ((1, 1), (2, 4)), 100 * slack)
        assert found == sorted(found)
        assert found == pytest.approx(more[: len(found)], rel=1e-6, abs=1e-200)
        assert found[-1] <= slack < more[len(found)]


@pytest.mark.parametrize(
    ("entry", "count", "optimum"), [(1, 551, 562), (2, 137, 142), (5, 22, 26), (10, 5, 10)]
)
def test_how_many_fit(entry: int, count: int, optimum: int) -> None:
    """Of 551 units, at the square of the entry; the optimum is a menu of that entry alone."""
    loss = PureDP(Fraction(entry, 100))
    assert admitted(BUDGET, SQUARES, loss) == count
    assert admitted(BUDGET, Menu("0.01", [entry], [1]), loss) == optimum


@pytest.mark.parametrize(
    ("epsilon", "each", "optimum"), [(1, "0.1", 10), (2, "0.1", 24), (5, "0.1", 108)]
)
def test_one_entry_is_the_optimal_composition(epsilon: int, each: str, optimum: int) -> None:
    """Alone on the menu an entry is admitted as often as parameters fixed in advance allow."""
    budget = ApproxDP(epsilon, "1e-6")
    assert admitted(budget, Menu(each, [1]), PureDP(each)) == optimum
    assert optimal_delta([PureDP(each)] * optimum, epsilon) <= budget.delta
    assert optimal_delta([PureDP(each)] * (optimum + 1), epsilon) > budget.delta


def test_entries_are_counts_of_units_or_epsilons() -> None:
    """An int counts units; every other number is an epsilon, and has to be a multiple."""
    same = Menu("0.01", [1, np.int64(2), "0.03", 0.05, Fraction(1, 10)])
    assert same == Menu("0.01", [10, 5, 3, 2, 1])
    assert same.priced == ((1, 1), (2, 4), (3, 9), (5, 25), (10, 100))
    listed = Menu("0.01", [5, 1, 2], [20, 1, 4])
    assert listed.priced == ((1, 1), (2, 4), (5, 20))
    assert Menu("0.01", [1, 2, 5], {2: 4, "0.01": 1, 5: 20}) == listed


@pytest.mark.parametrize(
    ("epsilon", "cost"),
    [("0.01", 1), ("0.010001", 4), ("0.02", 4), ("0.04", 25), ("0.2", 400), (0, 0)],
)
def test_between_entries_the_next_above_is_charged(epsilon: Any, cost: int) -> None:
    """Several smaller entries are never charged instead; an epsilon of zero is free."""
    account = SQUARES.open(BUDGET).add(ApproxDP(epsilon, 0))
    assert account.used == cost
    assert str(account.spent()) == f"{cost} of 551 units"


def test_above_the_menu_is_refused_with_the_reason() -> None:
    """A hair above the largest entry does not fit, whatever is left."""
    account = SQUARES.open(BUDGET)
    above = ApproxDP("0.2000001", 0)
    assert not account.add(above).within
    assert "0.2" in account.hint(above)
    assert account.hint(ApproxDP("0.2", 0)) == ""
    account = Menu("0.01", [1, 2], [1, 10**30], slack="8e-7").open(ApproxDP(1, "1e-6"))
    assert account.add(ApproxDP("0.01", 0)).within
    assert not account.add(ApproxDP("0.02", 0)).within


def test_a_refusal_says_what_was_spent_in_units() -> None:
    filtered = FiltCon(BUDGET, SQUARES)
    state, _ = filtered.init(None)
    for _ in range(551):
        state, answer = filtered.step(state, Launch(Toy(PureDP("0.01"))))
        assert not isinstance(answer, Refused)
    _, refused = filtered.step(state, Launch(Toy(PureDP("0.01"))))
    assert isinstance(refused, Refused)
    assert str(refused.spent) == "551 of 551 units"
    assert refused.remaining == ApproxDP(0, 0)
    # For two records more is lost than the units cover: no smaller total is claimed.
    filtered = FiltCon(BUDGET, SQUARES)
    state, _ = filtered.init(None)
    for _ in range(400):
        state, _ = filtered.step(state, Launch(Toy(PureDP("0.01"))))
    _, once = filtered.step(state, PrivacyLossQuery())
    _, twice = filtered.step(state, PrivacyLossQuery(2))
    assert once <= BUDGET
    assert twice == BUDGET.group(2)


def test_the_total_is_the_worst_case_of_the_units_used() -> None:
    """It rises with the launches from zero to the slack, at the budget's epsilon."""
    account: Any = SQUARES.open(BUDGET)
    assert account.total() == BUDGET.zero()
    last = account.add(ApproxDP("0.01", 0)).total()
    for _ in range(20):
        account = account.add(ApproxDP("0.05", 0))
        assert last <= account.total() <= BUDGET
        last = account.total()
    assert last.delta > Fraction(1, 10**7)
    account = SQUARES.open(BUDGET)
    while account.remaining().epsilon:
        remaining = account.remaining()
        assert account.add(remaining).within
        above = [entry for entry in MENU if Fraction(entry, 100) > remaining.epsilon]
        assert not any(account.add(ApproxDP(Fraction(entry, 100), 0)).within for entry in above)
        account = account.add(ApproxDP("0.05", 0)).add(ApproxDP("0.01", 0))
        if not account.within:
            break
    assert account.used > 400


def test_the_share_for_deltas_is_fixed_and_reported_whole() -> None:
    """Deltas use the part of delta beyond the slack, and the units do not depend on them."""
    account = Menu("0.01", MENU, slack="5e-7").open(BUDGET)
    with_deltas = account.add(ApproxDP("0.01", "4e-7"))
    assert with_deltas.within
    assert with_deltas.terms.units == account.terms.units < 551
    assert with_deltas.total().delta >= Fraction(5, 10**7)
    assert with_deltas.total() == account.add(ApproxDP("0.01", 0)).total()
    assert not with_deltas.add(ApproxDP("0.01", "1.1e-7")).within
    assert "slack" in SQUARES.open(BUDGET).hint(ApproxDP("0.01", "1e-9"))


def test_budgets_it_is_not_about_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is (epsilon, delta) with delta > 0, and the unit is not too fine for it."""
    for budget in (PureDP(1), ZCDP(1)):
        with pytest.raises(ValueError, match="ApproxDP"):
            SQUARES.open(budget)
    with pytest.raises(ValueError, match="slack"):
        SQUARES.open(ApproxDP(1, 0))
    with pytest.raises(ValueError, match="coarser"):
        SQUARES.open(ApproxDP(500, "1e-6"))
    monkeypatch.setattr("composition.rules.menus.worst_case.MOST_UNITS", 100)
    with pytest.raises(ValueError, match="more than 100 units"):
        Menu("0.005", [1]).open(BUDGET)


# Costs for a mix.


@pytest.mark.parametrize(
    ("mix", "least"),
    [
        pytest.param({1: 100, 10: 3}, "1.75", marks=pytest.mark.slow),
        ({5: 10, 10: 3, 20: 1}, "0.98"),
        pytest.param({1: 100, 2: 30, 5: 10}, "0.85", marks=pytest.mark.slow),
    ],
)
def test_fitted_costs_take_a_mix_more_often_than_squares(mix: dict[int, int], least: str) -> None:
    """Several launches of each kind: costs found for them admit more of them than squares do."""
    found = fitted(BUDGET, "0.01", mix)
    squares = Menu("0.01", mix).open(BUDGET)
    square_cost = sum(count * entry**2 for entry, count in mix.items())
    assert found.times >= Fraction(least)
    assert found.times > Fraction(squares.terms.units, square_cost)
    account = found.rule.open(BUDGET)
    for entry, count in mix.items():
        account = account.add_many(ApproxDP(Fraction(entry, 100), 0), int(count * found.times))
    assert account.within


def test_fitted_says_what_each_parameter_alone_admits() -> None:
    found = fitted(BUDGET, "0.02", {"0.02": 25, "0.1": 3}, spare=["0.06"])
    assert found.singly == {
        epsilon: admitted(BUDGET, found.rule, PureDP(epsilon)) for epsilon in found.singly
    }
    assert list(found.singly) == [Fraction(2, 100), Fraction(6, 100), Fraction(10, 100)]
    assert fitted(BUDGET, "0.01", {1: 5}).singly == {Fraction(1, 100): 562}
    assert admitted(BUDGET, Whitehouse2023(), PureDP("0.01")) == 349
    assert fitted(BUDGET, "0.01", {1: 5}, slack="5e-7").rule.slack == Fraction(1, 2 * 10**6)
    with pytest.raises(ValueError, match="empty"):
        fitted(BUDGET, "0.01", {})
    with pytest.raises(ValueError, match="above 0"):
        fitted(BUDGET, "0.01", {1: 0})
    with pytest.raises(ValueError, match="slack"):
        fitted(BUDGET, "0.01", {1: 1}, slack="1e-5")


def test_an_exact_context_is_exact() -> None:
    """The reference itself: one response at its own epsilon has no delta, at half of it some."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    assert menu_worst_case(half, half, {1: 1}, 1) == 0
    some = likelier(half) * over(real(-quarter))
    assert abs(menu_worst_case(quarter, half, {1: 1}, 1) - some) < mp.eps


@pytest.mark.parametrize(
    ("step", "units"),
    [
        pytest.param(*(step, units), marks=[] if units == 1000 else [pytest.mark.slow])
        for step in ("0.0379", "0.0519", "0.0449")
        for units in (400, 600, 800, 1000)
    ],
)
def test_a_thousand_steps_of_floats_lose_nothing(step: str, units: int) -> None:
    """The reported worst case of equal launches is at or above a sum of binomials at 60 digits.

    Both chances of a response at these epsilons are rounded down by nearly half a unit in the last
    place as floats, which a thousand steps add up.
    """
    each = Fraction(step)
    found = worst_cases(Fraction(0), each, ((1, 1),), Fraction(9, 10))
    p = likelier(each)
    true = mp.fsum(
        mp.binomial(units, up)
        * p**up
        * (1 - p) ** (units - up)
        * over(real((units - 2 * up) * each))
        for up in range(units + 1)
    )
    assert true <= real(Fraction(found[units])) <= true * (1 + real("1e-11"))


@pytest.mark.parametrize(("limit", "slack"), [("MOST_WORK", "9e-7"), ("MOST_KEPT", "7e-7")])
def test_menus_that_are_too_much_work_are_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, slack: str
) -> None:
    """A curator opens menus that analysts send, so time and memory are bounded."""
    menu = Menu("0.01", MENU, slack=slack)  # opened nowhere else, so not remembered
    monkeypatch.setattr(worst_case, limit, 10**4)
    with pytest.raises(ValueError, match="too much work"):
        menu.open(ApproxDP(1, "1e-6"))
    monkeypatch.undo()
    assert menu.open(ApproxDP(1, "1e-6")).within


def test_a_menu_that_is_known_takes_the_steps_of_a_new_one() -> None:
    """At 1b177ec it took none, so that a refusal showed what a colleague had sent."""
    rule, taken = Menu("1/91", [1, 2, 5], slack="1e-7"), []
    for _ in range(2):
        with within_effort() as left:
            before = left.steps
            rule.open(ApproxDP(1, "1e-6"))
            taken.append(before - left.steps)
    assert taken[0] == taken[1] > 0


@pytest.mark.parametrize(("slack", "count"), [("9/200", 1), ("71/1000", 3)])
def test_a_report_ends_where_a_gaussian_would_need_no_epsilon(slack: str, count: int) -> None:
    """A response has more total variation than the Gaussian that the search starts from."""
    odometer = accumulator_of(Menu("1/10", [1]), ApproxDP, slack)
    account = odometer.open()
    for _ in range(count):
        account = account.add(ApproxDP("1/10", 0))
    least = optimal_epsilon([PureDP("1/10")] * count, Fraction(slack))
    assert least <= account.total().epsilon <= least * Fraction(1001, 1000)
