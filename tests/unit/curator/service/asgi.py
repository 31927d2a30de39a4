"""A client that calls an application without a network, and a front over a stub service."""

import asyncio
import functools
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Self

import attrs

from curator.access import AccessStore, Added, Granted, hash_of, make_token
from curator.service.web.front import Front
from curator.service.web.keeper import AsyncAccess
from curator.service.web.ticks import Ticks
from tests.stored import MemoryLedger

FILTER = '{"@":"filt-con/1"}'
HEAD = {"hash": "0" * 64, "seq": 1}


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test, in an event loop of its own, for ten minutes at most."""

    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 600))

    return run


@attrs.frozen
class Got:
    """A reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def told(self) -> Any:
        return json.loads(self.body)


async def call(
    application: Any,
    verb: str,
    path: str,
    body: bytes = b"",
    *,
    token: str | None = None,
    protocol: str | None = "1",
    headers: Mapping[str, str] | None = None,
    chunks: list[bytes] | None = None,
) -> Got:
    """Send one request."""
    given = dict(headers or {})
    if token is not None:
        given["authorization"] = f"Bearer {token}"
    if protocol is not None:
        given["queryable-protocol"] = protocol
    where, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": verb,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": None,
        "server": None,
    }
    parts = [body] if chunks is None else [*chunks]
    sent: list[Any] = []

    async def receive() -> Any:
        if not parts:
            return {"type": "http.disconnect"}
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    try:
        await application(scope, receive, send)
    except Exception:
        if not sent:
            raise
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:]))


class Remote:
    """A service in this process that keeps what it was asked."""

    def __init__(self, name: str) -> None:
        self.name, self.state, self.text = name, "ready", ""
        self.about = {"columns": {"age": "integer"}}
        self.asked: list[tuple[Any, ...]] = []
        self.reply: tuple[int, bytes] | Exception | None = None
        self.gate: asyncio.Event | None = None
        self.children, self.pid = 0, None

    async def _answer(self, *asked: Any) -> tuple[int, bytes]:
        self.asked.append(asked)
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply or (200, json.dumps({"asked": asked[0], "path": asked[1]}).encode())

    async def tell(self, path: Any, body: bytes) -> tuple[int, bytes]:
        if self.reply is None and path == () and b"launch/1" in body:
            self.asked.append(("tell", path, body))
            answer = {"@": "launched/1", "child": self.children}
            self.children += 1
            return 200, json.dumps(
                {"head": HEAD, "new": 1, "outcome": {"answer": answer, "kind": "answer"}, "seq": 1}
            ).encode()
        return await self._answer("tell", path, body)

    async def feed(self, body: bytes) -> tuple[int, bytes]:
        return await self._answer("feed", (), body)

    async def describe(self, path: Any) -> tuple[int, bytes]:
        return await self._answer("describe", path)

    async def view(self, path: Any, after: int) -> tuple[int, bytes]:
        return await self._answer("view", path, after)

    async def page(self, path: Any, after: Any = None) -> tuple[int, bytes]:
        return await self._answer("page", path)


class House:
    """A front with two data sets, and analysts: ada (visits twice, calls), bo (visits), cy."""

    def __init__(self, tick: float | None = None) -> None:
        self.remotes = {name: Remote(name) for name in ("visits", "calls")}
        self.store = AccessStore(MemoryLedger())
        self.tokens = {name: make_token() for name in ("ada", "bo", "cy")}
        for name, token in self.tokens.items():
            self.store.change(Added(name, hash_of(token)))
        for analyst, dataset, child, name in (
            *(("ada", "visits", 0, "ada"), ("bo", "visits", 1, "bo")),
            *(("ada", "visits", 2, "ada 2"), ("ada", "calls", 0, "ada")),
        ):
            self.store.change(Granted(analyst, dataset, child, name, FILTER))
        ticks = {name: Ticks(tick) for name in self.remotes}
        self.front = Front(self.remotes, AsyncAccess(self.store), ticks)

    async def ready(self) -> Self:
        """Itself, with a front that has read who has access."""
        await self.front.keeper.read()
        return self

    @property
    def asked(self) -> list[tuple[Any, ...]]:
        """What reached the services, with the data set first."""
        return [(name, *each) for name, remote in self.remotes.items() for each in remote.asked]
