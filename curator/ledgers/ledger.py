"""`Ledger`: what the curator asks of a store of events.

Theory of operation. A root has one writer at a time: the holder of its *lease*. Every lease has an
*epoch*, a number that grows with each lease of the root. A writer appends events with its epoch,
and a ledger compares it with the root's present epoch in the very transaction that stores the
events. So a writer that was paused, lost its lease and wakes up again stores nothing, whatever its
clock says. Clocks decide only how long another writer waits.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from curator.ledgers.errors import LeaseError, LedgerError
from curator.ledgers.events import Event, is_linked

SCHEMA = 1
"""The version of the tables."""

FEW, PAGE = 4, 1000
"""Events that are read at a time."""


class Ledger(Protocol):
    """A store of events that only grows."""

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Store events of one root, all or none; they are durable when this returns.

        After an exception other than `LedgerError` (such as `KeyboardInterrupt`) and after
        `UnknownOutcomeError` the events may be stored or not: read the root again.

        Raises:
            LeaseError: their epoch is not the present one.
            LedgerFullError: there is no room; nothing was stored.
            UnknownOutcomeError: the events may be stored or not.
            LedgerError: the ledger refused; nothing was stored.
        """

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        """The events of a root with a number above `after`, in order and not checked."""

    def lease(self, root: str, holder: str, ttl: float) -> int:
        """Become the writer of a root for `ttl` seconds; returns the epoch.

        A lease that ended, was released, is held by the same holder or by a process of this machine
        that is gone is taken over.

        Raises:
            LeaseError: another writer holds the root.
        """

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        """Hold the lease for `ttl` seconds from now.

        Raises:
            LeaseError: another writer took the root over.
        """

    def release(self, root: str, epoch: int) -> None:
        """Give the lease back, if it is still held."""

    def roots(self) -> tuple[str, ...]:
        """The names of the roots that have events, sorted."""

    def check(self) -> None:
        """Look for damage of the store itself, such as an index that differs from its table.

        Raises:
            BrokenChainError: the store is damaged.
        """

    def close(self) -> None:
        """Give up files and connections. Leases end by themselves."""


def this_process() -> str:
    """A name for this process as the holder of a lease: the machine and the process's number.

    More words may follow, to tell several holders in one process apart.
    """
    return f"{socket.gethostname()} {os.getpid()}"


def is_gone(holder: str) -> bool:
    """Whether the holder is a process of this machine that has ended.

    A wrong answer is safe, since a writer whose root was taken over stores nothing.
    """
    machine, number, *_ = (*holder.split(" "), "")
    if machine != socket.gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def missing(place: object) -> LedgerError:
    """The error for a ledger that is not there, where only `curator init` makes one."""
    return LedgerError(
        f"there is no ledger {place}. If there was one, put it back, or its last copy: a new one "
        "knows nothing of what was spent. The first one is made by `curator init FOLDER`"
    )


def paged(after: int, page: Callable[[int, int], Sequence[Any]]) -> Iterator[Event]:
    """Events in order: a few rows first, for who wants no more, and `PAGE` at a time in the end.

    Args:
        after: the number before the first event.
        page: the rows of the next events after a number, as many as the other one says at most.
    """
    count = FEW
    while True:
        rows = page(after, count)
        for row in rows:
            yield Event(*row)
        if len(rows) < count:
            return
        after, count = rows[-1][1], min(4 * count, PAGE)


def admit(root: str, events: Sequence[Event], head: tuple[int, str], epoch: int | None) -> None:
    """Refuse events that do not follow a root's head.

    Args:
        head: number and hash of the root's last event; (0, "") where there is none.
        epoch: the epoch of the root's present lease; None where it has none.

    Raises:
        LeaseError, LedgerError: they may not be appended.
    """
    if any(event.epoch != epoch for event in events):
        present = "nobody holds it" if epoch is None else f"the present epoch is {epoch}"
        raise LeaseError(
            f"another writer took root {root!r} over, or it was released: {present}. Ask the "
            "handle that was opened last, or open the root again"
        )
    seq, before = head
    for event in events:
        seq += 1
        if event.root != root or event.seq != seq:
            raise LedgerError(
                f"root {root!r} continues with event {seq}; got event {event.seq} of "
                f"root {event.root!r}"
            )
        if not is_linked(event, before):
            raise LedgerError(f"root {root!r}: event {seq} is not linked to the events before it")
        before = event.hash
