"""Choosing a rule: how many launches of a plan each rule admits.

A filter's rule is fixed before the analysis, so it is chosen from the launches that are planned.
Everything here is computed from privacy losses; no data are needed.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import gcd, lcm, log, sqrt

import attrs

from composition.rules import (
    Account,
    Basic,
    GDPResidue,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    fitted,
)
from composition.rules.declared import least_at
from composition.rules.slack import delta_of
from queryable.losses import AdditiveLoss, ApproxDP, Loss, Measure, conversions, total
from queryable.losses.numbers import BeyondReachError
from queryable.quoting import quoted

Plan = list[tuple[Loss, int]]
"""Losses, each with the number of its consecutive launches."""

MOST_ENTRIES = 16
"""Menus are tried for plans with at most this many different epsilons."""

_MOST_TIMES = 2**20  # an upper bound for the search
_MOST_STEPPED = 2_000  # launches, if an account has no add_many of its own
_FINEST = 20_000  # the most units of a menu
_LEAST, _MOST = Fraction(1, 10**100), Fraction(10**6)


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

    @property
    def rule(self) -> Rule:
        """The rule that admits most launches."""
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
        return "\n".join(lines)


def recommend(budget: Loss, losses: Iterable[Loss]) -> Recommendation:
    """Compare the rules by how many launches of a plan they admit, in any order of the launches.

    For each rule the launches before the first refusal are counted, in the worst of these orders:
    as listed, and by rising and by falling loss. For rules that add one number per launch, the
    order by falling loss is the worst of all. Ties are broken by how many times the whole plan
    fits. A slack leaves room for the plan's own deltas, if they are at most half of delta. Costs of
    a menu are fitted to the plan. A plan that is fixed before anything is answered needs no rule:
    `fixed` says how much of it `ConComp(..., delta=)` takes.

    Args:
        budget: the budget of the filter.
        losses: the losses of the planned launches.

    Raises:
        ValueError: the plan is empty.
    """
    _require(budget, Loss, "budget", "a privacy loss, such as ApproxDP(1, '1e-6')")
    listed = list(losses)
    for loss in listed:
        if not isinstance(loss, Loss):
            raise TypeError(
                f"{quoted(loss)} is no privacy loss; plan with values such as PureDP(0.1)"
            )
    plan: Plan = [(loss, len(list(run))) for loss, run in groupby(listed)]
    if not plan:
        raise ValueError("the plan is empty; list the losses of the planned launches")
    tried = [_tried(rule, budget, plan) for rule in _rules(budget, plan)]
    tried.sort(key=lambda each: (-1 if each.admitted is None else each.admitted, each.times or 0))
    tried.reverse()
    best = {type(each.rule): each for each in reversed(tried)}  # of several menus one
    compared = tuple(each for each in tried if each in best.values())
    return Recommendation(len(listed), compared, _fixed(budget, listed))


def _fixed(budget: Loss, listed: list[Loss]) -> int | None:
    """How many of these losses fit when they are declared in advance."""
    if not isinstance(budget, ApproxDP) or budget.delta == 0:
        return None

    def stated(loss: Loss, measure: Measure | None) -> Loss:
        return loss if measure is None else loss.to(measure)

    def fits(count: int) -> bool:
        first = listed[:count]

        def composed(measure: Measure) -> Loss:
            return total((loss.to(measure) for loss in first), measure)

        statements = [partial(stated, loss) for loss in first]
        try:
            return least_at(statements, budget.delta, composed)[0] <= budget
        except ValueError:  # the deltas come to more
            return False

    return _greatest(fits, len(listed))


def _rules(budget: Loss, plan: Plan) -> list[Rule]:
    """The rules to compare; of equally good ones the last is taken, so the simplest is last."""
    if not isinstance(budget, ApproxDP) or budget.delta == 0 or _extreme(budget, plan):
        return [Basic()]
    slack = _slack(budget, plan)
    return [
        Rogers2016(),
        Whitehouse2023(slack),
        ViaGDP(slack),
        ViaRenyi(_orders(budget.epsilon, slack), slack=slack),
        GDPResidue(slack),
        *_menus(budget, plan, slack),
        ViaZCDP(slack),
        Basic(),
    ]


def _extreme(budget: ApproxDP, plan: Plan) -> bool:
    """Whether numbers are so large or small that only `Basic` is tried."""
    parts = [budget.epsilon, budget.delta]
    for loss, _ in plan:
        parts += loss.parts if isinstance(loss, AdditiveLoss) else ()
    return any(part and not _LEAST <= part <= _MOST for part in parts)


def _tried(rule: Rule, budget: Loss, plan: Plan) -> Candidate:
    try:
        account, measure = rule.open(budget), rule.child_measure(budget)
        stated = [(loss.to(measure), count) for loss, count in plan]
    except ValueError as error:
        return Candidate(rule, why=str(error))
    try:
        fewest = min(_in_order(account, order) for order in _orders_of(stated))
        return Candidate(rule, fewest, _times(account, stated))
    except BeyondReachError as error:
        return Candidate(rule, why=str(error))


def _in_order(account: Account, plan: Plan) -> int:
    total = 0
    for loss, count in plan:
        account, fits = _more(account, loss, count)
        total += fits
        if fits < count:
            break
    return total


def _orders_of(plan: Plan) -> list[Plan]:
    def by_first(item: tuple[Loss, int]) -> tuple[Fraction, ...]:
        return item[0].parts if isinstance(item[0], AdditiveLoss) else ()

    def by_last(item: tuple[Loss, int]) -> tuple[Fraction, ...]:
        return by_first(item)[::-1]

    orders = [plan]
    for key in (by_first, by_last):
        for falling in (False, True):
            order = sorted(plan, key=key, reverse=falling)
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


def _slack(budget: ApproxDP, plan: Plan) -> Fraction:
    deltas = sum((delta_of(loss) * n for loss, n in plan), Fraction(0))
    return max(budget.delta - deltas, budget.delta / 2)


def _orders(epsilon: Fraction, slack: Fraction) -> list[Fraction]:
    """Renyi orders around the best order for Gaussian noise that uses the whole budget."""
    rho = float(conversions.largest_zcdp(epsilon, slack)) or 1e-12
    centre = sqrt(max(1.0, log(slack.denominator) - log(slack.numerator)) / rho)
    excess = (Fraction(f"{centre * 2 ** (third / 3):.3g}") for third in range(-6, 16))
    return [1 + each for each in excess]


def _menus(budget: ApproxDP, plan: Plan, slack: Fraction) -> list[Rule]:
    """Menus of the plan's epsilons: at their common unit, or near the least if that is too fine."""
    try:
        stated = [(loss.to(ApproxDP), count) for loss, count in plan]
    except ValueError:
        return []
    mix: dict[Fraction, int] = {}
    for loss, count in stated:
        assert isinstance(loss, ApproxDP)
        if loss.epsilon > 0:
            mix[loss.epsilon] = mix.get(loss.epsilon, 0) + count
    if not 0 < len(mix) <= MOST_ENTRIES:
        return []
    finest = conversions.largest_gdp(budget.epsilon, slack) / Fraction(sqrt(_FINEST))
    common, least = _common(mix), min(mix)
    units = [common] if common >= finest else [least / part for part in (1, 2, 4)]
    return [_menu(budget, unit, mix, slack) for unit in units if unit >= finest]


def _common(values: Iterable[Fraction]) -> Fraction:
    """The greatest common divisor of rationals."""
    each = list(values)
    bottom = lcm(*(value.denominator for value in each))
    return Fraction(gcd(*(int(value * bottom) for value in each)), bottom)


def _menu(budget: ApproxDP, unit: Fraction, mix: dict[Fraction, int], slack: Fraction) -> Rule:
    entries: dict[int, int] = {}
    for epsilon, count in mix.items():
        multiple = -(-epsilon // unit)
        entries[multiple] = entries.get(multiple, 0) + count
    return fitted(budget, unit, entries, slack).rule
