"""What is no HTTP, or almost, over sockets: no fault, no message twice, others are answered."""

import asyncio
import itertools
import re
from pathlib import Path
from random import Random

import pytest

from curator.service.web import front as fronts
from curator.service.web import protocols
from curator.service.web.protocols import AnalystProtocol
from tests.unit.curator.service.asgi import House, awaited
from tests.unit.curator.service.test_connections import GET, listening, replied
from tests.unit.curator.service.test_tokens import TABLE, VERBS, addressed

STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3})")
LENGTH = b"Content-Length: "
CHUNKED = b"Transfer-Encoding: chunked\r\n"
INNER = b"POST /v1/roots/visits/tell HTTP/1.1\r\nHost: c\r\n\r\n"


def shapes(head: bytes, start: bytes) -> dict[str, bytes]:
    """Requests that readers of HTTP have disagreed about.

    Args:
        head: the first line, without its end.
        start: the first line and right headers, without the empty line.
    """
    verb, target, _ = head.split(b" ", 2)
    inner = str(len(INNER)).encode()
    found = {
        "both lengths": start + CHUNKED + LENGTH + b"4\r\n\r\n0\r\n\r\n" + INNER,
        "both, the other way": start + LENGTH + inner + b"\r\n" + CHUNKED + b"\r\n" + INNER,
        "two lengths": start + LENGTH + b"0\r\n" + LENGTH + inner + b"\r\n\r\n" + INNER,
        "two equal lengths": start + (LENGTH + b"2\r\n") * 2 + b"\r\n{}",
        "a list of lengths": start + LENGTH + b"2, 2\r\n\r\n{}",
        "two codings": start + CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n" + INNER,
        "an unknown coding": start + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
        "a coding with a tab": start + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n",
        "a space before the colon": start + b"Content-Length : 2\r\n\r\n{}",
        "a header that goes on": start + b"X: a\r\n b\r\n\r\n",
        "a header without a name": start + b": a\r\n\r\n",
        "a header without a colon": start + b"hello\r\n\r\n",
        "NUL in a header": start + b"X: a\0b\r\n\r\n",
        "NUL in the target": verb + b" /v1\0 HTTP/1.1\r\n\r\n",
        "letters in a header": start + b"X: \xff\xfe\xc3\r\n\r\n",
        "letters in the target": verb + b" /\xff\xc3\x28 HTTP/1.1\r\n\r\n",
        "escapes in the target": verb + b" /v1/roots/%ff%00%2e%2e%2f/tell HTTP/1.1\r\n\r\n",
        "bare ends of lines": start.replace(b"\r\n", b"\n") + b"\n",
        "bare returns": start.replace(b"\r\n", b"\r") + b"\r",
        "two hosts": start + b"Host: d\r\n\r\n",
        "absolute": verb + b" http://other" + target + b" HTTP/1.1\r\nHost: c\r\n\r\n",
        "another scheme": verb + b" file:///etc/passwd HTTP/1.1\r\nHost: c\r\n\r\n",
        "an authority": b"CONNECT c:443 HTTP/1.1\r\nHost: c\r\n\r\n" + INNER,
        "a star": b"OPTIONS * HTTP/1.1\r\nHost: c\r\n\r\n",
        "no version": verb + b" " + target + b"\r\n\r\n",
        "an old version": head.replace(b"1.1", b"1.0") + b"\r\n\r\n",
        "a later version": head.replace(b"1.1", b"3.0") + b"\r\n\r\n",
        "the start of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "an upgrade": start + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + INNER,
        "an upgrade to HTTP/2": start + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        "a continuation": start + b"Expect: 100-continue\r\n" + LENGTH + b"2\r\n\r\n",
        "another expectation": start + b"Expect: the worst\r\n\r\n",
        "a long target": verb + b" /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        "many headers": start + b"X: y\r\n" * 20_000 + b"\r\n",
        "many queries": verb + b" " + target + b"?" + b"a&" * 20_000 + b" HTTP/1.1\r\n\r\n",
        "sent together": (start + b"\r\n") * 300,
        "empty lines": b"\r\n" * 5000 + start + b"\r\n",
        "less than its length": start + LENGTH + b"100\r\n\r\n{}",
        "more than its length": start + LENGTH + b"2\r\n\r\n{}{}{}",
    }
    for length in (b"-1", b"+2", b"0x2", b"2e0", b" ", b"", b"9" * 30, b"18446744073709551617"):
        found[f"the length {length!r}"] = start + LENGTH + length + b"\r\n\r\n{}"
    for size in (b"-1", b"5", b"1", b"0x2", b"2 ", b"2;" + b"a" * 20_000, b"f" * 17, b"", b"zz"):
        body = size + b"\r\n{}\r\n0\r\n\r\n"
        found[f"the chunk {size[:20]!r}"] = start + CHUNKED + b"\r\n" + body
    found["a trailer"] = start + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nHost: d\r\nX: y\r\n\r\n"
    return found


async def answers(path: Path, sent: bytes, *, half: bool, silence: float = 0.3) -> list[int]:
    """The statuses of the replies until there are no more."""
    reader, writer = await asyncio.open_unix_connection(path, limit=2**24)
    told = b""
    try:
        writer.write(sent)
        if half:
            writer.write_eof()
        while part := await asyncio.wait_for(reader.read(2**16), silence):
            told += part
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return [int(status) for status in STATUS.findall(told)]


def started(house: House, verb: str, path: str, *, known: bool) -> tuple[bytes, bytes]:
    head = f"{verb} {addressed(path)} HTTP/1.1".encode()
    token = f"Authorization: Bearer {house.tokens['bo']}\r\n" if known else ""
    return head, head + f"\r\nHost: c\r\nQueryable-Protocol: 1\r\n{token}".encode()


async def tried(path: Path, house: House, verb: str, where: str, *, known: bool) -> None:
    """Send every shape, whole and half-closed, and look at the replies."""
    await house.front.keeper.read()  # as the front does every second
    head, start = started(house, verb, where, known=known)
    analysts = [each.name for each in house.store.read()]
    for half in (False, True):
        before = len(house.asked)
        names = shapes(head, start)
        found = await asyncio.gather(*(answers(path, each, half=half) for each in names.values()))
        for name, statuses in zip(names, found, strict=True):
            assert all(status < 500 for status in statuses), (name, verb, where, statuses)
            assert len(statuses) <= (300 if name == "sent together" else 5), (name, statuses)
            if not known:
                assert 200 not in statuses or where not in TOKENED, (name, verb, where)
        assert known or len(house.asked) == before
    assert [each.name for each in house.store.read()] == analysts
    assert (await replied(path, GET))[0] == 200


TOKENED = {path for (_, path), need in TABLE.items() if need in {"token", "session", "owner"}}


def smuggled(house: House) -> int:
    return sum(each[1] == "tell" for each in house.asked)


@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.slow)])
@awaited
async def test_almost_http_at_the_route_of_messages(tmp_path: Path, *, known: bool) -> None:
    house = House()
    async with listening(tmp_path, house) as path:
        await tried(path, house, "POST", "/v1/roots/{root}/tell", known=known)


@awaited
async def test_no_request_is_hidden_in_a_body(tmp_path: Path) -> None:
    """A message with a token inside of what one reader takes for the body of another request."""
    house = House()
    async with listening(tmp_path, house) as path:
        _, start = started(house, "POST", "/v1/roots/{root}/tell", known=True)
        hidden = start + LENGTH + b"2\r\n\r\n{}"
        size = str(len(hidden)).encode()
        first = b"GET /v1 HTTP/1.1\r\nHost: c\r\n"
        for both in (
            first + CHUNKED + LENGTH + size + b"\r\n\r\n0\r\n\r\n" + hidden,
            first + LENGTH + size + b"\r\n" + CHUNKED + b"\r\n0\r\n\r\n" + hidden,
            first + LENGTH + b"0\r\n" + LENGTH + size + b"\r\n\r\n" + hidden,
            first + b"Transfer-Encoding: x\r\n" + LENGTH + size + b"\r\n\r\n" + hidden,
            first + LENGTH + size + b"\r\n\r\n" + hidden,
        ):
            statuses = await answers(path, both, half=False)
            assert len(statuses) <= 1, both
            assert smuggled(house) == 0, both
        assert (await replied(path, hidden))[0] == 200
        assert smuggled(house) == 1


@pytest.mark.long
@pytest.mark.parametrize("known", [False, True])
@awaited
async def test_almost_http_at_every_route_with_every_verb(tmp_path: Path, *, known: bool) -> None:
    house = House()
    async with listening(tmp_path, house) as path:
        for verb, where in itertools.product(VERBS, sorted({path for _, path in TABLE})):
            await tried(path, house, verb, where, known=known)


@awaited
async def test_slow_senders_are_cut_off_and_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of headers and of bodies, also with a token."""
    monkeypatch.setattr(protocols, "_FIRST", 0.5)
    monkeypatch.setattr(protocols, "_HEADERS", 0.5)
    monkeypatch.setattr(fronts, "_BODY_SECONDS", 0.5)
    house = House()
    async with listening(tmp_path, house) as path:
        _, start = started(house, "POST", "/v1/roots/{root}/tell", known=True)
        whole = start + LENGTH + b"100000\r\n\r\n"

        async def slow(sent: bytes) -> None:
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(sent)
                while not reader.at_eof() and not writer.is_closing():
                    writer.write(b"a")
                    await asyncio.sleep(0.02)
                    if b"400" in bytes(reader._buffer):  # type: ignore[attr-defined]
                        break
            except ConnectionError:
                pass
            finally:
                writer.close()

        slowly = [asyncio.ensure_future(slow(each)) for each in (GET[:-2], whole, b"P") * 30]
        good = f"{start.decode()}Content-Length: 2\r\n\r\n{{}}".encode()
        asked = 0
        while not all(each.done() for each in slowly):
            if asked < 50:
                status, _ = await replied(path, good)
                assert status in {200, 429}
                asked += 1
            await asyncio.sleep(0.01)
        assert (await replied(path, good))[0] == 200


@awaited
async def test_connections_that_come_and_go_leave_nothing(tmp_path: Path) -> None:
    house, random = House(), Random(1)
    async with listening(tmp_path, house) as path:
        for _ in range(10):
            opened = [await asyncio.open_unix_connection(path) for _ in range(50)]
            for _, writer in opened:
                writer.write(GET[: random.randrange(len(GET) + 1)])
                if random.random() < 0.5:
                    writer.transport.abort()
                else:
                    writer.close()
        while AnalystProtocol._open:
            await asyncio.sleep(0.01)
        assert (await replied(path, GET))[0] == 200
        assert house.asked == []
