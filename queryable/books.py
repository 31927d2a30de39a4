"""Books: what a compositor has charged, followed from outside.

Responsible for the interface through which a tree or a ledger is worked out from what was asked and
answered, both public, and never from a state. Compositors implement it. Knows no rule.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from queryable.losses import Loss
from queryable.reports import Report

if TYPE_CHECKING:
    from queryable.mechanism import InteractiveMechanism
    from queryable.messages import Launch


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

    @abstractmethod
    def total(self) -> Report:
        """What `privacy_loss` says."""

    @abstractmethod
    def remaining(self) -> Loss | None:
        """The largest single loss that would still be admitted; None where there is no limit."""

    @abstractmethod
    def share(self) -> Fraction | None:
        """How much of the budget is used, from 0 to 1; None where there is none. For pictures."""
