"""`Group`: appends of several threads become one transaction with one flush.

The first thread that appends commits; those that come meanwhile wait. When it is done, the first
of them commits for all that wait. So the ledger has no thread of its own, an append that comes
alone waits for nobody, and the slower the disk is, the more appends share a flush.

Theory of operation. An interrupt may end any thread between any two instructions, so nobody relies
on being told. Whoever has the lock leads, and it is released with the block, whatever happens. Who
waits is stirred when there is news, and looks for itself every so often in case that was missed.
What an interrupted leader left behind is settled by the next one: its outcome is unknown. Locks
are Python's own and no `Event`, whose methods an interrupt may leave with its lock held.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from curator.ledgers.errors import UnknownOutcomeError
from curator.ledgers.events import Event

_LOOK = 0.05  # seconds between two looks of a thread that nobody stirs


class Wish:
    """Events that one thread wants to append, and what came of it."""

    def __init__(self, root: str, events: Sequence[Event]) -> None:
        self.root, self.events = root, events
        self.error: BaseException | None = None
        self.settled = False
        self._news = threading.Lock()
        self._news.acquire()

    def stir(self) -> None:
        """Have its thread look at once."""
        with suppress(RuntimeError):  # it was told already
            self._news.release()

    def wait(self) -> None:
        """Wait until somebody stirs, or for a moment."""
        self._news.acquire(timeout=_LOOK)


class Group:
    """Collects wishes and has them committed together.

    Args:
        commit: stores the events of all wishes and makes them durable; sets `error` of each wish
            that it does not store. An exception counts for all of them.
    """

    def __init__(self, commit: Callable[[Sequence[Wish]], None]) -> None:
        self._commit = commit
        self._leading = threading.Lock()
        self._waiting: dict[Wish, None] = {}  # each of its methods is one step
        self._batch: tuple[Wish, ...] = ()  # what is being committed

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Have the events committed, by this thread or another."""
        wish = Wish(root, tuple(events))
        try:
            self._waiting[wish] = None
            while not wish.settled:
                if self._leading.locked():
                    wish.wait()
                    continue
                with self._leading:
                    if not wish.settled:
                        self._lead(wish)
                for each in tuple(self._waiting)[:1]:
                    each.stir()
        finally:
            self._waiting.pop(wish, None)  # of an interrupted thread: unless it is being committed
        if wish.error is not None:
            raise wish.error

    def _lead(self, wish: Wish) -> None:
        """Commit what waits. The caller has the lock."""
        self._settle(UnknownOutcomeError("another thread's append was stopped"))
        if wish.settled:
            return
        outcome: BaseException | None = None
        self._batch = tuple(self._waiting)
        try:
            self._commit(self._batch)
        except Exception as error:
            outcome = error
        except BaseException:
            self._settle(UnknownOutcomeError("another thread's append was stopped"))
            raise
        self._settle(outcome)

    def _settle(self, outcome: BaseException | None) -> None:
        """Tell the threads of a batch. It stays until all are told."""
        for wish in self._batch:
            if not wish.settled:
                wish.error = wish.error or outcome
                wish.settled = True
            self._waiting.pop(wish, None)
            wish.stir()
        self._batch = ()
