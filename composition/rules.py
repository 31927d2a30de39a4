"""Continuation rules and their accumulators: when a launch still fits, and what has been lost.

Responsible for F and G of the paper (Haney et al. 2023, Definitions 2.5 and 2.12). A `Rule` is
fixed at construction; its `Account` is the frozen, constant-size summary of what was charged.
Adding a loss gives a candidate, which is committed only if it is `within` the budget.
Knows no mechanism and no data.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Self

import attrs
from flint import arb

from queryable.errors import UnprovenCompositionError
from queryable.losses import (
    AdditiveLoss,
    ApproxDP,
    Loss,
    Measure,
    Parts,
    add_parts,
    as_measure,
    measure_name,
    zero_of,
)
from queryable.numbers import positive, probability, round_down, round_up, shown, sqrt_down


class Tally(ABC):
    """What an accumulator G has seen so far."""

    @abstractmethod
    def add(self, loss: Any) -> Self:
        """The tally after one more launch, whether or not it fits."""

    @abstractmethod
    def total(self) -> Loss:
        """G: a bound on the loss so far."""


class Account(Tally):
    """What has been charged under one rule."""

    @property
    @abstractmethod
    def within(self) -> bool:
        """The continuation rule F: whether everything added so far fits the budget."""

    @abstractmethod
    def remaining(self) -> Loss:
        """The largest single loss that would still be admitted."""

    def hint(self, loss: Any) -> str:
        """What else to say when `loss` is refused."""
        return ""


class Accumulator(ABC):
    """G: what the losses charged so far come to (Haney et al. 2023, Definition 2.14)."""

    measure: Measure
    """What launches state their loss in."""

    @abstractmethod
    def open(self) -> Tally:
        """An empty tally."""


class Rule(ABC):
    """A continuation rule for budgets of some measure."""

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


@attrs.frozen
class Sum(Tally):
    """Coordinates added up exactly."""

    zero: AdditiveLoss
    parts: Parts

    def add(self, loss: AdditiveLoss) -> "Sum":
        """Every coordinate grows."""
        return Sum(self.zero, add_parts(self.parts, loss.parts))

    def total(self) -> AdditiveLoss:
        """The sum."""
        return self.zero.of_parts(self.parts)


@attrs.frozen
class Additive(Accumulator):
    """G adds losses up."""

    measure: Measure = attrs.field(converter=as_measure)

    def open(self) -> Sum:
        """An empty sum.

        Raises:
            UnprovenCompositionError: losses of this measure do not add up.
        """
        zero = additive(zero_of(self.measure))
        return Sum(zero, zero.parts)


def additive(loss: Loss) -> AdditiveLoss:
    """The loss, if its measure composes adaptively by adding.

    Raises:
        UnprovenCompositionError: it does not, and what to do instead.
    """
    if isinstance(loss, AdditiveLoss):
        return loss
    raise UnprovenCompositionError(
        f"{measure_name(loss.measure)} losses do not add up: the tensor product of curves "
        "chosen on the way is invalid in general (Tran et al. 2026; Regehr et al. 2026); compose "
        "in ApproxDP, ZCDP or GDP, or fix the curves in advance with ConComp"
    )


@attrs.frozen
class AdditiveAccount(Account):
    """A sum against a budget, coordinate by coordinate."""

    spent: Sum
    budget: AdditiveLoss
    most: Parts

    def add(self, loss: AdditiveLoss) -> "AdditiveAccount":
        """The sum grows."""
        return AdditiveAccount(self.spent.add(loss), self.budget, self.most)

    @property
    def within(self) -> bool:
        """No coordinate exceeds the budget's."""
        return all(spent <= most for spent, most in zip(self.spent.parts, self.most, strict=True))

    def total(self) -> AdditiveLoss:
        """The sum."""
        return self.spent.total()

    def remaining(self) -> AdditiveLoss:
        """The budget less the sum."""
        left = (most - spent for most, spent in zip(self.most, self.spent.parts, strict=True))
        return self.budget.room(tuple(max(part, Fraction(0)) for part in left))


@attrs.frozen
class Basic(Rule):
    """Losses add: epsilon; epsilon and delta; rho; Renyi at one order; mu squared.

    Privacy:
        Theorem: Haney et al. 2023, Theorem 1.20 for (epsilon, delta), 4.6 for RDP, 4.10 for zCDP;
        Theorem 3.4 with Smith and Thakurta 2022 for GDP; docs/theory.md for approximate zCDP.
    """

    def child_measure(self, budget: Loss) -> Measure:
        """The budget's own."""
        return budget.measure

    def open(self, budget: Loss) -> AdditiveAccount:
        """An empty sum."""
        most = additive(budget)
        return AdditiveAccount(Additive(budget.measure).open(), most, most.parts)


def _largest_variance(epsilon: Fraction, slack: Fraction) -> Fraction:
    """The root V of sqrt(2*V*log(1/slack)) + V/2 = epsilon, rounded down."""
    if epsilon == 0:
        return epsilon

    def root(e: arb, s: arb) -> arb:
        drift = (-2 * s.log()).sqrt()
        return (2 * e / (drift + (drift * drift + 2 * e).sqrt())) ** 2

    return max(Fraction(0), round_down(root, epsilon, slack))


def _variance_to_epsilon(variance: Fraction, slack: Fraction) -> Fraction:
    if variance == 0:
        return Fraction(0)
    return round_up(lambda v, s: (-2 * v * s.log()).sqrt() + v / 2, variance, slack)


@attrs.frozen
class WhitehouseAccount(Account):
    """V = sum of epsilon_i squared against the largest V that fits, and the sum of delta_i."""

    rule: "Whitehouse2023"
    budget: ApproxDP
    slack: Fraction
    largest: Fraction
    variance: Fraction = Fraction(0)
    deltas: Fraction = Fraction(0)
    started: bool = False

    def add(self, loss: AdditiveLoss) -> "WhitehouseAccount":
        """V grows by epsilon squared."""
        epsilon, delta = loss.parts
        variance, deltas = add_parts((self.variance, self.deltas), (epsilon * epsilon, delta))
        return WhitehouseAccount(
            self.rule, self.budget, self.slack, self.largest, variance, deltas, started=True
        )

    @property
    def within(self) -> bool:
        """sqrt(2 V log(1/slack)) + V/2 <= epsilon, solved for V; and slack + deltas <= delta."""
        return self.variance <= self.largest and self.slack + self.deltas <= self.budget.delta

    def total(self) -> Loss:
        """(sqrt(2 V log(1/slack)) + V/2, slack + deltas), zero before the first launch."""
        if not self.started:
            return self.budget.zero()
        epsilon = _variance_to_epsilon(self.variance, self.slack)
        return ApproxDP(epsilon, min(Fraction(1), self.slack + self.deltas))

    def remaining(self) -> ApproxDP:
        """The largest epsilon whose square still fits, and the delta left beside the slack."""
        room = max(self.largest - self.variance, Fraction(0))
        left = max(self.budget.delta - self.slack - self.deltas, Fraction(0))
        return ApproxDP(sqrt_down(room), left)

    def hint(self, loss: Any) -> str:
        """Say so when all of delta is the slack."""
        if loss.parts[1] > 0 and self.slack == self.budget.delta:
            return f"; all of delta is the rule's slack, pass a slack below {shown(self.slack)}"
        return ""


def _slack(value: Any) -> Fraction | None:
    return None if value is None else positive(probability(value, "slack"), "slack")


@attrs.frozen
class Whitehouse2023(Rule):
    """sqrt(2 log(1/slack) V) + V/2 <= epsilon with V = sum of epsilon_i^2, slack + deltas <= delta.

    Privacy:
        Theorem: Whitehouse et al. 2023, Theorem 2; interleaved by Haney et al. 2023, Theorem 1.20.

    Args:
        slack: the rule's own share of delta, fixed here; by default all of it, and then launches
            with delta_i > 0 are refused.
    """

    slack: Fraction | None = attrs.field(
        default=None,
        converter=_slack,
    )

    def child_measure(self, budget: Loss) -> Measure:
        """ApproxDP."""
        if not isinstance(budget, ApproxDP):
            raise ValueError(
                f"Whitehouse2023 is about ApproxDP budgets, not {measure_name(budget.measure)}"
            )
        return ApproxDP

    def open(self, budget: Loss) -> WhitehouseAccount:
        """An empty account; the slack is fixed now."""
        self.child_measure(budget)
        assert isinstance(budget, ApproxDP)
        slack = budget.delta if self.slack is None else self.slack
        if not 0 < slack <= budget.delta:
            raise ValueError(
                f"slack is {shown(slack)}; it should be above 0 and at most the budget's delta, "
                f"{shown(budget.delta)}"
            )
        return WhitehouseAccount(self, budget, slack, _largest_variance(budget.epsilon, slack))
