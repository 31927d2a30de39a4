"""The log of a running tree: queries and answers, packed.

Responsible for keeping a million launches in little memory, as objects that the garbage collector
does not scan. An entry is one place in each of three lists. Data that launches share, such as the
mechanism and the charge, are kept once, in a `Shape`. An account is kept as integers from which it
can be restored exactly. An exchange that cannot be packed is kept as it is. Exchanges are made
again when they are read. After a restart, an entry may be a place in a ledger, from which the
exchange is read. What an entry tells a display (`Tells`) is known without its exchange.

A poll is a query that changed no state and was answered with a report, a loss, a bool or a measure
(`telling`). Polls follow from the rest of the view, so only the last `POLLS` of them are kept, and
the last report of each mechanism.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Launch,
    Launched,
    PrivacyLossQuery,
)
from queryable.randomness.coins import ChildId
from queryable.receipts import Receipt, RunningTotal
from queryable.running.telling import Tells
from queryable.view import Exchange

Path = tuple[ChildId, ...]

POLLS = 1_000
"""The number of polls that are kept."""

_SHAPES = 64
"""The number of shapes that are remembered for packing further launches."""


PIECE = 64
"""The largest number of entries in one piece of a record."""


@attrs.frozen(eq=False)
class Shape:
    """The common part of launches of one mechanism at one path.

    `receipt` is that of each launch, but for the account: it has one that the others are packed
    beside. Instead of an answer, the log has the child's id if the launch has started one.
    """

    path: Path
    launch: Launch
    receipt: Receipt
    tells: Tells

    def packed(self, launch: Launch, receipt: Receipt) -> Any:
        """The packed account of a launch of this shape; None if the launch has another shape."""
        mine = self.receipt
        if (
            launch.mechanism is not self.launch.mechanism
            or launch.d_out is not self.launch.d_out
            or receipt.mechanism is not mine.mechanism
            or receipt.d_in != mine.d_in
            or not (receipt.charged is mine.charged or _same(receipt.charged, mine.charged))
        ):
            return None
        return receipt.account.packed(mine.account)

    def receipt_at(self, packed: Any) -> Receipt:
        """The receipt of the launch with this packed account."""
        mine = self.receipt
        account = packed if isinstance(packed, RunningTotal) else mine.account.unpacked(packed)
        return Receipt(mine.mechanism, mine.d_out, mine.d_in, mine.charged, account)

    def exchange(self, answer: Any, packed: Any) -> Exchange:
        """The exchange with this answer, or child, and packed account."""
        given = (answer, None) if self.tells is Tells.STARTED else (None, answer)
        told = Launched(*given, receipt=self.receipt_at(packed))
        return Exchange(self.path, self.launch, told)


@attrs.frozen(eq=False)
class StoredPart:
    """The common part of exchanges at one path that a ledger has; each is read when looked at.

    Attributes:
        read: gives the exchange at a place of the ledger.
        kind: gives a value that launches of equal mechanisms have in common.
        tells: what they tell; children are not among it.
    """

    path: Path
    read: Callable[[int], Exchange]
    kind: Callable[[int], object]
    tells: Tells

    def exchange(self, place: int, _: object) -> Exchange:
        """The exchange at this place."""
        return self.read(place)


Entry = Shape | StoredPart | Exchange


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


@attrs.frozen
class _Poll:
    """A poll with its position: the number of entries before it, and its number among polls."""

    after: int
    number: int
    exchange: Exchange


class Log:
    """Entries and polls. The owner knows how many of each are valid; the rest is overwritten."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.answers: list[Answer] = []
        self.accounts: list[Any] = []
        self._shapes: dict[tuple[Path, int], Shape] = {}
        self._bases: dict[Path, RunningTotal] = {}
        """By path, an account that those of other shapes are packed beside."""
        self._polls: deque[_Poll] = deque()
        self._reports: dict[Path, _Poll] = {}
        self._polled_after = array("q")
        self._polled_before = array("q")

    def add(self, exchange: Exchange, count: int, polls: int) -> None:
        """Put an exchange after the first `count` entries and the first `polls` polls."""
        if self._polls or self._polled_before:
            self._take_back(polls)
        for column in (self.entries, self.answers, self.accounts):
            del column[count:]
        entry: Entry = exchange
        answer, account = None, None
        if type(exchange.query) is Launch:
            try:
                entry, answer, account = self._packed(exchange)
            except Exception:  # the receipt is not ours
                entry, answer, account = exchange, None, None
        self.answers.append(answer)
        self.accounts.append(account)
        self.entries.append(entry)

    def add_stored(self, entries: Sequence[StoredPart], places: Sequence[int], count: int) -> None:
        """Put exchanges of a ledger after the first `count` entries."""
        for column in (self.entries, self.answers, self.accounts):
            del column[count:]
        self.answers += places
        self.accounts += [None] * len(places)
        self.entries += entries

    def _packed(self, exchange: Exchange) -> tuple[Shape | Exchange, Answer, Any]:
        launch, told = exchange.query, exchange.answer
        receipt = getattr(told, "receipt", None)
        if type(told) is not Launched or type(receipt) is not Receipt or exchange.receipts:
            return exchange, None, None
        answer = told.answer
        if told.child is not None:
            if answer is not None:
                return exchange, None, None
            answer = told.child
        key = (exchange.path, id(launch.mechanism))
        shape = self._shapes.get(key)
        account = None if shape is None else shape.packed(launch, receipt)
        if shape is None or account is None:
            charged: Any = receipt.account  # a person in the middle may have put any value here
            started = launch.mechanism
            ours = isinstance(charged, RunningTotal) and isinstance(started, InteractiveMechanism)
            if not ours or started.retires_others:
                return exchange, None, None
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
                self._bases.clear()
            base = self._bases.setdefault(exchange.path, charged)
            account = charged.packed(base)
            if account is charged:  # it is of another kind
                self._bases[exchange.path] = base = charged
                account = charged.packed(base)
            receipt = Receipt(receipt.mechanism, receipt.d_out, receipt.d_in, receipt.charged, base)
            tells = Tells.MEASURED if told.child is None else Tells.STARTED
            shape = self._shapes[key] = Shape(exchange.path, launch, receipt, tells)
        if (shape.tells is Tells.STARTED) is (told.child is None):
            return exchange, None, None
        return shape, answer, account

    def add_poll(self, exchange: Exchange, count: int, polls: int) -> None:
        """Put a poll after the first `count` entries and the first `polls` polls."""
        self._take_back(polls)
        if self._polled_after and self._polled_after[-1] == count:
            self._polled_before[-1] = polls + 1
        else:
            self._polled_after.append(count)
            self._polled_before.append(polls + 1)
        self._polls.append(_Poll(count, polls, exchange))
        if len(self._polls) > POLLS:
            oldest = self._polls.popleft()
            if _is_report(oldest.exchange):
                self._reports[oldest.exchange.path] = oldest

    def _take_back(self, polls: int) -> None:
        """Drop polls that are not valid, such as one that was interrupted while it was added."""
        while self._polls and self._polls[-1].number >= polls:
            self._polls.pop()
        del self._polled_after[len(self._polled_before) :]
        if self._polled_before and self._polled_before[-1] > polls:
            self._polled_before[-1] = polls

    def record(self, count: int, polls: int) -> "Record":
        """The valid part, as of now."""
        kept = (*self._reports.values(), *tuple(self._polls))
        return Record(self, count, [each for each in kept if each.number < polls])

    def sequence(self, index: int) -> int:
        """The number of an entry among all exchanges, polls included."""
        place = bisect_right(self._polled_after, index) - 1
        return index if place < 0 else index + self._polled_before[place]

    def exchange(self, index: int) -> Exchange:
        """The exchange of an entry."""
        entry = self.entries[index]
        if isinstance(entry, Exchange):
            return entry
        return entry.exchange(self.answers[index], self.accounts[index])

    def path(self, index: int) -> Path:
        """The path of an entry."""
        return self.entries[index].path

    def measured(self, index: int) -> bool:
        """Whether an entry is a launch of a measurement that has answered; it has no child."""
        entry = self.entries[index]
        return not isinstance(entry, Exchange) and entry.tells is Tells.MEASURED

    def child(self, index: int) -> ChildId | None:
        """The child that a launch started; None for a measurement."""
        entry = self.entries[index]
        started = isinstance(entry, Shape) and entry.tells is Tells.STARTED
        return self.answers[index] if started else None

    def receipt(self, index: int) -> Receipt:
        """The receipt of a launch that was charged."""
        entry = self.entries[index]
        if isinstance(entry, Shape):
            return entry.receipt_at(self.accounts[index])
        receipt = self.exchange(index).answer.receipt
        assert isinstance(receipt, Receipt)
        return receipt

    def mechanism(self, index: int) -> InteractiveMechanism[Any]:
        """The mechanism of a launch that was charged."""
        entry = self.entries[index]
        receipt = entry.receipt if isinstance(entry, Shape) else self.receipt(index)
        return receipt.mechanism

    def kind(self, index: int) -> object:
        """A value that launches of equal mechanisms have in common."""
        entry = self.entries[index]
        return entry.kind(self.answers[index]) if isinstance(entry, StoredPart) else entry


class Record:
    """The valid part of a log at one moment."""

    def __init__(self, log: Log, count: int, polls: list[_Poll]) -> None:
        self.log, self.count = log, count
        self._polls = sorted(polls, key=lambda each: each.number)

    @property
    def polls(self) -> int:
        """How many polls there were when the last one was added that is kept."""
        return self._polls[-1].number + 1 if self._polls else 0

    def numbered(self) -> Iterator[tuple[int, Exchange]]:
        """Every exchange that is kept, with its number among all exchanges."""
        for piece in self.pieces():
            if isinstance(piece, range):
                for index in piece:
                    yield self.log.sequence(index), self.log.exchange(index)
            else:
                yield piece

    def pieces(self, start: int = 0, polls: int = 0) -> Iterator[range | tuple[int, Exchange]]:
        """The exchanges in order: ranges of a few entries, and polls with their numbers.

        Args:
            start, polls: how many entries and polls are left out.
        """
        for poll in self._polls:
            if poll.number < polls:
                continue
            yield from _ranges(start, poll.after)
            start = max(start, poll.after)
            yield poll.after + poll.number, poll.exchange
        yield from _ranges(start, self.count)


def _ranges(start: int, stop: int) -> Iterator[range]:
    for first in range(start, stop, PIECE):
        yield range(first, min(first + PIECE, stop))


def _is_report(exchange: Exchange) -> bool:
    return isinstance(exchange.query, PrivacyLossQuery) and exchange.query.d_in is None
