"""What an ex-post private child is charged: what its transcript so far has cost, and no more.

Responsible for one child's charge, for turning every way in which a mechanism can misstate it into
an error before data are touched, or into the worst case after, and for the account of such charges.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import attrs

from composition.compositors.claims import Claim
from composition.rules.additive import AdditiveAccount, RunningSum
from queryable.errors import PrivacyClaimError, QueryError
from queryable.ex_post import Expense, ExPostMechanism
from queryable.losses import AdditiveLoss, ExPostBound, PureDP, add_parts
from queryable.losses.numbers import exact, probability
from queryable.messages import Answer, Query

T = TypeVar("T")


@attrs.frozen
class ExPostClaim(Claim):
    """A child that is charged what its transcript so far has cost; `loss` is that charge."""

    loss: AdditiveLoss
    expense: Expense
    d_in: int

    fixed: ClassVar[bool] = False

    @classmethod
    def of(cls, mechanism: ExPostMechanism[Any], zero: AdditiveLoss, d_in: int) -> "ExPostClaim":
        """A child about to be launched, charged its delta so far.

        Args:
            zero: of the budget's measure.

        Raises:
            PrivacyClaimError: it does not say what it costs, or has a delta that no budget of this
                measure takes.
        """
        delta = _delta(mechanism, d_in)
        if delta and isinstance(zero, PureDP):
            name = type(mechanism).__name__
            raise PrivacyClaimError(f"{name} has a delta of its own: use an ApproxDP budget")
        expense = _told(mechanism, mechanism.expense)
        if not isinstance(expense, Expense):
            raise PrivacyClaimError(f"{type(mechanism).__name__} gives no Expense")
        charge = zero.of_parts((Fraction(0), delta)[: len(zero.parts)])
        return cls(mechanism, charge, expense, d_in)

    def understood(self, query: Query) -> Query:
        """The query, read once.

        Raises:
            QueryError: the query is wrong.
        """
        mechanism: Any = self.mechanism
        return _told(mechanism, lambda: mechanism.understood(query))

    def at_worst(self, query: Query) -> AdditiveLoss:
        """What the charge may become by one more query.

        Raises:
            QueryError: the query is wrong.
            PrivacyClaimError: the mechanism does not say what it costs.
        """
        return self._charge(lambda: self.expense.at_worst(query, self.d_in))

    def settled(
        self, query: Query, answer: Answer, worst: AdditiveLoss, *, alive: bool
    ) -> "tuple[ExPostClaim, bool]":
        """The child after a step, and whether it goes on.

        One that has failed, or states a cost above what it had said at worst, does not, and has
        cost the worst for good.
        """
        moved = self._answered(query, answer) if alive else None
        if moved is not None and moved.loss <= worst:
            return moved, True
        return attrs.evolve(self, expense=_Unanswered(self.expense, query), loss=worst), False

    def loss_at(self, unit: int, d_in: int) -> AdditiveLoss:
        """The charge so far, for data that differ in some other number of records."""
        if d_in == 0:
            return self.loss.zero()
        mechanism: Any = self.mechanism
        epsilon = _epsilon(mechanism, lambda: self.expense.epsilon(d_in))
        return self.loss.of_parts((epsilon, _delta(mechanism, d_in))[: len(self.loss.parts)])

    def realised(self, d_in: int) -> ExPostBound:
        """The report of this child alone."""
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
    """A sum of charges that change while children answer."""

    def add(self, loss: AdditiveLoss) -> Self:
        """One more child."""
        return self._with(loss.parts)

    def moved(self, before: AdditiveLoss, after: AdditiveLoss) -> Self:
        """The account once one child's charge has changed."""
        return self._with(tuple(b - a for a, b in zip(before.parts, after.parts, strict=True)))

    def _with(self, change: tuple[Fraction, ...]) -> Self:
        total = RunningSum(self.sum.zero, add_parts(self.sum.parts, change))
        return type(self)(total, self.budget, self.most)

    def total(self) -> ExPostBound:  # type: ignore[override]
        """What was realised: no loss, which is what an account of a filter otherwise reports."""
        return bound(self.sum.parts)

    def spent(self) -> AdditiveLoss:
        """The sum as a loss, beside the budget."""
        return self.sum.total()


def bound(parts: tuple[Fraction, ...]) -> ExPostBound:
    """The report of an account: its epsilon, and what its deltas sum to."""
    return ExPostBound(parts[0], min(sum(parts[1:], Fraction(0)), Fraction(1)))


@attrs.frozen
class _Unanswered(Expense):
    """A transcript that ended in a failure."""

    before: Expense
    query: Query

    def epsilon(self, d_in: int) -> Fraction:
        """What the answer might have cost."""
        return self.before.at_worst(self.query, d_in)

    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """Nothing more: nothing is answered any more."""
        return self.epsilon(d_in)

    def after(self, query: Query, answer: Answer) -> Expense:
        """The same."""
        return self


def _delta(mechanism: ExPostMechanism[Any], d_in: int) -> Fraction:
    return _told(mechanism, lambda: probability(mechanism.delta(d_in), "delta"))


def _epsilon(mechanism: Any, state: Callable[[], Fraction]) -> Fraction:
    return _told(mechanism, lambda: exact(state(), "the expense"))


def _told(mechanism: Any, tell: Callable[[], T]) -> T:
    """What a mechanism states, with every way it can be wrong turned into a `PrivacyClaimError`."""
    try:
        return tell()
    except QueryError:
        raise
    except Exception as error:
        name = type(mechanism).__name__
        raise PrivacyClaimError(f"{name} does not say what it costs: {error}") from None
