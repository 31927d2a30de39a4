"""The pages over services in this process, with what a curator's workers would answer.

Two data sets of hostile columns; ada has two grants, bo one, and the names of launches are hostile.
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import curator
from composition import FiltCon
from curator.access import AccessStore, Added, Granted, hash_of, make_token
from curator.service.answering.local import LocalService
from curator.service.routes import analysts_application, pages_application
from curator.service.serve import running
from curator.service.web.front import Front
from curator.service.web.keeper import AsyncAccess
from curator.service.web.ticks import Ticks
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, Queryable, QueryRefusedError
from tests.stored import KEY, MemoryLedger

HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'{{7*7}}{%raw%}"
FILTER = '{"@":"filt-con/1"}'
DATA = {"age": list(range(100)), HOSTILE: list(range(100))}


class Near:
    """A service in this process, as routes use a worker's."""

    state, text, pid = "ready", "", None

    def __init__(self, name: str, handle: Queryable) -> None:
        self.name, self.handle = name, handle
        self.local = LocalService(handle)
        self.about = {"columns": {"age": "integer"}}
        self.gone: Exception | None = None

    async def tell(self, path: Any, body: bytes) -> Any:
        return await asyncio.to_thread(self.local.tell, path, body)

    async def describe(self, path: Any) -> Any:
        return await asyncio.to_thread(self.local.describe, path)

    async def view(self, path: Any, after: int) -> Any:
        return await asyncio.to_thread(self.local.view, path, after)

    async def page(self, path: Any, after: int | None = None) -> Any:
        if self.gone is not None:
            raise self.gone
        return await asyncio.to_thread(self.local.page, path, after)


class Pages:
    """A front with two data sets, and analysts: ada (visits twice), bo (visits), cy."""

    def __init__(self) -> None:
        self.near = {}
        for name in ("visits", "calls"):
            root = FiltCon(ZCDP("1/10"))
            handle = curator.open(MemoryLedger(), root, DATA, name=name, key=KEY)
            self.near[name] = Near(name, handle)
        store = AccessStore(MemoryLedger())
        self.store = store
        self.tokens = {name: make_token() for name in ("ada", "bo", "cy")}
        for name, token in self.tokens.items():
            store.change(Added(name, hash_of(token)))
        for child, name in enumerate(("ada", "bo", "ada 2")):
            self.root.launch(FiltCon(ZCDP("1/50")), name=name)
            store.change(Granted(name.split()[0], "visits", child, name, FILTER))
        self.front = Front(self.near, AsyncAccess(store), {name: Ticks(None) for name in self.near})

    @property
    def root(self) -> Queryable:
        """The owner's handle of visits; used only where no message is under way."""
        return self.near["visits"].handle

    def launch(self, child: int = 0, name: str | None = None, rho: str = "1/500") -> None:
        """An analyst launches a measurement."""
        self.root.children[child].launch(Gaussian(Count(column("age") >= 40), rho=rho), name=name)

    def fill(self) -> None:
        """Something to look at: names, refusals, an interactive child that was asked, failures."""
        self.launch(0, name=HOSTILE)
        self.launch(1, name="bo's own")
        mine = self.root.children[0]
        search = mine.launch(SparseVector(30, epsilon="1/20", cutoff=5), name="search")
        for age in (10, 50):
            search.ask(Count(column(HOSTILE) >= age))
        team = mine.launch(FiltCon(ZCDP("1/200")), name="team")
        team.launch(Gaussian(Count(), rho="1/1000"))
        for number in range(20):
            self.launch(0, name=f"count-{number}", rho="1/10000")
        with suppress(QueryRefusedError):
            self.launch(1, rho="1/5")


@contextmanager
def browsed(pages: Pages, *, alone: bool = True) -> Iterator[str]:
    """The address of a server of the pages, which runs in a thread."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port, stop = listening.getsockname()[1], asyncio.Event()
    ready, loop = threading.Event(), asyncio.new_event_loop()
    make = pages_application if alone else analysts_application

    async def life() -> None:
        await pages.front.keeper.start()
        async with running(make(pages.front), listening):
            ready.set()
            await stop.wait()
        await pages.front.keeper.stop()

    thread = threading.Thread(target=loop.run_until_complete, args=(life(),), daemon=True)
    thread.start()
    try:
        assert ready.wait(300)
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(300)
        loop.close()
        listening.close()
