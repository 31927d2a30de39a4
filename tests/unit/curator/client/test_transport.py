"""Addresses, how long a client waits for a machine that hangs, and what it reads as a reply."""

import math
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any

import pytest

from curator.client import replies, transport
from curator.client.replies import Reply, exchanged, read, usual
from curator.client.transport import Patience, Transport
from curator.client.urls import Address, address_of
from curator.wire import CuratorError, UnavailableError, WireError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/curator.sock", Address("unix:/run/curator.sock", path="/run/curator.sock")),
        ("unix:curator.sock", Address("unix:curator.sock", path="curator.sock")),
        ("http://127.0.0.1:8080", Address("http://127.0.0.1:8080", host="127.0.0.1", port=8080)),
        ("http://[::1]:80", Address("http://[::1]:80", host="::1", port=80)),
        ("http://localhost", Address("http://localhost", host="localhost")),
        ("https://data.example/", Address("https://data.example/", host="data.example", tls=True)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2.0), ("-1", 0.0), ("nan", 0.0), ("inf", math.inf), ("Sun, 01 Nov", 0.0), (None, 0.0)],
)
def test_whatever_a_reply_asks_to_wait_can_be_waited(text: str | None, seconds: float) -> None:
    assert transport._seconds(text) == seconds


REPLY = b"HTTP/1.1 200 OK\r\nQueryable-Protocol: 1\r\nContent-Length: 2\r\n\r\n{}"


class Hanging:
    """Says nothing on the first connections, and answers on the others."""

    def __init__(self, silent: int, reply: bytes = REPLY) -> None:
        self.silent, self.reply, self.heard = silent, reply, list[bytes]()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.taken: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while True:
            connection, _ = self.listening.accept()
            self.taken.append(connection)
            said = connection.recv(10_000)
            if not said:
                return
            while b"body" not in said and said.startswith(b"POST"):
                said += connection.recv(10_000)
            self.heard.append(said)
            if len(self.heard) > self.silent:
                connection.sendall(self.reply)

    def close(self) -> None:
        with socket.create_connection(self.listening.getsockname()):
            pass
        self.thread.join()
        for each in (*self.taken, self.listening):
            each.close()


@contextmanager
def hanging(silent: int, reply: bytes = REPLY) -> Iterator[Hanging]:
    found = Hanging(silent, reply)
    try:
        yield found
    finally:
        found.close()


def asking(url: str, timeout: float | None = 600.0) -> Transport:
    return Transport([address_of(url)], None, Patience(60, timeout))


def test_a_message_is_sent_again_after_twice_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_SLACK", 0.05)
    with hanging(silent=2) as server:
        client = asking(server.url)
        client.expect(0.05)
        began = time.monotonic()
        assert client.post("/v1/roots/visits/tell", b"body") == b"{}"
        assert time.monotonic() - began >= 2 * (2 * 0.05 + 0.05)
        assert len(server.heard) >= 3  # a reply that is late is not waited for either
        assert {each.partition(b"\r\n\r\n")[2] for each in server.heard} == {b"body"}
        client.close()


def test_what_asks_no_question_waits_for_less_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_READ", 0.05)
    with hanging(silent=1) as server:
        client = asking(server.url)
        assert client.get("/v1") == b"{}"
        assert len(server.heard) >= 2
        client.close()


def test_a_curator_that_hangs_is_given_up() -> None:
    """After one wait as long as the timeout, all further ones are within the patience."""
    with hanging(silent=99) as server:
        client = Transport([address_of(server.url)], None, Patience(0.3, 0.2))
        with pytest.raises(UnavailableError, match=r"timeout=SECONDS.* it is asked once"):
            client.post("/v1/roots/visits/tell", b"body")
        client.close()
    assert 2 <= len(server.heard) <= 4


@pytest.mark.parametrize("status", ["200 OK", "303 See Other", "404 Not Found", "500 Error"])
def test_what_is_no_curator_is_told_from_one(status: str) -> None:
    """Every reply of a curator has the header of the protocol, its pages do not."""
    page = f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\n<html>".encode()
    with hanging(0, page) as server:
        client = asking(server.url)
        with pytest.raises(WireError, match=rf"{status[:3]}.*no header Queryable-Protocol.* pages"):
            client.get("/v1")
        client.close()


def test_a_defect_of_a_curator_is_told_as_one() -> None:
    reply = REPLY.replace(b"200 OK", b"500 Error")
    with hanging(0, reply) as server:
        client = asking(server.url)
        with pytest.raises(CuratorError, match="status 500"):
            client.get("/v1")
        client.close()


def test_a_long_timeout_is_waited_for_once() -> None:
    slept: list[float] = []
    now = iter([*[0.0] * 1, *range(120, 10_000, 59)])
    waits: list[float | None] = []

    class Late(Transport):
        def _once(self, *given: Any) -> Any:
            waits.append(given[-1])
            raise TimeoutError

    client = Late([address_of("unix:/x")], None, Patience(60, 120, slept.append, lambda: next(now)))
    with pytest.raises(UnavailableError, match="did not answer for"):
        client.post("/", b"body")
    assert waits[0] == 120
    assert all(each is not None and each <= 60 for each in waits[1:])
    assert 1 <= len(waits[1:]) <= 2


def test_a_stated_timeout_is_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_READ", 600.0)
    with hanging(silent=9) as server:
        client = Transport([address_of(server.url)], None, Patience(0, 0.05))
        client.expect(500)
        for ask in (lambda: client.get("/v1"), lambda: client.post("/v1", b"body")):
            with pytest.raises(UnavailableError, match="timed out"):
                ask()
        client.expect(None)
        client.close()


HEAD = b"HTTP/1.1 200 OK\r\ndate: Sun, 22 Nov 2026\r\nqueryable-protocol: 1\r\ncontent-length: 9"
BODY = b'{"seq":1}'
LINES = [
    *(b"content-length: 9", b"Content-Length: 9", b"content-length: 09", b"content-length: +9"),
    *(b"content-length: 4", b"content-length: 12", b"content-length:9", b"content-length: 9 "),
    *(b"content-length: -1", b"content-length: 9, 9", b"content-length: 0", b"content-length"),
    *(b"transfer-encoding: chunked", b"Transfer-Encoding: Chunked", b"connection: close"),
    *(b"connection: keep-alive", b"x: \xe9", b" folded", b"x:\ty", b"x:", b": y", b"x y: z"),
    *(b"queryable-protocol: 1", b"queryable-protocol: 2", b"retry-after: 1", b"x: a\rb"),
]
STARTS = [
    *([b"HTTP/1.1 200 OK"] * 6),
    *(b"HTTP/1.1 200 ", b"HTTP/1.1 200", b"HTTP/1.0 200 OK", b"HTTP/1.1 503 Not now"),
    *(b"HTTP/1.1 204 None", b"HTTP/1.1 100 Continue", b"http/1.1 200 OK", b"HTTP/2 200 OK", b"no"),
]
BODIES = [BODY, BODY, BODY[:4], BODY + b"more", b"", b"9\r\n" + BODY + b"\r\n0\r\n\r\n"]


class Socket:
    """Gives bytes in pieces, and then nothing more; keeps what is sent."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.sent = [each for each in pieces if each], list[bytes]()

    def recv(self, count: int) -> bytes:
        if not self.pieces:
            return b""
        first = self.pieces.pop(0)
        if first[count:]:
            self.pieces.insert(0, first[count:])
        return first[:count]

    def recv_into(self, buffer: Any) -> int:
        part = self.recv(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def sendall(self, data: bytes) -> None:
        self.sent.append(data)


class Connection:
    """A connection on a socket that connects once."""

    def __init__(self, sock: Socket) -> None:
        self.sock: Any = None
        self._later = sock

    def connect(self) -> None:
        assert self.sock is None
        self.sock = self._later


def by_library(data: bytes) -> Reply:
    """What `http.client` reads."""

    class File:
        def makefile(self, _: str) -> BytesIO:
            return BytesIO(data)

    with HTTPResponse(File(), method="POST") as response:  # type: ignore[arg-type]
        response.begin()
        body = response.read()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, headers, body, response.will_close)


def drawn(chance: random.Random) -> bytes:
    """A reply with some defects, or with none."""
    lines = [chance.choice(STARTS), *HEAD.split(b"\r\n")[1:]]
    for _ in range(chance.choice([0, 0, 1, 2])):
        lines.insert(chance.randrange(1, len(lines) + 1), chance.choice(LINES))
    if chance.random() < 0.3:
        lines.remove(HEAD.split(b"\r\n")[-1])
    newline = b"\n" if chance.random() < 0.05 else b"\r\n"
    data = bytearray(newline.join(lines) + newline * 2 + chance.choice(BODIES))
    if chance.random() < 0.2:
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def cut(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Its bytes in pieces."""
    ends = sorted(chance.randrange(len(data)) for _ in range(chance.choice([0, 0, 1, 3])))
    for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
        yield data[start:end]


def test_every_reply_is_read_as_the_library_reads_it() -> None:
    """Nothing is read that the library refuses; more is refused: bytes after the end."""
    chance, quick = random.Random(18), 0
    for _ in range(5000):
        data = drawn(chance)
        try:
            found = read(Socket(*cut(data, chance)), "POST")
        except (OSError, HTTPException, WireError, ValueError):
            found = None
        try:
            right = by_library(data)
        except (OSError, HTTPException, ValueError):
            right = None
        if found is not None:
            assert right == found, data
        elif right is not None:
            rest = data.partition(b"\r\n\r\n")[2]
            assert rest.startswith(right.body), data
            assert len(rest) > len(right.body), data
        quick += found is not None and usual(data.partition(b"\r\n\r\n")[0]) is not None
    assert quick > 300


def test_a_reply_in_any_pieces() -> None:
    data = HEAD + b"\r\n\r\n" + BODY
    for end in range(1, len(data)):
        found = read(Socket(data[:end], data[end:]), "POST")
        assert (found.status, found.body) == (200, BODY)
        assert found.headers["queryable-protocol"] == "1"


def test_a_request_leaves_in_one_piece() -> None:
    """So the curator wakes up for it once."""
    sock = Socket(HEAD + b"\r\n\r\n" + BODY)
    connection: Any = Connection(sock)
    assert exchanged(connection, "POST", b"POST / HTTP/1.1\r\n\r\n", b"{}").body == BODY
    sock.pieces.append(HEAD + b"\r\n\r\n" + BODY)
    exchanged(connection, "POST", b"POST / HTTP/1.1\r\n\r\n", b"{}")
    assert sock.sent == [b"POST / HTTP/1.1\r\n\r\n{}"] * 2


@pytest.mark.parametrize("more", [b"", b"connection: keep-alive\r\n"])
def test_a_reply_that_is_too_large(more: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LARGEST", 8)
    with pytest.raises(WireError, match="more than 8 bytes"):
        read(Socket(HEAD + b"\r\n" + more + b"\r\n" + BODY), "POST")
