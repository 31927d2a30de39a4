"""Each rounding of composition/, turned the other way, is noticed by the check that is named here.

A rounding that is new needs a check. At 1b177ec a cost of records that was rounded down was noticed
by none of the tests of compositors and individual audits.
"""

import importlib
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import attrs
import pytest

import composition
from composition import (
    GDPResidue,
    LinearOdometer,
    Rogers2016,
    ViaGDP,
    Whitehouse2023,
    accumulator_of,
    admitted,
    filter_of,
)
from composition.advice import hints
from composition.budgets import under_curve
from composition.compositors import filters
from composition.compositors.individual.accounts import _LARGEST, Accounts
from composition.rules import Account, Additive, optimal, pairs, rogers
from composition.rules.menus import worst_case
from composition.rules.menus.costs import fitted
from composition.rules.optimal import optimal_delta
from composition.rules.renyi import Mixture
from composition.rules.residue import ResidueAccount, first_residue, largest_first, residue
from queryable import FDP, GDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import Dominated, conversions
from queryable.losses.conversions import pure_to_gdp
from tests.audit import test_rounding as rounding
from tests.audit.flipping import Site, flip, forget, sites
from tests.reference import beside_response, gaussian_profile, menu_worst_case, mp, real
from tests.unit.composition.compositors.individual import test_accounts as accounts

F = Fraction
Check = Callable[[], object]
BUDGET = ApproxDP(1, "1e-6")


def of(*names: str) -> Check:
    """Cases of the comparison at 60 digits; of dear ones a few inputs."""
    known = {case.draw.__name__: case for case in rounding.CASES}

    def check() -> None:
        for name in names:
            rounding.compare(known[name], 3 if known[name].draw in rounding.DEAR else 9)

    return check


def what_remains_fits(rule: Any) -> None:
    """A launch of what remains, after some others, is within the budget."""
    random = Random(1)
    for _ in range(9):
        account = rule.open(ApproxDP(rounding.any_of(random, -1, 1), "1e-6"))
        account = account.add(rule.largest(account.capacity / 7, F(0)))
        account = account.add(account.remaining())
        assert account.within
        assert account.weight > 0


def what_is_said_to_remain_fits(rule: Any, budget: Any) -> None:
    """A launch of all that remains is within the budget, and one of a little more is not."""
    account = rule.open(budget)
    for _ in range(3):
        more = account.remaining()
        assert account.add(more).within
        assert not account.add(attrs.evolve(more, **{_first(more): more.parts[0] * 2})).within
        third = attrs.evolve(more, **{_first(more): more.parts[0] / 3})
        account = account.add(third)


def _first(loss: Any) -> str:
    return str(attrs.fields(type(loss))[0].name)


def the_least_budget_admits(rule: Any, measure: Any, losses: list[Any]) -> None:
    """The rule admits the losses under the total of its accumulator."""
    account = accumulator_of(rule, measure, F(1, 10**6)).open()
    for loss in losses:
        account = account.add(loss)
    under = rule.open(account.total())
    for loss in losses:
        under = under.add(loss)
        assert under.within


def the_least_budget_of_a_bisection_admits() -> None:
    """Also of a rule of one's own, whose account does not say where to search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResidueAccount, "nearly", Account.nearly)
        the_least_budget_admits(GDPResidue(), ApproxDP, [Dominated(0, F(1, 3), 0)] * 2)


def what_is_said_to_fit_fits() -> None:
    """In the text of a refusal, every number is at or below the one that remains."""
    third, tenth = F(200, 3), F(2, 3 * 10**7)
    for remaining in (
        *(PureDP(third), ApproxDP(third, tenth), GDP(third)),
        *(ZCDP(third), ApproxZCDP(third, tenth)),
    ):
        first = remaining.parts[0]
        limits = {type(remaining).__name__: first, "epsilon up to": first, "delta up to": tenth}
        if isinstance(remaining, ZCDP | ApproxZCDP):
            limits["epsilon up to"] = conversions.pure_within_zcdp(first)
            limits["rho up to"] = first
        limits["mu up to"] = third
        said = filters._fits(remaining).split(": ")[-1]
        for part in said.replace(" or ", ", ").replace(", and ", ", ").split(", "):
            words, _, number = part.rpartition(" ")
            assert F(number) <= limits[words]


def the_delta_that_is_left_is_left() -> None:
    for delta in (F(1, 3), F(2, 3 * 10**7)):
        for remaining in (ApproxDP(0, delta), ApproxZCDP(0, delta)):
            said = filters._instead(remaining).partition("delta of ")[2].partition(":")[0]
            assert F(said) <= delta


def at_least_so_many_times() -> None:
    assert F(hints._at_least(F(299, 10))) <= F(299, 10)


def so_many_fit_alone() -> None:
    """A menu tells how often each of its entries fits alone."""
    found = fitted(ApproxDP(1, "1e-6"), "1/20", {1: 3, 4: 1})
    for epsilon, times in found.singly.items():
        assert times == admitted(ApproxDP(1, "1e-6"), found.rule, PureDP(epsilon))


def units_fit_into_64_bits() -> None:
    for share in (F(1, 3), F(1, 7), F(1, 10**9)):
        accounts_after = Accounts.of(1).without(share).without(F(1, 2**70))
        assert accounts_after.units <= _LARGEST


def a_long_walk_on_the_lattice() -> None:
    """Each step rounds, and 60 of them lose more than the edge of the lattice is raised."""
    step, epsilon = F(1, 10), F(1, 3)
    found = worst_case.worst_cases(epsilon, step, ((1, 1),), F(1, 2))
    assert real(F(found[60])) >= menu_worst_case(epsilon, step, {1: 1}, 60)


def one_over_e() -> None:
    assert real(rogers._ONE_OVER_E) <= mp.exp(-1)


def a_gaussian_leaves_no_more_than_the_rest() -> None:
    account = GDPResidue().open(BUDGET).add(Dominated(F(1, 10), 0, 0))
    for mu in (F(1, 30), F(1, 70)):
        after = account.add(Dominated(0, mu, 0))
        assert after.mu**2 + mu**2 <= account.mu**2
        account = after


def a_large_residue_is_what_a_gaussian_leaves() -> None:
    for mu in (F(200), F(301, 2)):
        left = residue(mu, F(1, 2))
        assert left is not None
        assert left**2 + pure_to_gdp(F(1, 2)) ** 2 <= mu**2


def what_is_under_a_curve_has_no_larger_profile() -> None:
    """At the only side that matters, in 60 digits; its line has the delta of mu = 1 rounded off."""
    ratio, e = F(3), F(1, 2)
    at = mp.log(real(ratio))
    delta = F(int(beside_response(e, lambda t: gaussian_profile(F(1), t), at) * 10**45), 10**45)
    curve = FDP([(0, 1 - delta), ((1 - delta) / 4, (1 - delta) / 4), (1 - delta, 0), (1, 0)])
    mu = under_curve(curve, epsilon=e).mu
    assert beside_response(e, lambda t: gaussian_profile(mu, t), at) <= real(delta)
    assert under_curve(FDP.of_approx(F(1, 3))).epsilon <= F(1, 3)


def the_first_response_fits() -> None:
    for epsilon, slack in ((F(1), F(1, 10**6)), (F(1, 3), F(1, 7))):
        largest = mp.log((mp.exp(real(epsilon)) + real(slack)) / (1 - real(slack)))
        assert real(largest_first(epsilon, slack)) <= largest


def each_order_alone_bounds_what_is_extreme() -> None:
    """Where the mixture cannot be computed, the least bound of the orders is reported."""
    mixture, loss = Mixture((F(2),), (F(1),), F(1, 10**6)), F(10**400)
    assert real(mixture.epsilon((loss,)) - loss) >= mp.log(10**6)


def a_loss_for_an_amount_adds_at_least_that(rule: Any) -> None:
    """Of what a ledger has lost."""
    account, third = rule.open(BUDGET), F(1, 3)
    assert account.added(account.costing((third, F(0)))) >= (third, F(0))


def the_mu_of_a_weight_is_rounded_up() -> None:
    """The conversion after it is a search, too coarse to show the last digits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversions, "gdp_to_approx", lambda mu, slack: mu)
        for weight in (F(1, 3), F(2), F(17, 5)):
            assert ViaGDP().epsilon(weight, F(1, 100)) ** 2 >= weight


def a_first_residue_at_the_edge() -> None:
    """The search tries m = 1, which is a little too large for this slack."""

    def delta(m: Any) -> Any:
        return beside_response(F(1, 2), lambda t: gaussian_profile(m, t), real(F(1)))

    slack = F(int(delta(F(1)) * 10**45), 10**45)
    left = first_residue(F(1), slack, F(1, 2))
    assert left is not None
    assert delta(left) <= real(slack)


def a_residue_at_the_edge() -> None:
    """The search tries m = 10, which is a little too large for this epsilon."""
    with mp.workdps(150):

        def spare(e: Any) -> Any:
            beside = mp.ncdf(5 - e / 10) - mp.exp(e) * mp.ncdf(-5 - e / 10)
            own = mp.erf(20 / mp.sqrt(8))
            return own - mp.tanh(e / 2) - 2 * beside / (1 + mp.exp(e))

        root = mp.findroot(spare, 52.8)
        assert root > 50  # above, no float guesses the result
        assert spare(root + mp.mpf(10) ** -60) < 0
        epsilon = F(mp.nstr(root + mp.mpf(10) ** -60, 110))
    left = residue(F(20), epsilon)
    assert left is not None
    assert F(9) < left < 10


def a_residue_that_no_float_guesses() -> None:
    """It is dominated, by the comparison at 150 digits."""
    mu, epsilon = F(20), F(101, 2)
    left = residue(mu, epsilon)
    assert left is not None
    with mp.workdps(150):
        m, e = real(left), real(epsilon)
        beside = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
        own = mp.erf(real(mu) / mp.sqrt(8))
        assert own - mp.tanh(e / 2) - 2 * beside / (1 + mp.exp(e)) >= 0


def sums_on_a_grid_bound_the_exact_ones() -> None:
    """Each loss is split between two neighbours on the grid, and no probability is below 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "EXACT_SUMS", 0)
        patch.setattr(optimal, "EXACT_STEPS", 0)
        patch.setattr(optimal, "GRID", 64)
        random = Random(1)
        for _ in range(9):
            losses, epsilon = rounding.five(random), rounding.any_of(random, -2, 0.3)
            true = rounding.optimum(losses, real(epsilon))
            assert true <= real(optimal_delta(losses, epsilon)) <= true * 2


def records_pay_their_exact_cost() -> None:
    for share in (F(1, 10**80), F(3, 2**61 + 1), F(10**9 + 7, 3**50)):
        accounts.what_is_owed_is_paid(share, share)
        for kind in accounts.SQUARES:
            accounts.nobody_pays_less(kind, share, 2)


def one_response_and_no_more() -> None:
    """A law of two losses that are multiples of the step is exact but for the last rounding."""
    for epsilon, delta in ((F(1, 3), F(1, 10**6)), (F(2), F(1, 7))):
        true = mp.log(mp.exp(real(epsilon)) - real(delta) * (1 + mp.exp(real(epsilon))))
        assert real(pairs._least_epsilon(((PureDP(epsilon), 1),), delta)) >= true


def gaussians_are_one_of_at_least_their_squares() -> None:
    for one, other in ((F(1, 3), F(1, 7)), (F(2), F(1, 5))):
        ((both, _),) = pairs._paired([GDP(one), GDP(other)])
        assert both.parts[0] >= one**2 + other**2  # type: ignore[attr-defined]


CHECKS: dict[str, tuple[Check, ...]] = {
    "compositors.individual.accounts:Accounts.charged": (records_pay_their_exact_cost,),
    "compositors.individual.accounts:Accounts.without": (records_pay_their_exact_cost,),
    "compositors.individual.accounts:Accounts._divided": (units_fit_into_64_bits,),
    "compositors.individual.accounts:_costs": (records_pay_their_exact_cost,),
    "compositors.filters:_fits": (what_is_said_to_fit_fits,),
    "compositors.filters:_instead": (the_delta_that_is_left_is_left,),
    "compositors.filters:_in_zcdp": (what_is_said_to_fit_fits,),
    "advice.hints:_at_least": (at_least_so_many_times,),
    "rules.menus.costs:fitted": (so_many_fit_alone,),
    "rules.duality:AccumulatorAccount.remaining": (
        partial(what_is_said_to_remain_fits, filter_of(Additive(PureDP)), PureDP(F(1, 3))),
    ),
    "rules.least_budget:LeastBudget._searched": (the_least_budget_of_a_bisection_admits,),
    "rules.rogers:RogersAccount.least": (
        partial(the_least_budget_admits, Rogers2016(), ApproxDP, [PureDP(F(1, 30))] * 5),
    ),
    "rules.rogers:RogersAccount.remaining": (
        partial(what_is_said_to_remain_fits, Rogers2016(), BUDGET),
    ),
    "rules.odometers.time_uniform:TimeUniform.room": (
        partial(what_is_said_to_remain_fits, LinearOdometer("1e-6", 1).filter(), BUDGET),
    ),
    "rules.rogers:": (one_over_e,),
    "rules.rogers:drift": (of("rogers_drift"),),
    "rules.rogers:RogersAccount.bound": (of("rogers_bound"),),
    "rules.renyi:Mixture.epsilon": (
        of("slack_at_the_renyi_total"),
        each_order_alone_bounds_what_is_extreme,
    ),
    "rules.optimal:_least_epsilon": (of("delta_at_the_optimal_epsilon"),),
    "rules.optimal:_on_grid": (sums_on_a_grid_bound_the_exact_ones,),
    "rules.pairs:_least_epsilon": (one_response_and_no_more,),
    "rules.pairs:_paired": (gaussians_are_one_of_at_least_their_squares,),
    "rules.slack:SlackAccount.costing": (
        partial(a_loss_for_an_amount_adds_at_least_that, Whitehouse2023()),
        partial(a_loss_for_an_amount_adds_at_least_that, ViaGDP()),
    ),
    "rules.weights:Whitehouse2023.largest": (partial(what_remains_fits, Whitehouse2023()),),
    "rules.weights:ViaGDP.epsilon": (the_mu_of_a_weight_is_rounded_up,),
    "rules.weights:ViaGDP.largest": (partial(what_remains_fits, ViaGDP()),),
    "rules.residue:ResidueAccount._beside_gaussian": (a_gaussian_leaves_no_more_than_the_rest,),
    "rules.residue:largest_response": (of("largest_response_beside_nothing"),),
    "rules.residue:largest_first": (the_first_response_fits,),
    "budgets:under_curve": (what_is_under_a_curve_has_no_larger_profile,),
    "budgets:_profile": (what_is_under_a_curve_has_no_larger_profile,),
    "rules.residue:first_residue": (a_first_residue_at_the_edge,),
    "rules.residue_needs:first_delta": (a_first_residue_at_the_edge,),
    "rules.residue:_simple_residue": (a_large_residue_is_what_a_gaussian_leaves,),
    "rules.residue:residue.fits": (a_residue_at_the_edge,),
    "rules.residue:residue": (a_residue_that_no_float_guesses,),
}
"""What notices that a rounding in a function is turned, beside the comparison of its class."""


def checks_of(where: str) -> tuple[Check, ...]:
    """The checks named above, or else the comparisons at 60 digits of the class or function."""
    name = where.partition(":")[2].partition(".")[0]
    compared = [each.draw.__name__ for each in rounding.CASES if each.of.__name__ == name]
    return CHECKS.get(where) or tuple(map(of, compared))


NO_CLAIM = {
    "rules.odometers.boundaries:LinearOdometer.optimised_at": (
        "a parameter, which may be any number"
    ),
    "rules.odometers.renyi_odometer:RenyiOdometer.optimised_at": (
        "parameters, which may be any numbers"
    ),
    "rules.menus.worst_case:_chances": (
        "the factor beside it enlarges by more than rounding can lose"
    ),
    "rules.menus.worst_case:levels": "a count of steps of work",
    "rules.checks.menus:_edges": "how many steps are kept; what is beyond is bounded from below",
    "rules.optimal:_product": "the place where a product is split",
    "rules.pairs:_step": "the step of a grid, which may be any step",
    "rules.pairs:_product": "the place where a product is split",
    "rules.pairs:_power": "the place where a power is split",
    "rules.pairs:_Gaussian.law": "how far a law is computed; a chord goes on from there",
    "rules.pairs:_Curve.law": "the place where a search begins",
    "rules.fitting:_menu": "the menu of a recommendation, which may be any menu",
    "rules.residue_needs:least_before": "where a search for what is admitted starts",
    "rules.residue_needs:least_first": "where a search for what is admitted starts",
    "advice.residues:more": "a count, by which nothing is charged",
    "advice.residues:times": "a count, by which nothing is charged",
    "advice.residues:_run": "a count, by which nothing is charged",
    "advice.residues:mixed": "how many launches are added at once, which may be any number",
    "advice.residues:_by_deltas": "a count, by which nothing is charged",
    "advice.admission:before_refusal": "a place between two others, where a search looks next",
    "advice.kinds:greatest_count": "a place between two others, where a search looks next",
    "advice.planning:_crossing": "a place between two others, where a search looks next",
    "units // self.units": "a division without rest",
    "units // each": "a cost above the budget, which may be any such cost",
}
"""Roundings that no claim depends on, by function or source, and why."""

FACTORS = {
    "rules.menus.worst_case:_STEP": (worst_case, "_STEP", a_long_walk_on_the_lattice),
    "rules.menus.worst_case:_STOP": (worst_case, "_STOP", of("menu_total")),
}
"""Factors that enlarge by more than floats lose, and what notices that one makes smaller."""


def all_sites() -> list[Site]:
    found: list[Site] = []
    for each in pkgutil.walk_packages(composition.__path__, "composition."):
        found += sites(importlib.import_module(each.name))
    return found


SITES = all_sites()


@pytest.mark.parametrize("site", SITES, ids=str)
def test_a_rounding_that_is_turned_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    where = site.where
    if NO_CLAIM.keys() & {where, site.source}:
        return
    checks = checks_of(where)
    assert checks, f"name a check that notices if {site} is rounded the other way"
    forget()
    flip(site, monkeypatch)
    try:
        assert any(map(notices, checks)), f"nothing notices that {site} is turned"
    finally:
        monkeypatch.undo()
        forget()


@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_that_makes_smaller_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, constant, check = FACTORS[name]
    monkeypatch.setattr(module, constant, 1 / getattr(module, constant))
    forget()
    try:
        assert notices(check)
    finally:
        monkeypatch.undo()
        forget()


def notices(check: Check) -> bool:
    try:
        check()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("where", CHECKS)
def test_the_checks_hold_as_it_is(where: str) -> None:
    for check in CHECKS[where]:
        check()


def test_all_roundings_are_there() -> None:
    """No check is left over, so the search for roundings sees what is rounded in each place."""
    named = {*CHECKS, *NO_CLAIM}
    assert {name for site in SITES for name in (site.where, site.source)} >= named
    assert len(SITES) > 55
