"""A message to the curator and the reply to it.

Responsible for what is sent and for its JSON. A query and an answer are here as the codec's text,
which stands in the body as it is: as an object, not as a string.
"""

import re
from hashlib import sha256
from typing import Any, TypeAlias

import attrs

from curator.codec import Limits
from curator.wire.errors import WireError
from curator.wire.texts import (
    a_count,
    a_text,
    a_value,
    cut,
    dumped,
    fields_of,
    listed,
    loaded,
    text_of,
)
from queryable.running.handles import Path

ANSWER, REFUSED, FAILED, HALTED = "answer", "refused", "failed", "halted"
QUERY_ERROR = "query error"
KINDS = (ANSWER, REFUSED, FAILED, HALTED, QUERY_ERROR)
"""The kinds of outcomes."""

TELL_LIMITS = Limits(bytes=2**17 + 2**16, depth=260, items=8000, parts=1010, commas=10_000)
"""The largest message: a query of 128 KiB, and what is around it."""

REPLY_LIMITS = Limits(depth=270)
"""The largest reply."""

Names: TypeAlias = tuple[str | None, ...]

_KEY = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")
_DEEPEST = 400
_LONGEST_NAME = 1000


def _child(value: Any, name: str) -> int | str:
    if type(value) is int:
        return a_count(value, name)
    return _short(value, name)


def _short(value: Any, name: str) -> str:
    text = a_text(value, name)
    if not len(text) <= _LONGEST_NAME:
        raise WireError(f"{name} has {len(text)} characters; {_LONGEST_NAME} is the most")
    if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        raise WireError(f"{name} is no text: it has half of a surrogate pair")
    return text


def _name(value: Any, name: str) -> str | None:
    return None if value is None else _short(value, name)


def _key(value: Any, name: str) -> str:
    if type(value) is not str or not _KEY.fullmatch(value):
        raise WireError(f"{name} should be 32 hexadecimal digits, drawn at random for each message")
    return value


def _hash(value: Any, name: str) -> str:
    if type(value) is not str or not _HASH.fullmatch(value):
        raise WireError(f"{name} should be 64 hexadecimal digits")
    return value


a_path = listed(_child, _DEEPEST)
"""Child ids, which are integers and strings."""

_names = listed(_name, TELL_LIMITS.items)


@attrs.frozen
class Head:
    """The last event of a root in its ledger. A later one has a higher number.

    Attributes:
        seq: its number.
        hash: a hash of the event and of all before it. The first event has a random salt, so a
            hash tells nothing about an answer that one does not know.
    """

    seq: int
    hash: str

    @classmethod
    def of(cls, value: Any, name: str) -> "Head":
        """Read a head."""
        return cls(**fields_of(value, {"seq": a_count, "hash": _hash}, name))

    @classmethod
    def of_or_null(cls, value: Any, name: str) -> "Head | None":
        """Read a head, or null."""
        return None if value is None else cls.of(value, name)

    @property
    def text(self) -> str:
        """As JSON."""
        return f'{{"hash":"{self.hash}","seq":{self.seq}}}'


_TELL = {
    "key": _key,
    "names": _names,
    "path": a_path,
    "query": a_value,
    "seen": Head.of_or_null,
}


@attrs.frozen
class Tell:
    """A message: the body of `POST /v1/roots/{root}/tell`.

    Attributes:
        path: where it goes, from the mechanism that the token is bound to.
        query: the codec's text.
        names: the name of the launch, or of each of several; () if none has a name.
        key: 32 hexadecimal digits, drawn at random for this message and sent again with a retry.
            The curator answers a message with one key once.
        seen: the last head that the client saw; None if it saw none.
    """

    path: Path
    query: str
    names: Names
    key: str
    seen: Head | None = None

    def written(self) -> bytes:
        """The body."""
        names = f'"names":{dumped(self.names)},' if self.names else ""
        seen = "null" if self.seen is None else self.seen.text
        return (
            f'{{"key":"{self.key}",{names}"path":{dumped(self.path)},"query":{self.query},'
            f'"seen":{seen}}}'
        ).encode()

    def digest(self, path: Path) -> str:
        """A SHA-256 of what is sent, in hexadecimal digits.

        Args:
            path: where the message goes, from the root.
        """
        text = dumped([list(path), self.query, list(self.names)])
        return sha256(text.encode()).hexdigest()

    @classmethod
    def read(cls, body: bytes) -> "Tell":
        """Read a body.

        Raises:
            WireError: it is no message of this protocol.
        """
        text = text_of(body, TELL_LIMITS)
        short = cut(text, "query", ',"seen":')
        if short is not None:
            try:
                rest = loaded(short[0])
            except WireError:
                rest = None
            if type(rest) is dict and rest.get("query", "") is None:
                rest |= {"query": ""}
                found = fields_of(rest, _TELL | {"query": a_text}, "a message", ("names", "seen"))
                return cls(**{"names": (), **found, "query": short[1]})
        found = fields_of(loaded(text), _TELL, "a message", ("names", "seen"))
        return cls(**{"names": (), **found})


@attrs.frozen
class MessageOutcome:
    """What came of a message.

    Attributes:
        kind: one of `KINDS`.
        answer: the codec's text of the answer, with its receipt; None for a wrong query.
        receipts: texts of those of compositors at or below the token's path whose charges changed.
        type: the class of the error, of `queryable.errors`, if the query was wrong.
        text: the text of that error.
    """

    kind: str
    answer: str | None = None
    type: str | None = None
    text: str | None = None
    receipts: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Check that the fields belong together."""
        wrong = self.kind == QUERY_ERROR
        answered = self.answer is not None
        if self.kind not in KINDS or wrong is answered or (wrong and self.receipts):
            raise WireError(f"an outcome is one of {', '.join(KINDS)}, and has what belongs to it")
        if wrong is not (self.type is not None and self.text is not None):
            raise WireError("an outcome has a type and a text if and only if the query was wrong")

    @property
    def written(self) -> str:
        """As JSON."""
        if self.kind == QUERY_ERROR:
            return dumped({"kind": self.kind, "text": self.text, "type": self.type})
        receipts = f',"receipts":[{",".join(self.receipts)}]' if self.receipts else ""
        return f'{{"answer":{self.answer},"kind":"{self.kind}"{receipts}}}'

    @classmethod
    def of(cls, value: Any, name: str) -> "MessageOutcome":
        """Read an outcome."""
        return cls(**fields_of(value, _OUTCOME, name, _OPTIONAL))


@attrs.frozen
class MessageReply:
    """The reply to a message.

    Attributes:
        seq: the number of exchanges at or below the token's path when the message was answered, its
            own included. Polls are not counted.
        new: how many of these are the message's own; they are the last ones. It is 0 for a poll,
            for a wrong query, and for a launch that was made before under its name.
        head: the last event of the ledger.
        outcome: what came of it.
    """

    seq: int
    new: int
    head: Head
    outcome: MessageOutcome

    def written(self) -> bytes:
        """The body."""
        return (
            f'{{"head":{self.head.text},"new":{self.new},"outcome":{self.outcome.written},'
            f'"seq":{self.seq}}}'
        ).encode()

    @classmethod
    def read(cls, body: bytes) -> "MessageReply":
        """Read a body.

        Raises:
            WireError: it is no reply of this protocol.
        """
        text = text_of(body, REPLY_LIMITS)
        short = cut(text, "answer", ',"kind":"')
        if short is not None:
            try:
                rest = loaded(short[0])
                outcome = rest["outcome"]
                short = short if outcome.pop("answer") is None else None
            except (WireError, KeyError, TypeError, AttributeError):
                short = None
            if short is not None:
                outcome["answer"] = None
                told = fields_of(rest, _TOLD | {"outcome": _answered(short[1])}, "a reply")
                return cls(**told)
        return cls(**fields_of(loaded(text), _TOLD, "a reply"))


_OUTCOME = {
    "kind": a_text,
    "answer": a_value,
    "receipts": listed(a_value, REPLY_LIMITS.items),
    "text": a_text,
    "type": a_text,
}
_OPTIONAL = ("answer", "receipts", "text", "type")
_TOLD = {"seq": a_count, "new": a_count, "head": Head.of, "outcome": MessageOutcome.of}


def _answered(answer: str) -> Any:
    reads = _OUTCOME | {"answer": lambda *_: answer}

    def read(value: Any, name: str) -> MessageOutcome:
        return MessageOutcome(**fields_of(value, reads, name, _OPTIONAL))

    return read
