"""How much of a plan one rule admits, with the slack with which it admits the most.

A rule for (epsilon, delta) budgets splits delta in its slack and the launches' own deltas. The
larger the slack, the more launches fit, and the fewer of their deltas. So the best slack is what
the deltas of as many launches leave as fit with it.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf

import attrs

from composition.advice.admission import before_refusal, whole_plans
from composition.advice.kinds import Kinds, greatest_count, merged
from composition.rules import Menu, Rule
from composition.rules.fitting import Plan
from queryable.losses import AdditiveLoss, ApproxDP, ApproxZCDP, Dominated, Loss


@attrs.frozen
class Tried:
    """What a rule makes of a plan.

    Attributes:
        rule: the rule with the slack that suits the plan.
        admitted: launches before the first refusal, in the worst of the orders tried.
        times: how many times the whole plan fits; infinity if it costs nothing.
    """

    rule: Rule
    admitted: int
    times: float


def tried(rule: Rule, budget: Loss, plan: Plan, about: float = 1) -> Tried:
    """Count the launches and the whole plans that a rule admits.

    Args:
        plan: losses in the measure that the rule takes.
        about: how many whole plans may fit; the search starts there.
    """
    orders = orders_of(plan)
    if getattr(rule, "slack", None) is not None and any(_delta(loss) for loss, _ in plan):
        assert isinstance(budget, ApproxDP)
        rule = _with_slack(rule, _best_slack(rule, budget, orders, about))
    account = rule.open(budget)
    fewest = min(before_refusal(account, order) for order in orders)
    return Tried(rule, fewest, whole_plans(account, plan, start=_count(about)))


def _best_slack(rule: Rule, budget: ApproxDP, orders: list[Plan], about: float) -> Fraction:
    """What the deltas of the whole plans that fit leave, or of its launches if it does not fit."""
    once = {id(loss): loss for order in orders for loss, _ in order}
    without = {key: _without_delta(loss) for key, loss in once.items()}
    bare = [[(without[id(loss)], count) for loss, count in order] for order in orders]
    kinds = [Kinds.of(order) for order in orders]
    launches = kinds[0].launches
    whole = _deltas(kinds[0], launches)

    def admits(deltas: Fraction, counted: Callable[[Rule], bool]) -> bool:
        return deltas < budget.delta and counted(_with_slack(rule, budget.delta - deltas))

    def fits(times: int) -> bool:
        return admits(
            times * whole,
            lambda one: whole_plans(one.open(budget), bare[0], times) >= times,
        )

    def starts(count: int) -> bool:
        return admits(
            _worst(kinds, count),
            lambda one: min(before_refusal(one.open(budget), order) for order in bare) >= count,
        )

    times = greatest_count(fits, start=_count(about))
    if times:
        return budget.delta - times * whole
    return budget.delta - _worst(kinds, greatest_count(starts, launches - 1))


def _count(about: float) -> int:
    return int(about) if about < inf else 1


def _worst(orders: list[Kinds], launches: int) -> Fraction:
    """The deltas of the first launches, in the order in which they come to most."""
    return max(_deltas(order, launches) for order in orders)


def _deltas(order: Kinds, launches: int) -> Fraction:
    first = order.between(0, launches)
    return sum((_delta(loss) * count for loss, count in first), Fraction(0))


def _delta(loss: Loss) -> Fraction:
    return loss.delta if isinstance(loss, ApproxDP | ApproxZCDP | Dominated) else Fraction(0)


def _without_delta(loss: Loss) -> Loss:
    return attrs.evolve(loss, delta=0) if _delta(loss) else loss  # type: ignore[misc]


def _with_slack(rule: Rule, slack: Fraction) -> Rule:
    if isinstance(rule, Menu):
        return Menu.of_written(rule.unit, rule.priced, slack)
    changed: Rule = attrs.evolve(rule, slack=slack)  # type: ignore[misc]
    return changed


def orders_of(plan: Plan) -> list[Plan]:
    """The plan as listed, and by each coordinate of the losses, rising and falling."""
    first, orders, kinds = plan[0][0], [plan], merged(plan)
    for place in range(len(first.parts) if isinstance(first, AdditiveLoss) else 0):

        def from_here(item: tuple[Loss, int], place: int = place) -> tuple[Fraction, ...]:
            parts = item[0].parts if isinstance(item[0], AdditiveLoss) else ()
            return parts[place:] + parts[:place]

        for falling in (False, True):
            order = sorted(kinds, key=from_here, reverse=falling)
            if order not in orders:
                orders.append(order)
    return orders
