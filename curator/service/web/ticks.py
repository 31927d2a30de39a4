"""`Ticks`: messages begin at multiples of a public period, and replies leave soon after one.

So the time that a message takes shows as a number of whole periods, and hardly as anything else. If
only replies were to wait, an analyst could send messages shortly before a tick and see whether they
took longer than that. The deadline bounds the number of periods.

A process that has just worked is awake sooner than one that has slept for longer. So a reply that
left right at the tick would be some 20 microseconds earlier or later, depending on when it was
ready. Each reply waits for a random time after the tick, of at most half a period, which hides
that: if X and X' are the delays of two tables and U is uniform on an interval of length w, then the
laws of X + U and X' + U differ by at most E|X - X'| / w in total variation, for any coupling of X
and X'. Each reply draws its own U, since a common one could be subtracted.

An event loop rounds its own timers to milliseconds from the moment at which it was last awake. So
they would show when a reply was ready. A thread waits for the exact time instead.
"""

import asyncio
import itertools
import time
from contextlib import suppress
from heapq import heappop, heappush
from math import floor
from threading import Condition, Thread

from queryable.randomness.coins import SYSTEM
from queryable.randomness.laws import UniformBelow

SPREAD = 0.5
"""The part of a period in which replies leave."""

_STEPS = 2**32


class Ticks:
    """The multiples of a period, on the clock of the event loop.

    Args:
        period: seconds; None for no waiting.
    """

    def __init__(self, period: float | None) -> None:
        self.period = period
        self._due: list[tuple[float, int, asyncio.Future[None]]] = []
        self._ids = itertools.count()
        self._changed, self._closed = Condition(), False
        if period is not None:
            Thread(target=self._wake, name="ticks", daemon=True).start()

    @property
    def now(self) -> int:
        """The number of the last tick; 0 if there are none."""
        return 0 if self.period is None else floor(time.monotonic() / self.period)

    async def begin(self) -> int:
        """Wait for the next tick, and return its number."""
        if self.period is None:
            return 0
        number = self.now + 1
        await self._until(number * self.period)
        return number

    async def leave(self) -> None:
        """Wait for the next tick, and then for a random time that is below half a period."""
        if self.period is None:
            return
        late = SPREAD * SYSTEM.draw(UniformBelow(_STEPS)) / _STEPS
        await self._until((self.now + 1 + late) * self.period)

    async def _until(self, at: float) -> None:
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            heappush(self._due, (at, next(self._ids), future))
            if self._due[0][2] is future:
                self._changed.notify()
        await future

    def _wake(self) -> None:
        with self._changed:
            while not self._closed:
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                future = heappop(self._due)[2]
                with suppress(RuntimeError):  # the loop is closed, so nobody waits
                    future.get_loop().call_soon_threadsafe(_settle, future)

    def close(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._closed = True
            self._changed.notify()


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():  # a request that was cancelled
        future.set_result(None)
