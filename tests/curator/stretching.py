"""Bodies that are stretched: every list of a text repeated, every number made long or extreme.

Of every tag there is a text in the codec's examples. Each is stretched at each of its places, and
sent as what it may be a part of: a launch, a question about one, a query of each child.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "unit/curator/codec/examples.txt"
ROOM = 45_000
"""Bytes of a stretched list: as many entries as a query may have."""

_NUMBERS = (
    *("9" * 399, "1/1" + "0" * 396, "9" * 199 + "/1" + "0" * 198, "1/3"),
    *("1/1" + "0" * 300, "123456789123456789/123456789123456788", "10000", "1/1000000000"),
)
_INTEGERS = (0, 10**3, 10**4, 10**6, 2**53)
_FLOATS = (1e308, 5e-324, 1e9)


def dumped(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def examples() -> list[Any]:
    """A tree of every tag, without logs and accounts, which no query has."""
    return [json.loads(line) for line in EXAMPLES.read_text().splitlines()]


def _other(tree: Any, number: int) -> Any:
    """A tree like this one that is another value."""
    if isinstance(tree, list):
        return [_other(each, number) for each in tree]
    if isinstance(tree, dict):
        return {
            name: each if name in {"@", "column"} else _other(each, number)
            for name, each in tree.items()
        }
    if isinstance(tree, str):
        return _other_text(tree, number)
    return tree if tree is None or isinstance(tree, bool) else tree + number


def _other_text(text: str, number: int) -> str:
    if not _is_number(text):
        return f"{text}{number}"
    return f"1/{number + 2}" if "/" in text else f"{number + 1}"


def _is_number(text: str) -> bool:
    return text.replace("/", "").replace("-", "").isdigit()


def _longer(items: list[Any]) -> Iterator[list[Any]]:
    """A list with equal and with different entries."""
    count = ROOM // max(len(dumped(items)) // len(items), 1)
    yield (items * (count // len(items) + 1))[:count]
    others, used = list(items), 0
    while used < ROOM:
        others.append(_other(items[len(others) % len(items)], len(others)))
        used += len(dumped(others[-1])) + 1
    yield others


def stretched(tree: Any) -> Iterator[Any]:
    """The tree with one place stretched."""
    if isinstance(tree, list):
        if tree:
            yield from _longer(tree)
        for place, item in enumerate(tree):
            for found in stretched(item):
                yield [*tree[:place], found, *tree[place + 1 :]]
    elif isinstance(tree, dict):
        for key, item in tree.items():
            if key != "@":
                for found in stretched(item):
                    yield tree | {key: found}
    elif isinstance(tree, str):
        yield from _NUMBERS if _is_number(tree) else ("a" * ROOM, "%a" * (ROOM // 2))
    elif isinstance(tree, float):
        yield from _FLOATS
    elif isinstance(tree, int) and not isinstance(tree, bool):
        yield from _INTEGERS


def nested(tree: Any) -> Iterator[Any]:
    """The tree with copies of itself within itself."""
    for key, item in tree.items():
        if isinstance(item, dict):
            grown = tree
            for _ in range(60):
                grown = tree | {key: grown}
            yield grown


def queries(tree: Any) -> Iterator[str]:
    """What a tree, stretched at each place, may be a part of, as texts."""
    gaussian = {"@": "gaussian/1", "statistic": {"@": "count/1"}, "variance": "9"}
    budget = {"@": "approx-dp/1", "delta": "1/1000000", "epsilon": "1"}
    a_filter = {
        "@": "filt-con/1",
        "budget": budget,
        "d_in": 1,
        "max_depth": 9,
        "on_exceed": "refuse",
    }
    for found in (*stretched(tree), *nested(tree)):
        for each in (
            found,
            {"@": "launch/1", "mechanism": found},
            {"@": "can-afford/1", "launch": found},
            {"@": "launch/1", "d_out": found, "mechanism": gaussian},
            {"@": "launch/1", "mechanism": gaussian | {"statistic": found}},
            {
                "@": "launch/1",
                "mechanism": gaussian | {"statistic": {"@": "count/1", "where": found}},
            },
            {"@": "launch/1", "mechanism": a_filter | {"rule": found}},
            {"@": "launch/1", "mechanism": a_filter | {"budget": found, "rule": {"@": "basic/1"}}},
        ):
            yield dumped(each)
