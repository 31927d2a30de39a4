"""The menu filter: launches from a public menu of epsilons, charged in units of cost.

This file turns epsilons into entries of the menu and their costs. `worst_case` computes how many
units a budget is worth; `costs` searches costs that suit a declared mix of launches.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from composition.rules.base import Account, Rule, of_whole, sums
from composition.rules.checks import added
from composition.rules.checks.compare import Verdict, all_within
from composition.rules.checks.menus import units_within
from composition.rules.menus.least import least_epsilon
from composition.rules.menus.worst_case import Priced, worst_cases
from composition.rules.slack import (
    outside,
    read_slack,
    require_approx,
    share_of,
    slack_field,
    why_no_delta,
)
from queryable.effort import remembered
from queryable.losses import ApproxDP, Loss, Measure, Parts, add_parts
from queryable.losses.fields import read_epsilon
from queryable.losses.numbers import exact, natural, positive, several, shown
from queryable.wording.quoting import an_instance, quoted

Costs = Mapping[Any, int] | Iterable[int] | None


def _unit(value: Any) -> Fraction:
    return positive(value, "unit")


def entry(value: Any, unit: Fraction) -> int:
    """Read an entry of a menu: an int is a multiple of the unit, anything else an epsilon.

    Raises:
        ValueError: it is not above 0, or an epsilon that is no multiple of the unit.
    """
    counts = isinstance(value, int | np.integer) and not isinstance(value, bool)
    multiple = Fraction(int(value)) if counts else exact(value, "menu entry") / unit
    if multiple.denominator != 1 or not multiple > 0:
        raise ValueError(
            f"menu entry is {quoted(value)}; it should be a positive multiple of the unit, "
            f"{shown(unit)}: an int counts units, anything else is an epsilon"
        )
    return int(multiple)


def priced(unit: Fraction, menu: Iterable[Any], costs: Costs) -> Priced:
    """The entries in rising order with their costs; by default a cost is the entry squared.

    Raises:
        ValueError: the menu is empty or names an entry twice; or the costs do not fit the menu, are
            below 1, or fall as entries rise.
    """
    entries = [entry(value, unit) for value in several(menu, "menu")]
    if not entries:
        raise ValueError("the menu is empty; name at least one parameter")
    if len(set(entries)) < len(entries):
        raise ValueError(f"the menu names an entry twice: {entries}, in units of {shown(unit)}")
    if costs is None:
        stated = [each**2 for each in entries]
    elif isinstance(costs, Mapping):
        by_entry = {entry(value, unit): cost for value, cost in costs.items()}
        if by_entry.keys() != set(entries):
            raise ValueError(f"costs are for {sorted(by_entry)}, the menu is {sorted(entries)}")
        stated = [by_entry[each] for each in entries]
    else:
        stated = several(costs, "costs")
        if len(stated) != len(entries):
            raise ValueError(f"{len(stated)} costs for a menu of {len(entries)}")
    found = tuple(sorted((u, natural(c, "cost")) for u, c in zip(entries, stated, strict=True)))
    if found[0][1] < 1 or any(cheap > dear for (_, cheap), (_, dear) in pairwise(found)):
        raise ValueError(f"costs are {dict(found)}; they should be at least 1 and never fall")
    return found


@attrs.frozen(init=False)
class Menu(Rule):
    """Each launch costs the units of its entry; the exact worst case limits the total units.

    Launches are (epsilon_i, delta_i)-DP. An epsilon_i between two entries is charged as the larger
    one, never as several smaller ones. An epsilon_i above the menu is refused; 0 costs no units.

    Privacy:
        Claim: all launches together are (epsilon, slack + deltas)-DP. Once all units are used, some
            analyst attains this, up to rounding and one unit.
        Theorem: docs/theory.md, menu filter, after Kairouz, Oh, Viswanath 2017 and Whitehouse et
            al. 2023, Lemma 11; interleaved by Haney et al. 2023, Theorem 1.20.
        Assumes: unit, menu, costs and slack are fixed here. Recomputing the units as deltas arrive
            would break the claim (tests/attacks/test_naive_accounts.py).
        Checked by: tests/audit/test_rules.py, tests/unit/composition/rules/menus/test_menu.py
    Args:
        unit: the epsilon that every entry is a multiple of.
        menu: the entries; an int counts units, anything else is an epsilon.
        costs: whole units of cost, at least 1, one an entry or by entry; by default the entry
            squared. `composition.rules.menus.costs.fitted` finds some for a declared mix.
        slack: the rule's own share of delta; by default all of it, and then launches with a delta
            of their own are refused.
    """

    unit: Fraction
    priced: Priced
    slack: Fraction | None

    def __init__(
        self, unit: Any, menu: Iterable[Any], costs: Costs = None, slack: Any = None
    ) -> None:
        step = _unit(unit)
        self.__attrs_init__(step, priced(step, menu, costs), slack_field(slack))

    def written(self) -> tuple[Any, ...]:
        """The arguments of `of_written`."""
        return self.unit, self.priced, self.slack

    @classmethod
    def of_written(cls, unit: Fraction, priced: Priced, slack: Fraction | None) -> "Menu":
        """The rule of what was written."""
        return cls(unit, [entry for entry, _ in priced], [cost for _, cost in priced], slack)

    def monotone(self) -> bool:
        """Yes: costs are fixed, and the units of a budget rise with its epsilon."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """ApproxDP."""
        require_approx(budget, self)
        return ApproxDP

    def open(self, budget: Loss) -> "MenuAccount":
        """An empty account, with the units and the split of delta for this budget.

        Raises:
            ValueError: the slack does not fit the budget, or the unit is too fine for it.
        """
        approx = require_approx(budget, self)
        slack = share_of(self.slack, approx)
        terms = _terms(approx.epsilon, slack, self.unit, self.priced)
        return MenuAccount(approx, slack, terms)


def _priced(pairs: Any) -> Priced:
    entries, costs = zip(*pairs, strict=True)
    return priced(Fraction(1), entries, costs)


@attrs.frozen
class Terms:
    """The facts that all accounts of a rule under one budget share."""

    epsilon: Fraction = attrs.field(converter=read_epsilon)
    slack: Fraction = attrs.field(converter=read_slack)
    unit: Fraction = attrs.field(converter=_unit)
    priced: Priced = attrs.field(converter=_priced)
    entries: tuple[int, ...] = attrs.field(init=False, repr=False, eq=False)
    costs: tuple[int, ...] = attrs.field(init=False, repr=False, eq=False)
    worst: tuple[float, ...] = attrs.field(init=False, repr=False, eq=False)
    """The worst-case delta, by number of units used."""

    def __attrs_post_init__(self) -> None:
        entries, costs = zip(*self.priced, strict=True)
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "costs", costs)
        worst = worst_cases(self.epsilon, self.unit, self.priced, self.slack)
        object.__setattr__(self, "worst", tuple(worst))

    @property
    def units(self) -> int:
        """The units of the budget."""
        return len(self.worst) - 1

    def cost(self, epsilon: Fraction) -> int:
        """The units of a launch; more than the budget has if its epsilon is above the menu."""
        if epsilon == 0:
            return 0
        place = bisect_left(self.entries, epsilon / self.unit)
        return self.costs[place] if place < len(self.costs) else self.units + 1

    @property
    def top(self) -> Fraction:
        """The largest epsilon on the menu."""
        return self.entries[-1] * self.unit


@remembered(128)
def _terms(epsilon: Fraction, slack: Fraction, unit: Fraction, priced: Priced) -> Terms:
    """The terms."""
    return Terms(epsilon, slack, unit, priced)


def _used(value: Any) -> int:
    return natural(value, "used")


@attrs.frozen
class Units:
    """The units that a menu filter has spent, and all it has."""

    used: int
    of: int

    def __str__(self) -> str:
        return f"{self.used} of {self.of} units"


@attrs.frozen
class MenuAccount(Account):
    """The units used, and the sum of the deltas."""

    charged = ("used", "deltas")
    marks = ("started",)
    counts = "units"

    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))
    slack: Fraction = attrs.field(validator=an_instance(Fraction))
    terms: Terms = attrs.field(validator=an_instance(Terms))
    used: int = attrs.field(default=0, converter=_used)
    deltas: Fraction = attrs.field(default=Fraction(0), validator=sums)
    started: bool = False

    def __attrs_post_init__(self) -> None:
        if (self.terms.epsilon, self.terms.slack) != (self.budget.epsilon, self.slack):
            raise ValueError(f"the terms are not those of {self.budget} and its slack")
        share_of(self.slack, self.budget)

    def written(self) -> tuple[Any, ...]:
        """The arguments of `of_written`; the rest of the terms follows from them."""
        unit, pairs = self.terms.unit, self.terms.priced
        return self.budget, unit, pairs, self.slack, self.used, self.deltas, self.started

    @classmethod
    def of_written(
        cls,
        budget: ApproxDP,
        unit: Fraction,
        priced: Priced,
        slack: Fraction,
        used: int,
        deltas: Fraction,
        started: bool,
    ) -> "MenuAccount":
        """The account of what was written."""
        empty = Menu.of_written(unit, priced, slack).open(budget)
        return cls(budget, empty.slack, empty.terms, used, deltas, started)

    def add(self, loss: ApproxDP) -> "MenuAccount":
        """Add one launch to the units and the deltas."""
        return self.add_many(loss, 1)

    def add_many(self, loss: ApproxDP, count: int) -> "MenuAccount":
        """Add `count` equal launches to the units and the deltas."""
        used = self.used + count * self.terms.cost(loss.epsilon)
        deltas = self.deltas
        if loss.delta:
            (deltas,) = add_parts((deltas,), (count * loss.delta,))
        return MenuAccount(self.budget, self.slack, self.terms, used, deltas, started=True)

    @property
    def within(self) -> bool:
        """Whether the units used are within the budget's, and slack + deltas within delta."""
        return self.used <= self.terms.units and self.slack + self.deltas <= self.budget.delta

    def added(self, loss: ApproxDP) -> Parts:
        """The cost of the smallest entry that is at least epsilon; and delta."""
        return added.priced(loss, self.terms.unit, self.terms.priced)

    def check(self, amounts: Parts) -> Verdict:
        """Whether the worst case of the units, from below, is within the slack."""
        used, deltas = int(amounts[0]), amounts[1]
        terms = self.budget.epsilon, self.terms.unit, self.terms.priced, self.slack
        return all_within((units_within(used, *terms), self.slack + deltas <= self.budget.delta))

    def wrong_terms(self) -> str:
        """A slack that the budget does not have."""
        return outside(self.slack, self.budget)

    def total(self) -> ApproxDP:
        """(epsilon, worst case of the units used + share for deltas); zero before the first launch.

        The whole share is reported. A total that depends on the deltas used would be the rule
        that recomputes its split, which is invalid.
        """
        if not self.started:
            return self.budget.zero()
        worst = Fraction(self.terms.worst[min(self.used, self.terms.units)])
        return ApproxDP(self.budget.epsilon, worst + self.budget.delta - self.slack)

    def least(self) -> Fraction:
        """The least epsilon at which the worst case of the units used is within the slack."""
        return least_epsilon(self.terms.unit, self.terms.priced, self.slack, self.used)

    def spent(self) -> Units:
        """The units used."""
        return Units(self.used, self.terms.units)

    def share(self) -> Fraction:
        """The used part of the units, or of what the slack leaves of delta if that is more."""
        deltas = of_whole(self.deltas, self.budget.delta - self.slack)
        return max(of_whole(Fraction(self.used), Fraction(self.terms.units)), deltas)

    def remaining(self) -> ApproxDP:
        """The largest entry that fits the remaining units, with the rest of delta."""
        left = self.terms.units - self.used
        fitting = [
            steps
            for steps, cost in zip(self.terms.entries, self.terms.costs, strict=True)
            if cost <= left
        ]
        room = max(self.budget.delta - self.slack - self.deltas, Fraction(0))
        return ApproxDP(max(fitting, default=0) * self.terms.unit, room)

    def hint(self, loss: ApproxDP) -> str:
        """Says that epsilon is above the menu, or that the whole delta is the slack."""
        if loss.epsilon > self.terms.top:
            return f"; the largest epsilon on the menu is {shown(self.terms.top)}"
        return why_no_delta(loss.delta, self.slack, self.budget)
