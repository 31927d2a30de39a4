"""Leases that are held while a root is open, even if nobody sends it a message.

Responsible for one thread in a process, which renews the leases of all open roots. It keeps neither
the process nor a root alive: it has weak references to the journals, and it ends when there are no
more of them. A lease that was lost is found by the next message, which is refused; the thread
raises nothing. A forked process renews nothing.
"""

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from curator.ledgers import LeaseError
from curator.logs.journal import LedgerJournal

_PAUSE = 1.0

_SHORTEST = 5  # seconds; it is then renewed when two or three of them are left

N = TypeVar("N", float, Fraction)


def lease_of(seconds: N) -> N:
    """Check for how many seconds a lease is to be held.

    Raises:
        ValueError: it would end between two looks.
    """
    if not seconds >= _SHORTEST:
        raise ValueError(f"it is {float(seconds):g}; it should be {_SHORTEST} seconds at least")
    return seconds


class LeaseKeeper:
    """Renews the leases of open roots.

    Args:
        pause: seconds between two looks.
        wait: waits for so many seconds.
    """

    def __init__(self, pause: float = _PAUSE, wait: Callable[[float], object] = time.sleep) -> None:
        self._pause, self._wait = pause, wait
        self._lock = threading.Lock()
        self._held: list[weakref.ref[LedgerJournal]] = []
        self._thread: threading.Thread | None = None

    def hold(self, journal: LedgerJournal) -> None:
        """Renew the lease of a journal's root until it is released or collected."""
        with self._lock:
            self._held.append(weakref.ref(journal))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="curator: leases", daemon=True
                )
                self._thread.start()

    def forget(self) -> None:
        """Hold nothing any more, as in a forked process."""
        self._lock = threading.Lock()  # the old one may belong to a thread that is not here
        self._held, self._thread = [], None

    def held(self) -> list[LedgerJournal]:
        """The journals whose leases are renewed."""
        with self._lock:
            found = [each() for each in self._held]
        return [each for each in found if each is not None]

    def _run(self) -> None:
        while True:
            self._wait(self._pause)
            with self._lock:
                held = list(self._held)
            kept = [each for each in held if _renewed(each())]
            with self._lock:
                self._held = kept + self._held[len(held) :]
                if not self._held:
                    self._thread = None
                    return


def _renewed(journal: LedgerJournal | None) -> bool:
    """Renew a lease if it is due. False if it is not to be renewed again."""
    if journal is None or journal.released:
        return False
    try:
        journal.renew()
    except LeaseError:
        journal.lost = True
        return False  # another writer has the root; the next message is refused
    except Exception:  # the ledger is busy or away: the next look tries again
        return True
    return True


KEEPER = LeaseKeeper()
"""The keeper of this process."""


@atexit.register
def _settle() -> None:
    """At the end of the process, lower the bounds of anchors that were raised ahead."""
    for journal in KEEPER.held():
        journal.settle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KEEPER.forget)
