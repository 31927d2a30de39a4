"""Choosing a rule: how many launches of a plan each rule admits.

A filter's rule is fixed before the analysis, so it is chosen from the launches that are planned.
Everything here is computed from privacy losses; no data are needed.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import attrs

from composition import hints
from composition.candidates import Plan, rules_for
from composition.hints import Planned, stated
from composition.rules import Account, Basic, Rule
from composition.rules.declared import least_at
from queryable.losses import (
    ZCDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    total,
)
from queryable.losses.numbers import BeyondReachError
from queryable.mechanism import InteractiveMechanism
from queryable.postprocessing import PersonInTheMiddle
from queryable.quoting import quoted

Item = TypeVar("Item")

_MOST_TIMES = 2**20  # an upper bound for the search
_MOST_STEPPED = 2_000  # launches, if an account has no add_many of its own


def admitted(budget: Loss, rule: Rule, loss: Loss) -> int:
    """The exact number of equal launches that a fresh filter admits.

    Args:
        loss: the loss of one launch; converted to the measure that the rule takes.

    Raises:
        ValueError: the rule does not take the budget or the loss, or admits any number of launches.

    Examples:
        >>> from composition import Basic, Menu
        >>> from queryable import ApproxDP, PureDP
        >>> admitted(ApproxDP(1, "1e-6"), Basic(), PureDP("0.01"))
        100
        >>> admitted(ApproxDP(1, "1e-6"), Menu("0.01", [1]), PureDP("0.01"))
        562
    """
    _require(budget, Loss, "budget", "a privacy loss, such as ApproxDP(1, '1e-6')")
    _require(rule, Rule, "rule", "a rule, such as Basic()")
    _require(loss, Loss, "loss", "a privacy loss, such as PureDP('1/10')")
    account, stated = rule.open(budget), loss.to(rule.child_measure(budget))
    once = account.add(stated)
    if once.within and once.add(stated) == once:
        raise ValueError(f"{loss} costs nothing under {type(rule).__name__}: any number fits")
    return _more(account, stated)[1]


def _require(value: object, kind: type, name: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {quoted(value)}; it should be {wanted}")


def taken(budget: Loss, rule: Rule, losses: Iterable[Loss]) -> int:
    """How many of these launches a fresh filter admits in this order; refused ones are skipped.

    Raises:
        ValueError: the rule does not take the budget or one of the losses.
    """
    account, measure, count = rule.open(budget), rule.child_measure(budget), 0
    for loss in losses:
        further = account.add(loss.to(measure))
        if further.within:
            account, count = further, count + 1
    return count


def _more(account: Account, loss: Loss, most: int | None = None) -> tuple[Account, int]:
    """The account after as many equal launches as fit, up to `most`, and their number."""
    if type(account).add_many is Account.add_many:
        return _one_by_one(account, loss, most)

    def fits(count: int) -> bool:
        return account.add_many(loss, count).within

    fit = _greatest(fits, most)
    return account.add_many(loss, fit) if fit else account, fit


def _greatest(fits: Callable[[int], bool], most: int | None) -> int:
    """The largest count up to `most` that fits. `fits` is true up to some count, then false."""
    low, high = 0, 1
    while (most is None or high <= most) and fits(high):
        low, high = high, 2 * high
    if most is not None:
        high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _one_by_one(account: Account, loss: Loss, most: int | None) -> tuple[Account, int]:
    count = 0
    while most is None or count < most:
        further = account.add(loss)
        if not further.within:
            break
        account, count = further, count + 1
    return account, count


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
    _require(budget, Loss, "budget", "a privacy loss, such as ApproxDP(1, '1e-6')")
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
    tried = [_tried(rule, budget, launches) for rule in rules_for(budget, launches)]
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


def _fit(budget: Loss, best: Candidate) -> hints.Fit:
    with_delta = isinstance(budget, ApproxDP | ApproxZCDP) and budget.delta > 0
    return hints.Fit(
        best.admitted,
        added=isinstance(best.rule, Basic) and isinstance(budget, PureDP | ApproxDP),
        zcdp=with_delta or isinstance(budget, ZCDP),
    )


def _runs(listed: Iterable[Item]) -> list[tuple[Item, int]]:
    return [(each, len(list(run))) for each, run in groupby(listed)]


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

    return _greatest(fits, len(listed))


def _tried(rule: Rule, budget: Loss, launches: list[tuple[Planned, int]]) -> Candidate:
    try:
        account, measure = rule.open(budget), rule.child_measure(budget)
        plan = _merged([(stated(each, measure), count) for each, count in launches])
    except ValueError as error:
        return Candidate(rule, why=str(error))
    try:
        fewest = min(_in_order(account, order) for order in _orders_of(plan))
        return Candidate(rule, fewest, _times(account, plan))
    except BeyondReachError as error:
        return Candidate(rule, why=str(error))


def _merged(plan: Plan) -> Plan:
    """Runs of equal losses as one, where different mechanisms have the same loss."""
    runs = groupby(plan, key=lambda one: one[0])
    return [(loss, sum(count for _, count in run)) for loss, run in runs]


def _in_order(account: Account, plan: Plan) -> int:
    total = 0
    for loss, count in plan:
        account, fits = _more(account, loss, count)
        total += fits
        if fits < count:
            break
    return total


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


def _times(account: Account, plan: Plan) -> int:
    """How many times the whole plan fits, in the order listed."""
    if type(account).add_many is Account.add_many:
        return _times_in_turn(account, plan)

    def fits(times: int) -> bool:
        filled = account
        for loss, count in plan:
            filled = filled.add_many(loss, times * count)
        return filled.within

    return _greatest(fits, _MOST_TIMES)


def _times_in_turn(account: Account, plan: Plan) -> int:
    """The same for accounts without an `add_many` of their own."""
    most = max(1, _MOST_STEPPED // sum(count for _, count in plan))
    for times in range(most):
        for loss, count in plan:
            account = account.add_many(loss, count)
        if not account.within:
            return times
    return most
