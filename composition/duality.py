"""Filters from accumulators and back (Haney et al. 2023, Lemma 2.19).

Responsible for the two constructions: F(.; d) = [G(.) <= d], and G(.) = the least d with
F(.; d) = 1. The second needs budgets in a line and a rule that is monotone along it.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.rules import Account, Accumulator, Rule, Tally
from queryable.conversions import greatest, least
from queryable.errors import PrivacyClaimError
from queryable.losses import (
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    as_measure,
    measure_name,
    zero_of,
)
from queryable.numbers import Number, probability


@attrs.frozen
class TallyAccount(Account):
    """A tally held against a budget."""

    tally: Tally
    empty: Loss
    budget: Loss

    def add(self, loss: Any) -> "TallyAccount":
        """The tally grows."""
        return TallyAccount(self.tally.add(loss), self.empty, self.budget)

    @property
    def within(self) -> bool:
        """G <= d."""
        return self.total() <= self.budget

    def total(self) -> Loss:
        """G."""
        total = self.tally.total()
        assert isinstance(total, Loss)
        return total

    def remaining(self) -> Loss:
        """The largest first coordinate, the others zero, that would still be admitted."""

        def loss(first: Fraction) -> AdditiveLoss:
            zero = self.empty
            assert isinstance(zero, AdditiveLoss)
            return zero.room((first, *zero.parts[1:]))

        return loss(greatest(lambda first: self.add(loss(first)).within))


@attrs.frozen
class AccumulatorRule(Rule):
    """F(.; d) = [G(.) <= d]; write `filter_of(accumulator)`."""

    accumulator: Accumulator

    @property
    def known_as(self) -> str:
        """As the accumulator."""
        return self.accumulator.known_as

    def child_measure(self, budget: Loss) -> Measure:
        """What the accumulator takes."""
        return self.accumulator.measure

    def open(self, budget: Loss) -> TallyAccount:
        """An empty tally.

        Raises:
            ValueError: totals of the accumulator cannot be compared with the budget.
        """
        account = TallyAccount(self.accumulator.open(), zero_of(self.accumulator.measure), budget)
        if account.total().measure != budget.measure:
            raise ValueError(
                f"the accumulator's totals are {measure_name(account.total().measure)}, "
                f"the budget is {budget}"
            )
        return account


def filter_of(accumulator: Accumulator) -> Rule:
    """The continuation rule F(.; d) = [G(.) <= d] of an accumulator G.

    Of a time-uniform odometer: continue while its bound stays within epsilon.

    Privacy:
        Theorem: Haney et al. 2023, Lemma 2.19: F is valid if and only if G is. For time-uniform
            odometers, `composition.time_uniform.Stopping`.
    """
    if not isinstance(accumulator, Accumulator):
        raise TypeError(f"{accumulator!r} is not an accumulator")
    return accumulator.filter() or AccumulatorRule(accumulator)


_CEILING = Fraction(2**40)


@attrs.frozen
class LeastBudget(Tally):
    """The losses so far; their total is the least budget that admits them all.

    `ceiling` is their account under a budget larger than any worth having: what it does not
    admit, because of its delta say, no budget in the line does.
    """

    rule: Rule
    budget: Callable[[Fraction], Loss]
    losses: "Map[int, Loss]"
    ceiling: Account

    def add(self, loss: Loss) -> "LeastBudget":
        """One more loss.

        Raises:
            PrivacyClaimError: no budget admits it.
        """
        ceiling = self.ceiling.add(loss)
        if not ceiling.within:
            raise PrivacyClaimError(
                f"no budget up to {self.budget(_CEILING)} admits {loss}{ceiling.hint(loss)}"
            )
        losses = self.losses.set(len(self.losses), loss)
        return LeastBudget(self.rule, self.budget, losses, ceiling)

    def total(self) -> Loss:
        """Found by bisection, from above; time linear in the launches."""
        if not self.losses:
            return self.budget(Fraction(0)).zero()
        return self.budget(least(self._admits))

    def _admits(self, first: Fraction) -> bool:
        try:
            account = self.rule.open(self.budget(first))
        except ValueError:
            return False  # too small a budget for the rule
        for index in range(len(self.losses)):
            account = account.add(self.losses[index])
            if not account.within:
                return False
        return True


@attrs.frozen
class RuleAccumulator(Accumulator):
    """G(.) = the least budget in a line that the rule admits; write `accumulator_of(rule, ...)`."""

    rule: Rule
    measure: Measure
    budget: Callable[[Fraction], Loss]

    @property
    def known_as(self) -> str:
        """As the rule."""
        return self.rule.known_as

    def open(self) -> LeastBudget:
        """No losses yet.

        Raises:
            ValueError: the rule is not about such budgets.
        """
        return LeastBudget(self.rule, self.budget, Map(), self.rule.open(self.budget(_CEILING)))


def accumulator_of(rule: Rule, measure: Measure, delta: Number | None = None) -> Accumulator:
    """The accumulator G(.) = least d with F(.; d) = 1 of a rule that is monotone in its budget.

    Args:
        measure: of the budgets. They must be totally ordered: for `ApproxDP` and `ApproxZCDP` at a
            fixed `delta`.

    Privacy:
        Theorem: Haney et al. 2023, Lemma 2.19.
        Assumes: what a budget admits, every larger one admits.
    """
    budgets_of = as_measure(measure)
    two = budgets_of in (ApproxDP, ApproxZCDP)
    if two != (delta is not None):
        needed = "needs a fixed delta" if two else "takes no delta"
        raise ValueError(f"an accumulator of {measure_name(budgets_of)} budgets {needed}")
    fixed = None if delta is None else probability(delta)
    zero = zero_of(budgets_of)
    if not isinstance(zero, AdditiveLoss):
        raise ValueError(f"budgets of {measure_name(budgets_of)} are not totally ordered")

    def budget(first: Fraction) -> Loss:
        return zero.of_parts((first,) if fixed is None else (first, fixed))

    return RuleAccumulator(rule, rule.child_measure(budget(Fraction(1))), budget)
