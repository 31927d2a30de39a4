"""Events of a ledger and the chain of hashes that binds each one to all events before it.

An event says what happened to a root; `curator.root` decides what its body says. This module knows
nothing of files and of what bodies mean.

    hash_n = SHA-256(hash_{n-1}, root, n, epoch, kind, body)

Each text is preceded by its length in bytes, so two different events never give the same input.
"""

import hashlib
from collections.abc import Iterable, Iterator
from operator import attrgetter

import attrs

from curator.ledgers.errors import BrokenChainError

KINDS = ("opened", "intent", "again", "answer", "exchange", "update", "retired", "closed")
"""The kinds of events.

- `opened`: the first event: the mechanism, the data's fingerprint and the opening answer.
- `intent`: a query that may touch data, with its charge. It is durable before data are read.
- `again`: a second execution of an intent after a crash.
- `answer`: the answer of an intent.
- `exchange`: a query that touches no data, with its answer.
- `update`: a message of the data's owner: a batch, by its fingerprint, or the end of a block.
- `retired`: a child that answers no more queries.
- `closed`: the last event.
"""


@attrs.frozen
class Event:
    """One event of a root.

    Attributes:
        root: the name of the root.
        seq: the number of the event in its root: 1, 2, ... without gaps.
        epoch: the epoch of the lease under which it was written.
        kind: one of `KINDS`.
        body: what happened, as canonical JSON.
        hash: SHA-256 of the event and of all events before it, in hexadecimal digits.
    """

    root: str
    seq: int
    epoch: int
    kind: str
    body: str = attrs.field(repr=False)
    hash: str


fields_of = attrgetter("root", "seq", "epoch", "kind", "body", "hash")
"""The fields of an event, in the order of tables."""


def following(previous: Event | None, root: str, epoch: int, kind: str, body: str) -> Event:
    """The event after `previous`; the first of its root if that is None."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if previous is not None and previous.root != root:
        raise ValueError(f"the previous event belongs to root {previous.root!r}, not to {root!r}")
    seq = 1 if previous is None else previous.seq + 1
    return Event(root, seq, epoch, kind, body, _hash(_head(previous), root, seq, epoch, kind, body))


def chained(events: Iterable[Event], after: Event | None = None) -> Iterator[Event]:
    """The events of one root, each one checked against those before it.

    Args:
        after: the event before the first one; None if they start at number 1.

    Raises:
        BrokenChainError: an event is not what was appended.
    """
    head, seq = _head(after), 0 if after is None else after.seq
    root, epoch = (None, 0) if after is None else (after.root, after.epoch)
    for event in events:
        root = event.root if root is None else root
        seq += 1
        if event.root != root or event.seq != seq:
            raise BrokenChainError(
                f"root {root!r}: event {seq} is missing; event {event.seq} of root "
                f"{event.root!r} is in its place"
            )
        head = _hash(head, root, seq, event.epoch, event.kind, event.body)
        if head != event.hash or event.epoch < epoch or event.kind not in KINDS:
            raise BrokenChainError(
                f"root {root!r}: event {seq} is not the one that was appended, or an event "
                "before it is not"
            )
        epoch = event.epoch
        yield event


def is_linked(event: Event, head: str) -> bool:
    """Whether the event's hash is that of an event after one with the hash `head`."""
    return event.hash == _hash(head, event.root, event.seq, event.epoch, event.kind, event.body)


def _head(previous: Event | None) -> str:
    return "" if previous is None else previous.hash


def _hash(head: str, root: str, seq: int, epoch: int, kind: str, body: str) -> str:
    name, text = root.encode(errors="surrogatepass"), body.encode(errors="surrogatepass")
    sizes = f"{head},{seq},{epoch},{kind},{len(name)},{len(text)};"
    return hashlib.sha256(b"".join((sizes.encode(), name, text))).hexdigest()
