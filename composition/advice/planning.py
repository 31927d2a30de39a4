"""Choosing a rule: a comparison of how many launches of a plan each rule admits.

A filter's rule is fixed before the analysis, so it is chosen from the launches that are planned.
Everything here is computed from privacy losses; no data are needed.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from math import inf
from typing import Any, TypeVar

import attrs

from composition.advice import hints
from composition.advice.admission import require_instance
from composition.advice.hints import Planned, stated
from composition.advice.kinds import merged
from composition.advice.slacks import tried
from composition.rules import Rule
from composition.rules.declared import least_at
from composition.rules.fitting import Plan, rules_for
from queryable.losses import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    Loss,
    Measure,
    PureDP,
    total,
)
from queryable.losses.numbers import several
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
        times: how many times the whole plan fits; infinity if it costs nothing, None if the rule
            does not take the plan.
        why: why the rule does not take the plan.
    """

    rule: Rule
    admitted: int | None = None
    times: float | None = None
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
                times = "any number" if each.times == inf else f"{each.times:.0f}"
                lines.append(f"| {name} | {each.admitted} of {self.planned} | {times} |")
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
    many times the whole plan fits. A slack is what the deltas of the launches that fit with it
    leave. Costs of a menu are fitted to the plan. A plan that is fixed before anything
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
    listed = several(losses, "losses")
    for each in listed:
        if not isinstance(each, Loss | InteractiveMechanism):
            raise TypeError(
                f"{quoted(each)} is no privacy loss and no mechanism; plan with values such as "
                "PureDP(0.1) or Gaussian(Count(), rho='1/200')"
            )
    if not listed:
        raise ValueError("the plan is empty; list the planned launches")
    shared: dict[Loss, Loss] = {}  # equal losses are one object, so that each is converted once
    listed = [shared.setdefault(each, each) if isinstance(each, Loss) else each for each in listed]
    launches = _runs(listed)
    found: list[Candidate] = []
    for rule in _rules(budget, launches):
        about = max((each.times or 1 for each in found), default=1)
        found.append(_tried(rule, budget, launches, about))
    found.sort(key=lambda each: (-1 if each.admitted is None else each.admitted, each.times or 0))
    found.reverse()
    best = {type(each.rule): each for each in reversed(found)}  # of several menus one
    compared = tuple(each for each in found if each in best.values())
    through = None if instead is None else hints.price(instead, listed)
    return Recommendation(
        len(listed),
        compared,
        _fixed(budget, listed, compared[0].admitted or 0),
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
    plan = merged(_stated(launches, None))
    try:
        dominated = merged(_stated(launches, Dominated))
    except ValueError:
        dominated = plan
    return rules_for(budget, plan, dominated)


def _fixed(budget: Loss, listed: list[Planned], about: int) -> int | None:
    """How many of these launches fit when they are declared in advance; about so many or more."""
    if not isinstance(budget, ApproxDP) or budget.delta == 0:
        return None

    known: dict[tuple[int, Measure | None], Loss] = {}

    def once(each: Planned, measure: Measure | None = None) -> Loss:
        key = id(each), measure
        if key not in known:
            known[key] = stated(each, measure)
        return known[key]

    def excess(count: int) -> tuple[bool, float]:
        first = listed[:count]

        def composed(measure: Measure) -> Loss:
            return total((once(each, measure) for each in first), measure)

        statements = [partial(once, each) for each in first]
        try:
            least = least_at(statements, budget.delta, composed, grid=True)[0]
        except ValueError:  # the deltas come to more
            return False, inf
        return least <= budget, float(least.epsilon) - float(budget.epsilon)

    return _crossing(excess, len(listed), about)


def _crossing(excess: Callable[[int], tuple[bool, float]], most: int, about: int) -> int:
    """The largest count up to `most` that fits, by secants, since each look takes long.

    Args:
        excess: whether a count fits, and about how much it is above what fits; it rises.
    """
    fit, over, below, above, looks = 0, most + 1, -inf, inf, 0
    at = min(max(about, 1), most)
    while over - fit > 1:
        fits, value = excess(at)
        fit, below, over, above = (at, value, over, above) if fits else (fit, below, at, value)
        looks += 1
        if over > most:
            at = 2 * at
        elif looks % 4 and -inf < below < above < inf:
            at = fit + int((over - fit) * below / (below - above))
        else:
            at = (fit + over) // 2
        at = min(max(at, fit + 1), over - 1)
    return fit


def _tried(
    rule: Rule, budget: Loss, launches: list[tuple[Planned, int]], about: float
) -> Candidate:
    try:
        measure = rule.child_measure(budget)
        plan = _in_runs(_stated(launches, measure))
        found = tried(rule, budget, plan, about)
    except ValueError as error:
        return Candidate(rule, why=str(error))
    return Candidate(found.rule, found.admitted, found.times)


def _stated(launches: list[tuple[Planned, int]], measure: Measure | None) -> Plan:
    """What the launches state; each object is asked once."""
    once = {id(each): each for each, _ in launches}
    known = {key: stated(each, measure) for key, each in once.items()}
    return [(known[id(each)], count) for each, count in launches]


def _in_runs(plan: Plan) -> Plan:
    """Runs of equal losses as one, where different mechanisms have the same loss."""
    runs = groupby(plan, key=lambda one: one[0])
    return [(loss, sum(count for _, count in run)) for loss, run in runs]
