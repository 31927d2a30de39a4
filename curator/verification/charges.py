"""Whether a charge covers the loss that a mechanism states; what answers have cost ex post.

The privacy maps and expenses are the mechanisms' own: they are the claims that a ledger is about.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from curator.codec import Codec, CodecError
from curator.verification.accounts import WrongAccountError
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import AdditiveLoss, ApproxDP, Loss
from queryable.messages import addressed

_ROUNDED = 1 + Fraction(1, 2**40)


class UnknownMechanismError(ValueError):
    """A mechanism of a site that this codec does not know, or that states no loss."""


def covers(charged: Any, claim: Any) -> bool:
    """Whether a charge is at least a claim of the same measure.

    Conversions search an order in floats, so that another machine may find a claim that is larger
    by a share of less than 2**-40.
    """
    if claim.implies(charged):
        return True
    if not isinstance(charged, AdditiveLoss):
        return False
    pairs = zip(claim.parts, charged.parts, strict=True)
    return all(mine <= theirs * _ROUNDED for mine, theirs in pairs)


class Claims:
    """Compares charges with claims; equal ones are compared once."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._tags = frozenset(entry.tag for entry in codec.entries)
        self.require = lru_cache(maxsize=4096)(self._require)

    def read(self, text: str) -> Any:
        """A value of a text.

        Raises:
            UnknownMechanismError: it has a tag that this codec does not know.
            CodecError: it has no value for another reason.
        """
        try:
            return self._codec.decode(text)
        except CodecError as error:
            if not all(tag in self._tags for tag in tags_in(text)):
                raise UnknownMechanismError(str(error)) from None
            raise

    def _require(self, mechanism: str, d_out: str | None, d_in: int, charged: Loss) -> None:
        """Check a charge.

        Raises:
            WrongAccountError: it is below the loss that the launch states.
            UnknownMechanismError: the loss is not known.
        """
        runs = self.read(mechanism)
        if d_out is None:
            claim = _stated(runs, d_in, charged.measure)
            if not covers(charged, claim):
                raise WrongAccountError(f"charges {charged} for a launch whose loss is {claim}")
            return
        declared = self.read(d_out)
        if not covers(charged, declared.to(charged.measure)):
            raise WrongAccountError(f"charges {charged} for a launch at {declared}")
        if not any(covers(declared, claim) for claim in _claims(runs, d_in, declared)):
            raise WrongAccountError(f"admits a launch at {declared} whose loss is larger")


def _stated(mechanism: Any, d_in: int, measure: Any) -> Any:
    try:
        claim = mechanism.privacy_map(d_in, measure)
    except Exception as error:  # a site's own mechanism may raise anything
        raise UnknownMechanismError(f"{type(error).__name__}") from None
    if not isinstance(claim, Loss) or (measure is not None and claim.measure != measure):
        raise UnknownMechanismError("another measure")
    return claim


def _claims(mechanism: Any, d_in: int, declared: Loss) -> list[Any]:
    """A mechanism's loss in the measure of a declared one, stated or converted at its delta."""
    found = []
    try:
        found.append(_stated(mechanism, d_in, declared.measure))
    except UnknownMechanismError as error:
        unknown = error
    if isinstance(declared, ApproxDP):
        try:
            own = _stated(mechanism, d_in, None)
            found.append(own.to(ApproxDP, delta=declared.delta or None))
        except ValueError:
            pass
    if not found:
        raise unknown
    return found


def tags_in(text: str) -> Iterator[str]:
    """The tags of a text."""
    rest = text
    while (place := rest.find('"@":"')) >= 0:
        rest = rest[place + 5 :]
        yield rest[: rest.find('"')]


@attrs.frozen
class Spender:
    """A child that is charged as it answers.

    Attributes:
        charge: epsilon and delta charged so far.
    """

    mechanism: Any
    expense: Expense
    d_in: int
    charge: tuple[Fraction, Fraction]

    @classmethod
    def started(cls, mechanism: Any, d_in: int, answer: Any, *, failed: bool) -> "Spender":
        """The child after its launch."""
        expense, delta = mechanism.expense(), Fraction(mechanism.delta(d_in))
        child = cls(mechanism, expense, d_in, (Fraction(0), delta))
        return child.then(Opening(), answer, failed=failed)[0]

    def worst(self, query: Any) -> Fraction:
        """The most that an answer to a query may bring the cost to."""
        return Fraction(self.expense.at_worst(query, self.d_in))

    def then(self, query: Any, answer: Any, *, failed: bool) -> "tuple[Spender, Spender]":
        """The child after an answer, and after a failure, whose cost is the worst case."""
        worst, (_, delta) = self.worst(query), self.charge
        lost = attrs.evolve(self, charge=(worst, delta))
        if failed:
            return lost, lost
        try:
            expense = self.expense.after(query, answer)
            epsilon = Fraction(expense.epsilon(self.d_in))
        except Exception:  # it is charged the worst case then
            return lost, lost
        moved = attrs.evolve(self, expense=expense, charge=(epsilon, delta))
        return (moved, lost) if epsilon <= worst else (lost, lost)


def is_spender(mechanism: Any) -> bool:
    """Whether an ex-post filter charges a mechanism as it answers."""
    return isinstance(mechanism, ExPostMechanism)


def asked_below(path: tuple[Any, ...], query: Any) -> Any:
    """A query to a descendant, as the child's own query."""
    return addressed(path, query)
