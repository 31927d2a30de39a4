"""The routes, over services in this process that keep what they were asked."""

import asyncio
import itertools
import json
import logging
import re
from typing import Any

import pytest

from curator.service.routes import (
    ANALYSTS,
    OWNERS,
    WATCHED,
    analysts_application,
    owners_application,
)
from curator.service.web import front as protocol
from curator.service.web.callers import Turns
from curator.service.web.front import MOST_BYTES
from curator.service.web.problems import HEADERS
from curator.service.workers.workers import NoWorkerError, WorkerDiedError
from tests.unit.curator.service.asgi import FILTER, Got, House, awaited, call

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
ROOTS = {
    "ada": {"visits": ("visits", (0,)), "visits:2": ("visits", (2,)), "calls": ("calls", (0,))},
    "bo": {"visits": ("visits", (1,))},
    "cy": {},
}
TRIED = (
    *("visits", "visits:2", "visits:3", "visits:1", "calls", "calls:2", "other", "@access", "0"),
    *("visits%2F2", "visits%00", "..", "ada"),
)
KEY = "0" * 32


def is_problem(got: Got, status: int) -> bool:
    return got.status == status and got.told.keys() == {"error", "type"}


@awaited
async def test_versions_of_the_protocol() -> None:
    """Whoever asks for them needs no header; a wrong one is refused everywhere."""
    house = await House().ready()
    token = house.tokens["bo"]
    for application in (analysts_application(house.front), owners_application(house.front)):
        assert (await call(application, "GET", "/v1", protocol=None)).told["protocol"] == [1]
        assert (await call(application, "GET", "/v1")).status == 200
        well = await call(application, "GET", "/v1/datasets", token=token)
        for path, more in (("/v1", "one"), ("/v1/datasets", None)):
            for wrong in ("2", "0", "", "1.0", " 1", "1, 2", more):
                got = await call(application, "GET", path, protocol=wrong, token=token)
                assert is_problem(got, 426), wrong
                assert got.headers["upgrade"] == "queryable/1"
                assert "version 1" in got.told["error"]
                for each in (got, well):
                    assert {name.lower() for name in HEADERS} <= each.headers.keys()
                    assert each.headers["queryable-protocol"] == "1"


@awaited
async def test_every_path_and_every_verb_with_every_token() -> None:
    """A token reaches its own roots and nothing else, and the rest has one text."""
    house = await House().ready()
    known = {(route.verb, route.path.replace("{root}", "")) for route in ANALYSTS}
    tails = ("", "/tell", "/view", "/page", "/other")
    application = analysts_application(house.front)
    tokens = {**house.tokens, "unknown": "qy_" + "a" * 43, "empty": "", "": None}
    refused = set()
    for root, tail, verb, (name, token) in itertools.product(TRIED, tails, VERBS, tokens.items()):
        before = len(house.asked)
        got = await call(application, verb, f"/v1/roots/{root}{tail}", b'{"path":[]}', token=token)
        asked = house.asked[before:] if len(house.asked) > before else []
        reached = ROOTS.get(name, {}).get(root)
        served = (verb, f"/v1/roots/{tail}") in known or (
            verb == "HEAD" and ("GET", f"/v1/roots/{tail}") in known
        )
        if reached is not None and served:
            assert got.status == 200
            assert len(house.asked) == before + 1
            assert any((each[0], each[2]) == reached for each in house.asked)
            for remote in house.remotes.values():
                assert all((remote.name, each[1]) == reached for each in remote.asked)
                remote.asked.clear()
            continue
        assert asked == []
        assert got.status in {401, 404, 405}
        if name not in ROOTS:
            assert got.status != 200
        elif served:
            refused.add((got.status, got.body))
    assert len(refused) == 1  # another's root and none at all are the same


@awaited
async def test_the_owners_routes_are_on_the_owners_socket_only() -> None:
    house = await House().ready()
    application = analysts_application(house.front)
    for route, verb in itertools.product((*OWNERS, *WATCHED), VERBS):
        path = route.path.replace("{analyst}", "ada")
        for token in (*house.tokens.values(), None):
            assert is_problem(await call(application, verb, path, b"{}", token=token), 404) or (
                verb == "HEAD"
            )
    assert house.asked == []


@awaited
async def test_the_owner_reaches_the_whole_tree_without_a_token() -> None:
    house = await House().ready()
    application = owners_application(house.front)
    assert (await call(application, "GET", "/v1/roots/visits")).told["path"] == []
    assert is_problem(await call(application, "GET", "/v1/roots/visits:2"), 404)
    rows = (await call(application, "GET", "/v1/datasets")).told["datasets"]
    assert [row["name"] for row in rows] == ["visits", "calls"]


@awaited
async def test_data_sets_are_those_of_the_token() -> None:
    house = await House().ready()
    application = analysts_application(house.front)
    for name, token in house.tokens.items():
        got = await call(application, "GET", "/v1/datasets", token=token)
        assert {row["root"] for row in got.told["datasets"]} == set(ROOTS[name])
    got = await call(application, "GET", "/v1/datasets", token=house.tokens["ada"])
    assert [row["name"] for row in got.told["datasets"]] == ["visits", "visits/2", "calls"]
    assert got.told["datasets"][0]["about"] == {"columns": {"age": "integer"}}


@awaited
async def test_bytes_are_carried_as_they_are() -> None:
    house = await House().ready()
    application, token = analysts_application(house.front), house.tokens["bo"]
    body = b'\xff\x00{"any": "bytes"'
    await call(
        application, "POST", "/v1/roots/visits/tell", chunks=[body[:3], body[3:]], token=token
    )
    await call(application, "GET", "/v1/roots/visits/view?after=7", token=token)
    await call(application, "GET", "/v1/roots/visits/view", token=token)
    assert house.remotes["visits"].asked == [
        *(("tell", (1,), body), ("view", (1,), 7), ("view", (1,), 0))
    ]
    house.remotes["visits"].reply = 409, b'{"error":"x","type":"RequestKeyError"}'
    got = await call(application, "POST", "/v1/roots/visits/tell", b"{}", token=token)
    assert (got.status, got.body) == house.remotes["visits"].reply
    for wrong in ("-1", "a", "1.0", "9" * 16, "%C2%B2", ""):
        got = await call(application, "GET", f"/v1/roots/visits/view?after={wrong}", token=token)
        assert is_problem(got, 400), wrong


@awaited
async def test_bodies_that_are_too_large_are_not_read_on() -> None:
    house = await House().ready()
    application, token = analysts_application(house.front), house.tokens["bo"]
    where = ("POST", "/v1/roots/visits/tell")
    got = await call(application, *where, b"a" * MOST_BYTES, token=token)
    assert got.status == 200
    parts = [b"a" * MOST_BYTES, b"b"]
    assert is_problem(await call(application, *where, chunks=parts, token=token), 413)
    for length in (MOST_BYTES + 1, 10**40):
        stated = {"content-length": str(length)}
        got = await call(application, *where, chunks=[b""], token=token, headers=stated)
        assert is_problem(got, 413)
    assert len(house.asked) == 1


@awaited
async def test_a_body_that_comes_too_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_BODY_SECONDS", 0.01)

    async def never() -> Any:
        await asyncio.sleep(60)

    from starlette.requests import Request

    request = Request({"type": "http", "headers": []}, never)
    with pytest.raises(protocol.Problem) as found:
        await protocol.body_of(request)
    assert found.value.status == 400


@awaited
async def test_a_token_has_so_many_requests_at_once() -> None:
    house = await House().ready()
    house.front.turns = Turns(3)
    application = analysts_application(house.front)
    gate = house.remotes["visits"].gate = asyncio.Event()

    def ask(name: str) -> Any:
        where = ("POST", "/v1/roots/visits/tell", b"{}")
        return asyncio.ensure_future(call(application, *where, token=house.tokens[name]))

    waiting = [ask("ada") for _ in range(3)]
    await asyncio.sleep(0)
    got = await ask("ada")
    assert is_problem(got, 429)
    assert got.headers["retry-after"] == "1"
    other = ask("bo")  # is not affected
    await asyncio.sleep(0)
    assert not other.done()
    gate.set()
    assert {each.status for each in await asyncio.gather(*waiting, other)} == {200}
    assert (await ask("ada")).status == 200


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (NoWorkerError("it is being opened", 7), 503),
        (WorkerDiedError("twice"), 500),
        (RuntimeError("this is private"), 500),
    ],
)
@awaited
async def test_faults_are_json_and_say_nothing(fault: Exception, status: int) -> None:
    house = await House().ready()
    house.remotes["visits"].reply = fault
    application, token = analysts_application(house.front), house.tokens["bo"]
    for verb, tail in (("POST", "/tell"), ("GET", ""), ("GET", "/view"), ("GET", "/page")):
        got = await call(application, verb, f"/v1/roots/visits{tail}", b"{}", token=token)
        assert is_problem(got, status)
        assert b"private" not in got.body
        assert b"Traceback" not in got.body
        assert got.headers.get("retry-after") == ("7" if status == 503 else None)


@awaited
async def test_nobody_is_let_in_if_the_access_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = await House().ready()
    application, token = analysts_application(house.front), house.tokens["bo"]
    assert (await call(application, "GET", "/v1/datasets", token=token)).status == 200
    monkeypatch.setattr(house.front.keeper, "_read_at", -1000.0)
    assert is_problem(await call(application, "GET", "/v1/datasets", token=token), 503)


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer {}x", "Bearer " + "a" * 10**5]
)
@awaited
async def test_what_is_no_token(given: str) -> None:
    house = await House().ready()
    application = analysts_application(house.front)
    stated = {"authorization": given.format(house.tokens["bo"])}
    got = await call(application, "GET", "/v1/datasets", headers=stated)
    assert is_problem(got, 401)
    assert got.headers["www-authenticate"] == "Bearer"


@awaited
async def test_tokens_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    house = await House().ready()
    house.remotes["visits"].reply = RuntimeError("a fault")
    caplog.set_level(logging.DEBUG)
    for application in (analysts_application(house.front), owners_application(house.front)):
        for token in house.tokens.values():
            await call(application, "POST", "/v1/roots/visits/tell", b"{}", token=token)
    got = await call(application, "POST", "/v1/owner/analysts", b'{"name":"di"}')
    house.tokens["di"] = got.told["token"]
    await call(application, "POST", "/v1/owner/analysts", b'{"name":"di"}')
    assert not [token for token in house.tokens.values() if token in caplog.text]


@awaited
async def test_analysts_and_grants() -> None:
    house = await House().ready()
    owner, analysts = owners_application(house.front), analysts_application(house.front)

    async def order(verb: str, path: str, body: Any = None) -> Got:
        return await call(owner, verb, f"/v1/owner/{path}", json.dumps(body).encode())

    token = (await order("POST", "analysts", {"name": "di"})).told["token"]
    assert (await call(analysts, "GET", "/v1/datasets", token=token)).told == {"datasets": []}
    assert is_problem(await order("POST", "analysts", {"name": "di"}), 409)
    for wrong in ({"name": "d i"}, {"name": 3}, {}, {"name": "x", "more": 1}, []):
        assert is_problem(await order("POST", "analysts", wrong), 400), wrong
    house.remotes["visits"].children = 5
    given = {"analyst": "di", "dataset": "visits", "mechanism": json.loads(FILTER)}
    assert (await order("POST", "grants", given)).told == {"root": "visits", "title": "visits"}
    assert (await order("POST", "grants", given)).told["title"] == "visits/2"
    sent = [json.loads(each[2]) for each in house.remotes["visits"].asked]
    assert [each["names"] for each in sent] == [["di"], ["di 2"]]
    assert len({each["key"] for each in sent}) == 2
    assert sent[0]["query"] == {"@": "launch/1", "mechanism": json.loads(FILTER)}
    got = await call(analysts, "GET", "/v1/roots/visits:2", token=token)
    assert got.told["path"] == [6]
    rows = (await order("GET", "analysts")).told["analysts"]
    assert [row["name"] for row in rows] == ["ada", "bo", "cy", "di"]
    assert token not in json.dumps(rows)
    assert is_problem(await order("POST", "grants", {**given, "analyst": "ed"}), 409)
    assert is_problem(await order("POST", "grants", {**given, "dataset": "none"}), 409)
    assert (await order("DELETE", "analysts/di")).status == 200
    assert is_problem(await order("DELETE", "analysts/di"), 409)
    assert is_problem(await call(analysts, "GET", "/v1/datasets", token=token), 401)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ({"kind": "refused", "answer": {"@": "refused/1"}}, "refused"),
        ({"kind": "query error", "type": "QueryError", "text": "the name is used"}, "is used"),
        ({"kind": "answer", "answer": {"@": "launched/1"}}, "not granted"),
    ],
)
@awaited
async def test_a_grant_that_is_refused_is_none(outcome: Any, text: str) -> None:
    house = await House().ready()
    head = {"seq": 1, "hash": "0" * 64}
    reply = {"head": head, "new": 1, "seq": 1, "outcome": outcome}
    house.remotes["visits"].reply = 200, json.dumps(reply).encode()
    before = house.store.read()
    body = {"analyst": "cy", "dataset": "visits", "mechanism": json.loads(FILTER)}
    application = owners_application(house.front)
    got = await call(application, "POST", "/v1/owner/grants", json.dumps(body).encode())
    assert is_problem(got, 409)
    assert text in got.told["error"]
    assert house.store.read() == before


@awaited
async def test_what_the_owner_feeds_reaches_the_service() -> None:
    """At ticks, like messages; what is no order does not reach it."""
    house = await House(tick=0.01).ready()
    order = {"id": "x", "block": "monday", "close": False}
    fed = b'{"again":false,"batch":1,"findings":[]}'
    owner, visits = owners_application(house.front), house.remotes["visits"]

    async def sent(**body: Any) -> Any:
        text = json.dumps({"dataset": "visits", **order, **body}).encode()
        return await call(owner, "POST", "/v1/owner/batches", text)

    visits.reply = 200, fed
    assert ((got := await sent()).status, got.body) == (200, fed)
    assert json.loads(visits.asked[0][2]) == order
    visits.reply = 409, b'{"error":"no column","type":"WrongOrderError"}'
    assert is_problem(await sent(), 409)
    visits.reply = NoWorkerError("being opened")
    assert is_problem(await sent(), 503)
    assert is_problem(await sent(dataset="other"), 409)
    for wrong in ({"id": 7}, {"close": 1}, {"more": 1}):
        assert is_problem(await sent(**wrong), 400)
    assert [each[0] for each in house.asked] == ["visits"] * 3


@awaited
async def test_the_owner_allows_more_tries_of_a_message() -> None:
    """It is stored; what is no order changes nothing."""
    house = await House().ready()
    order = {"dataset": "visits", "message": 7, "tries": 20}
    owner = owners_application(house.front)

    async def sent(**body: Any) -> Any:
        return await call(owner, "POST", "/v1/owner/tries", json.dumps(order | body).encode())

    assert ((got := await sent()).status, got.told) == (200, order)
    assert house.store.read().tries("visits", 7) == 20
    assert [house.store.read().tries(*each) for each in (("visits", 8), ("calls", 7))] == [0, 0]
    assert is_problem(await sent(dataset="other"), 409)
    for wrong in ({"message": 0}, {"tries": 0}, {"tries": "8"}, {"more": 1}):
        assert is_problem(await sent(**wrong), 400)
    assert house.store.read().tries("visits", 7) == 20


@awaited
async def test_health_and_metrics() -> None:
    house = await House().ready()
    owner, token = owners_application(house.front), house.tokens["bo"]
    got = await call(owner, "GET", "/health", protocol=None)
    assert (got.status, got.told["well"]) == (200, True)
    house.remotes["calls"].state = "broken"
    house.remotes["calls"].text = "other data"
    got = await call(owner, "GET", "/health", protocol=None)
    assert (got.status, got.told["well"]) == (503, False)
    row = got.told["datasets"]["calls"]
    assert [row[name] for name in ("pid", "state", "text")] == [None, "broken", "other data"]
    analysts = analysts_application(house.front)
    end = ',"kind":"refused"},"seq":4}'
    house.remotes["visits"].reply = 200, f'{{"outcome":{{"answer":1{end}'.encode()
    await call(analysts, "POST", "/v1/roots/visits/tell", b"{}", token=token)
    await call(analysts, "POST", "/v1/roots/calls/tell", b"{}", token=token)
    text = (await call(owner, "GET", "/metrics", protocol=None)).body.decode()
    assert 'curator_messages_total{dataset="visits",outcome="refused"} 1' in text
    assert 'curator_errors_total{status="404"} 1' in text
    assert 'curator_message_seconds_bucket{dataset="visits",le="+Inf"} 1' in text
    assert 'curator_worker_ready{dataset="calls"} 0' in text
    assert not re.search(r"ada|bo\b|qy_", text)
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \w+ \w+|\w+\{[^}]*\} [-+0-9.e]+", line), line
