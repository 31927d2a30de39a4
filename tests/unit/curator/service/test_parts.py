"""Ticks, metrics, sockets and their folders, the keeper of the access, and messages of grants."""

import asyncio
import json
import os
import socket
import stat
import time
from pathlib import Path

import attrs
import numpy as np
import pytest

from curator.access import Access, AccessChangeError, AccessStore, Added, Revoked, hash_of
from curator.codec import decode
from curator.ledgers import LedgerError
from curator.owner.orders import _times
from curator.service.serve import _require_safe
from curator.service.web import keeper as keeping
from curator.service.web import sockets
from curator.service.web.granting import grant_of, granting_message
from curator.service.web.keeper import AsyncAccess
from curator.service.web.metrics import DurationHistogram, kind_of
from curator.service.web.sockets import OWNERS, SocketError, is_ours, listen_at, listen_on
from curator.service.web.ticks import SPREAD, Ticks
from curator.settings.configuration import Configuration, read_configuration
from curator.wire import Head, MessageOutcome, MessageReply, Tell
from queryable.messages import Launch
from tests.curator.serving import written
from tests.stored import MemoryLedger
from tests.unit.curator.service.asgi import FILTER, House, awaited, call

HEAD = Head(1, "0" * 64)


# Ticks


@awaited
async def test_messages_begin_at_the_next_tick() -> None:
    """Never before it; and those that wait for the same one begin together."""
    period = 0.05
    ticks = Ticks(period)
    for pause in (0.0, 0.013, 0.049):
        await asyncio.sleep(pause)
        began = ticks.now
        later = asyncio.ensure_future(ticks.begin())
        number = await ticks.begin()
        assert number > began
        assert time.monotonic() >= number * period - 1e-4
        assert await later >= number
    ticks.close()


@awaited
async def test_replies_leave_at_random_times_after_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each at its own time in the first half of the next period: a common one could be subtracted.

    So a reply that was ready a little earlier than another one does not leave earlier.
    """
    waits: list[float] = []

    async def until(_: Ticks, at: float) -> None:
        waits.append(at)

    monkeypatch.setattr(Ticks, "_until", until)
    monkeypatch.setattr(Ticks, "now", 7)
    ticks = Ticks(0.05)
    for _ in range(1000):
        await ticks.leave()
    ticks.close()
    after = np.array(waits) / 0.05 - 8
    assert len(set(waits)) > 990
    assert after.min() >= -1e-9
    assert after.max() <= SPREAD
    shares = np.histogram(after, 4, (0, SPREAD))[0] / 1000
    assert abs(shares - 0.25).max() <= 0.1  # seven standard errors: false alarms below 1e-11


@awaited
async def test_a_wait_that_ends_sooner_ends_first() -> None:
    ticks, order, began = Ticks(1.0), [], time.monotonic()

    async def wait(seconds: float) -> None:
        await ticks._until(began + seconds)
        order.append(seconds)

    await asyncio.gather(*map(wait, (0.3, 0.1, 0.2, 0.0)))
    assert order == [0.0, 0.1, 0.2, 0.3]
    ticks.close()


@awaited
async def test_no_tick_is_no_waiting() -> None:
    for wait in (Ticks(None).begin, Ticks(None).leave):
        with pytest.raises(StopIteration):  # it returns without giving way
            wait().send(None)


@awaited
async def test_a_request_that_is_cancelled_does_not_stop_the_tick_of_others() -> None:
    ticks = Ticks(0.03)
    one, other = (asyncio.ensure_future(ticks.begin()) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    await other
    ticks.close()


@awaited
async def test_messages_outcomes_and_errors_wait_for_the_tick() -> None:
    house = House(tick=0.02)
    waits = []

    class Counted:
        now = 0

        async def begin(self) -> int:
            waits.append(1)
            return 0

        async def leave(self) -> None:
            waits.append(1)

    house.front.ticks = {"visits": Counted()}  # type: ignore[dict-item]
    from curator.service.routes import analysts_application
    from curator.service.workers.workers import NoWorkerError, WorkerDiedError

    await house.front.keeper.read()
    application = analysts_application(house.front)
    faults = [NoWorkerError("no"), WorkerDiedError("no"), RuntimeError("no")]
    for count, reply in enumerate([None, (200, b"{}"), (409, b"{}"), *faults], start=1):
        house.remotes["visits"].reply = reply
        where = ("POST", "/v1/roots/visits/tell", b"{}")
        await call(application, *where, token=house.tokens["bo"])
        assert len(waits) == 2 * count  # before and after
    house.remotes["visits"].reply = None
    for count, tail in enumerate(["", "/view", "/page"], start=7):  # they show what is answered
        where = f"/v1/roots/visits{tail}"
        assert (await call(application, "GET", where, token=house.tokens["bo"])).status == 200
        assert len(waits) == 2 * count


@awaited
async def test_a_message_begins_at_a_tick() -> None:
    """Or an analyst could find out how long it takes, by sending shortly before a tick."""
    house = House(tick=0.05)
    from curator.service.routes import analysts_application

    await house.front.keeper.read()
    application = analysts_application(house.front)
    began = []
    reply = house.remotes["visits"].tell

    async def tell(path: object, body: bytes) -> tuple[int, bytes]:
        began.append(time.monotonic())
        return await reply(path, body)

    house.remotes["visits"].tell = tell  # type: ignore[method-assign]
    sent = time.monotonic()
    where = ("POST", "/v1/roots/visits/tell", b"{}")
    await call(application, *where, token=house.tokens["bo"])
    assert began[0] >= (sent // 0.05 + 1) * 0.05 - 1e-4
    assert time.monotonic() >= (began[0] // 0.05 + 1) * 0.05 - 1e-4


# Metrics


@pytest.mark.parametrize("kind", ["answer", "refused", "failed", "halted", "query error"])
def test_kinds_of_outcomes_are_told_apart(kind: str) -> None:
    mean = json.dumps('","kind":"refused"},"kind":"failed"')
    if kind == "query error":
        outcome = MessageOutcome(kind, type="QueryError", text=mean * 50)
    else:
        outcome = MessageOutcome(
            kind, answer=f'{{"@":"x/1","a":{mean},"b":{json.dumps("x" * 500)}}}'
        )
    assert kind_of(MessageReply(10**9, 10**9, HEAD, outcome).written()) == kind


def test_a_histogram_is_cumulative() -> None:
    histogram = DurationHistogram()
    for seconds in (0.0001, 0.0005, 0.003, 100.0):
        histogram.add(seconds)
    lines = [*histogram.lines("a", 'b="c"')]
    assert lines[0] == 'a_bucket{b="c",le="0.0005"} 2'
    assert lines[3] == 'a_bucket{b="c",le="0.005"} 3'
    assert lines[-3:] == [
        *('a_bucket{b="c",le="+Inf"} 4', 'a_sum{b="c"} 100.0036', 'a_count{b="c"} 4')
    ]


def test_a_histogram_bounds_a_part_of_the_durations() -> None:
    histogram = DurationHistogram()
    assert histogram.most(99, 100) is None
    for _ in range(99):
        histogram.add(0.0004)
    assert histogram.most(99, 100) == 0.0005
    histogram.add(0.3)
    assert (histogram.most(99, 100), histogram.most(100, 100)) == (0.0005, 0.5)
    histogram.add(100.0)
    assert (histogram.most(99, 100), histogram.most(1, 1)) == (0.5, None)


@awaited
async def test_the_owner_is_told_how_many_messages_took_longer_than_the_tick() -> None:
    house = House(tick=0.02)
    from curator.service.routes import analysts_application, owners_application

    await house.front.keeper.read()
    analysts, owners = (each(house.front) for each in (analysts_application, owners_application))
    reply = house.remotes["visits"].tell

    async def slow(path: object, body: bytes) -> tuple[int, bytes]:
        await asyncio.sleep(0.05)
        return await reply(path, body)

    told = ("POST", "/v1/roots/visits/tell", b"{}")
    house.remotes["visits"].tell = slow  # type: ignore[method-assign]
    await call(analysts, *told, token=house.tokens["bo"])
    house.front.metrics.count("visits", b"{}", 0.001)
    health = (await call(owners, "GET", "/health", protocol=None)).told["datasets"]
    rows = {
        name: [row[key] for key in ("tick", "messages", "late", "most")]
        for name, row in health.items()
    }
    assert rows == {"visits": [0.02, 2, 1, 0.1], "calls": [0.02, 0, 0, None]}
    text = (await call(owners, "GET", "/metrics", protocol=None)).body.decode()
    assert 'curator_messages_late_total{dataset="visits"} 1' in text
    shown = (await call(analysts, "GET", "/metrics", token=house.tokens["bo"])).status
    assert shown == 404  # it is the owner's


def test_status_tells_the_owner_what_a_tick_should_be() -> None:
    row = {"messages": 0, "late": 0, "tick": None, "most": None}
    assert _times(row) == ""
    row |= {"messages": 400, "most": 0.02}
    assert _times(row) == "\n  400 messages since it was started; 99% took at most 0.02 s; no tick"
    row |= {"tick": 0.025, "late": 3, "most": None}
    assert _times(row) == (
        "\n  400 messages since it was started; 1% took over a minute; 3 (0.75%) took longer "
        "than the tick of 0.025 s"
    )


# Sockets


def test_the_owners_socket_is_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "owner.sock"
    with listen_at(path, OWNERS) as listening:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            connected, _ = listening.accept()
            with connected:
                assert is_ours(connected)
                assert is_ours(asking)


def test_a_process_of_another_user_is_not_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert is_ours(one)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        monkeypatch.setattr(sockets, "_ADMINISTRATOR", 12346)
        assert not is_ours(one)


def test_a_socket_that_was_left_is_replaced_and_one_that_answers_is_not(tmp_path: Path) -> None:
    path = tmp_path / "curator.sock"
    listen_at(path, 0o666).close()
    assert path.exists()
    with listen_on(f"unix:{path}"), pytest.raises(SocketError, match="already"):
        listen_on(f"unix:{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_what_is_in_the_way_of_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "curator.sock"
    path.write_text("mine")
    with pytest.raises(SocketError, match="nothing was changed"):
        listen_at(path, OWNERS)
    assert path.read_text() == "mine"
    with listen_on("127.0.0.1:0") as listening:
        taken = f"127.0.0.1:{listening.getsockname()[1]}"
        for place in ("unix:/nowhere/at/all/a.sock", "unix:/" + "a" * 200, taken):
            with pytest.raises(SocketError, match=r"cannot listen|too long"):
                listen_on(place)


# The keeper of the access


@awaited
async def test_changes_of_another_curator_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_PERIOD", 0.01)
    ledger = MemoryLedger()
    other = AccessStore(ledger)
    other.change(Added("ada", hash_of("qy_a")))
    keeper = AsyncAccess(AccessStore(ledger))
    assert not keeper.is_fresh
    await keeper.start()
    assert keeper.is_fresh
    assert keeper.access == other.access
    other.change(Revoked("ada"))
    while keeper.access != other.access:
        await asyncio.sleep(0.005)
    await keeper.stop()


@awaited
async def test_an_access_that_cannot_be_read_is_not_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_PERIOD", 0.01)
    monkeypatch.setattr(keeping, "_STALE", 0.05)
    store = AccessStore(MemoryLedger())
    keeper = AsyncAccess(store)
    await keeper.start()

    def broken() -> Access:
        raise LedgerError("the server is away")

    monkeypatch.setattr(store, "read", broken)
    while keeper.is_fresh:
        await asyncio.sleep(0.005)
    monkeypatch.undo()
    while not keeper.is_fresh:
        await asyncio.sleep(0.005)
    await keeper.stop()


# Grants


def test_the_message_of_a_grant_is_a_launch_under_the_analysts_name() -> None:
    mechanism = (
        '{"@":"filt-con/1","budget":{"@":"zcdp/1","rho":"1/50"},"d_in":1,"max_depth":100,'
        '"on_exceed":"refuse","rule":{"@":"basic/1"}}'
    )
    access = Access().after(Added("ada", hash_of("qy_a")))
    sent = Tell.read(granting_message(access, "ada", "visits", mechanism).written())
    query = decode(sent.query.encode())
    assert isinstance(query, Launch)
    assert query.mechanism == decode(mechanism.encode())
    assert (sent.path, sent.names) == ((), ("ada",))
    told = MessageReply(1, 1, HEAD, MessageOutcome("answer", answer='{"@":"launched/1","child":7}'))
    grant = grant_of("ada", "visits", mechanism, sent, told.written())
    assert (grant.child, grant.name) == (7, "ada")
    assert access.after(grant).grant_name("ada", "visits") == "ada 2"
    with pytest.raises(AccessChangeError, match="no analyst"):
        granting_message(access, "bo", "visits", FILTER)


def test_a_list_of_analysts_that_took_long_to_read_is_as_old_as_the_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A token may have been revoked meanwhile."""
    monkeypatch.setattr(keeping, "_STALE", 0.05)
    store = AccessStore(MemoryLedger())
    monkeypatch.setattr(store, "read", lambda: time.sleep(0.1))
    keeper = AsyncAccess(store)
    asyncio.run(keeper.read())
    assert not keeper.is_fresh


# Folders of sockets: whoever may write there could replace a socket, and be sent tokens


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return read_configuration(written(tmp_path / "curator"))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777])
@pytest.mark.parametrize("name", ["listen", "page"])
def test_others_may_not_write_to_the_folder_of_a_socket(
    configuration: Configuration, tmp_path: Path, name: str, mode: int
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    configuration = attrs.evolve(configuration, **{name: f"unix:{folder / 'a.sock'}"})
    folder.chmod(0o755)
    _require_safe(configuration)
    folder.chmod(mode)
    with pytest.raises(SocketError, match=rf"replace the analysts' socket.*chmod go-w {folder}"):
        _require_safe(configuration)
    configuration.file.parent.chmod(mode)
    with pytest.raises(SocketError, match="replace the owner's socket"):
        _require_safe(configuration)
    configuration.file.parent.chmod(0o700)
