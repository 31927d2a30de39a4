"""The OpenAPI file in docs/ is that of the code, and its shapes are those of real bodies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curator.service.openapi import SHAPES, document, written
from curator.service.routes import ANALYSTS, OWNERS, WATCHED
from curator.wire import Head, MessageOutcome, MessageReply, Page, ShownExchange, Tell
from curator.wire.feeds import Fed
from curator.wire.views import RootDescription
from queryable.checks.protection import Protected

FILE = Path(__file__).parents[4] / "docs" / "openapi.json"
HEAD = Head(3, "0" * 64)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_the_file_is_up_to_date() -> None:
    """`curator openapi > docs/openapi.json` writes it."""
    assert FILE.read_text(encoding="utf-8").rstrip("\n") == written()


def test_every_route_and_every_shape_is_there() -> None:
    paths = document()["paths"]
    for route in (*ANALYSTS, *OWNERS, *WATCHED):
        operation = paths[route.path][route.verb.lower()]
        assert operation["summary"].endswith(".")
        assert bool(operation["security"]) is (route in ANALYSTS)
    assert len({each["operationId"] for path in paths.values() for each in path.values()}) == sum(
        map(len, paths.values())
    )
    assert {name.rpartition("/")[2] for name in references(document())} <= set(SHAPES)


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape, as far as this file's shapes say."""
    if "$ref" in shape:
        return fits(value, SHAPES[shape["$ref"].rpartition("/")[2]])
    if "oneOf" in shape:
        return any(fits(value, each) for each in shape["oneOf"])
    if "enum" in shape:
        return value in shape["enum"]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds |= {"integer": int, "number": (int, float)}  # type: ignore[dict-item]
    named = shape.get("type", [])
    if named and not any(
        isinstance(value, kinds[each]) for each in ([named] if isinstance(named, str) else named)
    ):
        return False
    if isinstance(value, dict) and "properties" in shape:
        return (
            set(shape["required"]) <= set(value) <= set(shape["properties"])
            and all(fits(each, shape["properties"][name]) for name, each in value.items())
        )  # fmt: skip
    if isinstance(value, list) and "items" in shape:
        return all(fits(each, shape["items"]) for each in value)
    return True


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (Tell((0, "a"), '{"@":"x/1"}', ("a", None), "0" * 32, HEAD).written(), "Tell"),
        (Tell((), "1", (), "0" * 32).written(), "Tell"),
        (MessageReply(3, 1, HEAD, MessageOutcome("answer", answer="1")).written(), "MessageReply"),
        (
            MessageReply(3, 0, HEAD, MessageOutcome("query error", type="a", text="b")).written(),
            "MessageReply",
        ),
        (Page((ShownExchange((1,), "1", "2", ("3",), "a"),), 4, HEAD).written(), "View"),
        (
            RootDescription("1", "2", Protected("a", "b", None), 3, HEAD, 0.1, None).written(),
            "RootDescription",
        ),
        (Fed(True, None, ["age: 1"]).written(), "Fed"),
        (Fed(False, 3, []).written(), "Fed"),
    ],
)
def test_bodies_have_their_shapes(body: bytes, shape: str) -> None:
    value = json.loads(body)
    assert fits(value, SHAPES[shape])
    assert not fits({**value, "more": 1}, SHAPES[shape])
    assert not fits({name: each for name, each in value.items() if name != "head"} if "head" in
                    value else {}, SHAPES[shape])  # fmt: skip
