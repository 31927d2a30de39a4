"""A request and its reply on a connection: the bytes of HTTP as a client sends and reads them.

Responsible for sending a request in one piece, so that the curator wakes up once for it, and for
reading the usual reply of a curator. That is one with status 200 and a stated length, whose headers
arrive together. `http.client` reads every other reply; for the usual one it would take longer than
everything else that a client does for an ask.
"""

import io
import re
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from http.client import RemoteDisconnected as Disconnected
from typing import Any

import attrs

from curator.wire import WireError

LARGEST = 2**28
"""The most bytes of a reply's body."""

_PIECE = 1 << 16
_HEAD = re.compile(rb"HTTP/1\.1 200 [ -~]*(?:\r\n[A-Za-z-]+: [!-~][ -~]*)+")
_LENGTH = re.compile(rb"0|[1-9][0-9]{0,11}")
_GENERAL = {b"connection", b"transfer-encoding", b"content-encoding"}


@attrs.frozen
class Reply:
    """What a curator replied.

    Attributes:
        headers: by their names in small letters.
        closes: whether the connection ends with it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    closes: bool = False


def exchanged(connection: HTTPConnection, method: str, head: bytes, body: bytes) -> Reply:
    """Send a request, and read the reply to it. If this raises, close the connection.

    Args:
        head: the lines before the body, with the empty one.

    Raises:
        OSError, HTTPException: there is no reply that can be read.
        WireError: the reply is too large.
    """
    if connection.sock is None:
        connection.connect()
    connection.sock.sendall(head + body)
    return read(connection.sock, method)


def read(sock: Any, method: str) -> Reply:
    """Read the reply to a request that was sent; see `exchanged`."""
    data = sock.recv(_PIECE)
    if not data:
        raise Disconnected("the connection was closed without a reply")
    head, end, body = data.partition(b"\r\n\r\n")
    headers = usual(head) if end else None
    if headers is None:
        return _general(sock, data, method)
    length = int(headers["content-length"])
    _require_small(length)
    parts, missing = [body], length - len(body)
    while missing > 0:
        part = sock.recv(min(missing, _PIECE))
        if not part:
            raise IncompleteRead(b"", missing)
        parts.append(part)
        missing -= len(part)
    if missing:
        raise HTTPException("more bytes followed than the reply says that it has")
    return Reply(200, headers, b"".join(parts))


def usual(head: bytes) -> dict[str, str] | None:
    """The headers of a usual reply by name; None for another one.

    Args:
        head: the lines up to the empty one.
    """
    if not _HEAD.fullmatch(head):
        return None
    lines = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
    found = {name.lower(): value for name, value in lines}
    if len(found) < len(lines) or not _LENGTH.fullmatch(found.get(b"content-length", b"")):
        return None
    if not _GENERAL.isdisjoint(found):
        return None
    return {str(name, "ascii"): str(value, "ascii") for name, value in found.items()}


def _general(sock: Any, data: bytes, method: str) -> Reply:
    """Read any reply of HTTP, of which some bytes have arrived."""
    with HTTPResponse(_Arriving(data, sock), method=method) as response:  # type: ignore[arg-type]
        response.begin()
        body = response.read(LARGEST + 1)
        _require_small(len(body))
        if response.length:  # so many bytes are missing
            raise IncompleteRead(body, response.length)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, headers, body, closes=response.will_close)


class _Arriving(io.RawIOBase):
    """The bytes of a socket, after some that were read from it."""

    def __init__(self, data: bytes, sock: Any) -> None:
        self._data, self._sock = data, sock

    def makefile(self, _: str) -> io.BufferedReader:
        """What `HTTPResponse` reads."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        if not self._data:
            count: int = self._sock.recv_into(buffer)
            return count
        count = min(len(buffer), len(self._data))
        buffer[:count], self._data = self._data[:count], self._data[count:]
        return count


def _require_small(size: int) -> None:
    if not size <= LARGEST:
        raise WireError(f"the curator's reply has more than {LARGEST} bytes")
