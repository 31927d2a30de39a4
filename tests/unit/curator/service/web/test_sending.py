"""Clients that do not read their replies: what the front holds for them is bounded."""

import asyncio
import gc
import tracemalloc
from pathlib import Path

import pytest

from curator.service.web import callers, sending
from curator.service.web import front as fronts
from tests.unit.curator.service.asgi import House, awaited
from tests.unit.curator.service.test_connections import GET, listening, replied

MB = 1 << 20


def view_of(token: str) -> bytes:
    head = "GET /v1/roots/visits/view HTTP/1.1\r\nHost: c\r\nQueryable-Protocol: 1\r\n"
    return f"{head}Authorization: Bearer {token}\r\n\r\n".encode()


async def deaf(path: Path, request: bytes) -> asyncio.StreamWriter:
    """A client that sends a request and reads nothing."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1)
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(request)
    return writer


@awaited
async def test_a_client_that_never_reads_holds_a_bounded_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 times 8 MB are asked for, and 16 MB may wait; another analyst is served meanwhile.

    At 1b177ec the front holds all 480 MB, for as long as the client likes: a turn ends when a
    reply is made, not when it is sent.
    """
    monkeypatch.setattr(callers.Turns.__init__, "__defaults__", (16 * MB,))
    house = House()
    whole = b'"' + b"a" * (8 * MB) + b'"'
    async with listening(tmp_path, house) as path:
        house.front.turns = callers.Turns(fronts.MOST_AT_ONCE)

        async def body(*_: object, **__: object) -> tuple[int, bytes]:
            return 200, bytes(bytearray(whole))  # of its own each time

        house.remotes["visits"]._answer = body  # type: ignore[method-assign]
        tracemalloc.start()
        clients = [await deaf(path, view_of(house.tokens["ada"])) for _ in range(60)]
        for _ in range(100):
            await asyncio.sleep(0.01)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 40 * MB
        status, told = await replied(path, view_of(house.tokens["bo"]))
        assert (status, len(told)) == (200, 8 * MB)
        assert (await replied(path, GET))[0] == 200
        for each in clients:
            each.transport.abort()


@awaited
async def test_a_client_that_never_reads_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some seconds without a byte; then its turns are free. At 1b177ec never."""
    monkeypatch.setattr(sending, "_SECONDS", 0.2)
    house = House()
    house.front.turns = callers.Turns(2)

    async def body(*_: object, **__: object) -> tuple[int, bytes]:
        return 200, b'"' + b"a" * (8 * MB) + b'"'

    async with listening(tmp_path, house) as path:
        house.remotes["visits"]._answer = body  # type: ignore[method-assign]
        asked = view_of(house.tokens["ada"])
        clients = [await deaf(path, asked) for _ in range(2)]
        while house.front.turns._counts["ada"] != 2:
            await asyncio.sleep(0.001)
        assert (await replied(path, asked))[0] == 429
        while house.front.turns._counts["ada"]:
            await asyncio.sleep(0.01)
        status, told = await replied(path, asked)
        assert (status, len(told)) == (200, 8 * MB)
        assert not house.front.turns._unread
        for each in clients:
            each.transport.abort()


@awaited
async def test_a_client_that_reads_slowly_gets_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is for each piece, not for the reply."""
    monkeypatch.setattr(sending, "_SECONDS", 0.5)
    house = House()
    whole = b'"' + bytes(97 + number % 26 for number in range(4 * MB)) + b'"'

    async def body(*_: object, **__: object) -> tuple[int, bytes]:
        return 200, whole

    async with listening(tmp_path, house) as path:
        house.remotes["visits"]._answer = body  # type: ignore[method-assign]
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 16)
        writer.write(view_of(house.tokens["ada"]))
        await reader.readuntil(b"\r\n\r\n")
        got = bytearray()
        while len(got) < len(whole):
            got += await reader.read(MB // 8)
            await asyncio.sleep(0.02)
        assert bytes(got) == whole
        writer.close()
