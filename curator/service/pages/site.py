"""The addresses of the pages: log in and out, look at trees and messages, and take them along.

Responsible for who may see what, which is what they reach with the protocol. A page shows what was
there at a tick, and leaves at the next one, so it says no more about times than a reply does.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import attrs
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from curator.access import ReachedRoot, analyst_row
from curator.service.pages.exports import as_csv_pages, as_json_pages, rows_of
from curator.service.pages.models import (
    OUTCOMES,
    OWNER,
    Filter,
    granted,
    listed,
    with_places,
)
from curator.service.pages.rendering import HEADERS, assets, rendered
from curator.service.web.callers import Caller
from curator.service.web.front import Front, Remote, as_problems, body_of
from curator.service.web.problems import Problem, fault, malformed, not_there
from curator.service.web.sending import UntilSent
from curator.service.workers.workers import NoWorkerError, WorkerDiedError

_LOGIN_BYTES = 4096
_LONGEST_TOKEN = 200
_LASTING = "public, max-age=31536000, immutable"
_WRONG_TOKEN = "Nobody has this token. It may have been mistyped or revoked."
_OLD_CODE = "This link was used before, or is older than ten minutes. Make another one."
_EXPORTS = {
    "csv": ("text/csv; charset=utf-8", as_csv_pages),
    "json": ("application/json", as_json_pages),
}


class ExportEndedError(Exception):
    """An export cannot go on; its connection is closed, so that it does not look complete."""


Endpoint = Callable[[Front, Caller, Request], Awaitable[Response]]
Root = tuple[str, str, ReachedRoot]


def routes(front: Front) -> list[Route]:
    """The pages of a curator."""

    def page(path: str, endpoint: Endpoint, *, part: bool = False) -> Route:
        return Route(path, _seen(front, endpoint, part=part), methods=["GET"])

    def form(
        path: str, endpoint: Callable[[Front, Request], Awaitable[Response]], verb: str
    ) -> Route:
        return Route(path, _filled(front, endpoint), methods=[verb])

    return [
        page("/", overview),
        page("/live", overview_live, part=True),
        page("/data/{root}", look),
        page("/data/{root}/live", look_live, part=True),
        page("/data/{root}/messages.{form}", export),
        form("/login", login_form, "GET"),
        form("/login", log_in, "POST"),
        form("/logout", log_out, "POST"),
        form("/enter", enter, "GET"),
        form("/assets/{name}", asset, "GET"),
    ]


def html(body: bytes, status: int = 200, **headers: str) -> Response:
    """A page."""
    return Response(body, status, {**HEADERS, **headers}, "text/html; charset=utf-8")


def problem_page(front: Front, problem: Problem) -> Response:
    """A page that says what is wrong."""
    front.metrics.error(problem.status)
    headers = {key: each for key, each in problem.headers.items() if key == "Retry-After"}
    body = rendered("problem.html", caller=None, problem=problem)
    return html(body, problem.status, **headers)


def _seen(front: Front, endpoint: Endpoint, *, part: bool) -> Callable[[Request], Any]:
    """A function of Starlette that answers who is logged in; others are sent to the form.

    Args:
        part: whether this is a part of a page, which a script loads.
    """

    async def answer(front: Front, request: Request) -> Response:
        caller = _caller(front, request)
        if caller is None:
            if part:
                return html(b"", 401)
            return html(b"", 303, Location="/login")
        with UntilSent(request.scope, front.turns.turn(caller)):
            reply = await endpoint(front, caller, request)
        size = len(getattr(reply, "body", b""))  # none if it is sent while it is made
        with UntilSent(request.scope, front.turns.holding(caller, size)):
            return reply

    return _filled(front, answer)


def _filled(
    front: Front, endpoint: Callable[[Front, Request], Awaitable[Response]]
) -> Callable[[Request], Any]:
    """A function of Starlette that turns problems into pages."""

    async def answer(request: Request) -> Response:
        try:
            with as_problems():
                return await endpoint(front, request)
        except Problem as problem:
            return problem_page(front, problem)

    return answer


# Logging in and out


def _caller(front: Front, request: Request) -> Caller | None:
    """Who has the session of a request's cookie; None if it has ended or never was."""
    return front.sessions.caller(request.cookies.get(_cookie(request), ""))


def _cookie(request: Request) -> str:
    """The name of the cookie. Ports of one machine share cookies, so it has the port."""
    server = request.scope.get("server") or ("", None)
    return "queryable" if server[1] is None else f"queryable-{server[1]}"


def _with_session(request: Request, response: Response, identity: str) -> Response:
    response.set_cookie(
        _cookie(request),
        identity,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


def _require_own(request: Request) -> None:
    """Check that a form was sent from a page of this curator.

    Raises:
        Problem: it comes from elsewhere.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Problem(403, "AccessError", "this form was sent from another site")


async def login_form(_: Front, __: Request) -> Response:
    """The form for a token."""
    return html(rendered("login.html", caller=None, wrong=""))


async def log_in(front: Front, request: Request) -> Response:
    """Begin a session with a token."""
    _require_own(request)
    body = await body_of(request, _LOGIN_BYTES)
    try:
        token = parse_qs(body.decode("ascii"), max_num_fields=8).get("token", [""])[0].strip()
    except ValueError:
        raise malformed("the form cannot be read") from None
    identity = front.sessions.begin(token) if len(token) <= _LONGEST_TOKEN else None
    if identity is None:
        front.metrics.error(401)
        return html(rendered("login.html", caller=None, wrong=_WRONG_TOKEN), 401)
    return _with_session(request, html(b"", 303, Location="/"), identity)


async def log_out(front: Front, request: Request) -> Response:
    """End the session."""
    _require_own(request)
    front.sessions.end(request.cookies.get(_cookie(request), ""))
    response = html(b"", 303, Location="/login")
    response.delete_cookie(_cookie(request), path="/", httponly=True, samesite="strict")
    return response


async def enter(front: Front, request: Request) -> Response:
    """Begin a session of the owner with a code of `curator page`.

    The browser goes on by itself from a page of this curator, not by a redirect: a link in another
    program would be a request from another site, without the cookie.
    """
    identity = front.sessions.begin_owners(request.query_params.get("code", ""))
    if identity is None:
        front.metrics.error(401)
        return html(rendered("login.html", caller=None, wrong=_OLD_CODE), 401)
    return _with_session(request, html(rendered("entered.html", caller=None)), identity)


async def asset(_: Front, request: Request) -> Response:
    """A file that pages load."""
    found = assets().get(request.path_params["name"])
    if found is None:
        raise not_there()
    headers = {**HEADERS, "Cache-Control": _LASTING}
    return Response(found.body, headers=headers, media_type=found.media_type)


# Trees and messages


@attrs.frozen
class _Told:
    """What a data set says of a root, or why it says nothing."""

    name: str
    root: str
    told: Mapping[str, Any] | None = None
    text: str = ""


async def _state_of_root(front: Front, caller: Caller, root: str, after: int | None = None) -> Any:
    """What a page has, as it was at a tick.

    Raises:
        Problem: there is no such root, or its worker cannot say.
        NoWorkerError, WorkerDiedError: there is no worker now.
    """
    service, reach = front.reached(caller, root)
    ticks = front.ticks[reach.dataset]
    await ticks.begin()
    status, body = await service.page(reach.path, after)
    await ticks.leave()
    told = json.loads(body)
    if status != 200:
        raise Problem(status, str(told.get("type")), str(told.get("error")))
    return told


async def _told_or_not(front: Front, caller: Caller, name: str, root: str) -> _Told:
    try:
        return _Told(name, root, await _state_of_root(front, caller, root))
    except (Problem, NoWorkerError) as error:
        return _Told(name, root, text=getattr(error, "text", str(error)))
    except WorkerDiedError:
        return _Told(name, root, text=fault().text)


def _roots(front: Front, caller: Caller) -> Iterable[Root]:
    return [each for each in caller.roots() if each[2].dataset in front.services]


async def _overview(front: Front, caller: Caller) -> dict[str, Any]:
    found = await asyncio.gather(
        *(_told_or_not(front, caller, name, root) for name, root, _ in _roots(front, caller))
    )
    rows = [{**attrs.asdict(each, recurse=False), "href": _href(each.root)} for each in found]
    people = []
    if not caller.name:
        people = [analyst_row(each) for each in front.keeper.access]
        for row in people:
            for grant in row["grants"]:
                grant["href"] = _href(grant["dataset"])
    return {"caller": caller, "roots": rows, "people": people}


async def overview(front: Front, caller: Caller, _: Request) -> Response:
    """All data sets that somebody reaches, each with its budget."""
    roots = list(_roots(front, caller))
    if caller.name and len(roots) == 1:
        return html(b"", 303, Location=_href(roots[0][1]))
    return html(rendered("overview.html", **await _overview(front, caller)))


async def overview_live(front: Front, caller: Caller, request: Request) -> Response:
    """The parts of `overview` that change."""
    return _part(request, rendered("overview_live.html", **await _overview(front, caller)))


def _href(root: str) -> str:
    return f"/data/{quote(root, safe='')}"


async def _looked(front: Front, caller: Caller, request: Request) -> dict[str, Any]:
    root = request.path_params["root"]
    service, reach = front.reached(caller, root)
    told = await _state_of_root(front, caller, root)
    is_owner = not caller.name
    chosen = Filter.of(request.query_params)
    people = _people(front, caller, reach)
    title = next(name for name, other, _ in caller.roots() if other == root)
    return {
        "caller": caller,
        "title": title,
        "href": _href(root),
        "state": _state(service) if is_owner else "",
        "tree": with_places(told["tree"]),
        "read": told["read"],
        "protects": told["protects"],
        "grants": granted(told["below"], people or {}),
        "is_owner": is_owner,
        "people": sorted({OWNER, *(people or {}).values()}) if is_owner else [],
        "outcomes": OUTCOMES,
        "chosen": chosen,
        "listed": listed(told, people, chosen),
    }


def _people(front: Front, caller: Caller, reach: ReachedRoot) -> dict[int | str, str] | None:
    return None if caller.name else front.keeper.access.holders(reach.dataset)


def _state(service: Remote) -> str:
    return f"{service.state}: {service.text}" if service.text else service.state


async def look(front: Front, caller: Caller, request: Request) -> Response:
    """A tree with its budgets, and its messages."""
    return html(rendered("look.html", **await _looked(front, caller, request)))


async def look_live(front: Front, caller: Caller, request: Request) -> Response:
    """The parts of `look` that change."""
    return _part(request, rendered("look_live.html", **await _looked(front, caller, request)))


def _part(request: Request, body: bytes) -> Response:
    """A part of a page; nothing if the browser has it already."""
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return html(b"", 304, ETag=tag)
    return html(body, ETag=tag)


async def export(front: Front, caller: Caller, request: Request) -> Response:
    """All messages that a filter keeps, as CSV or JSON."""
    root, form = request.path_params["root"], request.path_params["form"]
    _, reach = front.reached(caller, root)
    if form not in _EXPORTS:
        raise not_there()
    first = await _state_of_root(front, caller, root, 0)  # what goes wrong at once has a status

    async def fetch(after: int) -> Any:
        if not after:
            return first
        if _caller(front, request) is None:  # the token was revoked, or the session has ended
            raise ExportEndedError("a session ended during an export")
        return await _state_of_root(front, caller, root, after)

    media_type, written = _EXPORTS[form]
    chosen = Filter.of(request.query_params)
    pages = written(rows_of(fetch, _people(front, caller, reach), chosen))
    name = "".join(each if each.isalnum() and each.isascii() else "-" for each in root)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingResponse(pages, headers=headers, media_type=media_type)
