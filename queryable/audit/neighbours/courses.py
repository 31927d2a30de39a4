"""The course of an analysis: its data, and every message with its answer, from the log of a root.

Does not know what is done with it. The log may lack polls, which read no data.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from queryable.conversation import Compositor
from queryable.conversation.alone import coins_of, run_as_root
from queryable.errors import HandleError
from queryable.handle import Queryable
from queryable.mechanism import InteractiveMechanism
from queryable.messages import OWNERS, Answer, Query, Update, without_receipts
from queryable.randomness.coins import ChildId, Coins, SeededCoins, SystemCoins
from queryable.randomness.sealed import SealedCoins
from queryable.running.root import MemoryRoot


@attrs.frozen(eq=False)
class Told:
    """A message, and the answer that the log has; a message of the data's owner has none."""

    path: tuple[ChildId, ...]
    query: Query
    answer: Answer = None

    @property
    def is_owners(self) -> bool:
        """Whether the owner of the data sent it, such as a batch."""
        return issubclass(type(self.query), OWNERS)


@attrs.frozen(eq=False)
class Recalled:
    """An analysis.

    Attributes:
        dataset: what it was started on.
        messages: in their order. The first one is the start, of which the query is None.
        coins: those of the root.
    """

    mechanism: InteractiveMechanism[Any]
    dataset: Any = attrs.field(repr=False)
    messages: tuple[Told, ...] = attrs.field(repr=False)
    coins: Coins = attrs.field(repr=False)
    runs: Compositor = attrs.field(repr=False)

    @classmethod
    def of(cls, queryable: Any) -> "Recalled":
        """The analysis so far.

        Raises:
            HandleError: it is not the handle of a root in this process, or its batches were not
                kept.
        """
        root = _root_of(queryable)
        if root.batches != len(root.fed or ()):
            raise HandleError("call keep_batches(queryable) before the first batch that it is fed")
        told = _merged(root)
        opening = Told((), None, without_receipts(root.opening))
        runs = run_as_root(root.mechanism)
        return cls(root.mechanism, root.given, (opening, *told), root.coins, runs)

    @property
    def batches(self) -> tuple[int, ...]:
        """The places of the messages that are batches."""
        told = enumerate(self.messages)
        return tuple(place for place, each in told if isinstance(each.query, Update))


def keep_batches(queryable: Any) -> None:
    """Keep the batches that a queryable is fed from now on, so that `on_neighbours` has them.

    They take memory. An analysis of data that do not grow needs no call.

    Raises:
        HandleError: it is an analyst's queryable, or that of a child, or has got batches before.
    """
    root = _root_of(queryable)
    if root.batches:
        raise HandleError("call keep_batches before the first batch: earlier ones are not there")
    root.fed = []


def _root_of(queryable: Any) -> MemoryRoot:
    root = getattr(queryable, "_root", None)
    if not isinstance(queryable, Queryable) or not isinstance(root, MemoryRoot):
        raise HandleError("give the owner's Queryable: an analyst's handle has no data")
    if queryable._path:
        raise HandleError("give the root's Queryable: a child's analysis is a part of it")
    return root


def _merged(root: MemoryRoot) -> Iterator[Told]:
    fed = list(root.fed or ())
    for number, exchange in root.record()[0].numbered():
        while fed and fed[0][0] <= number:
            yield Told((), fed.pop(0)[1])
        yield Told(exchange.path, exchange.query, without_receipts(exchange.answer))
    for _, message in fed:
        yield Told((), message)


_NUMBERS = 8
_FRESH = 32


class Tosses:
    """The coins of the messages: first those that may have been tossed, then others.

    Seeded and sealed coins are known. Those of the system are not: other coins are tried until the
    answer of the log comes out.

    Args:
        seed: of the other coins.
    """

    def __init__(self, course: Recalled, seed: int) -> None:
        self._coins, self._runs = course.coins, course.runs
        self._fresh, self._ahead = SeededCoins(seed), 0

    def of(self, place: int, message: Told) -> Iterator[tuple[Coins, int | None]]:
        """Coins for the message at a place; the number is for `take`."""
        coins = self._coins
        if isinstance(coins, SealedCoins):
            if message.query is None:
                yield coins_of(self._runs, coins, 0), None
            elif not message.is_owners:
                asked = coins.asked(message.path, message.query)
                yield coins_of(self._runs, asked, 1), None
        elif not isinstance(coins, SystemCoins):
            numbers = range(1) if message.query is None else range(_NUMBERS)
            for further in numbers:
                number = place + self._ahead + further if place else 0
                yield coins_of(self._runs, coins, number), self._ahead + further
        for further in range(_FRESH):
            fresh = self._fresh.spawn(f"try {further} of message {place}", 0)
            yield coins_of(self._runs, fresh, 0), None

    def take(self, message: Told, ahead: int | None) -> None:
        """Go on after a message, with the number of the coins that gave its answer."""
        if ahead is not None:
            self._ahead = ahead  # messages that were wrong are not in the log
        if isinstance(self._coins, SealedCoins) and not message.is_owners:
            asked = self._coins
            if message.query is not None:
                asked = asked.asked(message.path, message.query)
            self._coins = asked.answered(message.answer)
