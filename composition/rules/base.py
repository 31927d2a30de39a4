"""What a continuation rule and an accumulator are.

Responsible for F and G of the paper (Haney et al. 2023, Definitions 2.5, 2.6 and 2.8 for F, 2.12
and 2.14 for G). A `Rule` is fixed at construction; its `Account` is the frozen, constant-size
summary of what was charged.
Adding a loss gives a candidate, which is committed only if it is `within` the budget.
Knows no mechanism and no data.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

from queryable.losses import AdditiveLoss, Loss, Measure, Report
from queryable.receipts import Account as Shown


class RunningAccount(Shown):
    """The running value of an accumulator G."""

    @abstractmethod
    def add(self, loss: Any) -> Self:
        """The tally after one more launch, whether or not it fits."""

    @abstractmethod
    def total(self) -> Report:
        """G: a bound on the loss so far, and of which kind."""

    @property
    def objection(self) -> str:
        """Why even an odometer may not take the last loss; empty where it may."""
        return ""


class Account(RunningAccount):
    """What has been charged under one rule."""

    budget: Any = None
    """The loss that it is held against."""

    @abstractmethod
    def total(self) -> Loss:
        """A bound on the loss so far."""

    @property
    @abstractmethod
    def within(self) -> bool:
        """The continuation rule F: whether everything added so far fits the budget."""

    @abstractmethod
    def remaining(self) -> Loss:
        """The largest single loss that would still be admitted."""

    def least(self) -> Fraction | None:
        """The first coordinate of the least budget that admits what was added so far.

        The budget's other coordinates stay as they are. A function of what was added alone; None
        where only another account, opened under that budget, tells.
        """
        return None

    def spent(self) -> object:
        """What was charged, in the rule's own units; by default the bound on the loss."""
        return self.total()

    def share(self) -> Fraction | None:
        """How much of the budget is used, 0 to 1, for pictures; None where it is no number.

        By default of the first coordinate: a second one, delta, may be a slack, all of it used.
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
        """What else to say when `loss` is refused."""
        return ""


def of_whole(used: Fraction, whole: Fraction) -> Fraction:
    """How much of a whole is used, 0 to 1; of nothing, all as soon as anything is."""
    return min(used / whole, Fraction(1)) if whole else Fraction(bool(used))


class Accumulator(ABC):
    """G: what the losses charged so far come to (Haney et al. 2023, Definition 2.14).

    One of your own needs `vouched_for`, as a `Rule` does.
    """

    measure: Measure
    """What launches state their loss in."""

    vouched_for: ClassVar[str] = ""
    """As in `Rule`."""

    @abstractmethod
    def open(self) -> RunningAccount:
        """An empty tally."""

    def filter(self) -> "Rule | None":
        """The rule [G(.) <= d], where there is more to it than comparing totals with d."""
        return None


class Rule(ABC):
    """F: a continuation rule for budgets of some measure (Haney et al. 2023, Definition 2.8).

    A compositor takes the rules that `composition.VALIDITY` has a row for. A rule of your own, one
    derived from ours included, is taken on your word alone: its class states in `vouched_for` the
    theorem that makes it a valid filter for every interleaving, and where that is proved. Without
    it every compositor is an `UnprovenCompositionError`. That each path of launches fits the budget
    is no such theorem: the optimal accountant has that, and breaks its claim
    (tests/attacks/test_optimal_as_filter.py).

    Examples:
        >>> from composition import Basic
        >>> class Mine(Basic):
        ...     vouched_for = "Haney et al. 2023, Theorem 1.20: it admits what Basic() admits"
    """

    vouched_for: ClassVar[str] = ""
    """The theorem that makes a rule of your own valid, and its source. It is not inherited."""

    def monotone(self) -> bool:
        """Whether what a budget admits is admitted by every budget that is larger at equal delta.

        A rule that derives parameters from its budget may not be. A rule has to say so to have an
        accumulator (Haney et al. 2023, Lemma 2.19): of a rule that is not monotone, a budget within
        a bound may admit what the bound itself does not.
        """
        return False

    @abstractmethod
    def child_measure(self, budget: Loss) -> Measure:
        """The measure that launches must state their loss in.

        Raises:
            ValueError: the rule is not about budgets of this measure.
        """

    @abstractmethod
    def open(self, budget: Loss) -> Account:
        """An empty account.

        Raises:
            ValueError: the rule is not about this budget.
        """
