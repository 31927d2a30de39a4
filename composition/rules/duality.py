"""Filters from accumulators and back (Haney et al. 2023, Lemma 2.19).

The two constructions are F(.; d) = [G(.) <= d], and G(.) = the least d with F(.; d) = 1. The second
needs totally ordered budgets and a rule that is monotone in them.
"""

from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.rules.base import Account, Accumulator, Rule, RunningAccount
from composition.rules.renyi import ViaRenyi
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
from queryable.losses.loss import genuine
from queryable.losses.numbers import Number, probability
from queryable.wording.quoting import an_instance, quoted


@attrs.frozen
class AccumulatorAccount(Account):
    """The account of an accumulator, compared with a budget."""

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


_CEILING = Fraction(2**40)
_NO_BUDGET = "no budget up to"


@attrs.frozen
class Line:
    """Budgets that differ only in their first coordinate, such as epsilon at a fixed delta.

    They are totally ordered, which Lemma 2.19 needs: a budget of several coordinates, such as a
    Renyi curve, is not.

    Args:
        zero: the least loss of the budgets' measure.
        delta: for `ApproxDP` and `ApproxZCDP`, the second coordinate of all budgets.

    Raises:
        ValueError: the budgets are not totally ordered.
    """

    zero: AdditiveLoss = attrs.field(validator=an_instance(Loss))
    delta: Fraction | None = attrs.field(
        default=None, converter=attrs.converters.optional(probability)
    )

    def __attrs_post_init__(self) -> None:
        measure = as_measure(self.zero.measure)
        two = measure in (ApproxDP, ApproxZCDP)
        if two != (self.delta is not None):
            needed = "needs a fixed delta" if two else "takes no delta"
            raise ValueError(f"an accumulator of {measure_name(measure)} budgets {needed}")
        if not isinstance(self.zero, AdditiveLoss) or len(self.zero.parts) != 1 + two:
            raise ValueError(f"budgets of {measure_name(measure)} are not totally ordered")
        if not genuine(self.zero) or any(self.zero.parts):
            raise ValueError(f"zero is {quoted(self.zero)}; it should be the least loss")

    def at(self, first: Fraction) -> Loss:
        """The budget with this first coordinate."""
        return self.zero.of_parts((first,) if self.delta is None else (first, self.delta))

    def beyond(self, first: Fraction) -> Loss:
        """What is true of anything: delta = 1. The paper's (infinity, infinity).

        Raises:
            PrivacyClaimError: the measure has no delta, so nothing is true of anything.
        """
        if self.delta is None:
            raise PrivacyClaimError(f"{_NO_BUDGET} {self.at(_CEILING)} admits these losses")
        return self.zero.of_parts((first, Fraction(1)))


@attrs.frozen
class LeastBudget(RunningAccount):
    """The account of `RuleAccumulator`: its total is the least budget that admits all losses.

    `ceiling` is the rule's account under a very large budget. What that budget does not admit,
    because of its delta for example, no budget in the line admits. If the rule's account gives
    the least budget (`Account.least`), it is used. If not, the losses are kept and added up again
    under each budget that the search tries.
    """

    rule: Rule = attrs.field(validator=an_instance(Rule))
    line: Line = attrs.field(validator=an_instance(Line))
    losses: "Map[int, Loss]"
    ceiling: Account = attrs.field(validator=an_instance(Account))
    last: Loss | None = None

    def __attrs_post_init__(self) -> None:
        if self.ceiling.budget != self.line.at(_CEILING):
            raise ValueError(f"{self.ceiling.budget} is not the largest budget of the line")

    def add(self, loss: Loss) -> "LeastBudget":
        """The account after one more loss.

        Raises:
            PrivacyClaimError: no budget admits the loss, and the measure has no delta.
        """
        ceiling = self.ceiling.add(loss)
        if not ceiling.within and self.line.delta is None:
            raise PrivacyClaimError(f"{_NO_BUDGET} {self.line.at(_CEILING)} admits {loss}")
        knows = ceiling.least() is not None
        losses = self.losses if knows else self.losses.set(len(self.losses), loss)
        return LeastBudget(self.rule, self.line, losses, ceiling, loss)

    @property
    def objection(self) -> str:
        """Why no budget admits the losses (the other branch of Theorem 3.8); empty if one does."""
        if self.ceiling.within:
            return ""
        at = self.line.at(_CEILING)
        return f"{_NO_BUDGET} {at} admits {self.last}{self.ceiling.hint(self.last)}"

    def total(self) -> Loss:
        """The least budget, rounded up; its delta is 1 if no budget admits the losses."""
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
        ceiling = self.rule.open(self.line.at(_CEILING))
        empty = LeastBudget(self.rule, self.line, Map(), ceiling)
        object.__setattr__(self, "_empty", empty)

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
        Checked by: tests/audit/test_reductions.py, tests/attacks/test_some_budget_fits.py
    Raises:
        ValueError: the rule is not monotone, or the budgets are not totally ordered.
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"{quoted(rule)} is not a rule; use one such as Whitehouse2023()")
    zero: Any = zero_of(as_measure(measure))
    return RuleAccumulator(rule, Line(zero, delta))


def _weightless(rule: Rule) -> bool:
    return isinstance(rule, ViaRenyi) and rule.weights is None
