"""Connections: HTTP with bounds on what somebody may send before a token is looked at.

Responsible for the size of headers, for connections that send nothing, for replies to what is no
HTTP, and for whose connections the owner's socket takes.
"""

import asyncio
import logging
import resource
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from curator.service.web.problems import HEADERS, malformed
from curator.service.web.sending import CONNECTION, WHOLE
from curator.service.web.sockets import is_ours

MOST_HEADERS = 1 << 16
"""The most bytes of a request's first line and headers."""

_FIRST = 60.0  # seconds until the first byte
_HEADERS = 30.0  # seconds from the first byte of a request to the end of its headers
_FAREWELL = 1.0  # seconds for a client to say that it has heard the end of TLS
_FREE = 256  # file descriptors that stay free for the owner, the ledger and workers
_LOG = logging.getLogger("curator")


def most_connections() -> int:
    """How many connections analysts may have, so that the curator has file descriptors left."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(files - _FREE, files // 2) if files != resource.RLIM_INFINITY else 2**31


class _Together:
    """A transport that sends the head of a reply together with what follows it at once.

    The server writes the two one after the other. As two pieces they would wake the client twice.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._head = transport, loop, b""

    def write(self, data: bytes) -> None:
        """Send bytes, but the head of a reply only when the loop goes on."""
        if not self._head and data.startswith(b"HTTP/1.1 ") and data.endswith(b"\r\n\r\n"):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            head, self._head = self._head, b""
            self._transport.write(head + data if head else data)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)

    def close(self) -> None:
        """Close it after all that was written."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class AnalystProtocol(HttpToolsProtocol):
    """A connection of anybody."""

    bounded: ClassVar[bool] = True
    _open: ClassVar[set["AnalystProtocol"]] = set()  # those of all sockets but the owner's

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, but not for ever."""
        super().connection_made(_Together(transport, self.loop))  # type: ignore[arg-type]
        self._in_headers, self._size = True, 0
        self._timer: asyncio.TimerHandle | None = self.loop.call_later(_FIRST, transport.close)
        if self.bounded:
            self._open.add(self)
            if len(self._open) > most_connections():
                transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._open.discard(self)
        self._wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; close the connection if headers are too large."""
        is_first = not self._size
        self._size += len(data)
        super().data_received(data)
        if not self._in_headers:
            self._size = 0
        elif is_first and self._size:  # the headers of a request have begun, and have not ended
            self._wait(_HEADERS)
        if self._size > MOST_HEADERS and not self.transport.is_closing():
            self.send_400_response("the headers are too large")

    def on_message_begin(self) -> None:
        """A request begins; those who reply to it may wait for this connection, or cut it off."""
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]

    def on_headers_complete(self) -> None:
        """What follows is a body."""
        self._in_headers = False
        self._wait(None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What follows is the next request."""
        self._in_headers, self._size = True, 0
        self.scope[WHOLE] = True  # type: ignore[literal-required]
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Reply to what is no HTTP, and close the connection."""
        self._wait(None)
        body = malformed(msg).body
        named = {**HEADERS, "Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        head = f"HTTP/1.1 400 Bad Request\r\n{lines}Connection: close\r\n\r\n"
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()

    def shutdown(self) -> None:
        """End a connection without a request, even if the client is idle and does not read."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(_FAREWELL, self.transport.abort)

    def _wait(self, seconds: float | None) -> None:
        """Close the connection after some seconds; None for not."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.transport.close)


class OwnerProtocol(AnalystProtocol):
    """A connection to the owner's socket; one of another user is closed."""

    bounded = False

    def connection_made(self, transport: Any) -> None:
        """Look who it is."""
        super().connection_made(transport)
        if not is_ours(transport.get_extra_info("socket")):
            _LOG.warning("a process of another user tried to use the owner's socket")
            transport.abort()
