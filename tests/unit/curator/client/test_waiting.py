"""How long a client waits for a machine that hangs: connections are taken, and nothing is said."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from curator.client import transport
from curator.client.transport import Patience, Transport
from curator.client.urls import address_of
from curator.wire import UnavailableError

REPLY = b"HTTP/1.1 200 OK\r\nQueryable-Protocol: 1\r\nContent-Length: 2\r\n\r\n{}"


class Hanging:
    """Says nothing on the first connections, and answers on the others."""

    def __init__(self, silent: int) -> None:
        self.silent, self.heard = silent, list[bytes]()
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
                connection.sendall(REPLY)

    def close(self) -> None:
        with socket.create_connection(self.listening.getsockname()):
            pass
        self.thread.join()
        for each in (*self.taken, self.listening):
            each.close()


@contextmanager
def hanging(silent: int) -> Iterator[Hanging]:
    found = Hanging(silent)
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
