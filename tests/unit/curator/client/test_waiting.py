"""How long a client waits for a machine that hangs: connections are taken, and nothing is said."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
        assert client.post("/v1/roots/visits/tell", b"body") == b"{}"
        assert len(server.heard) == 3
        assert {each.partition(b"\r\n\r\n")[2] for each in server.heard} == {b"body"}
        client.close()


def test_what_asks_no_question_waits_for_less_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_READ", 0.05)
    with hanging(silent=1) as server:
        client = asking(server.url)
        assert client.get("/v1") == b"{}"
        assert len(server.heard) == 2
        client.close()


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
