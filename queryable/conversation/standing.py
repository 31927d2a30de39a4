"""What may stand in for leaves: a log that knows what came of them, or a dry run.

Responsible for what the runner asks then. While something stands in, no leaf runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from queryable.conversation.steps import LOST, Moved
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import Coins


class Standing(ABC):
    """Says what came of leaves, and of compositors whose conversations are not held.

    By default all conversations are held, and nothing is lost that does not read data.
    """

    def holds(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether the conversations of a mechanism are held."""
        return mechanism.converses

    def starts(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether a compositor whose conversations are held is started, and not lost."""
        return True

    def retires(self, depth: int) -> bool:
        """Whether a child that is asked, so many `Ask`s deep, is lost."""
        return False

    @abstractmethod
    def came(
        self,
        step: Any,
        mechanism: InteractiveMechanism[Any],
        held: Any,
        coins: Callable[[], Coins],
    ) -> Moved | None:
        """What came of a step.

        Args:
            held: the state of the child; the rows of a `Start`; the value of a `Ready`.
            coins: gives those of the step.

        Raises:
            QueryError: the query is wrong.
        """

    def said(self, person: Any, state: Any, message: Any, coins: Coins) -> Moved:
        """What a person in the middle says."""
        return Moved(*person.step(state, message, coins))


class GivenUp(Standing):
    """Stands in for leaves that have all failed. What is lost is said to persons too."""

    def came(self, *_: Any) -> Moved | None:
        """Nothing."""
        return LOST
