"""`serve`: the curator of a configuration, from the first socket to the last.

Responsible for starting and stopping in order: sockets, workers, access, servers; and back. It runs
until it is told to stop by SIGTERM or SIGINT. Messages under way are finished then.
"""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from curator.access import AccessStore
from curator.ledgers import ledger_of
from curator.service.routes import analysts_application, owners_application, pages_application
from curator.service.web.front import Front
from curator.service.web.keeper import AsyncAccess
from curator.service.web.protocols import AnalystProtocol, OwnerProtocol
from curator.service.web.sending import Sending
from curator.service.web.sockets import OWNERS, SocketError, listen_at, listen_on, owner_socket
from curator.service.web.ticks import Ticks
from curator.service.workers.recipes import CONFIGURED, Recipe
from curator.service.workers.workers import WorkerService, environment_for
from curator.settings.configuration import Configuration, read_configuration

TICK = 0.025
"""Seconds between two ticks where the configuration says nothing and other users may listen."""

_IDLE = 600  # seconds that a connection may be idle
_GRACE = 30  # seconds for requests under way when the curator stops
_LOG = logging.getLogger("curator")


def tick_of(configuration: Configuration, name: str) -> float | None:
    """The seconds between two ticks of a data set; None for no ticks."""
    stated = configuration.datasets[name].tick
    if stated is not None:
        return float(stated)
    return None if configuration.listen.startswith("unix:") else TICK


def worker_of(configuration: Configuration, name: str) -> WorkerService:
    """The worker of a data set, not started yet."""
    dataset = configuration.datasets[name]
    deadline = None if dataset.deadline is None else float(dataset.deadline)
    arguments = {
        "file": str(configuration.file.absolute()),
        "name": name,
        "tick": tick_of(configuration, name),
        "deadline": deadline,
    }
    return WorkerService(
        name,
        Recipe(CONFIGURED, arguments, needs_network(configuration, name)),
        deadline=deadline,
        environment=environment_for(configuration.file),
    )


def needs_network(configuration: Configuration, name: str) -> bool:
    """Whether the data or the ledger are on another machine, as far as their addresses say."""
    source = configuration.datasets[name].source
    scheme = source.partition("://")[0] if isinstance(source, str) and "://" in source else ""
    named = isinstance(source, str) and source.startswith("env:")
    return "://" in configuration.ledger or named or scheme not in {"", "sqlite", "duckdb"}


class _Server(uvicorn.Server):
    """A server that leaves signals to the curator."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def running(
    application: ASGIApp,
    listening: socket.socket,
    *,
    protocol: type[AnalystProtocol] = AnalystProtocol,
    **options: Any,
) -> AsyncIterator[None]:
    """Answer on a socket while the block runs; then finish what is under way."""
    config = uvicorn.Config(
        Sending(application),
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        backlog=4096,
        **options,
    )
    server = _Server(config)
    task = asyncio.get_running_loop().create_task(server.serve(sockets=[listening]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def working(front: Front, workers: Mapping[str, WorkerService]) -> AsyncIterator[None]:
    """Read the access and run the workers while the block runs."""
    await front.keeper.start()
    try:
        for worker in workers.values():
            worker.start()
        yield
    finally:
        await asyncio.gather(*(worker.stop() for worker in workers.values()))
        await front.keeper.stop()
        for ticks in front.ticks.values():
            ticks.close()


@contextmanager
def removed(listening: socket.socket) -> Iterator[socket.socket]:
    """Close a socket after the block, and remove its file."""
    path = listening.getsockname() if listening.family == socket.AF_UNIX else None
    try:
        yield listening
    finally:
        listening.close()
        if path is not None:
            with suppress(FileNotFoundError):
                Path(path).unlink()


async def curate(configuration: Configuration, stop: asyncio.Event) -> None:
    """Serve a configuration until told to stop."""
    _require_safe(configuration)
    tls = configuration.tls
    options: dict[str, Any] = {}
    if tls is not None:
        options = {"ssl_certfile": str(tls.certificate), "ssl_keyfile": str(tls.key)}
    async with AsyncExitStack() as stack:
        owners = stack.enter_context(removed(listen_at(owner_socket(configuration.file), OWNERS)))
        analysts = stack.enter_context(removed(listen_on(configuration.listen)))
        browsers = None
        if configuration.page is not None:
            browsers = stack.enter_context(removed(listen_on(configuration.page)))
        ledger = ledger_of(configuration.ledger, make=False)
        stack.callback(ledger.close)
        workers = {name: worker_of(configuration, name) for name in configuration.datasets}
        ticks = {name: Ticks(tick_of(configuration, name)) for name in workers}
        front = Front(workers, AsyncAccess(AccessStore(ledger)), ticks)
        await stack.enter_async_context(working(front, workers))
        await stack.enter_async_context(
            running(owners_application(front), owners, protocol=OwnerProtocol)
        )
        await stack.enter_async_context(running(analysts_application(front), analysts, **options))
        if browsers is not None:
            await stack.enter_async_context(running(pages_application(front), browsers, **options))
            _LOG.info("pages are on %s", configuration.page)
        _LOG.info(
            "listening on %s and on %s", configuration.listen, owner_socket(configuration.file)
        )
        _notify("READY=1")
        await stop.wait()
        _LOG.info("stopping: messages under way are finished")
        _notify("STOPPING=1")


def serve(file: str | os.PathLike[str]) -> None:
    """Serve a configuration until SIGTERM or SIGINT."""
    configuration = read_configuration(file)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    _allow_connections()

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await curate(configuration, stop)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop in C, where it is installed: a quarter more messages in a second."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def _require_safe(configuration: Configuration) -> None:
    """Check again what the configuration checks: no tokens in plain text on a network."""
    for place in filter(None, (configuration.listen, configuration.page)):
        local = place.startswith(("unix:", "127.", "localhost:", "[::1]:"))
        if configuration.tls is None and not local:
            raise SocketError(
                f"listening on {place} needs [tls]: tokens would be sent in plain text"
            )
    sockets = {configuration.file.absolute().parent: "the owner's socket"}
    for place in filter(None, (configuration.listen, configuration.page)):
        if place.startswith("unix:"):
            folder = Path(place.removeprefix("unix:")).absolute().parent
            sockets.setdefault(folder, "the analysts' socket, and be sent their tokens")
    for folder, what in sockets.items():
        if folder.stat().st_mode & 0o022:
            raise SocketError(
                f"others may write to {folder}, so they could replace {what}: chmod go-w {folder}"
            )


def _allow_connections() -> None:
    """As many open files as the system allows this process."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _notify(state: str) -> None:
    """Tell systemd, if it started this process and asked for it."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if place:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling, suppress(OSError):
            telling.sendto(state.encode("ascii"), "\0" + place[1:] if place[0] == "@" else place)
