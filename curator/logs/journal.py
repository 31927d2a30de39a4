"""`LedgerJournal`: what a root is told, as events of a ledger; and those events read back.

Responsible for the bodies of events. They are JSON objects whose fields are:

- `opened`: schema, mechanism, fingerprint, salt, check, protects, seed of the table, if it has one,
  and `anchor`, if it has one.
- `intent`: n, the number of the message; history, the hash that its coins come from; path; query;
  names, if a launch has one; charges, the receipts that stand if nothing is answered; key and body,
  if the message came with a request key: the key, and a SHA-256 of path, query and names as sent;
  on, the time at which the message began, in whole seconds since 1970 (UTC). The time is public: it
  depends on when the analysts asked and on how long the messages before took, which they see
  anyway. It is rounded down to seconds, which are longer than ticks usually are.
- `again`, `answer`: of, the number of the event that they belong to. An `again` says that data are
  about to be read for it once more, after a crash. An answer has the answer and its `effect`, or
  `void`: the message was wrong, or a poll, and is no part of the history. It has `charges` if they
  are not those of the intent, and `retired`: how many `Ask`s deep the child was that failed, 0 for
  the root mechanism. The `effect` is a word of `curator.logs.effects`, or a list with one for each
  of several launches or questions. It tells an opening what to do with the message.
- `exchange`: the fields of an intent and of an answer. `still`: no state has changed.
- `update`: a message of the data's owner, see `curator.logs.batches`. The fields of an exchange; n
  and history count it like the messages of analysts, path is that of the root, the answer None. It
  is durable before the state moves. `retired` is 0 if the root mechanism failed. `id`, if it has
  one: under which it is fed once, however often it is sent.
- `closed`: nothing.

Queries, answers and receipts are texts of `curator.codec`.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from curator.access import ROOT as ACCESS
from curator.access import access_of
from curator.codec import Codec
from curator.ledgers import Event, Ledger, LedgerError, UnknownOutcomeError, following
from curator.logs.batches import Batches
from curator.logs.effects import effects_of, entries_in
from curator.logs.person_states import Keeping
from curator.logs.query_text import Written
from curator.logs.requests import RequestKey, Requests
from curator.logs.story import request_of
from curator.moorings import Mooring
from queryable.conversation import Node
from queryable.conversation.alone import only
from queryable.conversation.recalling import Recall
from queryable.conversation.stepping import DEAD
from queryable.errors import CodecError, HandleError
from queryable.messages import Answer, Query, is_many, without_receipts
from queryable.randomness.coins import ChildId
from queryable.randomness.sealed import SealedCoins
from queryable.receipts import Receipt
from queryable.running.handles import Path
from queryable.running.journal import Message, Told

TTL = 30.0
"""Seconds that a lease is held by default; it is renewed after a third, see `curator.leases`."""

_DIGITS = 2000
"""The most digits of a number in a receipt. Sums and differences of two of them have a text too."""
_LONG = re.compile(rf"(?<![0-9])[0-9]{{{_DIGITS + 1}}}")

_INTERRUPTED = (
    "it was interrupted while a message or an answer was being stored. Nothing that was answered "
    "is lost"
)


_NOTHING: tuple[Told, list[Any]] = ((), [])
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def written(body: Any) -> str:
    """A body as canonical JSON."""
    return _ENCODER.encode(body)


class LedgerJournal:
    """The journal of one root on a ledger: a `queryable.running.journal.Journal`.

    Args:
        head: the last event.
        pending: the intent that has no answer yet, if the last process crashed.
        now: the time of the day, in seconds since 1970.
        ttl: seconds that the lease is held.
        batches: those of the data's owner.

    Attributes:
        request: that of the message that is sent next; None if it has none.
        feeding: the id of the owner's message that is sent next; None if it has none.
        requests: those that have been answered.
        written: writes what coins are made from.
        lost: whether another writer was found to have the lease.
    """

    def __init__(
        self,
        ledger: Ledger,
        root: str,
        epoch: int,
        codec: Codec,
        head: Event | None = None,
        pending: Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        ttl: float = TTL,
        batches: Batches | None = None,
    ) -> None:
        self.ledger, self.root, self.epoch, self.codec = ledger, root, epoch, codec
        self.written = Written(codec)
        self.released = self.lost = False
        self.owns = False  # whether the ledger is closed with the root
        self.mooring: Mooring | None = None  # where the root has an anchor
        self.keeping: Keeping | None = None
        self._charges: Any = None
        self.request: RequestKey | None = None
        self.feeding: str | None = None
        self.requests = Requests()
        self._requested: RequestKey | None = None
        self._since: int | None = None
        self._now = now
        self.go_on(head, pending)
        self._texts: dict[int, tuple[Any, str]] = {}  # of the message that is under way
        self._checked = _NOTHING  # the exchanges that can be written, with their receipts
        self._answered = b""  # the history of the last message that was answered
        self._unsure = self._unmoved = False
        self.batches, self._batch = batches or Batches(codec), ""
        self._clock, self._renewed, self._ttl = clock, clock(), ttl

    def go_on(self, head: Event | None, pending: Event | None) -> None:
        """Go on after the events of an earlier process."""
        self.head, self.pending, self._crashed = head, pending, pending
        intended = {} if pending is None else json.loads(pending.body)
        self._charges, self._requested = intended.get("charges"), request_of(intended)
        self._since = intended.get("on")

    def append(self, kind: str, body: Any) -> Event:
        """Append an event; it is durable when this returns."""
        event = following(self.head, self.root, self.epoch, kind, written(body))
        self._unsure = True
        try:
            self.ledger.append(self.root, [event])
        except UnknownOutcomeError:
            raise
        except LedgerError:
            self._unsure = False  # it is not stored
            raise
        self.head, self._unsure = event, False
        return event

    def require_ready(self) -> None:
        """Check that the log holds everything that has happened, and that the lease is held.

        Raises:
            HandleError: it does not, or the root was released.
        """
        if self.released:
            raise HandleError(f"open root {self.root!r} again: it was released")
        head = self.head  # an interrupt may come before it is noted as pending
        open_intent = head is not None and head.kind == "intent" and head is not self._crashed
        waits = self.pending is not None and self.pending is not self._crashed
        if self._unsure or self._unmoved or open_intent or waits:
            raise HandleError(f"open root {self.root!r} again: {_INTERRUPTED}")
        self.renew()

    def renew(self) -> None:
        """Hold the lease longer, if a third of it is over.

        Raises:
            LeaseError: another writer took the root over.
        """
        now = self._clock()
        if now - self._renewed > self._ttl / 3:
            self.ledger.renew(self.root, self.epoch, self._ttl)
            self._renewed = now

    def release(self) -> None:
        """Give the lease back, and close the ledger if it was opened for this root only."""
        if not self.released:
            self.released = True
            self.settle()
            self.ledger.release(self.root, self.epoch)
            if self.owns:
                self.ledger.close()

    def settle(self) -> None:
        """Tell the anchor that no more messages follow; a failure leaves its bound as it is."""
        if self.mooring is not None:
            with suppress(LedgerError):
                self.mooring.settle(self.head)

    def _moor(self, message: Message, told: Told, *, answered: bool = False) -> None:
        """Have the anchor cover the message before data are read, or before it is answered."""
        if self.mooring is not None and self.head is not None:
            self._unsure = True
            self.mooring.keep(self.head, message, told, answered=answered)
            self._unsure = False

    def require_unanswered(self, message: Message) -> None:
        """Check that a message that did not return has no answer in the log.

        Raises:
            HandleError: it has one.
        """
        if self._answered == message.coins.history:
            raise HandleError(f"open root {self.root!r} again: {_INTERRUPTED}")

    def intend(self, message: Message, told: Told) -> None:
        """Append an intent; see `Journal.intend`."""
        if self.pending is not None:  # it is run again after a crash: here begins one more try
            self.append("again", {"of": self.pending.seq})
        else:
            self._charges, self._requested = self._receipts(told), self.request
            self._since = self._second()
            body = self._body(message, self._since) | _charged(self._charges)
            self.pending = self.append("intent", body)
        self._moor(message, told)

    def check(self, told: Told) -> None:
        """Check that exchanges can be written; see `Journal.check`."""
        self._checked = told, self._receipts(told)

    def answer(self, message: Message, told: Told, before: Any, after: Any) -> None:
        """Append an answer, or an exchange if no data were touched; see `Journal.answer`."""
        self.require_unanswered(message)
        checked, charges = self._checked
        if checked is not told:
            charges = self._receipts(told)  # what cannot be written raises; nothing is marked yet
        self._checked = _NOTHING
        answers = tuple(without_receipts(each.answer) for each in told)
        body: dict[str, Any] = {"answer": self._text(_whole(message.query, answers))}
        self._texts.clear()
        self._answered = message.coins.history  # whatever comes, this is its only answer
        if after is before:
            body["still"] = True
        elif (depth := _retired(before, after, message.path)) is not None:
            body["retired"] = depth
        effects = effects_of(message, told, still=after is before)
        body["effect"] = effects
        count = entries_in(effects)
        if self.pending is None:
            on = self._second()
            self.append("exchange", self._body(message, on) | _charged(charges) | body)
            self.requests.add(self.request, count, on)
            if after is not before:
                self._moor(message, told)
        else:
            changed = charges != self._charges
            if changed:
                body["charges"] = charges
            self.append("answer", body | {"of": self.pending.seq})
            self.pending = self._crashed = None
            self.requests.add(self._requested, count, self._since)
            if changed:
                self._moor(message, told, answered=True)

    def time_of(self, entry: int) -> int | None:
        """The second in which the message of an entry came; see `Journal.time_of`."""
        return self.requests.time_of(entry)

    def people(self) -> Mapping[ChildId, str]:
        """Who has which grant on this root; see `Journal.people`."""
        if self.released and self.owns:  # the ledger is closed
            return {}
        return access_of(self.ledger.read(ACCESS)).holders(self.root)

    def settled(self, message: Message, before: Any, after: Any) -> None:
        """The new state is in place; see `Journal.settled`."""
        if self.keeping is not None:
            self.keeping.answered(message, before, after)

    def batch(self, message: Query) -> bytes:
        """The path and the text of a message of the data's owner; see `Journal.batch`."""
        self._batch = self.batches.text(message)
        return f"[[],{self._batch}]".encode()

    def grow(self, coins: SealedCoins, *, dead: bool) -> None:
        """Append an update; see `Journal.grow`."""
        body: dict[str, Any] = {
            "answer": self._text(None),
            "history": coins.history.hex(),
            "n": coins.count,
            "on": self._second(),
            "path": (),
            "query": self._batch,
        }
        if self.feeding is not None:
            body["id"] = self.feeding
        self._unmoved = True  # whatever comes, the log is ahead of the state until that has moved
        try:
            self.append("update", body | ({"retired": 0} if dead else {}))
        except LedgerError:
            self._unmoved = False  # or the ledger does not know, which `append` has noted
            raise
        if self.mooring is not None and self.head is not None:
            self.mooring.keep(self.head)
        self.batches.course.take(self._batch, self.feeding)

    def grown(self) -> None:
        """The state has moved; see `Journal.grown`."""
        self._unmoved = False

    def void(self) -> None:
        """Answer an intent that is no part of the history; see `Journal.void`."""
        if self.pending is not None:
            self.append("answer", {"of": self.pending.seq, "void": True})
            self.pending = self._crashed = None

    def _text(self, value: Any) -> str:
        return str(self.codec.encode(value), "ascii")

    def _again(self, value: Any) -> str:
        """The text of a part of a receipt; the answer's receipt shares it with the intent's."""
        known = self._texts.get(id(value))
        if known is None or known[0] is not value:
            text = self._text(value)
            if len(text) > _DIGITS and _LONG.search(text):
                raise CodecError(
                    f"exact totals would have a number of over {_DIGITS} digits. Round the "
                    "parameters of the mechanisms that you launch"
                )
            known = self._texts[id(value)] = value, text
        return known[1]

    def _second(self) -> int:
        return int(self._now())

    def _body(self, message: Message, on: int) -> dict[str, Any]:
        coins = message.coins
        body = {
            "history": coins.history.hex(),
            "n": coins.count,
            "on": on,
            "path": message.path,
            "query": self.written.query(message.query),
        }
        if any(message.names):
            body["names"] = message.names
        if self.request is not None:
            body |= {"key": self.request.key, "body": self.request.body}
        return body

    def _receipts(self, told: Told) -> list[Any]:
        found: list[Any] = []
        for place, exchange in enumerate(told):
            receipt = getattr(exchange.answer, "receipt", None)
            if isinstance(receipt, Receipt):
                found.append(self._receipt(exchange.query, receipt) | {"place": place})
            found += [{"ask": self._text(each), "place": place} for each in exchange.receipts]
        return found

    def _receipt(self, launch: Any, receipt: Receipt) -> dict[str, Any]:
        body = {"account": self._again(receipt.account), "d_in": receipt.d_in}
        if receipt.charged is not None:
            body["charged"] = self._again(receipt.charged)
        if receipt.mechanism is not getattr(launch, "mechanism", None):
            body["mechanism"] = self._text(receipt.mechanism)
        return body


def _charged(charges: list[Any]) -> dict[str, Any]:
    return {"charges": charges} if charges else {}


def _whole(query: Any, answers: tuple[Answer, ...]) -> Answer:
    return answers if is_many(query) else answers[0]


def _retired(before: Any, after: Any, path: Path) -> int | None:
    """How many `Ask`s deep the child was that a message to `path` retired; 0 for the root."""
    if after is DEAD:
        return None if before is DEAD else 0
    for depth, identity in enumerate(() if only(after) else path, start=1):
        child = after.children.get(identity)
        if child is None:
            return depth
        if not Recall.holds(child.mechanism) or type(child.state) is not Node:
            return None
        after = child.state
    return None
