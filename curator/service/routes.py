"""The table of routes, from which the applications and the OpenAPI file are made."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Served
from starlette.types import Receive, Scope, Send

from curator.service.pages import site
from curator.service.web import front as protocol
from curator.service.web import owner
from curator.service.web.callers import Caller, OwnerCaller, analyst_of
from curator.service.web.front import Endpoint, Front, Identify, answered, response, versions
from curator.service.web.problems import Problem, fault, not_there


@attrs.frozen
class Route:
    """An address and a verb.

    Attributes:
        verb, path: as in "GET", "/v1/datasets".
        endpoint: what answers.
        reply: the name of the shape of a reply with status 200; "" for text.
        body: the name of the shape of the request's body; "" if it has none.
        queries: names of the parameters after "?", each with a description.
        versioned: whether a request has to name a version of the protocol.
    """

    verb: str
    path: str
    endpoint: Endpoint  # a function, whose docstring says what it does
    reply: str
    body: str = ""
    queries: Mapping[str, str] = attrs.field(factory=dict)
    versioned: bool = True

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.endpoint.__doc__ or "").partition("\n")[0]


ANALYSTS = (
    Route("GET", "/v1/datasets", protocol.datasets, "Datasets"),
    Route("GET", "/v1/roots/{root}", protocol.describe, "RootDescription"),
    Route("POST", "/v1/roots/{root}/tell", protocol.tell, "MessageReply", body="Tell"),
    Route(
        *("GET", "/v1/roots/{root}/view", protocol.view, "View"),
        queries={"after": "the number of exchanges that are known already; 0 for all"},
    ),
    Route("GET", "/v1/roots/{root}/page", protocol.page, "Page"),
)
"""What an analyst may ask for, with a token; and the owner on the owner's socket."""

OWNERS = (
    Route("GET", "/v1/owner/analysts", owner.analysts, "Analysts"),
    Route("POST", "/v1/owner/analysts", owner.add_analyst, "NewAnalyst", body="AnalystName"),
    Route("DELETE", "/v1/owner/analysts/{analyst}", owner.revoke_analyst, "AnalystName"),
    Route("POST", "/v1/owner/grants", owner.grant, "Granted", body="Grant"),
    Route("POST", "/v1/owner/batches", owner.feed, "Fed", body="Batch"),
    Route("POST", "/v1/owner/tries", owner.tries, "Tries", body="Tries"),
    Route("POST", "/v1/owner/codes", owner.code, "Code"),
)
"""What the owner may ask for, on the owner's socket only."""

WATCHED = (
    Route("GET", "/health", owner.health, "Health", versioned=False),
    Route("GET", "/metrics", owner.metrics, "", versioned=False),
)
"""What monitoring asks for, on the owner's socket only. It needs no header of the protocol."""


_TELL = re.compile("/v1/roots/([^/]+)/tell")


class DirectRoutes:
    """An application in which messages to mechanisms skip the layers of Starlette.

    Args:
        rest: answers all other requests.
        tell: answers a message.
        wrong: the reply where it raises.
    """

    def __init__(self, rest: Starlette, tell: Any, wrong: Any) -> None:
        self.rest, self._tell, self._wrong = rest, tell, wrong

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        found = _TELL.fullmatch(scope["path"]) if is_post else None
        if found is None:
            await self.rest(scope, receive, send)
            return
        scope["path_params"] = {"root": found[1]}
        request = Request(scope, receive)
        try:
            reply = await self._tell(request)
        except Exception as error:
            await (await self._wrong(request, error))(scope, receive, send)
            raise  # the server writes it to the owner's log
        await reply(scope, receive, send)


def analysts_application(front: Front) -> DirectRoutes:
    """What analysts reach, each with a token: the protocol, and the pages."""

    def identify(request: Request) -> Caller:
        return analyst_of(front.keeper, request.headers.get("authorization"))

    return _application(front, identify, ANALYSTS, site.routes(front))


def pages_application(front: Front) -> Starlette:
    """The pages alone, for browsers, where analysts' programs use a socket file."""

    async def wrong(_: Request, error: Exception) -> Response:
        is_known = isinstance(error, HTTPException)
        return site.problem_page(front, not_there() if is_known else fault())

    handlers = {HTTPException: wrong, 500: wrong}
    application = Starlette(routes=site.routes(front), exception_handlers=handlers)
    application.router.redirect_slashes = False
    return application


def owners_application(front: Front) -> DirectRoutes:
    """What the owner reaches on a socket of their own. Whoever can connect to it is the owner."""
    caller = OwnerCaller(tuple(front.services))
    return _application(front, lambda _: caller, (*ANALYSTS, *OWNERS, *WATCHED))


def _application(
    front: Front, identify: Identify, routes: Iterable[Route], pages: Iterable[Served] = ()
) -> DirectRoutes:
    served = [Served("/v1", versions(front), methods=["GET"]), *pages]
    served += [
        Served(
            route.path,
            answered(front, identify, route.endpoint, versioned=route.versioned),
            methods=[route.verb],
        )
        for route in routes
    ]

    async def wrong(_: Request, error: Exception) -> Response:
        found = fault()
        if isinstance(error, HTTPException):
            found = not_there()
            if error.status_code == 405:
                found = Problem(405, "WireError", "this address has other verbs", _headers(error))
        front.metrics.error(found.status)
        return response(found.body, found.status, **found.headers)

    application = Starlette(routes=served, exception_handlers={HTTPException: wrong, 500: wrong})
    application.router.redirect_slashes = False
    return DirectRoutes(application, answered(front, identify, protocol.tell), wrong)


def _headers(error: HTTPException) -> dict[str, str]:
    return dict(error.headers or {})
