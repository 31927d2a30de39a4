"""What a root tells a journal, so that every message and answer can be kept.

Responsible for the order. A message that may touch data is announced with what it charges before
anything is read, and its answer is announced before the analyst gets it. Does not know where a
journal keeps what it is told.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from queryable.conversation.recalling import Recall
from queryable.messages import Answer, Query
from queryable.randomness.coins import ChildId
from queryable.randomness.sealed import SealedCoins
from queryable.running.handles import Path
from queryable.view import Exchange

Told = tuple[Exchange, ...]
"""The exchanges of one message; several for `LaunchMany` and `AskMany`."""


@attrs.frozen
class Message:
    """A message to a root: where it goes, its names, and its coins, which hold the history."""

    path: Path
    query: Query
    names: tuple[str | None, ...]
    coins: SealedCoins


class Journal(Protocol):
    """Keeps messages and answers. An exception of a method stops the root."""

    def require_ready(self) -> None:
        """Raise if no further message may be sent, because an earlier one was not kept."""

    def require_unanswered(self, message: Message) -> None:
        """Raise if a message that did not return has an answer in the journal."""

    def intend(self, message: Message, told: Told) -> None:
        """Keep a message that is about to touch data.

        Args:
            told: the exchanges that stand if it does not return, with what it charges.

        Raises:
            InteractiveError: it was not kept; then nothing is read, and nothing has changed.
        """

    def check(self, told: Told) -> None:
        """Raise if these exchanges, with what they charge, cannot be written."""

    def answer(self, message: Message, told: Told, before: Any, after: Any) -> None:
        """Keep an answer.

        Args:
            before: the state of the root mechanism before the message.
            after: the state after it; the same object if nothing has changed.
        """

    def settled(self, message: Message, before: Any, after: Any) -> None:
        """The state after a message that `answer` was told of is in place."""

    def batch(self, message: Query) -> bytes:
        """What stands for a message of the data's owner in the history; it has no records.

        Raises:
            QueryError: the message is wrong.
        """

    def grow(self, coins: SealedCoins, *, dead: bool) -> None:
        """Keep the message that `batch` was last asked for, before the state moves.

        Args:
            coins: those of the message.
            dead: whether the root mechanism failed.
        """

    def grown(self) -> None:
        """The state has moved."""

    def void(self) -> None:
        """The last message was wrong or only asked for a report; it is no part of the history."""

    def time_of(self, entry: int) -> int | None:
        """The second, since 1970, in which the message of an entry came; None if it is unknown."""

    def people(self) -> Mapping[ChildId, str]:
        """Who has which child of the root."""


@attrs.frozen
class Past:
    """A message and its answer, read back from a journal.

    Attributes:
        answer: without receipts.
        charges: the number of its receipts.
        receipted: gives the exchanges with the receipts that the journal has.
        recall: the answer as compositors take it; None if the message changed no state.
        dead: whether the root mechanism failed.
    """

    message: Message
    answer: Answer
    charges: int
    receipted: Callable[[], Told]
    recall: Recall | None
    dead: bool = False
