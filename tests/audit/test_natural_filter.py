"""The natural filter of Regehr et al. 2026 beside the rules here: what its theorem may lose.

The natural filter admits a launch if the optimal composition of all launches, as if they had been
fixed in advance, stays within a budget. It does not keep that budget. What it keeps is a larger
one; if epsilon is larger by a factor, the filter of a budget compares launches with epsilon over
the factor. Here is the factor from which on it admits no more than the best of the rules.
"""

from fractions import Fraction
from typing import Any

import pytest

from composition import Basic, ConComp, Rule, recommend
from mechanisms import Count, Gaussian, Laplace
from queryable import ApproxDP, PureDP
from tests.strategies import Toy

DELTA = "1e-6"
FACTOR = Fraction(104, 100)
NOISY, LAPLACE = Gaussian(Count(), rho="1/500"), Laplace(Count(), scale=10)
TENTH = Toy(PureDP("1/10"))
PLANS: dict[str, list[Any]] = {
    "responses": [TENTH] * 400,
    "two responses": [TENTH, Toy(PureDP("1/2"))] * 60,
    "three responses": [Toy(PureDP(each)) for each in ("1/20", "1/7", "1/3")] * 60,
    "small responses": [Toy(PureDP(each)) for each in ("1/50", "1/20", "1/30")] * 300,
    "Gaussians": [NOISY] * 200,
    "Laplaces": [LAPLACE] * 300,
    "Gaussians and Laplaces": [NOISY, LAPLACE] * 150,
    "Gaussians and responses": [NOISY, TENTH] * 150,
}
LONG = [(4, name) for name in PLANS if name not in ("responses", "two responses", "Gaussians")]
GRID = [*((1, name) for name in PLANS), (4, "responses"), (4, "two responses"), (4, "Gaussians")]


def admitted(rule: Rule, budget: ApproxDP, plan: list[Any]) -> int:
    """How many launches a rule admits, in this order."""
    account, measure = rule.open(budget), rule.child_measure(budget)
    for count, each in enumerate(plan):
        account = account.add(each.privacy_map(1, measure))
        if not account.within:
            return count
    return len(plan)


def factor(budget: ApproxDP, plan: list[Any], rules: list[Rule]) -> Fraction:
    """By how much epsilon may be larger so that the natural filter admits one launch more."""
    most = max(admitted(each, budget, plan) for each in rules)
    assert most < len(plan)
    natural = ConComp(plan[: most + 1], delta=budget.delta).privacy_map(1)
    assert isinstance(natural, ApproxDP)
    return budget.epsilon / natural.epsilon


def rules_for(budget: ApproxDP, plan: list[Any]) -> list[Rule]:
    found = recommend(budget, plan)
    return [each.rule for each in found.candidates if each.admitted is not None]


def require_never_better(epsilon: int, name: str) -> None:
    budget, plan = ApproxDP(epsilon, DELTA), PLANS[name]
    assert factor(budget, plan, rules_for(budget, plan)) < FACTOR


@pytest.mark.parametrize(("epsilon", "name"), GRID)
def test_a_natural_filter_that_loses_4_percent_is_never_better(epsilon: int, name: str) -> None:
    require_never_better(epsilon, name)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "name"), LONG)
def test_nor_with_more_launches(epsilon: int, name: str) -> None:
    require_never_better(epsilon, name)


def test_beside_the_basic_rule_it_may_be_better() -> None:
    assert factor(ApproxDP(4, DELTA), PLANS["responses"], [Basic()]) > Fraction(5, 4)
