"""The base classes of continuation rules F and accumulators G, and of their accounts.

Haney et al. 2023 define F in Definitions 2.5, 2.6 and 2.8, and G in 2.12 and 2.14. An accumulator
adds losses up; its running value is an account. A rule decides whether an account is within a
budget. An account is a frozen value: adding a loss gives a candidate, which the compositor commits
only if it is `within` the budget.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

from composition.rules.checks.account import Accountable
from queryable.losses import AdditiveLoss, Loss, Measure, Report
from queryable.receipts import RunningTotal as Shown
from queryable.wording.quoting import quoted


class RunningAccount(Accountable, Shown):
    """An account: the running value of an accumulator G."""

    @abstractmethod
    def add(self, loss: Any) -> Self:
        """The account after one more launch, whether or not that fits."""

    @abstractmethod
    def total(self) -> Report:
        """The value of G: a bound on the loss so far."""

    @property
    def objection(self) -> str:
        """Why an odometer must refuse the last loss; empty if it need not."""
        return ""


class Account(RunningAccount):
    """The account of a rule: the charged losses, and the budget that they are compared with."""

    budget: Any = None
    """The largest loss that is allowed."""

    @abstractmethod
    def total(self) -> Loss:
        """A bound on the loss so far."""

    @property
    @abstractmethod
    def within(self) -> bool:
        """The continuation rule F: whether the losses added so far fit the budget."""

    @abstractmethod
    def remaining(self) -> Loss:
        """The largest single loss that would be admitted now."""

    def left_for(self, requested: Loss) -> Loss:
        """The same, in the measure of a refused loss if launches may state several."""
        return self.remaining()

    def least(self) -> Fraction | None:
        """The first coordinate of the least budget that admits the losses added so far.

        The budget's other coordinates are kept. The value depends only on the losses. None if it
        has to be found by opening accounts under other budgets.
        """
        return None

    def nearly(self, losses: Sequence[Any]) -> Fraction | None:
        """At most the least first coordinate, up to rounding, of a budget that admits these losses.

        None if it has to be searched among all budgets.
        """
        return None

    def share(self) -> Fraction | None:
        """The used part of the budget, from 0 to 1, for pictures; None if it is no number.

        By default that of the first coordinate. A second one, delta, may be a slack, which is all
        used at the first launch.
        """
        total, budget = self.total(), self.budget
        if not isinstance(total, AdditiveLoss) or type(total) is not type(budget):
            return None
        return of_whole(total.parts[0], budget.parts[0])

    def add_many(self, loss: Any, count: int) -> "Account":
        """The account after `count` equal launches, or after the first that does not fit."""
        account: Account = self
        for _ in range(count):
            account = account.add(loss)
            if not account.within:
                break
        return account

    def hint(self, loss: Any) -> str:
        """A hint for the message when `loss` is refused; empty or starting with "; "."""
        return ""


def sums(_: object, attribute: Any, values: Any) -> None:
    """An attrs validator: the sum, or each of several sums, of losses is from 0 on."""
    for each in values if type(values) is tuple else (values,):
        if type(each) is not Fraction or each.numerator < 0:
            raise ValueError(f"{attribute.name} is {quoted(values)}; sums of losses are from 0 on")


def of_whole(used: Fraction, whole: Fraction) -> Fraction:
    """The used part of a whole, from 0 to 1; if the whole is 0, it is 1 once `used` is above 0."""
    return min(used / whole, Fraction(1)) if whole else Fraction(bool(used))


class Accumulator(ABC):
    """G: a bound on the total of the losses charged so far (Haney et al. 2023, Definition 2.14).

    A subclass of your own needs `vouched_for`, as a `Rule` does.
    """

    measure: Measure
    """The measure that launches state their loss in."""

    vouched_for: ClassVar[str] = ""
    """As in `Rule`."""

    @abstractmethod
    def open(self) -> RunningAccount:
        """An empty account."""

    def filter(self) -> "Rule | None":
        """The rule [G(.) <= d], if it does more than compare totals with d; else None."""
        return None


class Rule(ABC):
    """F: a continuation rule for budgets of some measure (Haney et al. 2023, Definition 2.8).

    A compositor takes the rules that `composition.VALIDITY` has a row for. A rule of your own,
    including a subclass of one of ours, must state in `vouched_for` the theorem that makes it a
    valid filter for every interleaving, and where that is proved. Without it every compositor
    raises `UnprovenCompositionError`. It is not enough that each path of launches fits the budget:
    the optimal accountant has that property and breaks its claim
    (tests/attacks/test_naive_accounts.py).

    Examples:
        >>> from composition import Basic
        >>> class Mine(Basic):
        ...     vouched_for = "Haney et al. 2023, Theorem 1.20: it admits what Basic() admits"
    """

    vouched_for: ClassVar[str] = ""
    """The theorem that makes a rule of your own valid, and its source. It is not inherited."""

    adds_up: ClassVar[bool] = False
    """Whether it compares the sum of the losses with the budget, coordinate by coordinate."""

    def monotone(self) -> bool:
        """Whether a budget admits all that a smaller budget with the same delta admits.

        Only a monotone rule has an accumulator (Haney et al. 2023, Lemma 2.19). By default False: a
        rule that derives parameters from its budget may admit under a small budget what it refuses
        under a larger one.
        """
        return False

    @abstractmethod
    def child_measure(self, budget: Loss) -> Measure:
        """The measure that launches must state their loss in.

        Raises:
            ValueError: the rule does not take budgets of this measure.
        """

    @abstractmethod
    def open(self, budget: Loss) -> Account:
        """An empty account.

        Raises:
            ValueError: the rule does not take this budget.
        """
