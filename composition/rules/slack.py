"""The base of rules for an (epsilon, delta) budget that add up weights; `weights` has the rules.

Each launch adds its weight. The total weight may not exceed a capacity, which is computed once from
the budget. Delta is split at construction into the rule's slack and room for the launches' own
deltas. A split that adapts to the deltas of the launches would break the guarantee.
"""

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import attrs

from composition.rules.base import Account, Rule, of_whole, sums
from composition.rules.checks.added import weighed
from composition.rules.checks.compare import Verdict, exactly
from queryable.losses import (
    GDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    Parts,
    add_parts,
    measure_name,
)
from queryable.losses.fields import quoted_exactly
from queryable.losses.numbers import positive, probability, shown, sqrt_up
from queryable.wording.quoting import an_instance, quoted


def read_slack(value: Any) -> Fraction:
    """Read a slack: above 0 and at most 1."""
    return positive(probability(value, "slack"), "slack")


def slack_field(value: Any) -> Fraction | None:
    """Read a slack that may be left out; None stands for the budget's whole delta."""
    return None if value is None else read_slack(value)


def _quoted_exactly(slack: Fraction | None) -> str:
    return repr(slack) if slack is None else quoted_exactly(slack)


def share_of(slack: Fraction | None, budget: ApproxDP) -> Fraction:
    """The slack under a budget: the given one, by default the whole delta.

    Raises:
        ValueError: it is 0 or more than the budget's delta.
    """
    share = budget.delta if slack is None else slack
    if not 0 < share <= budget.delta:
        raise ValueError(
            f"slack is {shown(share)}; it should be above 0 and within the budget's delta, "
            f"{shown(budget.delta)}"
        )
    return share


def outside(slack: Fraction, budget: ApproxDP) -> str:
    """What is wrong with the slack of an account; or nothing."""
    if 0 < slack <= budget.delta:
        return ""
    return "has a slack that is not above 0 and within the budget's delta"


def why_no_delta(delta: Fraction, slack: Fraction, budget: ApproxDP) -> str:
    """A hint for a refused launch with a delta, if the slack is the budget's whole delta."""
    if delta > 0 and slack == budget.delta:
        return (
            f"; give the rule a slack below {shown(slack)}, as composition.budget does: its slack "
            "is all of delta, and this launch has a delta of its own"
        )
    return ""


def require_approx(budget: Loss, rule: Rule) -> ApproxDP:
    """The budget, if it is an `ApproxDP`.

    Raises:
        ValueError: it is of another measure.
    """
    if not isinstance(budget, Loss):
        raise TypeError(f"budget is {quoted(budget)}; it should be a loss: ApproxDP(1, '1e-6')")
    if not isinstance(budget, ApproxDP):
        raise ValueError(
            f"{type(rule).__name__} takes ApproxDP budgets, not {measure_name(budget.measure)}"
        )
    return budget


_ZERO = Fraction(0)
_TINY = Fraction(1, 2**60)


def delta_of(loss: Loss) -> Fraction:
    """A launch's own delta; 0 if its measure has none."""
    return loss.delta if isinstance(loss, ApproxDP | ApproxZCDP) else _ZERO


@attrs.frozen
class SlackRule(Rule):
    """Base: the weights stay within a capacity, and the deltas within what the slack leaves.

    Args:
        slack: the rule's own share of delta. By default it is the whole delta, and then launches
            with a delta of their own are refused.
    """

    takes: ClassVar[Measure]
    weighs: ClassVar[str]
    """What a weight is, in words."""

    slack: Fraction | None = attrs.field(default=None, converter=slack_field, repr=_quoted_exactly)

    def monotone(self) -> bool:
        """Yes: the capacity rises with epsilon at a fixed slack."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """The measure in `takes`."""
        require_approx(budget, self)
        return self.takes

    def open(self, budget: Loss) -> "SlackAccount":
        """An empty account, with the split of delta for this budget."""
        approx = require_approx(budget, self)
        slack = share_of(self.slack, approx)
        return SlackAccount(self, approx, slack, _capacity(self, approx.epsilon, slack))

    @abstractmethod
    def weight(self, loss: Any) -> Fraction:
        """The weight of a launch."""

    @abstractmethod
    def capacity(self, epsilon: Fraction, slack: Fraction) -> Fraction:
        """The largest total weight that is (epsilon, slack)-DP, rounded down."""

    @abstractmethod
    def epsilon(self, weight: Fraction, slack: Fraction) -> Fraction:
        """The least epsilon of a total weight at delta = slack, rounded up."""

    def keeps(self, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
        """Whether a weight above 0 is (epsilon, slack)-DP, by `checks`; None if none knows it."""
        return None

    @abstractmethod
    def largest(self, weight: Fraction, delta: Fraction) -> AdditiveLoss:
        """The largest single loss with this weight and delta, rounded down."""


@lru_cache(maxsize=1024)
def _capacity(rule: SlackRule, epsilon: Fraction, slack: Fraction) -> Fraction:
    return rule.capacity(epsilon, slack)


@attrs.frozen
class SlackAccount(Account):
    """The total weight and its capacity, and the sum of the deltas."""

    charged = ("weight", "deltas")
    marks = ("started",)
    derived = ("capacity",)

    rule: SlackRule = attrs.field(validator=an_instance(SlackRule))
    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))
    slack: Fraction = attrs.field(validator=an_instance(Fraction))
    capacity: Fraction = attrs.field(validator=an_instance(Fraction))
    weight: Fraction = attrs.field(default=_ZERO, validator=sums)
    deltas: Fraction = attrs.field(default=_ZERO, validator=sums)
    started: bool = False

    def __attrs_post_init__(self) -> None:
        if not self.capacity <= _capacity(self.rule, self.budget.epsilon, self.slack):
            raise ValueError(
                f"a capacity of {float(self.capacity):.6g} is more than what {self.rule} admits"
            )
        share_of(self.slack, self.budget)

    def add(self, loss: Any) -> "SlackAccount":
        """Add one launch to the weight and the deltas."""
        return self._with(self.rule.weight(loss), delta_of(loss))

    def add_many(self, loss: Any, count: int) -> "SlackAccount":
        """So many times both."""
        return self._with(count * self.rule.weight(loss), count * delta_of(loss))

    def _with(self, more: Fraction, delta: Fraction) -> "SlackAccount":
        (weight,) = add_parts((self.weight,), (more,))
        deltas = self.deltas
        if delta:
            (deltas,) = add_parts((deltas,), (delta,))
        return SlackAccount(
            self.rule, self.budget, self.slack, self.capacity, weight, deltas, started=True
        )

    @property
    def within(self) -> bool:
        """Whether the weight is within the capacity, and slack + deltas within delta."""
        if not self.weight <= self.capacity:
            return False
        return not self.deltas or self.slack + self.deltas <= self.budget.delta

    def added(self, loss: Any) -> Parts:
        """Epsilon squared, rho or mu squared; and delta."""
        return weighed(loss)

    def check(self, amounts: Parts) -> Verdict:
        """Whether the weight is within the capacity, and the deltas within what is left."""
        return exactly(zip(amounts, self.limits(), strict=True))

    def wrong_terms(self) -> str:
        """A capacity that is above what the budget gives."""
        if (
            self.capacity
            and self.rule.keeps(self.capacity, self.budget.epsilon, self.slack) is False
        ):
            return f"has a capacity of {float(self.capacity):.6g}, above its budget"
        return outside(self.slack, self.budget)

    def limits(self) -> Parts:
        """The capacity, and what the slack leaves of delta."""
        return self.capacity, self.budget.delta - self.slack

    def costing(self, amounts: Parts) -> AdditiveLoss:
        """The loss of the rule's measure with this weight and delta."""
        takes: Any = self.rule.takes
        weight, delta = amounts
        if takes is GDP:
            return GDP(sqrt_up(weight))
        loss: AdditiveLoss = takes(sqrt_up(weight) if takes is ApproxDP else weight, delta)
        return loss

    def total(self) -> ApproxDP:
        """(epsilon of the weight, slack + deltas), zero before the first launch."""
        if not self.started:
            return self.budget.zero()
        epsilon = self.rule.epsilon(self.weight, self.slack)
        if self.weight <= self.capacity:  # then the budget is a bound too, whatever the rounding
            epsilon = min(epsilon, self.budget.epsilon)
        return ApproxDP(epsilon, min(Fraction(1), self.slack + self.deltas))

    def least(self) -> Fraction:
        """The first coordinate of Theorem 3.8: the epsilon of the weight at the slack.

        It is rounded up until the rule's capacity, which is rounded down, covers the weight.
        """
        epsilon, step = self.rule.epsilon(self.weight, self.slack), Fraction(1, 2**90)
        while not self.weight <= self.rule.capacity(epsilon, self.slack):
            epsilon, step = epsilon + max(epsilon, _TINY) * step, 2 * step
        return epsilon

    def spent(self) -> AdditiveLoss:
        """The single loss with the total weight and the sum of the deltas."""
        return self.costing((self.weight, self.deltas))

    @property
    def counts(self) -> str:
        """The rule's weight."""
        return self.rule.weighs

    def share(self) -> Fraction:
        """The used part of the capacity, or of what the slack leaves of delta if that is more."""
        deltas = of_whole(self.deltas, self.budget.delta - self.slack)
        return max(of_whole(self.weight, self.capacity), deltas)

    def remaining(self) -> AdditiveLoss:
        """The loss that uses the rest of the capacity and of delta."""
        room = max(self.capacity - self.weight, Fraction(0))
        left = max(self.budget.delta - self.slack - self.deltas, Fraction(0))
        return self.rule.largest(room, left)

    def hint(self, loss: Any) -> str:
        """Says that the whole delta is the slack, if the launch has a delta."""
        return why_no_delta(delta_of(loss), self.slack, self.budget)
