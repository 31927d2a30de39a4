"""A schedule of threads that follows from a seed: one of them runs at a time.

A client gives way where it waits for a disk and where a mechanism reads data. Appends that wait
together are committed together.
"""

import threading
from collections.abc import Callable, Sequence
from random import Random

from curator.ledgers import Event
from curator.ledgers.groups import Wish


class Schedule:
    """Runs one of several clients at a time."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self._baton = threading.Lock()
        self._baton.acquire()
        self._current: _Client | None = None

    def run(
        self, works: Sequence[Callable[[], None]], commit: Callable[[list[Wish]], None]
    ) -> None:
        """Run all works to their ends; `commit` stores the events of all wishes."""
        clients = [_Client(work, self._baton) for work in works]
        while left := [client for client in clients if not client.done]:
            ready = [client for client in left if client.wish is None]
            waiting = [client for client in left if client.wish is not None]
            if waiting and (not ready or self.chance.randrange(2)):
                commit([client.wish for client in waiting if client.wish is not None])
                for client in waiting:
                    client.wish = None
                continue
            self._current = self.chance.choice(ready)
            self._current.resume()
        for client in clients:
            if client.failure is not None:
                raise client.failure

    def give_way(self) -> None:
        """Let others run. Called by the client that runs."""
        assert self._current is not None
        self._current.pause()

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Wait until events are stored. Called by the client that runs."""
        assert self._current is not None
        wish = Wish(root, tuple(events))
        self._current.wish = wish
        self._current.pause()
        if wish.error is not None:
            raise wish.error


class _Client(threading.Thread):
    """A thread that runs only between `resume` and `pause`."""

    def __init__(self, work: Callable[[], None], baton: threading.Lock) -> None:
        super().__init__(daemon=True)
        self._work, self._baton, self._turn = work, baton, threading.Lock()
        self._turn.acquire()
        self.wish: Wish | None = None
        self.failure: BaseException | None = None
        self.done = False

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.failure = error
        self.done = True
        self._baton.release()

    def resume(self) -> None:
        """Let the client run until it gives way or ends."""
        if self.ident is None:
            self.start()
        else:
            self._turn.release()
        self._baton.acquire()

    def pause(self) -> None:
        self._baton.release()
        self._turn.acquire()
