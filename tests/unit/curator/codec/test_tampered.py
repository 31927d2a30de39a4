"""Answers whose parts do not fit together are refused when they are read, not when they print."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from curator.codec import decode
from queryable.errors import CodecError
from tests.curator.stretching import dumped, examples

SHOWN = {
    *(
        "released/1",
        "released-keys/1",
        "released-sizes/1",
        "share/1",
        "combination/1",
        "quotient/1",
        "selected/1",
    ),
    *("estimated/1", "modelled/1", "synthetic-rows/1", "axis/1"),
}


def misfits(tree: Any) -> Iterator[Any]:
    """The tree with a list or an array made shorter or longer, or a number or a text replaced."""
    if isinstance(tree, list):
        if tree:
            yield from (tree[:-1], [*tree, tree[-1]])
        for place, item in enumerate(tree):
            for found in misfits(item):
                yield [*tree[:place], found, *tree[place + 1 :]]
    elif isinstance(tree, dict):
        for key, item in tree.items():
            if key != "@":
                for found in misfits(item):
                    yield tree | {key: found}
        if tree.get("@") == "array/1":
            for items in (tree["items"][:-1], tree["items"] + tree["items"][-1:]):
                yield tree | {"items": items, "shape": [len(items)]}
            yield tree | {"shape": [1, *tree["shape"]]}
            yield from tree["items"][:1]
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield from (0, -1, 7)
    elif isinstance(tree, str):
        yield from ("", "x")


def shown(value: Any) -> None:
    """What an analyst does with an answer."""
    str(value)
    repr(value)
    if hasattr(value, "_repr_html_"):
        value._repr_html_()
    if hasattr(value, "_columns"):
        value._columns(None, simultaneous=True)
    if hasattr(value, "columns"):
        assert value.columns is not None
    if hasattr(value, "interval") and hasattr(value, "value"):
        value.interval()


@pytest.mark.parametrize("tag", sorted(SHOWN))
def test_what_can_be_read_can_be_shown(tag: str) -> None:
    read = refused = 0
    for example in (each for each in examples() if each["@"] == tag):
        for tree in misfits(example):
            try:
                value = decode(dumped(tree))
            except CodecError:
                refused += 1
                continue
            shown(value)
            read += 1
    assert read
    assert refused


def test_an_axis_that_does_not_fit_is_named() -> None:
    tree = next(each for each in examples() if each["@"] == "released/1" and each["axes"])
    longer = json.loads(json.dumps(tree))
    longer["axes"][0]["values"].append(longer["axes"][0]["values"][0])
    with pytest.raises(CodecError, match="the estimate has shape"):
        decode(dumped(longer))
