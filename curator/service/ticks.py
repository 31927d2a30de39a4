"""`Ticks`: messages begin and replies leave at multiples of a public period.

So the time that a message takes shows as a number of whole periods, and as nothing else. If only
replies were to wait, an analyst could send messages shortly before a tick and see whether they took
longer than that. The deadline bounds the number of periods.

An event loop rounds its own timers to milliseconds from the moment at which it was last awake. So
they would show when a reply was ready. A thread sleeps until the exact tick instead.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from math import floor


class Ticks:
    """The multiples of a period, on the clock of the event loop.

    Args:
        period: seconds; None for no waiting.
    """

    def __init__(self, period: float | None) -> None:
        self.period = period
        self._next: asyncio.Future[None] | None = None
        self._sleeper = None if period is None else ThreadPoolExecutor(1, "ticks")

    async def wait(self) -> None:
        """Wait for the next tick."""
        if self.period is None:
            return
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_task(self._tick(self.period))
        await asyncio.shield(self._next)

    async def _tick(self, period: float) -> None:
        at = (floor(time.monotonic() / period) + 1) * period
        await asyncio.get_running_loop().run_in_executor(self._sleeper, _sleep_until, at)
        self._next = None

    def close(self) -> None:
        """Let the thread end."""
        if self._sleeper is not None:
            self._sleeper.shutdown(wait=False)


def _sleep_until(at: float) -> None:
    time.sleep(max(0.0, at - time.monotonic()))
