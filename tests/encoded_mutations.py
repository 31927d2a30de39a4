"""Hostile texts for the codec: mutations of texts of values, and random ones."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 2**53, 2**53 + 1, 10**30, 0.5, -0.0, 1e308),
    *("", "a", "1/2", "2/4", "-1/3", "0", "1/0", "1e9", "9" * 40, "nan", "inf", "≥", "\ud800"),
    *("gaussian/1", "pure-dp", "2024-01-01", "AA==", "|O", "<i8", "<U9", "<f8", "+", ">=", "lower"),
    *([], [[]], [1, 2], ["a", "b"], ["1/2"], {}, {"@": "count/1"}, {"@": None}, {"@": "os/1"}),
)
_BYTES = b'{}[]",:@\\0123456789-.eEuabtfn/ \x00\xff'


def mutated(text: str, tree: Any, corpus: list[Any], random: Random) -> bytes:
    """A text with one to three mutations of its tree or of its bytes."""
    if random.random() < 0.25:
        return _torn(text.encode(), random)
    for _ in range(random.randint(1, 3)):
        tree = _changed(tree, corpus, random)
    body = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    return _torn(body, random) if random.random() < 0.05 else body


def _torn(body: bytes, random: Random) -> bytes:
    """The bytes with some replaced, left out, added or repeated."""
    data = bytearray(body)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                data[place : place + 1] = bytes([random.choice(_BYTES)])
            case 1:
                del data[place : place + random.randint(1, 9)]
            case 2:
                data[place:place] = bytes([random.choice(_BYTES)])
            case 3:
                data[place:place] = data[place : place + random.randint(1, 99)]
            case _:
                data[place:place] = random.randbytes(2)
    return bytes(data)


def _changed(tree: Any, corpus: list[Any], random: Random) -> Any:
    """The tree with another node at one place."""
    if not isinstance(tree, dict | list) or not tree or random.random() < 0.15:
        return _node(tree, corpus, random)
    if isinstance(tree, list):
        place = random.randrange(len(tree))
        match random.randrange(6):
            case 0:
                return tree[:place] + tree[place + 1 :]
            case 1:
                return [*tree[:place], tree[place], *tree[place:]]
            case _:
                new = _changed(tree[place], corpus, random)
                return [*tree[:place], new, *tree[place + 1 :]]
    name = random.choice(list(tree))
    match random.randrange(8):
        case 0:
            return {key: value for key, value in tree.items() if key != name}
        case 1:
            other = random.choice(corpus)
            if isinstance(other, dict) and len(other) > 1:
                key = random.choice(list(other))
                return tree | {key: other[key]}
            return tree | {"extra": 1}
        case _:
            return tree | {name: _changed(tree[name], corpus, random)}


def _node(tree: Any, corpus: list[Any], random: Random) -> Any:
    """A node in place of this one: of another text, a scalar, or one with more digits."""
    match random.randrange(4):
        case 0:
            return random.choice(corpus)
        case 1 if isinstance(tree, str):
            return tree + random.choice(["0", "/3", "9" * 30, " ", "é"])
        case 1 if isinstance(tree, int | float):
            return tree * random.choice([-1, 10, 10**6, 0.5])
    return random.choice(_SCALARS)


def nodes(text: str) -> Iterator[Any]:
    waiting = [json.loads(text)]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict | list):
            waiting += node.values() if isinstance(node, dict) else node


def hostile(texts: list[str], count: int, seed: int) -> Iterator[bytes]:
    """Yield mutations of these texts."""
    random = Random(seed)
    corpus = [node for text in texts for node in nodes(text)]
    trees = [(text, json.loads(text)) for text in texts]
    for _ in range(count):
        yield mutated(*random.choice(trees), corpus, random)
