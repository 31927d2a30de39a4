"""What may stand in for leaves: a log that knows what came of them, or a dry run.

Responsible for the interface alone. While something stands in, no leaf runs.
"""

from collections.abc import Callable
from typing import Any, Protocol

from queryable.conversation.steps import LOST, Moved
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import Coins


class Standing(Protocol):
    """Says what came of leaves, and of compositors whose conversations are not held."""

    def holds(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether the conversations of a mechanism are held."""

    def starts(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether a compositor whose conversations are held is started, and not lost."""

    def retires(self, depth: int) -> bool:
        """Whether a child that is asked, so many `Ask`s deep, is lost."""

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


class GivenUp:
    """Stands in for leaves that have all failed."""

    def holds(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether it is a compositor."""
        return mechanism.converses

    def starts(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Yes."""
        return True

    def retires(self, depth: int) -> bool:
        """No: it is lost where it reads data."""
        return False

    def came(self, *_: Any) -> Moved | None:
        """Nothing."""
        return LOST

    def said(self, person: Any, state: Any, message: Any, coins: Coins) -> Moved:
        """What it says, also of what is lost."""
        return Moved(*person.step(state, message, coins))
