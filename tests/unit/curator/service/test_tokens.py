"""Every route with every verb and every token, by a table that a new route has to be added to."""

import itertools
from typing import Any

import pytest

from curator.access import Added, Granted, Revoked, hash_of, make_token
from curator.service.routes import analysts_application, owners_application, pages_application
from tests.unit.curator.service.asgi import FILTER, Got, House, awaited, call

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY")
OPEN, TOKEN, SESSION, FORM, OWNER = "open", "token", "session", "form", "owner"

TABLE = {
    ("GET", "/v1"): OPEN,
    ("GET", "/v1/datasets"): TOKEN,
    ("GET", "/v1/roots/{root}"): TOKEN,
    ("POST", "/v1/roots/{root}/tell"): TOKEN,
    ("GET", "/v1/roots/{root}/view"): TOKEN,
    ("GET", "/v1/roots/{root}/page"): TOKEN,
    ("GET", "/"): SESSION,
    ("GET", "/live"): SESSION,
    ("GET", "/data/{root}"): SESSION,
    ("GET", "/data/{root}/live"): SESSION,
    ("GET", "/data/{root}/messages.{form}"): SESSION,
    ("GET", "/login"): OPEN,
    ("POST", "/login"): FORM,
    ("POST", "/logout"): OPEN,
    ("GET", "/enter"): FORM,
    ("GET", "/assets/{name}"): OPEN,
    ("GET", "/v1/owner/analysts"): OWNER,
    ("POST", "/v1/owner/analysts"): OWNER,
    ("DELETE", "/v1/owner/analysts/{analyst}"): OWNER,
    ("POST", "/v1/owner/grants"): OWNER,
    ("POST", "/v1/owner/batches"): OWNER,
    ("POST", "/v1/owner/tries"): OWNER,
    ("POST", "/v1/owner/codes"): OWNER,
    ("GET", "/health"): OWNER,
    ("GET", "/metrics"): OWNER,
}
"""What each route needs: nothing, a token, a session that was begun with one, a form with one, or
the owner's socket."""

APPLICATIONS = {
    "analysts": (analysts_application, {OPEN, TOKEN, SESSION, FORM}),
    "pages": (pages_application, {OPEN, SESSION, FORM}),
    "owners": (owners_application, {OPEN, TOKEN, OWNER}),
}

NOT_SERVED = {404, 405}


def routes_of(application: Any) -> set[tuple[str, str]]:
    """The verbs and paths that an application serves; HEAD comes with GET."""
    return {
        (verb, route.path)  # type: ignore[attr-defined]
        for route in getattr(application, "rest", application).routes
        for verb in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }


def addressed(path: str) -> str:
    named = {"root": "visits", "form": "json", "name": "page.css", "analyst": "zoe"}
    return path.format(**named)


class Tokens(House):
    """A house with a token that was revoked, and one of an analyst without grants on visits."""

    def __init__(self) -> None:
        super().__init__()
        for child, name in enumerate(("dot", "eve"), start=8):
            self.tokens[name] = make_token()
            self.store.change(Added(name, hash_of(self.tokens[name])))
            self.store.change(Granted(name, "calls", child, name, FILTER))
        self.store.change(Revoked("dot"))

    def wrong(self) -> dict[str, str | None]:
        """What is no token of anybody now."""
        right = self.tokens["bo"]
        return {
            "none": None,
            "empty": "",
            "unknown": make_token(),
            "revoked": self.tokens["dot"],
            "shorter": right[:-1],
            "longer": right + "A",
            "other case": right.swapcase(),
            "its hash": hash_of(right),
            "NUL": right + "\0",
            "not ASCII": "qy_é" + right,
            "high": "\xff" * 40,
            "surrogate": "qy_\u2028",
            "a megabyte": "q" * 2**20,
            "a list": f"{right},{right}",
            "a scheme": f"Bearer {right}",
            "the owner's name": "owner",
        }


async def sent(application: Any, verb: str, path: str, token: str | None) -> Got:
    """A request with a token wherever one may stand."""
    headers = {"host": "h"}
    body = b'{"key":"' + b"0" * 32 + b'","path":[],"query":null,"seen":null}'
    if token is not None:
        headers["cookie"] = f"queryable={token}; queryable-80={token}"
        path += f"?code={token}" if len(token) < 1000 and token.isalnum() else ""
        if path.startswith("/log"):
            headers["content-type"] = "application/x-www-form-urlencoded"
            body = b"token=" + token.encode("utf-8", "replace")
    return await call(application, verb, path, body, token=token, headers=headers)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_route_has_a_row(name: str) -> None:
    make, needs = APPLICATIONS[name]
    served = routes_of(make(Tokens().front))
    assert served == {row for row, need in TABLE.items() if need in needs and row in served}
    assert served <= TABLE.keys(), "add a row, and see below what it is tried with"


def test_every_row_is_a_route() -> None:
    house = Tokens()
    made = [make(house.front) for make, _ in APPLICATIONS.values()]
    assert set().union(*map(routes_of, made)) == TABLE.keys()


@pytest.mark.parametrize("name", ["analysts", "pages"])
@awaited
async def test_wrong_tokens_reach_nothing(name: str) -> None:
    """On the sockets of analysts and browsers, with every verb, at the owner's routes too."""
    make, needs = APPLICATIONS[name]
    house = await Tokens().ready()
    application, analysts = make(house.front), [each.name for each in house.store.access]
    before = len(house.asked)
    for (row, verb), (kind, token) in itertools.product(
        itertools.product(TABLE, VERBS), house.wrong().items()
    ):
        path = row[1]
        got = await sent(application, verb, addressed(path), token)
        told = verb, path, kind, got.status
        served = {need for (one, two), need in TABLE.items() if two == path and one == verb}
        if verb == "HEAD":
            served = {need for (one, two), need in TABLE.items() if (one, two) == ("GET", path)}
        need = next(iter(served & needs), None)
        if need is None:
            assert got.status in NOT_SERVED | {401, 426}, told
        elif need == TOKEN:
            assert got.status == 401, told
        elif need == SESSION:
            assert got.status in {303, 401}, told
        elif need == FORM:
            assert got.status in {400, 401, 413}, told
        else:
            assert got.status in {200, 303, 404}, told
        assert "set-cookie" not in got.headers or path == "/logout", told
        assert len(token or "") < 40 or (token or "").encode() not in got.body, told
    assert len(house.asked) == before
    assert [each.name for each in house.store.read()] == analysts


@awaited
async def test_another_analysts_token_reaches_none_of_these_roots() -> None:
    """And the same reply as for what does not exist."""
    house = await Tokens().ready()
    application = analysts_application(house.front)
    for (verb, path), need in TABLE.items():
        if "{root}" not in path:
            continue
        if need == TOKEN:
            got = await call(application, verb, addressed(path), token=house.tokens["eve"])
            none = await call(
                application,
                verb,
                addressed(path).replace("visits", "nothing"),
                token=house.tokens["eve"],
            )
            assert (got.status, got.body) == (none.status, none.body) == (404, none.body)
        else:
            begun = await call(
                application,
                "POST",
                "/login",
                f"token={house.tokens['eve']}".encode(),
                headers={"host": "h"},
            )
            cookie = {"cookie": begun.headers["set-cookie"].partition(";")[0]}
            got = await call(application, verb, addressed(path), headers=cookie)
            assert got.status == 404, path
    assert house.asked == []


@awaited
async def test_the_owners_socket_takes_no_token_for_more_than_the_owner() -> None:
    """Whoever can connect is the owner; pages and forms are not there."""
    house = await Tokens().ready()
    application = owners_application(house.front)
    for (verb, path), need in TABLE.items():
        if need in {SESSION, FORM} or path in {"/login", "/logout", "/assets/{name}"}:
            for token in (None, house.tokens["bo"]):
                assert (await sent(application, verb, addressed(path), token)).status == 404
