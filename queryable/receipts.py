"""Receipts: the charge of a launch and the account after it, as parts of a compositor's answer.

A receipt is a function of the view: charges depend on launches, privacy maps and answers, which are
public. A ledger, a tree or a picture reads receipts and does no accounting of its own. So the total
that is shown is the total that was charged.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs

from queryable.losses import Loss, Report
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import ChildId


class RunningTotal(ABC):
    """The running value of an accumulator, as displays read it. A frozen value."""

    budget: Any = None
    """The largest total loss that is admitted; None where there is no limit."""

    @abstractmethod
    def total(self) -> Report:
        """The answer to `PrivacyLossQuery`."""

    def remaining(self) -> Loss | None:
        """The largest single loss that would be admitted next; None where there is no limit."""
        return None

    def spent(self) -> object:
        """What is used, in the units in which launches are charged; by default the total."""
        return self.total()

    def share(self) -> Fraction | None:
        """The used share of the budget, from 0 to 1; None where it is not a number."""
        return None

    @property
    def counts(self) -> str:
        """What the share is a share of, such as "rho"; empty for the budget as it is stated."""
        return ""

    def plus(self, loss: Loss) -> "RunningTotal | None":
        """The account after a further charge that was admitted; None where that is not known."""
        return None

    def breakdown(self) -> Sequence[tuple[str, "RunningTotal"]]:
        """The accounts that this one consists of, each with what it is about; empty for most."""
        return ()

    @property
    def about(self) -> str:
        """What a launch that charged this account read, in words; empty for all of the data."""
        return ""

    @property
    def remark(self) -> str:
        """What the total is about, in words; empty for the loss of all that was launched."""
        return ""

    def after(self, before: "RunningTotal | None") -> "RunningTotal":
        """What a display shows after a receipt with this account, if it showed `before`.

        It is this account, except where a receipt states only those parts that have changed.
        """
        return self

    def before(self, known: "RunningTotal | None") -> "RunningTotal | None":
        """The account before a receipt with this one, if a display showed `known` then."""
        return known

    def packed(self, like: "RunningTotal") -> Any:
        """The account as a tuple of integers; `like.unpacked` is the inverse.

        A log keeps one account for each launch. Tuples of integers are small and the garbage
        collector does not scan them. The default, even where `like` belongs to another compositor,
        is the account itself.
        """
        return self

    def unpacked(self, packed: tuple[int, ...]) -> "RunningTotal":
        """The account that was packed into this tuple."""
        raise TypeError(f"{type(self).__name__} is not packed")


@attrs.frozen
class Receipt:
    """The receipt of a launch.

    Attributes:
        mechanism: the mechanism that runs; an odometer launched with `d_out` runs as a filter.
        d_out: the `d_out` of the launch, if given.
        d_in: the number of records that the compositor's charges are stated for.
        charged: the charge in the compositor's measure. For a refused launch, the charge that was
            refused; None where the compositor has halted and examines no launches.
        account: the compositor's account after the launch.
    """

    mechanism: InteractiveMechanism[Any]
    d_out: Loss | None
    d_in: int
    charged: Loss | None
    account: RunningTotal

    @property
    def claim(self) -> Loss | None:
        """The `d_out` of the launch, else the mechanism's own loss, else the charge."""
        if self.d_out is not None:
            return self.d_out
        return own_loss(self.mechanism, self.d_in) or self.charged


@attrs.frozen
class AskReceipt:
    """The receipt of a query whose answer changed a child's charge, as in ex-post accounting.

    Attributes:
        child: the id of the child that was asked.
        nested: the number of `Ask`s in the query to that child.
        realised: the child's cost so far.
        account: the compositor's account after the answer.
    """

    child: ChildId
    nested: int
    realised: Report
    account: RunningTotal


def own_d_in(mechanism: Any) -> int:
    """The number of records that a mechanism that was not launched states its claim for."""
    d_in = getattr(mechanism, "d_in", 1)
    return d_in if type(d_in) is int and d_in > 0 else 1


def own_loss(mechanism: Any, d_in: int = 1) -> Loss | None:
    """A mechanism's loss in its own measure; None where it has none."""
    try:
        loss = mechanism.privacy_map(d_in)
    except Exception:
        return None
    return loss if isinstance(loss, Loss) else None
