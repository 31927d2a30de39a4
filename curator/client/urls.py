"""Addresses of curators: `unix:PATH`, `http://127.0.0.1:PORT`, `https://HOST[:PORT]`.

Without TLS only this machine is an address, because a token would travel for everybody to read.
"""

from http.client import HTTPConnection, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from socket import AF_UNIX, IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, socket
from typing import Any
from urllib.parse import urlsplit

import attrs

from queryable.wording.quoting import quoted

_FORMS = (
    'write "unix:PATH" for a socket, "https://HOST", or "http://127.0.0.1:PORT" on this machine'
)


class _Unix(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket(AF_UNIX, SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Tcp(HTTPConnection):
    """HTTP over TCP, where a short message is sent at once."""

    def connect(self) -> None:
        """Connect."""
        super().connect()
        self.sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)


@attrs.frozen
class Address:
    """The address of a curator.

    Attributes:
        text: as it was given.
        path: of the socket; None for TCP.
        host, port: for TCP; the port is None where it is the usual one.
        tls: whether the connection is encrypted.
    """

    text: str
    path: str | None = None
    host: str = "localhost"
    port: int | None = None
    tls: bool = False

    @property
    def authority(self) -> str:
        """What the header `Host` says."""
        host = self.host if self.host.isascii() else str(self.host.encode("idna"), "ascii")
        host = f"[{host}]" if ":" in host else host
        return host if self.port is None else f"{host}:{self.port}"

    def connection(self, timeout: float | None, context: Any = None) -> HTTPConnection:
        """A connection that is made with the first request.

        Args:
            timeout: seconds to wait for the other side; None for ever.
            context: an `ssl.SSLContext`; by default certificates of the system are checked.
        """
        if self.path is not None:
            return _Unix(self.path, timeout)
        if self.tls:
            return HTTPSConnection(self.host, self.port, timeout=timeout, context=context)
        return _Tcp(self.host, self.port, timeout=timeout)


def address_of(text: Any) -> Address:
    """Read an address.

    Raises:
        ValueError: it is none; the text says how to write one.
    """
    if not isinstance(text, str):
        raise TypeError(f"url is {quoted(text)}; {_FORMS}")
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path or "\0" in path:
            raise ValueError(f"url is {quoted(text)}; {_FORMS}")
        return Address(text, path=str(Path(path).expanduser()))
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"url is {quoted(text)}; {_FORMS}") from None
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme not in ("http", "https") or not host or any(rest):
        raise ValueError(f"url is {quoted(text)}; {_FORMS}")
    if parts.scheme == "http" and not _is_here(host):
        raise ValueError(
            f"url is {quoted(text)}; write https: without TLS everybody on the way reads the token "
            "and the answers"
        )
    return Address(text, host=host, port=port, tls=parts.scheme == "https")


def _is_here(host: str) -> bool:
    """Whether a host is this machine, without asking anybody."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
