"""What the events of a root say: messages and answers, read back from a ledger.

Responsible for the order of events, and for reading their bodies, which `journal` describes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs

from curator.codec import Codec
from curator.ledgers import Event, LedgerError
from curator.logs.requests import RequestKey
from queryable.conversation.recalling import Recall
from queryable.losses.numbers import at_least_one
from queryable.messages import Answer, Failed, Halted, Launched, Refused, without_receipts
from queryable.randomness.sealed import SealedCoins
from queryable.receipts import Receipt
from queryable.running.journal import Message, Past, Told
from queryable.running.many import exchanges_of
from queryable.view import Exchange

SCHEMA = 1

TRIES = 8
"""How often a message is tried that crashes interrupt, before it has failed."""

Tries = int | Callable[[int], int]
"""How often a message is tried; a function gives it for the number of its event."""


def tries_of(value: Tries) -> Tries:
    """Read a number of tries, or a function that gives one."""
    return value if callable(value) else at_least_one(value, "tries")


@attrs.frozen
class Story:
    """The events of one root, told apart.

    Attributes:
        opened: the first event; None if the root is new.
        opening: the text of the opening answer; None if it was never given.
        head: the last event.
        pending: the intent, or the opening, without an answer.
        tries: how often that was tried: how often data were about to be read for it.
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


class LoggedMessage(NamedTuple):
    """A message that is part of the history, as its events have it.

    Attributes:
        place: the number of its first event.
        asked, answered: the bodies with the query and with the answer; one body for both, if the
            message is one event.
        fed: whether the data's owner has sent it.
        interrupted: whether it was run again after a crash, with an event for each try.
    """

    place: int
    asked: dict[str, Any]
    answered: dict[str, Any]
    fed: bool = False
    interrupted: bool = False


class Telling:
    """Tells the events of a root apart while they are read, which keeps none of them.

    The attributes are those of `Story`, of the events so far.

    Args:
        events: those of the root, in order.
        most: how often what has no answer is tried, by the number of its event.

    Raises:
        LedgerError: they do not make sense.
    """

    def __init__(self, events: Iterable[Event], most: Tries = TRIES) -> None:
        self._events, self._most = iter(events), most
        self.opened: dict[str, Any] | None = None
        self.opening: str | None = None
        self.head: Event | None = None
        self.pending: Event | None = None
        self.tries, self.closed = 0, False
        self._sealed = False
        self._begin()

    @property
    def gives_up(self) -> bool:
        """Whether what has no answer is not run again: tried too often, or messages are lost."""
        if self.pending is None or self._sealed:
            return self._sealed
        most = self._most if isinstance(self._most, int) else self._most(self.pending.seq)
        return self.tries >= most

    @gives_up.setter
    def gives_up(self, value: bool) -> None:
        self._sealed = value

    def _begin(self) -> None:
        """Read the first event and the opening answer."""
        for event in self._events:
            body = body_of(event)
            if self.closed:
                raise _out_of_order(event)
            match event.kind:
                case "closed":
                    self.closed = True
                case "opened" if self.head is None:
                    if body.get("schema") != SCHEMA:
                        raise LedgerError(f"root {event.root!r} has an unknown schema version")
                    self.opened, self.pending, self.tries = body, event, 1
                case "again" if self._belongs(body):
                    self.tries += 1
                case "answer" if self._belongs(body) and "answer" in body:
                    self.opening, self.pending, self.head = body["answer"], None, event
                    return
                case _:
                    raise _out_of_order(event)
            self.head = event

    def messages(self) -> Iterator[LoggedMessage]:
        """The messages that are part of the history, those of the data's owner among them."""
        for event in self._events:
            kind, pending, self.head = event.kind, self.pending, event
            if self.closed:
                raise _out_of_order(event)
            if kind == "intent" and pending is None:
                self.pending, self.tries = event, 1
            elif kind == "answer" and pending is not None:
                body = body_of(event)
                if not self._belongs(body):
                    raise _out_of_order(event)
                self.pending = None
                if not body.get("void"):
                    if "answer" not in body:
                        raise _foreign(event)
                    asked = body_of(pending, _ASKED)
                    interrupted = event.seq != pending.seq + 1
                    yield LoggedMessage(pending.seq, asked, body, interrupted=interrupted)
            elif kind in ("exchange", "update") and pending is None:
                body = body_of(event, _BOTH)
                yield LoggedMessage(event.seq, body, body, fed=kind == "update")
            elif kind == "again" and self._belongs(body_of(event)):
                self.tries += 1
            elif kind == "closed":
                self.closed = True
            else:
                raise _out_of_order(event)

    def _belongs(self, body: dict[str, Any]) -> bool:
        return self.pending is not None and body.get("of") == self.pending.seq


_ASKED = frozenset({"history", "n", "path", "query"})
_BOTH = _ASKED | {"answer"}
_decoded = json.JSONDecoder().raw_decode


def body_of(event: Event, fields: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The body of an event.

    Raises:
        LedgerError: it is no JSON object with these fields.
    """
    try:
        body, end = _decoded(event.body)
    except ValueError:
        body, end = None, 0
    if type(body) is not dict or end != len(event.body) or not fields <= body.keys():
        raise _foreign(event)
    return body


def _foreign(event: Event) -> LedgerError:
    return LedgerError(f"root {event.root!r}: event {event.seq} is not what a curator writes")


def _out_of_order(event: Event) -> LedgerError:
    return LedgerError(f"root {event.root!r}: event {event.seq} is out of order")


def story_of(events: Iterable[Event]) -> Story:
    """Tell the events of a root apart.

    Raises:
        LedgerError: they do not make sense.
    """
    telling = Telling(events)
    told = [(each.asked, each.answered) for each in telling.messages() if not each.fed]
    return Story(
        telling.opened,
        telling.opening,
        telling.head,
        telling.pending,
        telling.tries,
        told,
        telling.closed,
    )


def request_of(asked: dict[str, Any]) -> RequestKey | None:
    """The request that a message came with."""
    return RequestKey(asked["key"], asked["body"]) if "key" in asked else None


def charges_of(asked: dict[str, Any], answered: dict[str, Any]) -> list[dict[str, Any]]:
    """The charges of a message that stand at last."""
    charges: list[dict[str, Any]] = answered.get("charges", asked.get("charges", []))
    return charges


def coins_of(body: dict[str, Any], coins: SealedCoins) -> SealedCoins:
    """The coins of a message, from those of its root at any history."""
    return coins.resumed(bytes.fromhex(body["history"]), body["n"])


def message_of(body: dict[str, Any], coins: SealedCoins, codec: Codec) -> Message:
    """The message of an intent or an exchange, with its coins."""
    names = tuple(body.get("names", ()))
    query = codec.decode(body["query"])
    return Message(tuple(body["path"]), query, names, coins_of(body, coins))


def past_of(
    asked: dict[str, Any], answered: dict[str, Any], coins: SealedCoins, codec: Codec
) -> Past:
    """A message and its answer, from the bodies of their events."""
    message = message_of(asked, coins, codec)
    answer = codec.decode(answered["answer"])
    charges = charges_of(asked, answered)
    retired = answered.get("retired")
    recall = None if answered.get("still") else Recall(answer, same_by(codec), retired)
    receipted = partial(_receipted, message, answer, charges, codec)
    return Past(message, answer, len(charges), receipted, recall, retired == 0)


def same_by(codec: Codec) -> Callable[[Answer, Answer], bool]:
    """Whether two answers have the same text."""

    def same(answer: Answer, logged: Answer) -> bool:
        answer, logged = without_receipts(answer), without_receipts(logged)
        if isinstance(logged, tuple) and logged:
            given = len(answer) if isinstance(answer, tuple) else None
            if given != len(logged):  # one answer to all entries, as in `exchanges_of`
                answer = (answer,) * len(logged)
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
