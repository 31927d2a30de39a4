"""Time-uniform odometers: bounds on the realised loss that hold at every moment at once.

This file has what all of them share: the account, the report, and the filter that stops where the
report would exceed an epsilon. The formulas are in `boundaries` and `renyi_odometer`.

Theory of operation: fix neighbouring data x, x' and an adversary. Let L_n be the log-likelihood
ratio of the view after n messages, and R_n(alpha) the sum of the Renyi losses r_i at order alpha of
all launches so far; a child is charged in full at its launch. For a child with transcript h let
V_i(h) be the supremum over continuations of E[(P/P')^(alpha - 1) given h]. It is at least 1, and at
most exp((alpha - 1)*r_i) at the start. So exp((alpha - 1)(L_n - R_n)) times the product of the V_i
is a nonnegative supermartingale under every interleaving: a launch multiplies it by at most 1, an
ask keeps its expectation or lowers it. It starts at 1 and dominates exp((alpha - 1)(L_n - R_n)); by
Ville's inequality L_n > R_n + log(1/delta)/(alpha - 1) at *some* n with probability at most delta.
Each bound in those modules is a mixture or a weighted union of these over alpha, or above one. With
zCDP children R_n(alpha) = alpha*rho, and V = 2*rho is the variance that the literature speaks of:
epsilon_i^2 for an epsilon_i-DP child there, 2*epsilon_i*tanh(epsilon_i/2), which is less, here.
"""

from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs

from composition.rules.base import Account, Accumulator, Rule, RunningAccount, sums
from composition.rules.checks import odometers as checks
from composition.rules.checks.compare import Verdict
from composition.rules.odometers.chances import read_delta, read_deltas, read_margin
from queryable.losses import (
    ZCDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    Parts,
    TimeUniformBound,
    add_parts,
    measure_name,
    zero_of,
)
from queryable.losses.conversions import greatest
from queryable.losses.numbers import round_up, shown
from queryable.wording.quoting import an_instance, quoted

_ZERO = Fraction(0)


@attrs.frozen
class TimeUniform(Accumulator):
    """Base of the time-uniform odometers; used in `OdomCon(measure, rule=...)` or alone.

    Privacy:
        Claim: for neighbouring data at a d_in fixed in advance and every adversary, the probability
            that the realised loss is above the bound at *some* moment is at most `total_delta`;
            the exact claim, and the two-sided one, are in `TimeUniformBound`.
        Theorem: docs/theory.md, time-uniform odometers interleave, and with (epsilon, delta)
            children; this module's docstring has the proof of the first.
        Assumes: the launched privacy maps are sound.
        Checked by: tests/statistical/test_time_uniform.py, tests/audit/test_odometers.py

    Children that are (epsilon_i, delta_i)-DP need a share `deltas` for their delta_i and a `margin`
    to add to the bound from the first of them on, both fixed here: then the claim is made at
    delta + deltas/(1 - e^-margin), and launches whose delta_i would sum to more than `deltas` are
    refused. Replace each child by its good version (delta_i aside): P = (1 - deltas)*good +
    deltas*bad on views, and P' >= (1 - deltas)*good'. Where the loss first passes bound + margin,
    either good/good' passes the bound, which has probability at most delta under `good`, or
    deltas*bad > (e^margin - 1)*(1 - deltas)*good, so that there P <= deltas*bad/(1 - e^-margin).

    Args:
        delta: the probability that the bound fails, without the children's own delta_i.
        deltas: the largest sum of the children's delta_i; without it they must be 0.
        margin: the epsilon added to the bound once a child has a delta.
    """

    delta: Fraction = attrs.field(converter=read_delta)
    deltas: Fraction | None = attrs.field(default=None, kw_only=True, converter=read_deltas)
    margin: Fraction | None = attrs.field(default=None, kw_only=True, converter=read_margin)
    total_delta: Fraction = attrs.field(init=False, repr=False, eq=False)
    """The probability that the report fails, children's delta_i included."""
    measure: Measure = attrs.field(init=False, repr=False, eq=False)

    @total_delta.default
    def _total_delta(self) -> Fraction:
        if (self.deltas is None) != (self.margin is None):
            raise ValueError(
                f"deltas is {self.deltas} and margin is {self.margin}; give both, for children "
                "with a delta of their own, or neither"
            )
        if self.deltas is None or self.margin is None:
            return self.delta
        price = round_up(lambda d, m: d / -(-m).expm1(), self.deltas, self.margin)
        total = self.delta + price
        if not total < 1:
            raise ValueError(
                f"delta + deltas/(1 - e^-margin) is {shown(total)}; it should be below 1: take a "
                "smaller share deltas or a larger margin"
            )
        return total

    @measure.default
    def _measure(self) -> Measure:
        return ZCDP if self.deltas is None else ApproxZCDP

    @abstractmethod
    def pure_bound(self, parts: Parts) -> Fraction:
        """The bound, rounded up, for launches that sum to `parts`, without their deltas."""

    def keeps(self, parts: Parts, room: Fraction) -> Verdict:
        """Whether that bound is within a room above 0, by `checks`; None if none knows it."""
        return None

    def room(self, parts: Parts, epsilon: Fraction) -> Parts:
        """The largest further launch, without a delta, that keeps the bound within `epsilon`."""
        fits = greatest(lambda more: self.pure_bound((parts[0] + more,)) <= epsilon)
        return (fits,)

    def open(self) -> "TimeUniformAccount":
        """An empty account."""
        return TimeUniformAccount(self, (_ZERO,) * self.width)

    def filter(self) -> "Stopping":
        """The filter that refuses launches which would take the bound above its epsilon."""
        return Stopping(self)

    def bound(self, losses: Iterable[Loss]) -> Fraction:
        """The epsilon reported after launches of these losses, rounded up; 0 after none.

        Raises:
            ValueError: a loss does not convert to `measure`, or the deltas sum to more than theirs.
        """
        account = self.open()
        for loss in losses:
            account = account.add(self._stated(loss))
            if account.objection:
                raise ValueError(account.objection)
        return account.epsilon

    def _stated(self, loss: Loss) -> AdditiveLoss:
        if not isinstance(loss, Loss):
            raise TypeError(f"{quoted(loss)} is not a privacy loss")
        try:
            stated = loss.to(self.measure)
        except ValueError as error:
            lacking = self.deltas is None and isinstance(loss, ApproxDP | ApproxZCDP)
            hint = "; children with a delta need deltas=... and margin=..." if lacking else ""
            raise ValueError(f"{error}{hint}") from None
        assert isinstance(stated, AdditiveLoss)
        return stated

    @property
    def width(self) -> int:
        """How many sums it keeps."""
        return 1 if self.deltas is None else 2


@attrs.frozen
class TimeUniformAccount(RunningAccount):
    """The sum of the launches so far; with a share for deltas, their sum is the last part."""

    charged = ("parts",)

    odometer: TimeUniform = attrs.field(validator=an_instance(TimeUniform))
    parts: Parts = attrs.field(validator=sums)

    def __attrs_post_init__(self) -> None:
        if len(self.parts) != self.odometer.width:
            raise ValueError(f"{len(self.parts)} sums; {self.odometer} adds up others")

    def add(self, loss: AdditiveLoss) -> "TimeUniformAccount":
        """Add a child's whole loss at its launch. Charging it ask by ask would be unsound."""
        return TimeUniformAccount(self.odometer, add_parts(self.parts, loss.parts))

    @property
    def deltas(self) -> Fraction:
        """The sum of the children's delta_i."""
        return _ZERO if self.odometer.deltas is None else self.parts[-1]

    @property
    def pure(self) -> Parts:
        """The parts without the sum of the deltas."""
        return self.parts if self.odometer.deltas is None else self.parts[:-1]

    @property
    def epsilon(self) -> Fraction:
        """The bound, plus the margin once a child has a delta; 0 while all losses are 0."""
        margin = self.odometer.margin if self.deltas else None
        bound = self.odometer.pure_bound(self.pure) if any(self.pure) else _ZERO
        return bound + (margin or _ZERO)

    @property
    def delta(self) -> Fraction:
        """`total_delta`; 0 while all losses are 0, and 1 if the deltas exceed their share."""
        if self.objection:
            return Fraction(1)
        return self.odometer.total_delta if any(self.parts) else _ZERO

    @property
    def objection(self) -> str:
        """A message if the children's deltas exceed the share that was fixed for them."""
        share = self.odometer.deltas
        if share is None or self.deltas <= share:
            return ""
        return f"the deltas of the launches would sum to more than their share, {shown(share)}"

    def check(self, amounts: Parts) -> Verdict:
        """Whether the deltas are within their share."""
        return self.odometer.deltas is None or amounts[-1] <= self.odometer.deltas

    def total(self) -> TimeUniformBound:
        """The report."""
        return TimeUniformBound(self.epsilon, self.delta)


@attrs.frozen
class Stopping(Rule):
    """The rule that a time-uniform bound stays within epsilon; made by `filter_of(odometer)`.

    Privacy:
        Claim: (epsilon, delta)-DP.
        Theorem: no launch takes the bound above epsilon. So a loss above epsilon, at any moment, is
            above the bound of that moment, which has probability at most delta. P(L > epsilon)
            <= delta implies (epsilon, delta)-DP.
    """

    odometer: TimeUniform = attrs.field(validator=an_instance(TimeUniform))

    def monotone(self) -> bool:
        """Yes: the bound is compared with epsilon."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """The odometer's measure."""
        return self.odometer.measure

    def open(self, budget: Loss) -> "StoppingAccount":
        """An empty account.

        Raises:
            ValueError: the budget is no `ApproxDP`, or its delta is below the odometer's.
        """
        if not isinstance(budget, ApproxDP):
            name, measure = type(self.odometer).__name__, measure_name(budget.measure)
            raise ValueError(f"{name} runs as a filter for ApproxDP budgets, not {measure}")
        return StoppingAccount(self.odometer.open(), budget)


@attrs.frozen
class StoppingAccount(Account):
    """A time-uniform bound compared with the epsilon of a budget."""

    inner = "running"

    running: TimeUniformAccount = attrs.field(validator=an_instance(TimeUniformAccount))
    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))

    def __attrs_post_init__(self) -> None:
        odometer = self.running.odometer
        if not odometer.total_delta <= self.budget.delta:
            raise ValueError(
                f"the budget's delta is {shown(self.budget.delta)}; {type(odometer).__name__} "
                f"needs at least its own, {shown(odometer.total_delta)}"
            )

    def add(self, loss: AdditiveLoss) -> "StoppingAccount":
        """The account after one more launch."""
        return StoppingAccount(self.running.add(loss), self.budget)

    @property
    def within(self) -> bool:
        """Whether the bound is at most epsilon, and the deltas are within their share."""
        return not self.running.objection and self.running.epsilon <= self.budget.epsilon

    def check(self, amounts: Parts) -> Verdict:
        """Whether the bound is within epsilon."""
        odometer = self.running.odometer
        shares = odometer.deltas, odometer.margin
        return checks.stays_within(odometer.keeps, amounts, *shares, self.budget.epsilon)

    def wrong_terms(self) -> str:
        """An odometer that fails more often than the budget allows."""
        odometer = self.running.odometer
        shares = odometer.delta, odometer.deltas, odometer.margin
        if checks.delta_within(*shares, self.budget.delta) is False:
            return "has an odometer that needs more than the budget's delta"
        return ""

    def total(self) -> ApproxDP:
        """G of Lemma 2.19: the least budget at this delta that admits the launches so far."""
        return ApproxDP(self.running.epsilon, self.running.delta)

    def least(self) -> Fraction:
        """The bound."""
        return self.running.epsilon

    def remaining(self) -> Loss:
        """A largest launch that would be admitted now, with the rest of the deltas if possible."""
        odometer, running = self.running.odometer, self.running
        if odometer.deltas is None or odometer.margin is None:
            return self._loss(odometer.room(running.pure, self.budget.epsilon))
        left = odometer.deltas - running.deltas
        for delta in (left, _ZERO):
            margin = odometer.margin if running.deltas or delta else _ZERO
            if self.add(self._loss((_ZERO, delta))).within:
                room = odometer.room(running.pure, self.budget.epsilon - margin)
                return self._loss((*room, delta))
        return self._loss((_ZERO, _ZERO))

    def _loss(self, parts: Parts) -> AdditiveLoss:
        zero = zero_of(self.running.odometer.measure)
        assert isinstance(zero, AdditiveLoss)
        return zero.room(parts)

    def hint(self, loss: Any) -> str:
        """Says that the deltas do not fit, if they do not."""
        objection = self.add(loss).running.objection
        return f"; {objection}" if objection else ""
