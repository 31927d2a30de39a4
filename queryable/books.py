"""Books: what a compositor has charged, followed from outside.

Responsible for the interface through which a tree or a ledger is worked out from what was asked and
answered, both public, and never from a state. Compositors implement it. Knows no rule.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from queryable.coins import ChildId
from queryable.losses import Loss
from queryable.reports import Report

if TYPE_CHECKING:
    from queryable.mechanism import InteractiveMechanism
    from queryable.messages import Answer, Launch, Query


@attrs.frozen
class Charge:
    """One launch: what runs, what it claims, and what that is in the compositor's measure."""

    mechanism: "InteractiveMechanism[Any]"
    claim: Loss
    loss: Loss


class Books(ABC):
    """The account of one compositor after some launches; frozen."""

    @property
    @abstractmethod
    def budget(self) -> Loss | None:
        """The most that may be lost; None where there is no limit."""

    @property
    @abstractmethod
    def retires_earlier(self) -> bool:
        """Whether a launch retires the children launched before."""

    @abstractmethod
    def charge(self, launch: "Launch") -> Charge:
        """What a launch is charged; a function of the launch alone.

        Raises:
            QueryError: it is no launch that the compositor takes.
        """

    @abstractmethod
    def after(self, charge: Charge) -> "Books":
        """The books once it is charged."""

    def settled(self, charge: Charge, answer: "Answer") -> Charge:
        """What a launch has cost once it has been answered; by default what it was charged."""
        return charge

    listens: ClassVar[bool] = False
    """Whether what children answer changes what they are charged."""

    def heard(self, child: ChildId, query: "Query", answer: "Answer") -> "Books":
        """The books after a child was asked; only of books that listen."""
        return self

    def realised(self, child: ChildId) -> Report | None:
        """What a child has cost so far, where that is not what it was charged at its launch."""
        return None

    @abstractmethod
    def total(self) -> Report:
        """What `privacy_loss` says."""

    @abstractmethod
    def remaining(self) -> Loss | None:
        """The largest single loss that would still be admitted; None where there is no limit."""

    @abstractmethod
    def share(self) -> Fraction | None:
        """How much of the budget is used, from 0 to 1; None where there is none. For pictures."""
