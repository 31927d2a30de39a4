"""Claims of ex-post private children, and the account that adds them up.

Such a child is charged what its transcript so far has cost. If the mechanism misstates this cost
before data are touched, that is a `PrivacyClaimError`; afterwards the child is charged the worst
case of the step.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import attrs

from composition.compositors.claims import Claim
from composition.rules.additive import AdditiveAccount, RunningSum
from queryable.errors import PrivacyClaimError, QueryError
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import AdditiveLoss, ExPostBound, PureDP, add_parts
from queryable.losses.numbers import exact, probability
from queryable.messages import Answer, Query

T = TypeVar("T")

OPENING = Opening()


@attrs.define(unsafe_hash=True)
class ExPostClaim(Claim):
    """The claim of a child that is charged as it answers; `loss` is the charge so far."""

    loss: AdditiveLoss
    expense: Expense
    d_in: int

    fixed: ClassVar[bool] = False

    @classmethod
    def of(cls, mechanism: ExPostMechanism[Any], zero: AdditiveLoss, d_in: int) -> "ExPostClaim":
        """The claim of a child before its launch: epsilon 0 and the mechanism's delta.

        Args:
            zero: the zero loss of the budget's measure.

        Raises:
            PrivacyClaimError: the mechanism misstates its cost, or has a delta and the budget is
                `PureDP`.
        """
        delta = _delta(mechanism, d_in)
        if delta and isinstance(zero, PureDP):
            name = type(mechanism).__name__
            raise PrivacyClaimError(f"{name} has a delta of its own: use an ApproxDP budget")
        expense = _stated(mechanism, mechanism.expense)
        if not isinstance(expense, Expense):
            raise PrivacyClaimError(f"{type(mechanism).__name__} gives no Expense")
        charge = zero.of_parts((Fraction(0), delta)[: len(zero.parts)])
        return cls(mechanism, charge, expense, d_in)

    def understood(self, query: Query) -> Query:
        """The query as plain data, read once.

        Raises:
            QueryError: the query is wrong.
        """
        mechanism: Any = self.mechanism
        return _stated(mechanism, lambda: mechanism.understood(query))

    def at_worst(self, query: Query) -> AdditiveLoss:
        """An upper bound on the charge after one more query.

        Raises:
            QueryError: the query is wrong.
            PrivacyClaimError: the mechanism misstates its cost.
        """
        return self._charge(lambda: self.expense.at_worst(query, self.d_in))

    def settled(
        self, query: Query, answer: Answer, worst: AdditiveLoss, *, alive: bool
    ) -> "tuple[ExPostClaim, bool]":
        """The claim after a step, and whether the child stays alive.

        A child that failed, or states a cost above the worst case it had stated, is retired and
        charged the worst case.
        """
        moved = self._answered(query, answer) if alive else None
        if moved is not None and moved.loss <= worst:
            return moved, True
        return attrs.evolve(self, expense=_Unanswered(self.expense, query), loss=worst), False

    def lost(self, worst: AdditiveLoss) -> "ExPostClaim":
        """The claim if the launch fails, which is charged the worst case."""
        return self.settled(OPENING, None, worst, alive=False)[0]

    def loss_at(self, unit: int, d_in: int) -> AdditiveLoss:
        """The charge so far, for data that differ in `d_in` records."""
        if d_in == self.d_in:
            return self.loss
        if d_in == 0:
            return self.loss.zero()
        mechanism: Any = self.mechanism
        epsilon = _epsilon(mechanism, lambda: self.expense.epsilon(d_in))
        return self.loss.of_parts((epsilon, _delta(mechanism, d_in))[: len(self.loss.parts)])

    def realised(self, d_in: int) -> ExPostBound:
        """The report about this child alone, at `d_in` records."""
        return bound(self.loss_at(self.d_in, d_in).parts)

    def _answered(self, query: Query, answer: Answer) -> "ExPostClaim | None":
        try:
            expense = self.expense.after(query, answer)
            charge = self._charge(lambda: expense.epsilon(self.d_in))
        except Exception:
            return None
        return attrs.evolve(self, expense=expense, loss=charge)

    def _charge(self, epsilon: Callable[[], Fraction]) -> AdditiveLoss:
        _, *delta = self.loss.parts
        return self.loss.of_parts((_epsilon(self.mechanism, epsilon), *delta))


@attrs.frozen
class ExPostAccount(AdditiveAccount):
    """The sum of charges that change as children answer."""

    def add(self, loss: AdditiveLoss) -> Self:
        """The account after one more launch."""
        return self._with(loss.parts)

    def moved(self, before: AdditiveLoss, after: AdditiveLoss) -> Self:
        """The account after one child's charge changed from `before` to `after`."""
        return self._with(tuple(b - a for a, b in zip(before.parts, after.parts, strict=True)))

    def _with(self, change: tuple[Fraction, ...]) -> Self:
        total = RunningSum(self.sum.zero, add_parts(self.sum.parts, change))
        return type(self)(total, self.budget, self.most)

    def total(self) -> ExPostBound:  # type: ignore[override]
        """The realised total, an `ExPostBound`. It is no `Loss`: what follows may cost more."""
        return bound(self.sum.parts)

    def spent(self) -> AdditiveLoss:
        """The sum as a loss, to compare with the budget."""
        return self.sum.total()


def bound(parts: tuple[Fraction, ...]) -> ExPostBound:
    """The report with the epsilon and delta of an account's parts."""
    return ExPostBound(parts[0], min(sum(parts[1:], Fraction(0)), Fraction(1)))


@attrs.frozen
class _Unanswered(Expense):
    """The expense of a transcript that ended in a failure."""

    before: Expense
    query: Query

    def epsilon(self, d_in: int) -> Fraction:
        """The most that the answer to the failed query may have cost."""
        return self.before.at_worst(self.query, d_in)

    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The same: the child answers no further query."""
        return self.epsilon(d_in)

    def after(self, query: Query, answer: Answer) -> Expense:
        """The same: the child answers no further query."""
        return self


def _delta(mechanism: ExPostMechanism[Any], d_in: int) -> Fraction:
    return _stated(mechanism, lambda: probability(mechanism.delta(d_in), "delta"))


def _epsilon(mechanism: Any, state: Callable[[], Fraction]) -> Fraction:
    return _stated(mechanism, lambda: exact(state(), "the expense"))


def _stated(mechanism: Any, state: Callable[[], T]) -> T:
    """What a mechanism states about its cost; its errors become a `PrivacyClaimError`.

    A `QueryError` passes unchanged.
    """
    try:
        return state()
    except QueryError:
        raise
    except Exception as error:
        name = type(mechanism).__name__
        raise PrivacyClaimError(f"{name} does not state its cost: {error}") from None
