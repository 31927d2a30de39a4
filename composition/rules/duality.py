"""Filters from accumulators and back (Haney et al. 2023, Lemma 2.19).

The two constructions are F(.; d) = [G(.) <= d], and G(.) = the least d with F(.; d) = 1. The second
needs totally ordered budgets and a rule that is monotone in them.
"""

from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.rules.base import Account, Accumulator, Rule, RunningAccount
from composition.rules.checks.compare import Verdict, exactly
from composition.rules.least_budget import CEILING, LeastBudget, Line
from composition.rules.renyi import ViaRenyi
from queryable.losses import (
    AdditiveLoss,
    Loss,
    Measure,
    Parts,
    as_measure,
    measure_name,
    zero_of,
)
from queryable.losses.conversions import greatest
from queryable.losses.numbers import Number
from queryable.wording.quoting import an_instance, quoted


@attrs.frozen
class AccumulatorAccount(Account):
    """The account of an accumulator, compared with a budget."""

    inner = "running"

    running: RunningAccount = attrs.field(validator=an_instance(RunningAccount))
    empty: Loss = attrs.field(validator=an_instance(Loss))
    budget: Loss = attrs.field(validator=an_instance(Loss))

    def __attrs_post_init__(self) -> None:
        reported = self.total().measure
        if reported != self.budget.measure:
            raise ValueError(
                f"the accumulator's totals are {measure_name(reported)}, the budget is "
                f"{self.budget}"
            )

    def add(self, loss: Any) -> "AccumulatorAccount":
        """The account after one more launch."""
        return AccumulatorAccount(self.running.add(loss), self.empty, self.budget)

    @property
    def within(self) -> bool:
        """Whether G <= d."""
        return self.total() <= self.budget

    def check(self, amounts: Parts) -> Verdict:
        """Whether a sum of losses, coordinate by coordinate, is within the budget."""
        most = self.limits()
        return None if most is None else exactly(zip(amounts, most, strict=True))

    def limits(self) -> Parts | None:
        """The budget's coordinates, if the accumulator adds these up."""
        adds = self.running.costing(self.running.amounts()) is not None
        return self.budget.parts if adds and isinstance(self.budget, AdditiveLoss) else None

    def costing(self, amounts: Parts) -> Loss | None:
        """The accumulator's."""
        return self.running.costing(amounts)

    def total(self) -> Loss:
        """The value of G."""
        total = self.running.total()
        if not isinstance(total, Loss):
            raise TypeError(f"{total} is no privacy loss")
        return total

    def least(self) -> Fraction | None:
        """The first coordinate of the total."""
        total = self.total()
        return total.parts[0] if isinstance(total, AdditiveLoss) else None

    def remaining(self) -> Loss:
        """The largest loss that would be admitted now, with only the first coordinate above 0."""

        def loss(first: Fraction) -> AdditiveLoss:
            zero = self.empty
            assert isinstance(zero, AdditiveLoss)
            return zero.room((first, *zero.parts[1:]))

        return loss(greatest(lambda first: self.add(loss(first)).within))


@attrs.frozen
class AccumulatorRule(Rule):
    """The rule F(.; d) = [G(.) <= d]; made by `filter_of(accumulator)`."""

    accumulator: Accumulator = attrs.field(validator=an_instance(Accumulator))

    @accumulator.validator
    def _reports_losses(self, attribute: object, accumulator: Accumulator) -> None:
        if accumulator.filter() is not None or not isinstance(accumulator.open().total(), Loss):
            raise ValueError(
                f"accumulator is {quoted(accumulator)}, which has a filter of its own, or reports "
                "no privacy loss to compare with a budget; filter_of makes its filter"
            )

    def monotone(self) -> bool:
        """Yes: the total is compared with the budget."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """The accumulator's measure."""
        return self.accumulator.measure

    def open(self, budget: Loss) -> AccumulatorAccount:
        """An empty account.

        Raises:
            ValueError: totals of the accumulator cannot be compared with the budget.
        """
        empty = zero_of(self.accumulator.measure)
        return AccumulatorAccount(self.accumulator.open(), empty, budget)


def filter_of(accumulator: Accumulator) -> Rule:
    """The continuation rule F(.; d) = [G(.) <= d] of an accumulator G.

    Of a time-uniform odometer it is the rule that its bound stays within epsilon. Of the
    accumulator of a rule it is that rule.

    Privacy:
        Theorem: Haney et al. 2023, Lemma 2.19: F is valid if and only if G is. For time-uniform
            odometers, `composition.rules.odometers.time_uniform.Stopping`.
    """
    if not isinstance(accumulator, Accumulator):
        raise TypeError(f"{quoted(accumulator)} is not an accumulator")
    return accumulator.filter() or AccumulatorRule(accumulator)


@attrs.frozen
class RuleAccumulator(Accumulator):
    """G(.) = the least budget that admits the losses; made by `accumulator_of(rule, ...)`.

    Raises:
        ValueError: the rule is not monotone, or does not take the budgets of the line.
    """

    rule: Rule = attrs.field(validator=an_instance(Rule))
    line: Line = attrs.field(validator=an_instance(Line))
    _empty: LeastBudget = attrs.field(init=False, repr=False, eq=False)

    @rule.validator
    def _is_monotone(self, attribute: object, rule: Rule) -> None:
        if not rule.monotone():
            weights = "; give it weights, weights=[...]" if _weightless(rule) else ""
            raise ValueError(
                f"{type(rule).__name__} is not known to be monotone in its budget, so the least "
                f"budget that admits the launches bounds nothing{weights}"
            )

    def __attrs_post_init__(self) -> None:
        ceiling = self.rule.open(self.line.at(CEILING))
        empty = LeastBudget(self.rule, self.line, Map(), ceiling)
        object.__setattr__(self, "_empty", empty)

    def written(self) -> tuple[Any, ...]:
        """The arguments of `of_written`."""
        return self.rule, self.line.zero.measure, self.line.delta

    @staticmethod
    def of_written(rule: Rule, measure: Measure, delta: Fraction | None) -> Accumulator:
        """The accumulator of what was written."""
        return accumulator_of(rule, measure, delta)

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """The measure that the rule takes."""
        return self.rule.child_measure(self.line.at(Fraction(1)))

    def open(self) -> LeastBudget:
        """An empty account."""
        return self._empty

    def filter(self) -> Rule:
        """The rule: under a budget of the line, [G(.) <= d] is F(.; d), since F is monotone."""
        return self.rule


def accumulator_of(rule: Rule, measure: Measure, delta: Number | None = None) -> Accumulator:
    """The accumulator G(.) = least d with F(.; d) = 1 of a rule that is monotone in its budget.

    If no budget admits the launches, G is a loss with delta = 1, which bounds nothing, like
    (infinity, infinity) in Theorem 3.8. An odometer refuses a launch that would lead there.

    Args:
        rule: a monotone rule.
        measure: the measure of the budgets.
        delta: for `ApproxDP` and `ApproxZCDP`, whose budgets are totally ordered only at a fixed
            delta.

    Privacy:
        Theorem: Haney et al. 2023, Lemma 2.19; Theorem 3.8 is G of `Whitehouse2023`.
        Assumes: a budget admits all that a smaller one admits (`Rule.monotone`).
        Checked by: tests/audit/test_reductions.py, tests/attacks/test_naive_accounts.py
    Raises:
        ValueError: the rule is not monotone, or the budgets are not totally ordered.
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"{quoted(rule)} is not a rule; use one such as Whitehouse2023()")
    zero: Any = zero_of(as_measure(measure))
    return RuleAccumulator(rule, Line(zero, delta))


def _weightless(rule: Rule) -> bool:
    return isinstance(rule, ViaRenyi) and rule.weights is None
