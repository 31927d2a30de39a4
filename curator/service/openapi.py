"""The OpenAPI file of a curator, from the table of routes and from the shapes of bodies.

Values of the codec are objects with the tag "@"; their own shapes are in the pages about the codec.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from curator.service.routes import ANALYSTS, OWNERS, WATCHED, Route
from curator.wire import HEADER, KINDS, PAGE, VERSION, VERSIONS

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
TEXT_OR_NULL: Shape = {"type": ["string", "null"]}
COUNT: Shape = {"type": "integer", "minimum": 0}
SECONDS: Shape = {"type": ["number", "null"], "minimum": 0}
KEY: Shape = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
HASH: Shape = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _object(required: Mapping[str, Shape], **optional: Shape) -> Shape:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _list(items: Shape) -> Shape:
    return {"type": "array", "items": items}


def _shape(name: str) -> Shape:
    return {"$ref": f"#/components/schemas/{name}"}


_VALUE: Shape = {
    "description": "a value of the codec, such as a query, an answer or a mechanism: an object "
    "with the tag `@`, a number as text, a list, ...",
}
_PATH = _list({"type": ["integer", "string"]})
_ABOUT: Shape = {
    "type": "object",
    "description": "what is public about the data: columns with their types, privacy unit, bounds",
}
_GRANT = _object(
    {
        "dataset": TEXT,
        "number": {"type": "integer", "minimum": 1},
        "child": COUNT,
        "name": TEXT,
        "mechanism": _shape("Value"),
        "root": TEXT,
        "title": TEXT,
    }
)

_ANALYST = _object({"name": TEXT, "token": {"type": "boolean"}, "grants": _list(_GRANT)})
_DATASET = _object({"name": TEXT, "root": TEXT, "about": _ABOUT})

SHAPES: Mapping[str, Shape] = {
    "Value": _VALUE,
    "Error": _object({"error": TEXT, "type": TEXT}),
    "Head": _object({"seq": COUNT, "hash": HASH}),
    "Versions": _object({"name": TEXT, "protocol": _list({"type": "integer"}), "version": TEXT}),
    "Datasets": _object(
        {"datasets": _list(_object({"name": TEXT, "root": TEXT, "about": _ABOUT}))}
    ),
    "RootDescription": _object(
        {
            "mechanism": _shape("Value"),
            "opening": _shape("Value"),
            "protects": _object({"unit": TEXT, "extent": TEXT, "whose": TEXT_OR_NULL}),
            "seq": COUNT,
            "head": _shape("Head"),
            "tick": SECONDS,
            "deadline": SECONDS,
        }
    ),
    "Tell": _object(
        {"path": _PATH, "query": _shape("Value"), "key": KEY},
        names=_list(TEXT_OR_NULL),
        seen={"oneOf": [_shape("Head"), {"type": "null"}]},
    ),
    "Outcome": _object(
        {"kind": {"enum": list(KINDS)}},
        answer=_shape("Value"),
        receipts=_list(_shape("Value")),
        type=TEXT,
        text=TEXT,
    ),
    "MessageReply": _object(
        {"seq": COUNT, "new": COUNT, "head": _shape("Head"), "outcome": _shape("Outcome")}
    ),
    "View": _object(
        {
            "exchanges": _list(
                _object(
                    {
                        "path": _PATH,
                        "query": _shape("Value"),
                        "answer": _shape("Value"),
                        "receipts": _list(_shape("Value")),
                        "name": TEXT_OR_NULL,
                    }
                )
            )
            | {"maxItems": PAGE},
            "seq": COUNT,
            "head": _shape("Head"),
        }
    ),
    "Page": {"type": "object", "description": "what a page for people shows"},
    "AnalystName": _object({"name": TEXT}),
    "NewAnalyst": _object({"name": TEXT, "token": {"type": "string", "pattern": "^qy_"}}),
    "Analysts": _object(
        {
            "analysts": _list(
                _object({"name": TEXT, "token": {"type": "boolean"}, "grants": _list(_GRANT)})
            )
        }
    ),
    "Grant": _object({"analyst": TEXT, "dataset": TEXT, "mechanism": _shape("Value")}),
    "Batch": _object(
        {"dataset": TEXT, "id": TEXT, "block": _shape("Value"), "close": {"type": "boolean"}}
    ),
    "Fed": _object(
        {
            "again": {"type": "boolean"},
            "batch": {"type": ["integer", "null"]},
            "findings": _list(TEXT),
        }
    ),
    "Tries": _object(
        {
            "dataset": TEXT,
            "message": {"type": "integer", "minimum": 1},
            "tries": {"type": "integer", "minimum": 1},
        }
    ),
    "Code": _object({"code": TEXT}),
    "Granted": _object({"title": TEXT, "root": TEXT}),
    "Health": _object(
        {
            "access": {"type": "boolean"},
            "datasets": {
                "type": "object",
                "additionalProperties": _object(
                    {"pid": {"type": ["integer", "null"]}, "state": TEXT, "text": TEXT}
                ),
            },
            "well": {"type": "boolean"},
        }
    ),
}
"""The shapes of bodies by name."""

_ERRORS = {
    "400": "the request is not of this protocol",
    "401": "there is no token, or it is unknown",
    "404": "there is nothing at this address for this token",
    "405": "the address has other verbs",
    "409": "`seen` is not in this ledger, or the request key was used for another message",
    "413": "the body is too large",
    "426": "the version of the protocol does not fit",
    "429": "too many requests of this token are under way",
    "500": "the curator has a defect; the owner's log has the cause",
    "503": "there is no worker now; the header Retry-After says when to ask again",
}


def document() -> dict[str, Any]:
    """The whole file, as values of JSON."""
    paths: dict[str, Any] = {"/v1": {"get": _versions()}}
    for route in (*ANALYSTS, *OWNERS, *WATCHED):
        paths.setdefault(route.path, {})[route.verb.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A curator of queryable",
            "version": str(VERSION),
            "description": "Every outcome of a message has status 200. Other status codes are "
            f"about the transport. Versions of the protocol: {', '.join(map(str, VERSIONS))}.",
        },
        "paths": paths,
        "components": {
            "schemas": dict(SHAPES),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def written() -> str:
    """The text of the file."""
    return json.dumps(document(), indent=2, sort_keys=True)


def _operation(route: Route) -> Shape:
    is_owners = route not in ANALYSTS
    found: Shape = {
        "operationId": route.endpoint.__name__,
        "summary": route.summary,
        "tags": ["owner's socket"] if is_owners else ["analysts"],
        "security": [] if is_owners else [{"token": []}],
        "parameters": [*_header(route), *_parameters(route)],
        "responses": {"200": _reply(route)}
        | {
            status: {"description": text, "content": _json("Error")}
            for status, text in _ERRORS.items()
        },
    }
    if route.body:
        found["requestBody"] = {"required": True, "content": _json(route.body)}
    return found


def _header(route: Route) -> list[Shape]:
    if not route.versioned:
        return []
    schema = {"enum": [str(version) for version in VERSIONS]}
    return [{"name": HEADER, "in": "header", "required": True, "schema": schema}]


def _parameters(route: Route) -> list[Shape]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": TEXT}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    return found + [
        {"name": name, "in": "query", "required": False, "description": text, "schema": COUNT}
        for name, text in route.queries.items()
    ]


def _reply(route: Route) -> Shape:
    content = _json(route.reply) if route.reply else {"text/plain": {"schema": TEXT}}
    return {"description": "the reply", "content": content}


def _versions() -> Shape:
    return {
        "operationId": "versions",
        "summary": "The versions of the protocol that this curator speaks; it needs no token.",
        "tags": ["analysts"],
        "security": [],
        "responses": {"200": {"description": "the reply", "content": _json("Versions")}},
    }


def _json(name: str) -> Shape:
    return {"application/json": {"schema": _shape(name)}}
