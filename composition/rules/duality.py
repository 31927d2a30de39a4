"""Filters from accumulators and back (Haney et al. 2023, Lemma 2.19).

Responsible for the two constructions: F(.; d) = [G(.) <= d], and G(.) = the least d with
F(.; d) = 1. The second needs budgets in a line and a rule that is monotone along it.
"""

from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.rules import Account, Accumulator, Rule, RunningAccount, ViaRenyi
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
from queryable.losses.conversions import greatest, least
from queryable.losses.numbers import Number, probability
from queryable.quoting import quoted


@attrs.frozen
class AccumulatorAccount(Account):
    """A tally held against a budget."""

    running: RunningAccount
    empty: Loss
    budget: Loss

    def add(self, loss: Any) -> "AccumulatorAccount":
        """The tally grows."""
        return AccumulatorAccount(self.running.add(loss), self.empty, self.budget)

    @property
    def within(self) -> bool:
        """G <= d."""
        return self.total() <= self.budget

    def total(self) -> Loss:
        """G."""
        total = self.running.total()
        assert isinstance(total, Loss)
        return total

    def least(self) -> Fraction | None:
        """The total's first coordinate; it is compared with the budget's."""
        total = self.total()
        return total.parts[0] if isinstance(total, AdditiveLoss) else None

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

    def monotone(self) -> bool:
        """The total is compared with the budget."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """What the accumulator takes."""
        return self.accumulator.measure

    def open(self, budget: Loss) -> AccumulatorAccount:
        """An empty tally.

        Raises:
            ValueError: totals of the accumulator cannot be compared with the budget.
        """
        account = AccumulatorAccount(
            self.accumulator.open(), zero_of(self.accumulator.measure), budget
        )
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
            odometers, `composition.rules.time_uniform.Stopping`.
    """
    if not isinstance(accumulator, Accumulator):
        raise TypeError(f"{quoted(accumulator)} is not an accumulator")
    return accumulator.filter() or AccumulatorRule(accumulator)


_CEILING = Fraction(2**40)
_NO_BUDGET = "no budget up to"


@attrs.frozen
class Line:
    """Budgets that differ in their first coordinate alone: epsilon at a fixed delta, say."""

    zero: AdditiveLoss
    delta: Fraction | None

    def at(self, first: Fraction) -> Loss:
        """The budget there."""
        return self.zero.of_parts((first,) if self.delta is None else (first, self.delta))

    def beyond(self, first: Fraction) -> Loss:
        """What is true of anything: delta = 1. The paper's (infinity, infinity)."""
        return self.zero.of_parts((first, Fraction(1)))


@attrs.frozen
class LeastBudget(RunningAccount):
    """The losses so far; their total is the least budget that admits them all.

    `ceiling` is their account under a budget larger than any worth having: what it does not
    admit, because of its delta say, no budget in the line does. Most accounts know the least budget
    (`Account.least`); of others the losses are kept and added up anew under each budget tried.
    """

    rule: Rule
    line: Line
    losses: "Map[int, Loss]"
    ceiling: Account
    last: Loss | None = None

    def add(self, loss: Loss) -> "LeastBudget":
        """One more loss.

        Raises:
            PrivacyClaimError: no budget admits it, and the measure has no delta to say so.
        """
        ceiling = self.ceiling.add(loss)
        if not ceiling.within and self.line.delta is None:
            raise PrivacyClaimError(f"{_NO_BUDGET} {self.line.at(_CEILING)} admits {loss}")
        knows = ceiling.least() is not None
        losses = self.losses if knows else self.losses.set(len(self.losses), loss)
        return LeastBudget(self.rule, self.line, losses, ceiling, loss)

    @property
    def objection(self) -> str:
        """There is no bound (Theorem 3.8's other branch); an odometer does not take the launch."""
        if self.ceiling.within:
            return ""
        at = self.line.at(_CEILING)
        return f"{_NO_BUDGET} {at} admits {self.last}{self.ceiling.hint(self.last)}"

    def total(self) -> Loss:
        """The least budget, from above; a delta of 1 where none admits the losses."""
        if self.last is None:
            return self.line.zero
        known = self.ceiling.least()
        if not self.ceiling.within:
            return self.line.beyond(_CEILING if known is None else known)
        return self.line.at(least(self._admits) if known is None else known)

    def _admits(self, first: Fraction) -> bool:
        try:
            account = self.rule.open(self.line.at(first))
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
    line: Line

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """What the rule takes."""
        return self.rule.child_measure(self.line.at(Fraction(1)))

    def open(self) -> LeastBudget:
        """No losses yet.

        Raises:
            ValueError: the rule is not about such budgets.
        """
        return LeastBudget(self.rule, self.line, Map(), self.rule.open(self.line.at(_CEILING)))


def accumulator_of(rule: Rule, measure: Measure, delta: Number | None = None) -> Accumulator:
    """The accumulator G(.) = least d with F(.; d) = 1 of a rule that is monotone in its budget.

    Where no budget admits the launches G is a loss with delta = 1, which says nothing, as the
    (infinity, infinity) of Theorem 3.8; an odometer refuses a launch that would take it there.

    Args:
        measure: of the budgets. They must be totally ordered: for `ApproxDP` and `ApproxZCDP` at a
            fixed `delta`.

    Privacy:
        Theorem: Haney et al. 2023, Lemma 2.19; Theorem 3.8 is G of `Whitehouse2023`.
        Assumes: what a budget admits, every larger one admits: `Rule.monotone`.
        Checked by: tests/audit/test_reductions.py, tests/attacks/test_some_budget_fits.py
    Raises:
        ValueError: the rule does not say that it is monotone, or the budgets are not in a line.
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"{quoted(rule)} is not a rule; use one such as Whitehouse2023()")
    budgets_of = as_measure(measure)
    two = budgets_of in (ApproxDP, ApproxZCDP)
    if two != (delta is not None):
        needed = "needs a fixed delta" if two else "takes no delta"
        raise ValueError(f"an accumulator of {measure_name(budgets_of)} budgets {needed}")
    if not rule.monotone():
        weights = "; give it weights of its own, weights=[...]" if _weightless(rule) else ""
        raise ValueError(
            f"{type(rule).__name__} is not known to be monotone in its budget: that some budget "
            f"admits the launches would bound nothing{weights}"
        )
    zero = zero_of(budgets_of)
    if not isinstance(zero, AdditiveLoss) or len(zero.parts) != 1 + two:
        raise ValueError(f"budgets of {measure_name(budgets_of)} are not totally ordered")
    line = Line(zero, None if delta is None else probability(delta))
    rule.child_measure(line.at(Fraction(1)))
    return RuleAccumulator(rule, line)


def _weightless(rule: Rule) -> bool:
    return isinstance(rule, ViaRenyi) and rule.weights is None
