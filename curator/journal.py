"""`LedgerJournal`: what a root is told, as events of a ledger; and those events read back.

Responsible for the bodies of events. They are JSON objects whose fields are:

- `opened`: schema, mechanism, fingerprint, salt, check, protects, seed of the table, if it has one,
  and `anchor`, if it has one.
- `intent`: n, the number of the message; history, the hash that its coins come from; path; query;
  names, if a launch has one; charges, the receipts that stand if nothing is answered; key and body,
  if the message came with a request key: the key, and a SHA-256 of path, query and names as sent.
- `again`, `answer`: of, the number of the event that they belong to. An answer has the answer, or
  `void`: the message was wrong, or a poll, and is no part of the history. It has `charges` if they
  are not those of the intent, and `retired`: how many `Ask`s deep the child was that failed, 0 for
  the root mechanism.
- `exchange`: the fields of an intent and of an answer. `still`: no state has changed.
- `closed`: nothing.

Queries, answers and receipts are texts of `curator.codec`.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import attrs

from composition.compositors.state import CompositionState
from curator.codec import Codec
from curator.ledgers import Event, Ledger, LedgerError, UnknownOutcomeError, following
from curator.moorings import Mooring
from curator.requests import Request, Requests, entries_among, entries_in
from queryable.errors import HandleError
from queryable.faults import Dead
from queryable.messages import Answer, Failed, Halted, Launched, Refused, bare, is_many
from queryable.randomness.sealed import SealedCoins
from queryable.recalling import Recall
from queryable.receipts import Receipt
from queryable.running.handles import Path
from queryable.running.journal import Message, Past, Told
from queryable.running.together import exchanges_of
from queryable.view import Exchange

SCHEMA = 1
TTL = 30.0
"""Seconds that a lease is held; it is renewed after a third of it, see `curator.leases`."""


_INTERRUPTED = (
    "it was interrupted while a message or an answer was being stored. Nothing that was answered "
    "is lost"
)


def written(body: Any) -> str:
    """A body as canonical JSON."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


class LedgerJournal:
    """The journal of one root on a ledger: a `queryable.running.journal.Journal`.

    Args:
        head: the last event.
        pending: the intent that has no answer yet, if the last process crashed.

    Attributes:
        request: that of the message that is sent next; None if it has none.
        requests: those that have been answered.
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
    ) -> None:
        self.ledger, self.root, self.epoch, self.codec = ledger, root, epoch, codec
        self.head, self.pending, self.released = head, pending, False
        self.owns = False  # whether the ledger is closed with the root
        self.mooring: Mooring | None = None  # where the root has an anchor
        intended = {} if pending is None else json.loads(pending.body)
        self._charges: Any = intended.get("charges")
        self.request: Request | None = None
        self.requests = Requests()
        self._requested = _request_of(intended)
        self._crashed = pending
        self._answered = b""  # the history of the last message that was answered
        self._unsure = False
        self._clock, self._renewed = clock, clock()

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
        if self._unsure or (self.pending is not None and self.pending is not self._crashed):
            raise HandleError(f"open root {self.root!r} again: {_INTERRUPTED}")
        self.renew()

    def renew(self) -> None:
        """Hold the lease longer, if a third of it is over.

        Raises:
            LeaseError: another writer took the root over.
        """
        now = self._clock()
        if now - self._renewed > TTL / 3:
            self.ledger.renew(self.root, self.epoch, TTL)
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

    def _moor(self, message: Message, told: Told) -> None:
        """Have the anchor cover the message before data are read."""
        if self.mooring is not None and self.head is not None:
            self._unsure = True
            self.mooring.keep(self.head, message, told)
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
        if self.pending is None:  # otherwise it is there already, and is run again after a crash
            self._charges, self._requested = self._receipts(told), self.request
            self.pending = self.append("intent", self._body(message) | _charged(self._charges))
        self._moor(message, told)

    def answer(self, message: Message, told: Told, before: Any, after: Any) -> None:
        """Append an answer, or an exchange if no data were touched; see `Journal.answer`."""
        self.require_unanswered(message)
        self._answered = message.coins.history  # whatever comes, this is its only answer
        charges = self._receipts(told)
        answers = tuple(bare(each.answer) for each in told)
        body: dict[str, Any] = {"answer": self._text(_whole(message.query, answers))}
        if after is before:
            body["still"] = True
        elif (depth := _retired(before, after, message.path)) is not None:
            body["retired"] = depth
        count = entries_among(told, still=after is before)
        if self.pending is None:
            self.append("exchange", self._body(message) | _charged(charges) | body)
            self.requests.add(self.request, count)
            if after is not before:
                self._moor(message, told)
        else:
            changed = charges != self._charges
            if changed:
                body["charges"] = charges
            self.append("answer", body | {"of": self.pending.seq})
            self.pending = self._crashed = None
            self.requests.add(self._requested, count)
            if changed:
                self._moor(message, told)

    def void(self) -> None:
        """Answer an intent that is no part of the history; see `Journal.void`."""
        if self.pending is not None:
            self.append("answer", {"of": self.pending.seq, "void": True})
            self.pending = self._crashed = None

    def _text(self, value: Any) -> str:
        return str(self.codec.encode(value), "ascii")

    def _body(self, message: Message) -> dict[str, Any]:
        coins = message.coins
        body = {
            "history": coins.history.hex(),
            "n": coins.count,
            "path": message.path,
            "query": self._text(message.query),
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
        body = {"account": self._text(receipt.account), "d_in": receipt.d_in}
        if receipt.charged is not None:
            body["charged"] = self._text(receipt.charged)
        if receipt.mechanism is not getattr(launch, "mechanism", None):
            body["mechanism"] = self._text(receipt.mechanism)
        return body


def _charged(charges: list[Any]) -> dict[str, Any]:
    return {"charges": charges} if charges else {}


def _whole(query: Any, answers: tuple[Answer, ...]) -> Answer:
    return answers if is_many(query) else answers[0]


def _retired(before: Any, after: Any, path: Path) -> int | None:
    """How many `Ask`s deep the child was that a message to `path` retired; 0 for the root."""
    if isinstance(after, Dead):
        return None if isinstance(before, Dead) else 0
    for depth, child in enumerate(path, start=1):
        if not isinstance(after, CompositionState):
            return None
        if child not in after.children:
            return depth
        after = after.children[child].state
    return None


@attrs.frozen
class Story:
    """The events of one root, told apart.

    Attributes:
        opened: the first event; None if the root is new.
        opening: the text of the opening answer; None if it was never given.
        head: the last event.
        pending: the intent, or the opening, without an answer.
        tries: how often that was tried.
        exchanges: intents and exchanges that are part of the history, each with its answer.
        closed: whether the root is closed.
    """

    opened: dict[str, Any] | None = None
    opening: str | None = None
    head: Event | None = None
    pending: Event | None = None
    tries: int = 0
    exchanges: Sequence[tuple[dict[str, Any], dict[str, Any]]] = ()
    closed: bool = False


def story_of(events: Iterable[Event]) -> Story:
    """Tell the events of a root apart.

    Raises:
        LedgerError: they do not make sense.
    """
    told: list[tuple[dict[str, Any], dict[str, Any]]] = []
    opened = opening = head = pending = None
    asked: dict[str, Any] = {}
    tries, closed = 0, False
    for event in events:
        body = json.loads(event.body)
        match event.kind:
            case "opened" if head is None:
                if body.get("schema") != SCHEMA:
                    raise LedgerError(f"root {event.root!r} has an unknown schema version")
                opened, pending, tries = body, event, 1
            case "intent" if pending is None:
                pending, asked, tries = event, body, 1
            case "again" if pending is not None and body["of"] == pending.seq:
                tries += 1
            case "answer" if pending is not None and body["of"] == pending.seq:
                if pending.kind == "opened":
                    opening = body["answer"]
                elif not body.get("void"):
                    told.append((asked, body))
                pending = None
            case "exchange" if pending is None:
                told.append((body, body))
            case "closed":
                closed = True
            case _:
                raise LedgerError(f"root {event.root!r}: event {event.seq} is out of order")
        head = event
    return Story(opened, opening, head, pending, tries, told, closed)


def requests_of(story: Story, codec: Codec) -> Requests:
    """The requests that have been answered."""
    requests = Requests()
    for asked, answered in story.exchanges:
        requests.add(_request_of(asked), entries_in(asked, answered, codec))
    return requests


def _request_of(asked: dict[str, Any]) -> Request | None:
    return Request(asked["key"], asked["body"]) if "key" in asked else None


def message_of(body: dict[str, Any], coins: SealedCoins, codec: Codec) -> Message:
    """The message of an intent or an exchange, with its coins."""
    own = coins.resumed(bytes.fromhex(body["history"]), body["n"])
    names = tuple(body.get("names", ()))
    return Message(tuple(body["path"]), codec.decode(body["query"]), names, own)


def pasts_of(story: Story, coins: SealedCoins, codec: Codec) -> Iterator[Past]:
    """The messages and answers of a root, for `MemoryRoot.fold`."""
    same = same_by(codec)
    for asked, answered in story.exchanges:
        message = message_of(asked, coins, codec)
        answer = codec.decode(answered["answer"])
        charges = answered.get("charges", asked.get("charges", []))
        retired = answered.get("retired")
        recall = None if answered.get("still") else Recall(answer, same, retired)

        def receipted(
            message: Message = message, answer: Answer = answer, charges: Any = charges
        ) -> Told:
            return _receipted(message, answer, charges, codec)

        yield Past(message, answer, len(charges), receipted, recall, retired == 0)


def same_by(codec: Codec) -> Callable[[Answer, Answer], bool]:
    """Whether two answers have the same text."""

    def same(answer: Answer, logged: Answer) -> bool:
        answer, logged = bare(answer), bare(logged)
        if isinstance(logged, tuple) and not isinstance(answer, tuple):
            answer = (answer,) * len(logged)  # one answer to all entries
        return codec.encode(answer) == codec.encode(logged)

    return same


def _receipted(message: Message, answer: Answer, charges: Any, codec: Codec) -> Told:
    told = list(exchanges_of(message.path, message.query, answer))
    for charge in charges:
        place = charge["place"]
        each = told[place]
        if "ask" in charge:
            receipts = (*each.receipts, codec.decode(charge["ask"]))
            told[place] = Exchange(each.path, each.query, each.answer, receipts=receipts)
        elif isinstance(each.answer, Launched | Refused | Halted | Failed):
            given = attrs.evolve(each.answer, receipt=_read_receipt(each.query, charge, codec))
            told[place] = attrs.evolve(each, answer=given)
    return tuple(told)


def _read_receipt(launch: Any, charge: dict[str, Any], codec: Codec) -> Receipt:
    mechanism = charge.get("mechanism")
    charged = charge.get("charged")
    return Receipt(
        launch.mechanism if mechanism is None else codec.decode(mechanism),
        getattr(launch, "d_out", None),
        charge["d_in"],
        None if charged is None else codec.decode(charged),
        codec.decode(charge["account"]),
    )
