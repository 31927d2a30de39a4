"""Connections to a front in this process: HTTP as it arrives, TLS, other users, many at once."""

import asyncio
import json
import resource
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from curator.service.routes import analysts_application, owners_application
from curator.service.serve import running
from curator.service.web import protocols, sockets
from curator.service.web.protocols import MOST_HEADERS, AnalystProtocol, OwnerProtocol
from curator.service.web.sockets import listen_at, listen_on
from curator.wire.bodies import TELL_LIMITS
from tests.unit.curator.service.asgi import House, awaited

GET = b"GET /v1 HTTP/1.1\r\nHost: c\r\n\r\n"


@asynccontextmanager
async def listening(
    folder: Path, house: House, protocol: type[AnalystProtocol] = AnalystProtocol
) -> AsyncIterator[Path]:
    await house.front.keeper.read()
    make = owners_application if protocol is OwnerProtocol else analysts_application
    path = folder / "front.sock"
    async with running(make(house.front), listen_at(path, 0o600), protocol=protocol):
        yield path


async def said(path: Path, *parts: bytes) -> bytes:
    """What is replied until the connection is closed from there."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        for part in parts:
            if reader.at_eof() or reader.exception() or writer.is_closing():
                break
            writer.write(part)
            await asyncio.sleep(0.002)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def replied(path: Path, sent: bytes) -> tuple[int, Any]:
    """The first reply."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(sent)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    body = await reader.readexactly(length)
    writer.close()
    return int(head.split()[1]), json.loads(body)


NO_HTTP = (
    *(b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"hello\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01"),
    b"GET /v1 HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"GET /v1 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST /v1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
)


@awaited
async def test_what_is_no_http_is_answered_in_json(tmp_path: Path) -> None:
    """On one server, which answers what is HTTP after each."""
    async with listening(tmp_path, House()) as path:
        for sent in NO_HTTP:
            head, _, body = (await said(path, sent)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 4"), sent
            assert json.loads(body).keys() == {"error", "type"}, sent
            assert (await replied(path, GET))[0] == 200, sent


@awaited
async def test_headers_are_bounded_and_bodies_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is closed; the reply may be lost, since not all was read."""
    monkeypatch.setattr(protocols, "_HEADERS", 1000.0)
    house = House()
    async with listening(tmp_path, house) as path:
        start, line = b"GET /v1 HTTP/1.1\r\nHost: c\r\n", b"X: " + b"a" * 1000 + b"\r\n"
        told = await said(path, start, *[line * 10] * (MOST_HEADERS // 10_000 + 1))
        assert told == b"" or b"the headers are too large" in told
        told = await said(path, start + b"X: ", *[b"a" * 10_000] * 8)
        assert told == b"" or b"the headers are too large" in told
        named = f"Authorization: Bearer {house.tokens['bo']}\r\nQueryable-Protocol: 1\r\n"
        size = TELL_LIMITS.bytes  # more than headers may have
        tell = f"POST /v1/roots/visits/tell HTTP/1.1\r\n{named}Content-Length: {size}\r\n\r\n"
        status, _ = await replied(path, tell.encode() + b"a" * size + tell.encode() + b"a" * size)
        assert status == 200


class Pieces(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def write(self, data: Any) -> None:
        self.pieces.append(bytes(data))

    def close(self) -> None:
        self.pieces.append(b"closed")


@awaited
async def test_the_head_of_a_reply_leaves_with_what_follows() -> None:
    """A head that nothing follows at once leaves alone."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    below = Pieces()
    together = protocols._Together(below, asyncio.get_running_loop())
    together.write(head)
    together.write(b"{}")
    together.write(b"more")
    assert below.pieces == [head + b"{}", b"more"]
    together.write(head)
    await asyncio.sleep(0)
    assert below.pieces[2:] == [head]
    together.write(b"later")
    together.write(head)
    together.close()
    await asyncio.sleep(0)
    assert below.pieces[3:] == [b"later", head, b"closed"]


@awaited
async def test_a_reply_to_a_message_is_one_piece(tmp_path: Path) -> None:
    house = House()
    async with listening(tmp_path, house) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        named = f"Authorization: Bearer {house.tokens['bo']}\r\nQueryable-Protocol: 1\r\n"
        tell = f"POST /v1/roots/visits/tell HTTP/1.1\r\n{named}Content-Length: 2\r\n\r\n{{}}"
        writer.write(tell.encode())
        piece = await reader.read(1 << 16)
        assert piece.startswith(b"HTTP/1.1 200 ")
        assert piece.endswith(b"}")
        writer.close()


@awaited
async def test_connections_that_say_nothing_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "_FIRST", 0.05)
    monkeypatch.setattr(protocols, "_HEADERS", 0.1)
    async with listening(tmp_path, House()) as path:
        assert await said(path) == b""
        assert await said(path, b"GET /v1 HT") == b""
        slowly = [bytes([each]) for each in GET[:-2]] * 100
        assert await said(path, *slowly) == b""
        # one that has asked may be idle
        reader, writer = await asyncio.open_unix_connection(path)
        for _ in range(2):
            writer.write(GET)
            await reader.readuntil(b"}")
            await asyncio.sleep(0.2)
        writer.close()


@awaited
async def test_connections_of_analysts_leave_room_for_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody without a token opens one after another."""
    monkeypatch.setattr(protocols, "most_connections", lambda: 3)
    (tmp_path / "owner").mkdir()
    house = House()
    async with (
        listening(tmp_path, house) as path,
        listening(tmp_path / "owner", house, OwnerProtocol) as owners,
    ):
        opened = [await asyncio.open_unix_connection(path) for _ in range(3)]
        assert await said(path, GET) == b""
        assert (await replied(owners, GET))[0] == 200
        opened.pop()[1].close()
        while not (await said(path, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))):
            await asyncio.sleep(0.01)
        for _, writer in opened:
            writer.close()


def test_the_curator_keeps_file_descriptors_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 768), (300, 150), (resource.RLIM_INFINITY, 2**31)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert protocols.most_connections() == most


@awaited
async def test_requests_that_are_sent_together_are_answered_in_order(tmp_path: Path) -> None:
    house = House()
    async with listening(tmp_path, house) as path:
        named = f"Authorization: Bearer {house.tokens['bo']}\r\nQueryable-Protocol: 1\r\n"
        each = f"GET /v1/roots/visits/view?after=%d HTTP/1.1\r\n{named}%s\r\n"
        sent = "".join(each % (n, "Connection: close\r\n" if n == 2 else "") for n in range(3))
        told = await said(path, sent.encode())
        assert told.count(b"200 OK") == 3
        assert [asked[2] for asked in house.remotes["visits"].asked] == [0, 1, 2]


@awaited
async def test_the_owners_socket_closes_connections_of_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    async with listening(tmp_path, house, OwnerProtocol) as path:
        assert (await replied(path, GET))[0] == 200
        monkeypatch.setattr(sockets, "_ADMINISTRATOR", -1)
        monkeypatch.setattr(sockets.os, "geteuid", lambda: -1)
        assert await said(path, GET) == b""
        assert house.asked == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@awaited
async def test_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-out", str(certificate), "-keyout", str(key)),
        ],
        check=True,
        capture_output=True,
    )
    house = House()
    await house.front.keeper.read()
    taken = listen_on("127.0.0.1:0")
    port = taken.getsockname()[1]
    options = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with running(analysts_application(house.front), taken, **options):
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting)
        writer.write(GET)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET)  # without TLS
        assert b"200" not in await reader.read()
        writer.close()
