"""Choosing a rule: a comparison of how many launches of a plan each rule admits.

A filter's rule is fixed before the analysis, so it is chosen from the launches that are planned.
Everything here is computed from privacy losses; no data are needed.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import attrs

from composition.advice import hints
from composition.advice.admission import (
    before_refusal,
    greatest_count,
    require_instance,
    whole_plans,
)
from composition.advice.hints import Planned, stated
from composition.rules import Rule
from composition.rules.declared import least_at
from composition.rules.fitting import Plan, rules_for
from queryable.losses import (
    ZCDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    Loss,
    Measure,
    PureDP,
    total,
)
from queryable.losses.numbers import BeyondReachError
from queryable.mechanism import InteractiveMechanism
from queryable.postprocessing import PersonInTheMiddle
from queryable.wording.quoting import quoted

Item = TypeVar("Item")


@attrs.frozen
class Candidate:
    """How much of a plan one rule admits.

    Attributes:
        rule: the rule.
        admitted: launches before the first refusal, in the worst of the orders tried; None if the
            rule does not take the plan.
        times: how many times the whole plan fits; None if the rule does not take the plan.
        why: why the rule does not take the plan.
    """

    rule: Rule
    admitted: int | None = None
    times: int | None = None
    why: str = ""


@attrs.frozen
class Recommendation:
    """The compared rules, the one that admits most of a plan first."""

    planned: int
    candidates: tuple[Candidate, ...]
    fixed: int | None = None
    """How many launches of the plan, as listed, fit if all are declared in advance.

    That is, with `ConComp(mechanisms, delta=...)` in place of a filter. None if the budget has no
    delta.
    """

    hints: tuple[str, ...] = ()
    """What would pay for such a plan beyond a rule; docs/choosing.md has figures."""

    instead: Loss | None = None
    """What the plan costs if it is asked through the person that was given."""

    @property
    def rule(self) -> Rule:
        """The rule that admits most launches. If `admitted` is 0, perhaps none takes the plan."""
        return self.candidates[0].rule

    @property
    def admitted(self) -> int:
        """How many launches of the plan that rule admits, in the worst of the orders tried."""
        return self.candidates[0].admitted or 0

    def __str__(self) -> str:
        lines = ["| Rule | Launches | Whole plans |", "|---|---|---|"]
        for each in self.candidates:
            name = type(each.rule).__name__
            if each.admitted is None:
                lines.append(f"| {name} | no: {each.why} | |")
            else:
                lines.append(f"| {name} | {each.admitted} of {self.planned} | {each.times} |")
        if self.fixed is not None:
            fixed = "ConComp(..., delta=), all declared in advance"
            lines.append(f"| {fixed} | {self.fixed} of {self.planned} | |")
        lines += ["", *(f"- {each}" for each in self.hints)] if self.hints else []
        return "\n".join(lines)


def recommend(
    budget: Loss,
    losses: Iterable[Planned],
    *,
    instead: PersonInTheMiddle[Any] | None = None,
) -> Recommendation:
    """Compare the rules by how many launches of a plan they admit.

    For each rule the launches before the first refusal are counted, in the worst of these orders:
    as listed, and by rising and by falling loss, in each coordinate of the losses. For rules that
    add one number per launch, the order by falling loss is the worst of all. Ties are broken by how
    many times the whole plan fits. A slack leaves room for the plan's own deltas, if they are at
    most half of delta. Costs of a menu are fitted to the plan. A plan that is fixed before anything
    is answered needs no rule: `fixed` says how much of it `ConComp(..., delta=)` takes. `hints`
    says what else may pay.

    Args:
        budget: the budget of the filter.
        losses: the planned launches: mechanisms, or their losses.
        instead: a person in the middle through whom the mechanisms could be asked, such as
            `Frugal()`; the hints then say what they cost together. No data are read.

    Raises:
        ValueError: the plan is empty, or a launch has no claim, or no price through the person.

    Examples:
        >>> from mechanisms import Count, Frugal, Gaussian, column
        >>> age = column("age")
        >>> counts = [Gaussian(Count(age >= low), rho="1/500") for low in range(20, 70, 10)]
        >>> found = recommend(ApproxDP(1, "1e-6"), counts, instead=Frugal())
        >>> print(found.admitted, found.hints[1])
        5 through Frugal they cost ...
    """
    require_instance(budget, Loss, "budget", "a privacy loss, such as ApproxDP(1, '1e-6')")
    if isinstance(losses, Loss | InteractiveMechanism):
        raise TypeError(f"losses is {quoted(losses)}; it should be a list, also of one launch")
    listed = list(losses)
    for each in listed:
        if not isinstance(each, Loss | InteractiveMechanism):
            raise TypeError(
                f"{quoted(each)} is no privacy loss and no mechanism; plan with values such as "
                "PureDP(0.1) or Gaussian(Count(), rho='1/200')"
            )
    if not listed:
        raise ValueError("the plan is empty; list the planned launches")
    launches = _runs(listed)
    tried = [_tried(rule, budget, launches) for rule in _rules(budget, launches)]
    tried.sort(key=lambda each: (-1 if each.admitted is None else each.admitted, each.times or 0))
    tried.reverse()
    best = {type(each.rule): each for each in reversed(tried)}  # of several menus one
    compared = tuple(each for each in tried if each in best.values())
    through = None if instead is None else hints.price(instead, listed)
    return Recommendation(
        len(listed),
        compared,
        _fixed(budget, listed),
        hints.hints(listed, _fit(budget, compared[0]), instead, through),
        through,
    )


def _fit(budget: Loss, best: Candidate) -> hints.BestPlan:
    with_delta = isinstance(budget, ApproxDP | ApproxZCDP) and budget.delta > 0
    return hints.BestPlan(
        best.admitted,
        added=best.rule.adds_up and isinstance(budget, PureDP | ApproxDP),
        zcdp=with_delta or isinstance(budget, ZCDP),
    )


def _runs(listed: Iterable[Item]) -> list[tuple[Item, int]]:
    return [(each, len(list(run))) for each, run in groupby(listed)]


def _rules(budget: Loss, launches: list[tuple[Planned, int]]) -> list[Rule]:
    plan = [(stated(each), count) for each, count in launches]
    try:
        dominated = [(stated(each, Dominated), count) for each, count in launches]
    except ValueError:
        dominated = plan
    return rules_for(budget, plan, dominated)


def _fixed(budget: Loss, listed: list[Planned]) -> int | None:
    """How many of these launches fit when they are declared in advance."""
    if not isinstance(budget, ApproxDP) or budget.delta == 0:
        return None

    known: dict[tuple[int, Measure | None], Loss] = {}

    def once(each: Planned, measure: Measure | None = None) -> Loss:
        key = id(each), measure
        if key not in known:
            known[key] = stated(each, measure)
        return known[key]

    def fits(count: int) -> bool:
        first = listed[:count]

        def composed(measure: Measure) -> Loss:
            return total((once(each, measure) for each in first), measure)

        statements = [partial(once, each) for each in first]
        try:
            return least_at(statements, budget.delta, composed)[0] <= budget
        except ValueError:  # the deltas come to more
            return False

    return greatest_count(fits, len(listed))


def _tried(rule: Rule, budget: Loss, launches: list[tuple[Planned, int]]) -> Candidate:
    try:
        account, measure = rule.open(budget), rule.child_measure(budget)
        plan = _merged([(stated(each, measure), count) for each, count in launches])
    except ValueError as error:
        return Candidate(rule, why=str(error))
    try:
        fewest = min(before_refusal(account, order) for order in _orders_of(plan))
        return Candidate(rule, fewest, whole_plans(account, plan))
    except BeyondReachError as error:
        return Candidate(rule, why=str(error))


def _merged(plan: Plan) -> Plan:
    """Runs of equal losses as one, where different mechanisms have the same loss."""
    runs = groupby(plan, key=lambda one: one[0])
    return [(loss, sum(count for _, count in run)) for loss, run in runs]


def _orders_of(plan: Plan) -> list[Plan]:
    """The plan as listed, and by each coordinate of the losses, rising and falling."""
    first = plan[0][0]
    orders = [plan]
    for place in range(len(first.parts) if isinstance(first, AdditiveLoss) else 0):

        def from_here(item: tuple[Loss, int], place: int = place) -> tuple[Fraction, ...]:
            parts = item[0].parts if isinstance(item[0], AdditiveLoss) else ()
            return parts[place:] + parts[:place]

        for falling in (False, True):
            order = sorted(plan, key=from_here, reverse=falling)
            if order not in orders:
                orders.append(order)
    return orders
