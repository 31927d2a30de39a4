"""The kinds of accounts: what a charge adds to each, and whether it is within its budget.

An account is read from the JSON object of its tag. What is fixed for a compositor (budget, slack,
capacity, orders) is compared with the compositor's own mechanism; what a charge changes is computed
again from the charge. Sums are exact, except that the code rounds a sum of more than 4,096 bits up.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from curator.verification.compare import Verdict, exactly
from queryable.losses import AdditiveLoss

Json = Mapping[str, Any]
Amounts = tuple[Fraction, ...]

_ZERO = Fraction(0)
_LONGEST = 4096
_ROUNDED = 1 + Fraction(1, 2**2000)


class WrongAccountError(ValueError):
    """An account is not what its charges and its compositor say."""


def tag_of(value: Any) -> str:
    """The tag of a JSON object; empty if it has none."""
    return str(value.get("@", "")) if isinstance(value, dict) else ""


def compact(value: Any) -> str:
    """JSON as a codec writes it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def fractions_of(texts: Iterable[Any]) -> Amounts:
    """Numbers as they are written in a ledger."""
    return tuple(map(Fraction, texts))


def told(amounts: Amounts) -> str:
    """Amounts for people."""
    return ", ".join(f"{float(amount):.6g}" for amount in amounts)


def is_sum(after: Fraction, before: Fraction, added: Fraction, *, least: bool) -> bool:
    """Whether `after` is the sum, as the code writes it; or at least the sum."""
    exact = before + added
    if after == exact or (least and after >= exact):
        return True
    return exact.denominator.bit_length() > _LONGEST and exact <= after <= exact * _ROUNDED


@attrs.frozen
class Kind(ABC):
    """One account: what is fixed in it, and the methods that follow its changes.

    Attributes:
        fixed: the fields that no charge changes, as JSON.
    """

    changing: ClassVar[frozenset[str]] = frozenset()

    fixed: Json

    @abstractmethod
    def amounts(self, account: Json) -> Amounts:
        """What was spent, as numbers."""

    @abstractmethod
    def empty(self) -> Amounts:
        """The amounts before the first charge."""

    @abstractmethod
    def added(self, loss: Any) -> Amounts:
        """What a charge adds, for rules that add."""

    @abstractmethod
    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """Whether the account is within its limits."""

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """Check that a charge leads from one account to the next; `least`: to that or to more.

        Raises:
            WrongAccountError: it does not.
        """
        old = self.empty() if before is None else self.amounts(before)
        self.follows(old, self.added(loss), self.amounts(after), least=least)

    def follows(self, old: Amounts, added: Amounts, new: Amounts, *, least: bool) -> None:
        """Check a sum.

        Raises:
            WrongAccountError: it is another one.
        """
        if not all(is_sum(*each, least=least) for each in zip(new, old, added, strict=True)):
            wanted = tuple(a + b for a, b in zip(old, added, strict=True))
            raise WrongAccountError(
                f"has an account of {told(new)}; it should be {'at least ' * least}{told(wanted)}"
            )

    def after(self, before: Json | None, loss: Any) -> Verdict:
        """Whether one more charge would be within the limits."""
        old = self.empty() if before is None else self.amounts(before)
        new = tuple(a + b for a, b in zip(old, self.added(loss), strict=True))
        return self.verdict(new, {})

    def under(self, budget: Any, account: Json) -> Verdict:
        """Whether the launches so far would be within another (epsilon, delta)."""
        raise TypeError(f"{tag_of(self.fixed)} is in no other account")


def parts_of(loss: Any) -> Amounts:
    """The coordinates of a loss that add up."""
    if not isinstance(loss, AdditiveLoss):
        raise WrongAccountError(f"charges {loss}, which does not add up")
    return loss.parts


@attrs.frozen
class Sum(Kind):
    """Losses that add up, under a budget or not: `additive-account/1`, `ex-post-account/1`."""

    def amounts(self, account: Json) -> Amounts:
        """The sum of the losses."""
        return fractions_of(account["sum"]["parts"])

    def empty(self) -> Amounts:
        """Zero in every coordinate."""
        return tuple(_ZERO for _ in self.fixed["most"])

    def added(self, loss: Any) -> Amounts:
        """The coordinates of the loss."""
        return parts_of(loss)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """No coordinate is above the budget's."""
        return exactly(zip(amounts, fractions_of(self.fixed["most"]), strict=True))

    def under(self, budget: Any, account: Json) -> Verdict:
        """No coordinate is above that budget's."""
        return exactly(zip(self.amounts(account), budget.parts, strict=True))


@attrs.frozen
class Running(Kind):
    """Losses that add up in an odometer: `running-sum/1`."""

    changing = frozenset({"parts"})

    def amounts(self, account: Json) -> Amounts:
        """The sum of the losses."""
        return fractions_of(account["parts"])

    def empty(self) -> Amounts:
        """Zero in every coordinate."""
        zero = self.fixed["zero"]
        count = len(zero["orders"]) if "orders" in zero else _COORDINATES.get(tag_of(zero), 1)
        return tuple(_ZERO for _ in range(count))

    def added(self, loss: Any) -> Amounts:
        """The coordinates of the loss."""
        return parts_of(loss)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """An odometer has no budget."""
        return True

    def under(self, budget: Any, account: Json) -> Verdict:
        """No coordinate is above that budget's."""
        return exactly(zip(self.amounts(account), budget.parts, strict=True))


@attrs.frozen
class Each(Kind):
    """The budget of each record, from the first launch on: `record-account/1`.

    What a record has lost is private. So launches are compared with the budget by the compositor
    alone, and none is refused.
    """

    changing = frozenset({"launched"})

    def amounts(self, account: Json) -> Amounts:
        """The budget, after a launch."""
        return (Fraction(self.fixed["budget"]["rho"]) if account["launched"] else _ZERO,)

    def empty(self) -> Amounts:
        """Nothing."""
        return (_ZERO,)

    def added(self, loss: Any) -> Amounts:
        """Not used: the losses of launches do not add up."""
        return (_ZERO,)

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """A launch has been made."""
        if after["launched"] is not True:
            raise WrongAccountError("has an account without a launch after one")

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The total is the budget."""
        return True


_COORDINATES = {"approx-dp/1": 2, "approx-zcdp/1": 2, "dominated/1": 3}
