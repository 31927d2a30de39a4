"""Receipts: what a compositor charged, and its account since, said in its answer.

Responsible for what a compositor hands to whoever shows an interaction. A receipt is a function of
the view: charges depend on launches, on privacy maps and on answers that were given, all public. So
a ledger, a tree or a picture reads receipts and does no accounting of its own. Knows no rule.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import attrs

from queryable.losses import Loss, Report
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import ChildId


class Account(ABC):
    """The running value of what adds losses up, as far as it is shown; frozen."""

    budget: Any = None
    """The most that may be lost; None where there is no limit."""

    @abstractmethod
    def total(self) -> Report:
        """What `privacy_loss` says."""

    def remaining(self) -> Loss | None:
        """The largest single loss that would still be admitted; None where there is no limit."""
        return None

    def share(self) -> Fraction | None:
        """How much of the budget is used, from 0 to 1, for pictures; None where it is no number."""
        return None

    def packed(self, like: "Account") -> Any:
        """The account as a tuple of integers, from which `like.unpacked` makes it again.

        Logs keep many accounts, and such tuples are small and no work for the garbage collector. By
        default, and where `like` belongs to another compositor, the account itself.
        """
        return self

    def unpacked(self, packed: tuple[int, ...]) -> "Account":
        """The account that `packed` was made of."""
        raise TypeError(f"{type(self).__name__} is not packed")


@attrs.frozen
class Receipt:
    """The receipt of a launch.

    Attributes:
        mechanism: what runs; an odometer that was given a `d_out` runs as a filter.
        d_out: the loss that the launch was given, if any.
        d_in: the records that the compositor's charges are stated for.
        charged: the charge in the compositor's measure; of a refused launch what it would have
            been, and None where the compositor has halted and does not look at launches any more.
        account: the compositor's account afterwards.
    """

    mechanism: InteractiveMechanism[Any]
    d_out: Loss | None
    d_in: int
    charged: Loss | None
    account: Account

    @property
    def claim(self) -> Loss | None:
        """The loss that the launch was given, or the mechanism's own in its own measure.

        It is the charge where the mechanism does not state a loss again.
        """
        if self.d_out is not None:
            return self.d_out
        return own_loss(self.mechanism, self.d_in) or self.charged


@attrs.frozen
class AskReceipt:
    """The receipt of a query that changed what a child is charged, as in ex-post accounting.

    Attributes:
        child: the child that was asked.
        nested: how many `Ask`s the query to that child consisted of.
        realised: what the child has cost so far.
        account: the compositor's account afterwards.
    """

    child: ChildId
    nested: int
    realised: Report
    account: Account


def own_loss(mechanism: Any, d_in: int = 1) -> Loss | None:
    """A mechanism's loss in its own measure; None where it states none."""
    try:
        loss = mechanism.privacy_map(d_in)
    except Exception:
        return None
    return loss if isinstance(loss, Loss) else None
