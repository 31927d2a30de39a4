"""Services on a Unix socket, in this process: what a client of the protocol meets, without workers.

Each token is a name of `Served.paths`, and reaches one root at one path.
"""

import socketserver
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs

import curator
from curator.client import Connection, connect
from curator.service import HTTPReply, LocalService
from curator.wire import (
    HEADER,
    AccessError,
    DataSet,
    WireError,
    chosen_version,
    datasets_text,
    error_body,
)
from queryable import Queryable
from tests.stored import KEY, STORED, MemoryLedger

ROOT = "visits"


@attrs.define(eq=False)
class Served:
    """What the server answers with.

    Attributes:
        service: answers messages.
        paths: the path of each token.
        url: where it is.
        faults: for tests, called before and after a message; may raise to lose the reply.
        requests: what was asked.
        about: the description of the data; empty while they are being opened.
    """

    service: LocalService
    paths: dict[str, tuple[Any, ...]] = attrs.field(factory=lambda: {"owner": ()})
    url: str = ""
    before: Any = None
    after: Any = None
    requests: list[str] = attrs.field(factory=list)
    about: dict[str, Any] = attrs.field(factory=lambda: {"columns": {"age": "int"}})

    def connect(self, token: str = "owner", **more: Any) -> Connection:
        """A client."""
        return connect(self.url, token, **{"codec": STORED, "patience": 30, **more})

    def handle(self, token: str = "owner", **more: Any) -> Queryable:
        """A handle of the root."""
        return self.connect(token, **more)[ROOT]

    def reply(self, method: str, target: str, token: str, body: bytes) -> HTTPReply:
        """The reply to a request."""
        parts = urlsplit(target)
        if parts.path == "/v1":
            return HTTPReply(200, b'{"name":"test","protocol":[1],"version":"0"}')
        if token not in self.paths:
            return HTTPReply(401, error_body(AccessError("there is nobody with this token")))
        path = self.paths[token]
        match parts.path.split("/")[2:]:
            case ["datasets"]:
                return HTTPReply(200, datasets_text([DataSet(ROOT, ROOT, self.about)]))
            case ["roots", root] if root == ROOT:
                return self.service.describe(path)
            case ["roots", root, "tell"] if root == ROOT:
                return self.service.tell(path, body)
            case ["roots", root, "view"] if root == ROOT:
                return self.service.view(path, int(parse_qs(parts.query)["after"][0]))
        return HTTPReply(404, error_body(AccessError("there is nothing here for this token")))


def _misfit(version: str | None) -> HTTPReply | None:
    try:
        chosen_version(version)
    except WireError as error:
        return HTTPReply(426, error_body(error))
    return None


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            served.requests.append(f"{self.command} {self.path}")
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            try:
                if served.before is not None:
                    served.before(self.path)
                reply = _misfit(self.headers.get(HEADER)) or served.reply(
                    self.command, self.path, token, body
                )
                if served.after is not None:
                    reply = served.after(self.path, reply) or reply
            except (ConnectionAbortedError, KeyboardInterrupt, SystemExit):  # the reply is lost
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header(HEADER, "1")
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = answer  # noqa: N815 (the name is the library's)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def address_string(self) -> str:
            return ""

    return Handler


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients may leave whenever they like."""


@contextmanager
def serving(service: LocalService) -> Iterator[Served]:
    """A service on a socket."""
    with tempfile.TemporaryDirectory(prefix="served-") as folder:
        served = Served(service, url=f"unix:{folder}/curator.sock")
        with _Server(str(Path(folder) / "curator.sock"), _handler(served)) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            try:
                yield served
            finally:
                server.shutdown()
                thread.join()


def opened(ledger: MemoryLedger, mechanism: Any, data: Any, codec: Any = STORED) -> LocalService:
    """A service of a root on a ledger."""
    handle = curator.open(ledger, mechanism, data, name=ROOT, key=KEY, codec=codec)
    return LocalService(handle, codec=codec)
