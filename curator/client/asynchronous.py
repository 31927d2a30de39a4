"""The asynchronous variant: the same handles, whose methods are awaited.

Responsible for running a handle's methods in a thread, so that an event loop goes on meanwhile. The
messages to one data set are sent one after the other, as in every variant. A task that is cancelled
does not take its message back: it is answered, and the answer is in the view.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self, TypeVar

from curator.client.connecting import Connection, connect
from mechanisms.tables.front_door import FromTable
from queryable.display.ledger import LedgerRows
from queryable.handle import Queryable
from queryable.view import View

R = TypeVar("R")


class AsyncQueryable:
    """A `Queryable` whose methods are coroutines; see there for what each does."""

    def __init__(self, handle: Queryable, threads: ThreadPoolExecutor) -> None:
        self._handle, self._threads = handle, threads
        self.opening = self._outside(handle.opening)

    async def _run(self, call: Callable[[], Any]) -> Any:
        return self._outside(await _awaited(self._threads, call))

    def _outside(self, value: Any) -> Any:
        """A value of a handle, in which handles are asynchronous too."""
        if isinstance(value, Queryable):
            return AsyncQueryable(value, self._threads)
        if type(value) is tuple:
            return tuple(map(self._outside, value))
        return value

    async def __call__(self, query: Any, d_out: Any = None, *, name: str | None = None) -> Any:
        """`Queryable.__call__`: launch a mechanism, ask any other query."""
        return await self._run(partial(self._handle, query, d_out, name=name))

    async def ask(self, query: Any) -> Any:
        """`Queryable.ask`."""
        return await self._run(partial(self._handle.ask, query))

    async def launch(self, mechanism: Any, d_out: Any = None, *, name: str | None = None) -> Any:
        """`Queryable.launch`."""
        return await self._run(partial(self._handle.launch, mechanism, d_out, name=name))

    async def release(self, statistic: Any, **more: Any) -> Any:
        """`Queryable.release`."""
        return await self._run(partial(self._handle.release, statistic, **more))

    async def launch_many(self, mechanisms: Any, *, names: Any = None) -> tuple[Any, ...]:
        """`Queryable.launch_many`."""
        found: tuple[Any, ...] = await self._run(
            partial(self._handle.launch_many, mechanisms, names=names)
        )
        return found

    async def ask_many(self, queries: Any) -> tuple[Any, ...]:
        """`Queryable.ask_many`."""
        found: tuple[Any, ...] = await self._run(partial(self._handle.ask_many, queries))
        return found

    async def release_many(self, statistics: Any, **more: Any) -> tuple[Any, ...]:
        """`Queryable.release_many`."""
        found: tuple[Any, ...] = await self._run(
            partial(self._handle.release_many, statistics, **more)
        )
        return found

    async def sql(self, text: str, **more: Any) -> Any:
        """`Queryable.sql`."""
        return await self._run(partial(self._handle.sql, text, **more))

    async def privacy_loss(self, d_in: int | None = None) -> Any:
        """`Queryable.privacy_loss`."""
        return await self._run(partial(self._handle.privacy_loss, d_in))

    async def remaining(self, *, blocks: Any = None) -> Any:
        """`Queryable.remaining`."""
        return await self._run(partial(self._handle.remaining, blocks=blocks))

    async def can_afford(self, mechanism: Any, d_out: Any = None) -> bool:
        """`Queryable.can_afford`."""
        found: bool = await self._run(partial(self._handle.can_afford, mechanism, d_out))
        return found

    async def children(self) -> "Mapping[Any, AsyncQueryable]":
        """`Queryable.children`."""
        found = await _awaited(self._threads, lambda: dict(self._handle.children))
        return {child: AsyncQueryable(handle, self._threads) for child, handle in found.items()}

    async def view(self) -> View:
        """`Queryable.view`."""
        return await _awaited(self._threads, lambda: self._handle.view)

    async def ledger(self) -> LedgerRows:
        """`Queryable.ledger`."""
        return await _awaited(self._threads, self._handle.ledger)

    async def tree(self) -> str:
        """`Queryable.tree`."""
        return await _awaited(self._threads, self._handle.tree)

    async def explain(self) -> str:
        """`Queryable.explain`."""
        return await _awaited(self._threads, self._handle.explain)

    def __repr__(self) -> str:
        return repr(self._handle).replace("Queryable", "AsyncQueryable", 1)


class AsyncConnection:
    """The data sets that a token reaches: `await connection["visits"]` is an `AsyncQueryable`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._threads: dict[str, ThreadPoolExecutor] = {}

    async def __getitem__(self, name: str) -> AsyncQueryable:
        threads = self._threads.setdefault(name, ThreadPoolExecutor(1, f"curator: {name}"))
        handle = await _awaited(threads, lambda: self._connection[name])
        return AsyncQueryable(handle, threads)

    async def names(self) -> tuple[str, ...]:
        """The names of the data sets."""
        return await asyncio.to_thread(lambda: tuple(self._connection))

    async def about(self, name: str) -> dict[str, Any]:
        """The public description of a data set."""
        return await asyncio.to_thread(self._connection.about, name)

    async def table(self, name: str) -> FromTable:
        """The table of a data set, without its rows: see `Connection.table`."""
        return await asyncio.to_thread(self._connection.table, name)

    async def close(self) -> None:
        """Wait for messages under way, and close the connections."""
        for threads in self._threads.values():
            await asyncio.to_thread(threads.shutdown)
        self._threads.clear()
        self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


async def connect_async(url: Any, token: str | None = None, **more: Any) -> AsyncConnection:
    """As `connect`, for asynchronous code.

    Examples:
        connection = await connect_async("unix:curator.sock", token="qy_...")
        visits = await connection["visits"]
        noisy = await visits(Gaussian(Count(), rho="1/50"))
    """
    return AsyncConnection(await asyncio.to_thread(partial(connect, url, token, **more)))


async def _awaited(threads: ThreadPoolExecutor, call: Callable[[], R]) -> R:
    """What a call returns, in the one thread of a data set."""
    return await asyncio.get_running_loop().run_in_executor(threads, call)
