"""`Front`: what the routes of a curator share, and the routes of the protocol.

Responsible for who may ask what, for limits, and for the times of replies. It carries bytes between
an analyst and a worker, and reads no query and no answer.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import attrs
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from curator.access import ReachedRoot
from curator.service.services import HTTPReply
from curator.service.web.callers import Caller, Turns
from curator.service.web.keeper import AsyncAccess
from curator.service.web.metrics import Metrics
from curator.service.web.problems import (
    HEADERS,
    Problem,
    fault,
    malformed,
    not_there,
    other_version,
    too_large,
    unavailable,
)
from curator.service.web.sending import WHOLE, UntilSent
from curator.service.web.sessions import Sessions
from curator.service.web.ticks import Ticks
from curator.service.workers.workers import NoWorkerError, WorkerDiedError
from curator.wire import HEADER, VERSIONS, DataSet, WireError, chosen_version, datasets_text
from curator.wire.bodies import TELL_LIMITS
from curator.wire.texts import dumped
from queryable.running.handles import Path

MOST_BYTES = TELL_LIMITS.bytes
MOST_AT_ONCE = 64
_BODY_SECONDS = 30.0  # for a client to send a body
_JSON = "application/json"
_RAW = [
    (name.lower().encode("latin-1"), value.encode("latin-1"))
    for name, value in {**HEADERS, "Content-Type": _JSON}.items()
]


class Remote(Protocol):
    """The methods of `WorkerService` that the routes use."""

    name: str
    state: str
    text: str
    about: Mapping[str, Any]

    @property
    def pid(self) -> int | None:
        """The number of the worker's process."""

    async def tell(self, path: Path, body: bytes) -> HTTPReply:
        """Send a message."""

    async def feed(self, body: bytes) -> HTTPReply:
        """Take what the owner feeds."""

    async def describe(self, path: Path) -> HTTPReply:
        """What a root is."""

    async def view(self, path: Path, after: int) -> HTTPReply:
        """Exchanges after a number."""

    async def page(self, path: Path, after: int | None = None) -> HTTPReply:
        """What a page shows."""


@attrs.define(eq=False)
class Front:
    """The curator, as routes see it.

    Attributes:
        services: the data sets by name.
        ticks: when replies to messages leave, for each data set.
        name: how it calls itself.
        sessions: who is logged in on its pages.
    """

    services: Mapping[str, Remote]
    keeper: AsyncAccess
    ticks: Mapping[str, Ticks]
    name: str = "curator"
    metrics: Metrics = attrs.field(factory=Metrics)
    turns: Turns = attrs.field(factory=lambda: Turns(MOST_AT_ONCE))
    granting: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    sessions: Sessions = attrs.field()

    @sessions.default
    def _new_sessions(self) -> Sessions:
        return Sessions(self.keeper, tuple(self.services))

    def reached(self, caller: Caller, root: str) -> tuple[Remote, ReachedRoot]:
        """The data set and the path of a caller's root.

        Raises:
            Problem: there is none.
        """
        reach = caller.reach(root)
        if reach is None or reach.dataset not in self.services:
            raise not_there()
        return self.services[reach.dataset], reach


Identify = Callable[[Request], Caller]
"""Who sends a request.

Raises:
    Problem: nobody that may.
"""

Endpoint = Callable[[Front, Caller, Request], Awaitable[Response]]


class _Usual(Response):
    """A reply of JSON with no headers of its own; those of all replies are written once."""

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Take the headers of every reply."""
        assert headers is None
        self.raw_headers = [*_RAW, (b"content-length", b"%d" % len(self.body))]


def response(body: bytes, status: int = 200, **headers: str) -> Response:
    """A reply of JSON."""
    if headers:
        return Response(body, status, {**HEADERS, **headers}, _JSON)
    return _Usual(body, status)


@contextmanager
def as_problems() -> Iterator[None]:
    """What keeps a request from its answer, raised as a `Problem`."""
    try:
        yield
    except NoWorkerError as error:
        raise unavailable(str(error), error.after) from None
    except WorkerDiedError:
        raise fault() from None
    except ClientDisconnect:
        raise malformed("the body ended early") from None


def answered(
    front: Front, identify: Identify, endpoint: Endpoint, *, versioned: bool = True
) -> Callable[..., Any]:
    """A function of Starlette that identifies the caller, and turns problems into replies.

    Args:
        versioned: whether a request has to name a version of the protocol.
    """

    async def answer(request: Request) -> Response:
        try:
            with as_problems():
                if versioned:
                    _require_version(request)
                caller = identify(request)
                with UntilSent(request.scope, front.turns.turn(caller)):
                    reply = await endpoint(front, caller, request)
                with UntilSent(request.scope, front.turns.holding(caller, len(reply.body))):
                    return reply
        except Problem as problem:
            front.metrics.error(problem.status)
            return response(problem.body, problem.status, **problem.headers)

    return answer


def _require_version(request: Request) -> None:
    try:
        chosen_version(request.headers.get(HEADER))
    except WireError as error:
        raise other_version(str(error)) from None


async def body_of(request: Request, limit: int = MOST_BYTES) -> bytes:
    """The body of a request.

    Raises:
        Problem: it is too large, or comes too slowly.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and not int(length[:20]) <= limit:
        raise too_large(limit)
    if WHOLE in request.scope:
        return await _body_of(request, limit)
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await _body_of(request, limit)
    except TimeoutError:
        raise malformed(f"the body did not arrive within {_BODY_SECONDS:g} seconds") from None


async def _body_of(request: Request, limit: int) -> bytes:
    """The body of a request, however long it takes."""
    parts, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if not size <= limit:
            raise too_large(limit)
        parts.append(part)
    return b"".join(parts)


def replied(front: Front, reply: HTTPReply) -> Response:
    """The reply of a service, counted if it is an error."""
    status, body = reply
    if status != 200:
        front.metrics.error(status)
    return response(body, status)


@asynccontextmanager
async def between_ticks(front: Front, dataset: str) -> AsyncIterator[int]:
    """What begins at a tick, whose number it has, and leaves after one.

    Also what is only read: it shows whether a message was answered, so without ticks somebody who
    reads all the time would see when.
    """
    ticks = front.ticks[dataset]
    number = await ticks.begin()
    try:
        yield number
    finally:
        await ticks.leave()


async def tell(front: Front, caller: Caller, request: Request) -> Response:
    """Send a message to a mechanism; it begins at a tick, and its outcome leaves after one."""
    service, reach = front.reached(caller, request.path_params["root"])
    body = await body_of(request)
    async with between_ticks(front, reach.dataset) as number:
        began = time.perf_counter()
        reply = await service.tell(reach.path, body)
        if reply[0] == 200:
            seconds, is_late = time.perf_counter() - began, front.ticks[reach.dataset].now > number
            front.metrics.count(reach.dataset, reply[1], seconds, is_late=is_late)
        return replied(front, reply)


async def describe(front: Front, caller: Caller, request: Request) -> Response:
    """What a root is: enough to make a handle of it."""
    service, reach = front.reached(caller, request.path_params["root"])
    async with between_ticks(front, reach.dataset):
        return replied(front, await service.describe(reach.path))


async def view(front: Front, caller: Caller, request: Request) -> Response:
    """The exchanges at or below a root, in order, a page at a time."""
    service, reach = front.reached(caller, request.path_params["root"])
    after = request.query_params.get("after", "0")
    if not (after.isascii() and after.isdecimal() and len(after) <= 15):
        raise malformed("after should be an integer of at least 0")
    async with between_ticks(front, reach.dataset):
        return replied(front, await service.view(reach.path, int(after)))


async def page(front: Front, caller: Caller, request: Request) -> Response:
    """What a page for people shows of a root."""
    service, reach = front.reached(caller, request.path_params["root"])
    async with between_ticks(front, reach.dataset):
        return replied(front, await service.page(reach.path))


async def datasets(front: Front, caller: Caller, _: Request) -> Response:
    """The roots that the caller reaches, each with the public description of its data."""
    found = [
        DataSet(title, root, dict(front.services[reach.dataset].about))
        for title, root, reach in caller.roots()
        if reach.dataset in front.services
    ]
    return response(datasets_text(found))


def versions(front: Front) -> Callable[..., Any]:
    """The versions of the protocol that this curator speaks; it needs no token and no version."""
    try:
        own = version("queryable-dp")
    except PackageNotFoundError:
        own = "unknown"
    body = dumped({"name": front.name, "protocol": VERSIONS, "version": own}).encode()

    async def answer(request: Request) -> Response:
        if HEADER in request.headers:
            try:
                _require_version(request)
            except Problem as problem:
                front.metrics.error(problem.status)
                return response(problem.body, problem.status, **problem.headers)
        return response(body)

    return answer
