"""`AsyncAccess`: the access as the front has it in memory, kept up to date with the ledger.

Another curator of the same ledger, or the command line, may change the access. So it is read every
second. If that fails for long, nobody is let in: a token may have been revoked meanwhile.
"""

import asyncio
import logging
import time

from curator.access import Access, AccessStore, Change

_PERIOD = 1.0
_STALE = 30.0
_LOG = logging.getLogger("curator")


class AsyncAccess:
    """The access, for coroutines."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self._read_at = -_STALE
        self._task: asyncio.Task[None] | None = None

    @property
    def access(self) -> Access:
        """The access as of the last reading."""
        return self._store.access

    @property
    def is_fresh(self) -> bool:
        """Whether the last reading is recent."""
        return time.monotonic() - self._read_at < _STALE

    async def read(self) -> Access:
        """The access as of now."""
        began = time.monotonic()  # what was read may be as old as that
        access = await asyncio.to_thread(self._store.read)
        self._read_at = max(self._read_at, began)
        return access

    async def change(self, change: Change) -> Access:
        """Make a change durable; see `AccessStore.change`."""
        return await asyncio.to_thread(self._store.change, change)

    async def start(self) -> None:
        """Read the access now, and every second from now on."""
        await self.read()
        self._task = asyncio.get_running_loop().create_task(self._keep_reading())

    async def stop(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _keep_reading(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD)
            try:
                await self.read()
            except Exception as error:
                _LOG.warning("the access cannot be read: %s: %s", type(error).__name__, error)
