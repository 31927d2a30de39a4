"""Frames: what the front and a worker send each other over a pair of sockets.

A frame is 4 bytes with the length of the rest, a header (a line of JSON) and a body of any bytes.
Nothing here is executed or unpickled. Knows nothing of what headers mean.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import attrs

from queryable.errors import InteractiveError

LIMIT = 2**30
_LENGTH = 4
_HEADERS = json.JSONEncoder(separators=(",", ":"))


class FrameError(InteractiveError):
    """The other process sent something that is no frame."""


@attrs.frozen
class MessageFrame:
    """A header and a body."""

    header: dict[str, Any]
    body: bytes = b""

    def packed(self) -> bytes:
        """The bytes to send.

        Raises:
            FrameError: it is too long.
        """
        header = _HEADERS.encode(self.header).encode("ascii")
        length = len(header) + 1 + len(self.body)
        if not length <= LIMIT:
            raise FrameError(f"a frame has {length} bytes; {LIMIT} is the most")
        return b"".join((length.to_bytes(_LENGTH, "big"), header, b"\n", self.body))


class Frames:
    """Bytes as they arrive, cut into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[MessageFrame]:
        """The frames that are complete now.

        Raises:
            FrameError: these bytes are no frames.
        """
        held = self._held
        held += data
        while len(held) >= _LENGTH:
            length = int.from_bytes(held[:_LENGTH])
            if not length <= LIMIT:
                raise FrameError(f"a frame has {length} bytes; {LIMIT} is the most")
            end = _LENGTH + length
            if len(held) < end:
                return
            whole = bytes(held[_LENGTH:end])
            del held[:end]
            yield _read(whole)


class Channel:
    """One end of a pair of sockets, for a thread that waits for frames."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._frames = end, Frames()
        self._ready: list[MessageFrame] = []

    def send(self, frame: MessageFrame) -> None:
        """Send a frame; returns when it is in the socket.

        If the other end is closed, nobody reads it; then `receive` says so.
        """
        with suppress(ConnectionError):
            self._end.sendall(frame.packed())

    def receive(self) -> MessageFrame | None:
        """Wait for the next frame; None if the other end is closed."""
        while not self._ready:
            try:
                data = self._end.recv(1 << 16)
            except ConnectionError:
                return None
            if not data:
                return None
            self._ready += self._frames.feed(data)
        return self._ready.pop(0)


def _read(whole: bytes) -> MessageFrame:
    line, newline, body = whole.partition(b"\n")
    try:
        header = json.loads(str(line, "utf-8"))
    except ValueError:
        header = None
    if not newline or not isinstance(header, dict):
        raise FrameError("a frame has no header")
    return MessageFrame(header, body)
