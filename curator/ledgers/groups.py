"""`Group`: appends of several threads become one transaction with one flush.

The first thread that appends commits; those that come meanwhile wait. When it is done, the first
of them commits for all that wait. So the ledger has no thread of its own, an append that comes
alone waits for nobody, and the slower the disk is, the more appends share a flush.
"""

import threading
from collections.abc import Callable, Sequence

from curator.ledgers.errors import UnknownOutcomeError
from curator.ledgers.events import Event


class Wish:
    """Events that one thread wants to append, and what came of it."""

    def __init__(self, root: str, events: Sequence[Event]) -> None:
        self.root, self.events = root, events
        self.error: BaseException | None = None
        self.settled = False
        self.turn = threading.Event()


class Group:
    """Collects wishes and has them committed together.

    Args:
        commit: stores the events of all wishes and makes them durable; sets `error` of each wish
            that it does not store. An exception counts for all of them.
    """

    def __init__(self, commit: Callable[[Sequence[Wish]], None]) -> None:
        self._commit = commit
        self._lock = threading.Lock()
        self._waiting: list[Wish] = []
        self._led = False

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Have the events committed, by this thread or another."""
        wish = Wish(root, tuple(events))
        try:
            with self._lock:
                self._waiting.append(wish)
                if not self._led:
                    self._led = True
                    wish.turn.set()
            wish.turn.wait()
            if not wish.settled:
                self._lead()
        except BaseException:
            self._withdraw(wish)
            raise
        if wish.error is not None:
            raise wish.error

    def _lead(self) -> None:
        batch: list[Wish] = []
        outcome: BaseException | None = UnknownOutcomeError("another thread's append was stopped")
        try:
            with self._lock:
                batch, self._waiting = self._waiting, []
            self._commit(batch)
            outcome = None
        except Exception as error:
            outcome = error
        finally:
            for wish in batch:
                wish.error = wish.error or outcome
                wish.settled = True
                wish.turn.set()
            with self._lock:
                self._hand_on()

    def _withdraw(self, wish: Wish) -> None:
        """Take back a wish of an interrupted thread, unless it is being committed."""
        with self._lock:
            if wish in self._waiting:
                self._waiting.remove(wish)
                if wish.turn.is_set():
                    self._hand_on()

    def _hand_on(self) -> None:
        self._led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].turn.set()
