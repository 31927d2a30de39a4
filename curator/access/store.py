"""`AccessStore`: changes of the access as events of the root "@access" of a ledger.

Responsible for reading and appending. The ledger chains and keeps these events as those of any
other root, so several curators and the command line see the same access. Each change takes a short
lease of its own.
"""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable

from curator.access.changes import Change, body_of, change_of
from curator.access.people import Access, AccessChangeError
from curator.ledgers import (
    BrokenChainError,
    Event,
    LeaseError,
    Ledger,
    chained,
    following,
    this_process,
)
from curator.wire.texts import dumped

OWN = "@"
"""What the names of the curator's own roots start with; no data set's name does."""

ROOT = f"{OWN}access"
SCHEMA = 1
_TTL, _PATIENCE, _PAUSE = 10.0, 15.0, 0.05
_NUMBERS = itertools.count()


class AccessStore:
    """The access of a ledger. Threads may share it.

    Args:
        wait: called between two tries to get the lease, with seconds.
    """

    def __init__(self, ledger: Ledger, wait: Callable[[float], None] = time.sleep) -> None:
        self._ledger, self._wait = ledger, wait
        self._lock = threading.Lock()
        self._head: Event | None = None
        self._access = Access()
        self._holder = f"{this_process()} access {next(_NUMBERS)}"

    @property
    def access(self) -> Access:
        """The access as of the last reading."""
        return self._access

    def read(self) -> Access:
        """The access as of now.

        Raises:
            LedgerError: it cannot be read, or is not what was stored.
        """
        with self._lock:
            return self._read()

    def change(self, change: Change) -> Access:
        """Make a change durable.

        Raises:
            AccessChangeError: it is not possible.
            LedgerError: it cannot be stored.
        """
        with self._lock:
            epoch = self._lease()
            try:
                after = self._read().after(change)
                events = []
                if self._head is None:
                    opened = following(None, ROOT, epoch, "opened", dumped({"access": SCHEMA}))
                    events.append(opened)
                last = events[-1] if events else self._head
                events.append(following(last, ROOT, epoch, "exchange", dumped(body_of(change))))
                self._ledger.append(ROOT, events)
                self._head, self._access = events[-1], after
            finally:
                self._ledger.release(ROOT, epoch)
            return after

    def _read(self) -> Access:
        after = 0 if self._head is None else self._head.seq
        for event in chained(self._ledger.read(ROOT, after), self._head):
            self._access = _taken(self._access, event)
            self._head = event
        return self._access

    def _lease(self) -> int:
        tries = int(_PATIENCE / _PAUSE)
        for left in reversed(range(tries)):
            try:
                return self._ledger.lease(ROOT, self._holder, _TTL)
            except LeaseError:
                if not left:
                    raise
                self._wait(_PAUSE)
        raise AssertionError("a try returns or raises")


def access_of(events: Iterable[Event]) -> Access:
    """The access that events of its root lead to; they are taken as they are.

    Raises:
        BrokenChainError: they are not what is stored for an access.
    """
    access = Access()
    for event in events:
        access = _taken(access, event)
    return access


def _taken(access: Access, event: Event) -> Access:
    try:
        body = json.loads(event.body)
        if event.seq == 1:
            if event.kind != "opened" or body != {"access": SCHEMA}:
                raise ValueError("the first event does not open an access of this version")
            return access
        if event.kind != "exchange":
            raise ValueError(f"the event is of kind {event.kind}")
        return access.after(change_of(body))
    except (ValueError, TypeError, AccessChangeError) as error:
        raise BrokenChainError(
            f"root {ROOT!r}: event {event.seq} is no change of the access: {error}"
        ) from error
