"""The owner's routes: analysts, grants, batches, tries, health. On the owner's socket only."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from curator.access import (
    AccessChangeError,
    Added,
    Allowed,
    Revoked,
    analyst_row,
    hash_of,
    make_token,
)
from curator.access.changes import checked_analyst
from curator.service.web.callers import Caller
from curator.service.web.front import Front, between_ticks, body_of, replied, response
from curator.service.web.granting import grant_of, granting_message
from curator.service.web.problems import HEADERS, Problem, malformed
from curator.service.workers.workers import WorkerService
from curator.wire import WireError
from curator.wire.bodies import TELL_LIMITS
from curator.wire.feeds import PARTS, Feeding
from curator.wire.texts import Read, a_count, a_text, a_value, dumped, fields_of, loaded, text_of
from queryable.wording.quoting import quoted

Gauge: TypeAlias = tuple[str, str, str, float]


def refused(error: Exception) -> Problem:
    """An order of the owner that cannot be carried out."""
    return Problem(409, type(error).__name__, str(error))


async def _fields(request: Request, reads: Mapping[str, Read]) -> dict[str, Any]:
    try:
        whole = loaded(text_of(await body_of(request), TELL_LIMITS))
        return fields_of(whole, reads, "the body")
    except WireError as error:
        raise malformed(str(error)) from None


async def analysts(front: Front, _: Caller, __: Request) -> Response:
    """All analysts with their grants."""
    access = await front.keeper.read()
    return response(dumped({"analysts": [analyst_row(each) for each in access]}).encode())


async def add_analyst(front: Front, _: Caller, request: Request) -> Response:
    """Add an analyst, and show the token; it is shown this once."""
    given = await _fields(request, {"name": a_text})
    try:
        name, token = checked_analyst(given["name"]), make_token()
        await front.keeper.change(Added(name, hash_of(token)))
    except AccessChangeError as error:
        raise refused(error) from None
    except ValueError as error:
        raise malformed(str(error)) from None
    return response(dumped({"name": name, "token": token}).encode())


async def revoke_analyst(front: Front, _: Caller, request: Request) -> Response:
    """End the token of an analyst; the grants stay."""
    name = request.path_params["analyst"]
    try:
        await front.keeper.change(Revoked(checked_analyst(name)))
    except (AccessChangeError, ValueError) as error:
        raise refused(error) from None
    return response(dumped({"name": name}).encode())


async def grant(front: Front, _: Caller, request: Request) -> Response:
    """Launch a filter for an analyst at the root of a data set."""
    reads = {"analyst": a_text, "dataset": a_text, "mechanism": a_value}
    given = await _fields(request, reads)
    analyst, dataset, mechanism = (given[name] for name in reads)
    if dataset not in front.services:
        raise refused(AccessChangeError(f"there is no data set {quoted(dataset)}"))
    async with front.granting:  # each has the next name
        try:
            access = await front.keeper.read()
            sent = granting_message(access, analyst, dataset, mechanism)
            status, body = await front.services[dataset].tell((), sent.written())
            if status != 200:
                return response(body, status)
            after = await front.keeper.change(grant_of(analyst, dataset, mechanism, sent, body))
        except AccessChangeError as error:
            raise refused(error) from None
    now = after.analysts[analyst].on(dataset)[-1]
    return response(dumped({"title": now.title, "root": now.root}).encode())


async def feed(front: Front, _: Caller, request: Request) -> Response:
    """Feed a batch, which is a file in the folder of batches, or close a block; once for an id."""
    given = await _fields(request, {"dataset": a_text, **PARTS})
    dataset = given.pop("dataset")
    if dataset not in front.services:
        raise refused(AccessChangeError(f"there is no data set {quoted(dataset)}"))
    async with between_ticks(front, dataset):
        return replied(front, await front.services[dataset].feed(Feeding(**given).written()))


async def tries(front: Front, _: Caller, request: Request) -> Response:
    """Let a message that crashes interrupted be tried more often, from the next opening on."""
    given = await _fields(request, {"dataset": a_text, "message": a_count, "tries": a_count})
    if given["dataset"] not in front.services:
        raise refused(AccessChangeError(f"there is no data set {quoted(given['dataset'])}"))
    try:
        await front.keeper.change(Allowed(**given))
    except ValueError as error:
        raise malformed(str(error)) from None
    return response(dumped(given).encode())


async def code(front: Front, _: Caller, __: Request) -> Response:
    """A code with which a browser is logged in as the owner, once, within ten minutes."""
    return response(dumped({"code": front.sessions.make_code()}).encode())


async def health(front: Front, _: Caller, __: Request) -> Response:
    """Whether each data set can be asked; status 503 if one cannot."""
    rows = {
        name: {
            "pid": service.pid,
            "state": service.state,
            "text": service.text,
            "tick": front.ticks[name].period,
            **front.metrics.times(name),
        }
        for name, service in front.services.items()
    }
    is_well = front.keeper.is_fresh and all(row["state"] == "ready" for row in rows.values())
    body = {"access": front.keeper.is_fresh, "datasets": rows, "well": is_well}
    return response(dumped(body).encode(), 200 if is_well else 503)


async def metrics(front: Front, _: Caller, __: Request) -> Response:
    """Numbers in the text format of Prometheus."""
    text = front.metrics.text(gauges_of(front))
    return Response(text, headers=HEADERS, media_type="text/plain; version=0.0.4")


def gauges_of(front: Front) -> list[Gauge]:
    """The numbers of the workers."""
    gauges: list[Gauge] = []
    for name, service in front.services.items():
        if isinstance(service, WorkerService):
            gauges += [
                ("curator_worker_restarts_total", "counter", name, service.restarts),
                ("curator_worker_overdue_total", "counter", name, service.overdue),
                ("curator_messages_waiting", "gauge", name, service.waiting),
            ]
        gauges.append(("curator_worker_ready", "gauge", name, float(service.state == "ready")))
    return gauges
