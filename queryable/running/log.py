"""The log of a running tree: what was asked and answered, packed.

Responsible for keeping a million launches in little memory and out of the garbage collector's way.
An entry is three places in three lists. What consecutive launches have in common, such as the
mechanism and the charge, is kept once; an account is kept as integers where it can be read back
exactly. An exchange that cannot be packed is kept as it is. Exchanges are made again when read.

Polls, questions that changed no state and were answered with a report or a bool, are kept apart,
and only the last `POLLS` of them, with the last report of each mechanism: what a compositor reports
follows from the rest of the view. Knows no handle, no compositor and no rule.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Any

import attrs

from queryable.losses import Report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, CanAfford, Launch, Launched, PrivacyLossQuery
from queryable.randomness.coins import ChildId
from queryable.receipts import Account, Receipt
from queryable.view import Exchange

Path = tuple[ChildId, ...]

POLLS = 1_000
"""How many polls are kept."""

_SHAPES = 64
"""How many kinds of launches are recognised when they come again."""


@attrs.frozen(eq=False)
class Shape:
    """What launches of one measurement at one place have in common.

    `receipt` is that of the first of them; of the others only the account differs.
    """

    path: Path
    launch: Launch
    receipt: Receipt

    def packed(self, launch: Launch, receipt: Receipt) -> Any:
        """The account of one more of these launches; None if it is another kind of launch."""
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
        """The receipt of the launch with this account."""
        mine = self.receipt
        account = packed if isinstance(packed, Account) else mine.account.unpacked(packed)
        return Receipt(mine.mechanism, mine.d_out, mine.d_in, mine.charged, account)

    def exchange(self, answer: Answer, packed: Any) -> Exchange:
        """The exchange, made again."""
        told = Launched(None, answer, receipt=self.receipt_at(packed))
        return Exchange(self.path, self.launch, told)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


@attrs.frozen
class _Poll:
    """A poll, and where it stands: after how many entries, as which of the polls."""

    after: int
    number: int
    exchange: Exchange


class Log:
    """Entries and polls. The owner says how many of each count, and may take back the rest."""

    def __init__(self) -> None:
        self.entries: list[Shape | Exchange] = []
        self.answers: list[Answer] = []
        self.accounts: list[Any] = []
        self._shapes: dict[tuple[Path, int], Shape] = {}
        self._polls: deque[_Poll] = deque()
        self._reports: dict[Path, _Poll] = {}
        self._polled_after = array("q")
        self._polled_before = array("q")

    def add(self, exchange: Exchange, count: int, polls: int) -> None:
        """Put an exchange after the first `count` entries and the first `polls` polls."""
        self._take_back(polls)
        for column in (self.entries, self.answers, self.accounts):
            del column[count:]
        try:
            entry, answer, account = self._packed(exchange)
        except Exception:  # a receipt that is none of ours
            entry, answer, account = exchange, None, None
        self.answers.append(answer)
        self.accounts.append(account)
        self.entries.append(entry)

    def _packed(self, exchange: Exchange) -> tuple[Shape | Exchange, Answer, Any]:
        launch, told = exchange.query, exchange.answer
        receipt = getattr(told, "receipt", None)
        if (
            type(launch) is not Launch
            or type(told) is not Launched
            or told.child is not None
            or type(receipt) is not Receipt
            or exchange.receipts
        ):
            return exchange, None, None
        key = (exchange.path, id(launch.mechanism))
        shape = self._shapes.get(key)
        account = None if shape is None else shape.packed(launch, receipt)
        if shape is None or account is None:
            charged: Any = receipt.account  # a person may have put anything here
            if not isinstance(launch.mechanism, InteractiveMechanism):
                return exchange, None, None
            if not isinstance(charged, Account):
                return exchange, None, None
            shape = Shape(exchange.path, launch, receipt)
            account = charged.packed(charged)
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            self._shapes[key] = shape
        return shape, told.answer, account

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
        """Forget a poll that did not count, or was interrupted while it was added."""
        while self._polls and self._polls[-1].number >= polls:
            self._polls.pop()
        del self._polled_after[len(self._polled_before) :]
        if self._polled_before and self._polled_before[-1] > polls:
            self._polled_before[-1] = polls

    def record(self, count: int, polls: int) -> "Record":
        """What counts of it now."""
        kept = (*self._reports.values(), *tuple(self._polls))
        return Record(self, count, [each for each in kept if each.number < polls])

    def sequence(self, index: int) -> int:
        """Which of all exchanges an entry was, polls among them."""
        place = bisect_right(self._polled_after, index) - 1
        return index if place < 0 else index + self._polled_before[place]

    def exchange(self, index: int) -> Exchange:
        """An entry, as it was."""
        entry = self.entries[index]
        if isinstance(entry, Exchange):
            return entry
        return entry.exchange(self.answers[index], self.accounts[index])

    def path(self, index: int) -> Path:
        """Where an entry was asked."""
        return self.entries[index].path

    def receipt(self, index: int) -> Receipt:
        """The receipt of a packed entry."""
        entry = self.entries[index]
        assert isinstance(entry, Shape)
        return entry.receipt_at(self.accounts[index])


class Record:
    """A log as far as it counted at some moment."""

    def __init__(self, log: Log, count: int, polls: list[_Poll]) -> None:
        self.log, self.count = log, count
        self._polls = sorted(polls, key=lambda each: each.number)

    def numbered(self) -> Iterator[tuple[int, Exchange]]:
        """Every exchange that is kept, with its number."""
        for piece in self.pieces():
            if isinstance(piece, range):
                for index in piece:
                    yield self.log.sequence(index), self.log.exchange(index)
            else:
                yield piece

    def pieces(self) -> Iterator[range | tuple[int, Exchange]]:
        """The exchanges with their numbers, packed launches at one place together as a range."""
        start = 0
        for poll in self._polls:
            yield from self._entries(start, poll.after)
            start = max(start, poll.after)
            yield poll.after + poll.number, poll.exchange
        yield from self._entries(start, self.count)

    def entries(self) -> Iterator[range]:
        """All entries, in order: packed launches at one place together, any other by itself."""
        at = 0
        for piece in self._entries(0, self.count):
            places = piece if isinstance(piece, range) else range(at, at + 1)
            yield places
            at = places.stop

    def _entries(self, start: int, stop: int) -> Iterator[range | tuple[int, Exchange]]:
        entries = self.log.entries
        while start < stop:
            entry = entries[start]
            if isinstance(entry, Exchange):
                yield self.log.sequence(start), entry
                start += 1
                continue
            end, path = start + 1, entry.path
            while end < stop and type(each := entries[end]) is Shape and each.path == path:
                end += 1
            yield range(start, end)
            start = end


def is_poll(exchange: Exchange) -> bool:
    """Whether an exchange, if it changed no state, was a poll."""
    if isinstance(exchange.query, CanAfford):
        return isinstance(exchange.answer, bool)
    return isinstance(exchange.query, PrivacyLossQuery) and isinstance(exchange.answer, Report)


def _is_report(exchange: Exchange) -> bool:
    return isinstance(exchange.query, PrivacyLossQuery) and exchange.query.d_in is None
