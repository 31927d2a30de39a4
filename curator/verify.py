"""Check the ledger of a root without the data and without the key.

Responsible for the chain of hashes and the order of the events. `curator.verification` computes
every account again from the charges in the log, by other arithmetic than that of the rules, so a
defect in the accounting of a compositor is found, and so is a changed event. A whole tail that is
missing is found only by somebody who knows a later hash: every export ends with it. docs/ledgers.md
states what is checked and what is not.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from curator.codec import CODEC, Codec
from curator.ledgers import BrokenChainError, Event, LedgerError, chained
from curator.logs.batches import Course
from curator.verification.accounts import Amounts, WrongAccountError
from curator.verification.histories import Histories
from curator.verification.sequence import Messages
from curator.verification.tree import Path


class VerificationError(LedgerError):
    """The events of a root contradict each other."""


@attrs.frozen
class Verified:
    """What was checked of a root.

    Attributes:
        root: its name.
        events: the number of events.
        head: the hash of the last event. Whoever knows it can tell that a later copy goes on.
        messages: the number of messages that have an answer.
        unanswered: whether the last message has none.
        closed: whether the root is closed.
        batches: what the data's owner has sent: how many batches, in which blocks.
        charges: the number of charges and refusals after which an account was computed again.
        claims: the number of charges that were compared with the loss that the mechanism states.
        uncompared: the number of those that were not, because the mechanism states none here.
        refusals: the number of refusals that were compared with what was left.
        persons: the number of charges that share an account with launches of a person in the
            middle, which are not in the ledger; there the account may be larger.
        unchecked: kinds of accounts that this package cannot check, each with its number.
        spent: what each compositor has charged, by the path to it.
    """

    root: str
    events: int
    head: str
    messages: int
    unanswered: bool
    closed: bool
    batches: Course
    charges: int
    claims: int
    uncompared: int
    refusals: int
    persons: int
    unchecked: Mapping[str, int]
    spent: Mapping[Path, Amounts]


def verify(events: Iterable[Event], *, head: str | None = None, codec: Codec = CODEC) -> Verified:
    """Check all events of one root.

    Args:
        head: the hash of an event that has to be among them, such as the last one that was seen.
        codec: reads mechanisms and losses; another one has mechanisms of a site.

    Raises:
        BrokenChainError: an event is not what was appended, or `head` is missing.
        VerificationError: the order of the events or an account is wrong.
    """
    checks, last, seen = _Checks(codec), None, head is None
    for event in chained(events):
        checks.take(event)
        last, seen = event, seen or event.hash == head
    if last is None:
        raise VerificationError("there are no events")
    if not seen:
        raise BrokenChainError(
            f"root {last.root!r}: no event has the hash {head}; events after {last.seq} are missing"
        )
    unanswered = checks.pending is not None
    checks.end()
    found = checks.found
    return Verified(
        root=last.root,
        events=last.seq,
        head=last.hash,
        messages=checks.messages,
        unanswered=unanswered,
        closed=checks.closed,
        batches=checks.course,
        charges=found.charges,
        claims=found.claims,
        uncompared=found.uncompared,
        refusals=found.refusals,
        persons=found.persons,
        unchecked=found.unchecked,
        spent=found.tree.spent(),
    )


class _Checks:
    """What has been checked so far."""

    def __init__(self, codec: Codec) -> None:
        self.pending: Event | None = None
        self._asked: dict[str, Any] = {}
        self.closed = False
        self.messages = 0
        self._counted = 0  # those of the data's owner too
        self.course = Course()
        self.found = Messages(codec, self.course)
        self._histories: Histories | None = None

    def take(self, event: Event) -> None:
        """Check the next event."""
        try:
            self._in_order(event, json.loads(event.body))
        except VerificationError:
            raise
        except WrongAccountError as error:
            raise _wrong(event, str(error)) from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise VerificationError(
                f"root {event.root!r}: event {event.seq} ({event.kind}) is not what a curator "
                f"writes: {type(error).__name__}: {error}"
            ) from error

    def end(self) -> None:
        """Check the charges of a message that has no answer: they stand, as if it had failed."""
        if self.pending is not None and self.pending.kind == "intent":
            event = self.pending
            body = json.dumps(self._asked | {"answer": '{"@":"failed/1"}', "standing": True})
            self.pending = None
            self.take(attrs.evolve(event, kind="exchange", body=body))
            self.messages -= 1

    def _in_order(self, event: Event, body: dict[str, Any]) -> None:
        waits = None if self.pending is None else self.pending.seq
        if self.closed:
            raise _wrong(event, "comes after the root was closed")
        if (event.kind == "opened") != (event.seq == 1):
            raise _wrong(event, "is out of order: a root begins with `opened`")
        match event.kind:
            case "opened" | "intent":
                if waits is not None:
                    raise _wrong(event, f"comes before the answer of event {waits}")
                self.pending, self._asked = event, body
            case "again":
                if waits is None or body["of"] != waits:
                    raise _wrong(event, "runs a message again that was answered")
            case "answer":
                self._answer(event, body, waits)
            case "exchange":
                if waits is not None:
                    raise _wrong(event, f"comes before the answer of event {waits}")
                self._message(body, body)
            case "update":
                if waits is not None:
                    raise _wrong(event, f"comes before the answer of event {waits}")
                self._update(body)
            case "closed":
                self.closed = True

    def _answer(self, event: Event, body: dict[str, Any], waits: int | None) -> None:
        pending, self.pending = self.pending, None
        if pending is None or body["of"] != waits:
            raise _wrong(event, "answers an event that waits for no answer")
        if pending.kind == "opened":
            self._histories = Histories(pending.root, pending.body, body["answer"])
            protects = self._asked.get("protects") or (None, None, None)
            self.found.tree.start(
                json.loads(self._asked["mechanism"]),
                json.loads(body["answer"]),
                bounded=protects[2] is not None,
            )
        elif not body.get("void"):
            self._message(self._asked, body)

    def _message(self, asked: dict[str, Any], answered: dict[str, Any]) -> None:
        self.messages += 1
        self._follow(asked, answered)
        self.found.take(asked, answered)

    def _update(self, body: dict[str, Any]) -> None:
        """Check a message of the data's owner: no account changes, and the answer is None."""
        if {*body} - {"answer", "history", "id", "n", "on", "path", "query", "retired"}:
            raise WrongAccountError("has parts that no message of the data's owner has")
        if body["path"] or body["answer"] != "null" or body.get("retired", 0) != 0:
            raise WrongAccountError("is a message of the data's owner, and has an answer or a path")
        self._follow(body, body)
        self.course.take(body["query"], body.get("id"))

    def _follow(self, asked: dict[str, Any], answered: dict[str, Any]) -> None:
        """Check the number and the history of the next message."""
        self._counted += 1
        if asked["n"] != self._counted:
            raise WrongAccountError(f"is message {self._counted}, and says that it is {asked['n']}")
        assert self._histories is not None
        self._histories.take(asked, answered)


def _wrong(event: Event, problem: str) -> VerificationError:
    return VerificationError(f"root {event.root!r}: event {event.seq} ({event.kind}) {problem}")
