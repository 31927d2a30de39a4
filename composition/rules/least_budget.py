"""The least budget that admits the losses so far (Haney et al. 2023, Lemma 2.19).

Responsible for the budgets that are compared, and for the account of an odometer
that is made from a rule; `duality` makes it.
"""

from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.rules.base import Account, Rule, RunningAccount
from composition.rules.checks.compare import Verdict
from queryable.effort import is_quick
from queryable.errors import PrivacyClaimError
from queryable.losses import (
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Parts,
    as_measure,
    measure_name,
)
from queryable.losses.conversions import least
from queryable.losses.loss import genuine
from queryable.losses.numbers import probability
from queryable.wording.quoting import an_instance, quoted

CEILING = Fraction(2**40)
_MORE, _FASTER = Fraction(1, 2**46), 4
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
            raise PrivacyClaimError(f"{_NO_BUDGET} {self.at(CEILING)} admits these losses")
        return self.zero.of_parts((first, Fraction(1)))


@attrs.frozen
class LeastBudget(RunningAccount):
    """The account of `RuleAccumulator`: its total is the least budget that admits all losses.

    `ceiling` is the rule's account under a very large budget. What that budget does not admit,
    because of its delta for example, no budget in the line admits. If the rule's account gives
    the least budget (`Account.least`), it is used. If not, the losses are kept and added up again
    under each budget that the search tries; it starts where the account says (`Account.nearly`).
    """

    inner = "ceiling"
    marks = ("losses", "last")

    rule: Rule = attrs.field(validator=an_instance(Rule))
    line: Line = attrs.field(validator=an_instance(Line))
    losses: "Map[int, Loss]"
    ceiling: Account = attrs.field(validator=an_instance(Account))
    last: Loss | None = None

    def __attrs_post_init__(self) -> None:
        if self.ceiling.budget != self.line.at(CEILING):
            raise ValueError(f"{self.ceiling.budget} is not the largest budget of the line")

    def written(self) -> tuple[Any, ...]:
        """The arguments of `of_written`."""
        return self.rule, self.line, self.kept, self.ceiling, self.last

    @classmethod
    def of_written(
        cls,
        rule: Rule,
        line: Line,
        losses: tuple[Loss, ...],
        ceiling: Account,
        last: Loss | None,
    ) -> "LeastBudget":
        """The account of what was written."""
        return cls(rule, line, Map(enumerate(losses)), ceiling, last)

    @property
    def kept(self) -> tuple[Loss, ...]:
        """The losses that are kept, in order."""
        return tuple(self.losses[place] for place in range(len(self.losses)))

    def add(self, loss: Loss) -> "LeastBudget":
        """The account after one more loss.

        Raises:
            PrivacyClaimError: no budget admits the loss, and the measure has no delta.
        """
        ceiling = self.ceiling.add(loss)
        if not ceiling.within and self.line.delta is None:
            raise PrivacyClaimError(f"{_NO_BUDGET} {self.line.at(CEILING)} admits {loss}")
        knows = type(ceiling).least is not Account.least
        losses = self.losses if knows else self.losses.set(len(self.losses), loss)
        grown = LeastBudget(self.rule, self.line, losses, ceiling, loss)
        if is_quick():  # a report that takes too long is refused before the launch is charged
            grown.total()
        return grown

    @property
    def objection(self) -> str:
        """Why no budget admits the losses (the other branch of Theorem 3.8); empty if one does."""
        if self.ceiling.within:
            return ""
        at = self.line.at(CEILING)
        return f"{_NO_BUDGET} {at} admits {self.last}{self.ceiling.hint(self.last)}"

    def check(self, amounts: Parts) -> Verdict:
        """Whether the large budget admits the launches."""
        return self.ceiling.check(amounts)

    def fits(self, loss: Loss) -> Verdict:
        """Whether it would admit one more."""
        return self.ceiling.fits(loss)

    def wrong_step(self, loss: Loss, after: "LeastBudget", *, least: bool) -> str:
        """Losses that are not listed, if the account does not tell the least budget."""
        if type(self.ceiling).least is Account.least:
            old, new = self.kept, after.kept
            if new[: len(old)] != old or len(new) <= len(old) or new[-1] != after.last:
                return "does not list the losses that were charged"
            if len(new) != len(old) + 1 and not least:
                return "lists losses that were not charged"
        return super().wrong_step(loss, after, least=least)

    def total(self) -> Loss:
        """The least budget, rounded up; its delta is 1 if no budget admits the losses."""
        if self.last is None:
            return self.line.zero
        known = self.ceiling.least()
        if not self.ceiling.within:
            return self.line.beyond(CEILING if known is None else known)
        return self.line.at(self._searched() if known is None else known)

    def _searched(self) -> Fraction:
        first, step = self.ceiling.nearly(self.kept), _MORE * (1 + len(self.losses))
        if not first:  # 0 would stay 0
            return Fraction(0) if first == 0 and self._admits(first) else least(self._admits)
        while not self._admits(first):
            first, step = first * (1 + step), step * _FASTER
        return first

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
