"""Hostile values of fields, by the type that a class annotates them with.

`Mutator.case` changes one to three fields of an example, the outermost ones more often. A new value
is out of range, huge, negative, empty, of another length, type or class, what another example has
there, or an example of another tag.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from random import Random
from types import NoneType
from typing import Any, get_origin

import attrs
import numpy as np

from tests.guard.rows import TYPES
from tests.guard.wire import (
    Carrier,
    Node,
    Place,
    Tree,
    Wire,
    item_of,
    options_of,
    put,
    tag_of,
    text_of,
)

LONG = 300
"""Digits of the longest numbers; an analyst's may have 400."""

_SMALL = ["0", "1", "-1", "1/2", "1/3", "-1/3", "2", "3", "9", "10", "100", "1/10", "1/1000"]
_LARGE = [2**20, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 2**128, 10**18, 10**30]
_HUGE = [10**307, 10**330, 10**307 * 8, 10**LONG]
_EXTREME = (
    [str(each) for each in _LARGE],
    [f"1/{each}" for each in _LARGE] + ["1/1000000", "1/10000", "999999/1000000"],
    [f"-{each}" for each in (*_LARGE, *_HUGE)] + [f"-1/{each}" for each in (*_LARGE, *_HUGE)],
    [str(each) for each in _HUGE],
    [f"1/{each}" for each in _HUGE] + [f"{10**330}/7"],
)
_INTEGERS = [0, 1, -1, 2, 3, 5, 7, 9, 10, 40, 1000, 2**20, 2**31, 2**53, 2**62, 2**63 - 1, 2**63]
_INTEGERS += [-(2**62), -(2**63), 2**64, 10**18, 10**30, -(10**30), 10**LONG]
_FLOATS = [0.0, -0.0, 0.5, -1.0, 0.1, 2.5, 1e308, -1e308, 5e-324, 1e-300, "inf", "-inf", "nan"]
_TEXTS = ["", " ", "missing", "a", "b", "é", "1", "0", "1/2", "\0", "x" * 300, '"', "key_0", "row"]
_DTYPES = ["<i8", "<f8", "|b1", "<u8", "|i1", "<i4", "<f4", "|O"]
_ENTRIES = [0, 1, 2, -1, 3, 2**20, 2**20 - 1, -(2**20), 2**31, 2**40, 2**53, 2**62, 2**63 - 1]
_SIZES = [0, 1, 2, 2, 3, 3, 4, 4, 5, 9, 64]


def integer(value: int) -> Tree:
    return value if abs(value) <= 2**53 else {"@": "int/1", "value": str(value)}


def real(value: Any) -> Tree:
    """The tree of a float, which is text if it is not finite."""
    return {"@": "float/1", "value": value} if isinstance(value, str) else value


def array(random: Random) -> Tree:
    """An array of some type and length, with extreme entries."""
    dtype, size = random.choice([*_DTYPES[:2], *_DTYPES]), random.choice(_SIZES)
    entries: list[Any] = [random.choice(_ENTRIES) for _ in range(size)]
    if dtype == "|b1":
        items: list[Any] = [bool(each) for each in entries]
    elif dtype == "|O":
        items = [random.choice([integer(each), "a", None]) for each in entries]
    elif dtype.startswith("<f"):
        items = [random.choice([float(each), 0.25, 1.0, "nan", "inf", -0.5]) for each in entries]
    else:
        kind = np.iinfo(np.dtype(dtype))
        inside = [min(max(each, int(kind.min)), int(kind.max)) for each in entries]
        items = [each if abs(each) <= 2**53 else str(each) for each in inside]
    half = [size // 2, 2] if size % 2 == 0 else [size]
    shape = random.choice([[size], [size], [size], half, [1, size], [size, 1]])
    return {"@": "array/1", "dtype": dtype, "items": items, "shape": shape}


def changed(tree: Tree, random: Random) -> Tree:
    """An array of the same type and shape, with one other entry or with only others."""
    items = [*tree["items"]]
    for place in random.choice(
        [range(len(items)), [random.randrange(len(items))] if items else []]
    ):
        entry = random.choice(_ENTRIES)
        items[place] = str(entry) if abs(entry) > 2**53 else entry
    return tree | {"items": items}


@attrs.frozen
class Case:
    """A changed example.

    Attributes:
        tag: the tag of the outermost value.
        tree: the value.
        changed: the fields that have another value than in the example.
    """

    tag: str
    tree: Tree
    changed: tuple[tuple[str, str], ...]


class Mutator:
    """Makes cases from the examples of a wire."""

    def __init__(self, wire: Wire, random: Random) -> None:
        self.wire, self.random = wire, random
        self._nodes: dict[int, list[Node]] = {}

    def case(self, tag: str, changes: int | None = None) -> Case:
        random = self.random
        tree = random.choice(self.wire.by_tag[tag])
        count = random.choice([1, 1, 2, 2, 3]) if changes is None else changes
        nodes = self._nodes.setdefault(id(tree), list(self.wire.nodes(tree)))
        if changes is None and random.random() < 0.25 and (numbers := self._numbers(nodes)):
            return self._with_numbers(tag, tree, numbers)
        chosen: list[Node] = []
        for _ in range(count if nodes else 0):
            node = self._one(nodes)
            if all(_apart(node.place, each.place) for each in chosen):
                chosen.append(node)
        for node in sorted(chosen, key=lambda each: each.place, reverse=True):
            tree = put(tree, node.place, self.value(node))
        return Case(tag, tree, tuple(node.name for node in chosen))

    def _numbers(self, nodes: list[Node]) -> list[Node]:
        """The exact numbers of one object that has several; half the time the outermost one."""
        objects: dict[Place, list[Node]] = {}
        for node in nodes:
            if Fraction in options_of(node.annotation) and node.value is not None:
                objects.setdefault(node.place[:-1], []).append(node)
        several = [each for each in objects.values() if len(each) > 1]
        return self.random.choice([several[0], self.random.choice(several)]) if several else []

    def _with_numbers(self, tag: str, tree: Tree, nodes: list[Node]) -> Case:
        """The tree with most of these numbers changed, some of them to the same one."""
        random, known = self.random, [each.value for each in nodes]
        changed = []
        for node in random.sample(nodes, len(nodes)):
            if random.random() < 0.8:
                same = random.random() < 0.4
                number = random.choice(known) if same else self._makers[Fraction]()
                known.append(number)
                changed.append(node.name)
                tree = put(tree, node.place, number)
        return Case(tag, tree, tuple(changed))

    def _one(self, nodes: list[Node]) -> Node:
        """A node: an outermost field half the time."""
        outer = [each for each in nodes if len(each.place) == 1]
        return self.random.choice(outer if outer and self.random.random() < 0.5 else nodes)

    def value(self, node: Node) -> Tree:
        """A hostile value for a place."""
        random = self.random
        draw = random.random()
        if draw < 0.2 and (known := self.wire.seen.get(node.name)):
            return random.choice(known)
        if draw < 0.3:
            return self.anything()
        if draw < 0.35:
            return None
        return self.of(node.annotation, node)

    def of(self, annotation: Any, node: Node | None = None) -> Tree:
        """A hostile value of a type."""
        random = self.random
        kind = random.choice(options_of(annotation))
        is_array = kind is np.ndarray and node is not None and tag_of(node.value) == "array/1"
        if is_array and node is not None and random.random() < 0.6:
            return changed(node.value, random)
        maker = self._makers.get(kind)
        if maker is not None:
            return maker()
        if kind is NoneType:
            return None
        if kind is str:
            known = self.wire.seen.get(node.name, []) if node else []
            return random.choice([random.choice([*TYPES]), random.choice([*_TEXTS, *known])])
        if get_origin(kind) is tuple:
            return self._list(kind, node)
        if kind is Any or not isinstance(get_origin(kind) or kind, type):
            return self.anything()
        return self._of_class(get_origin(kind) or kind)

    @cached_property
    def _makers(self) -> dict[Any, Callable[[], Tree]]:
        random = self.random
        return {
            Fraction: lambda: random.choice(random.choice([*([_SMALL] * 5), *_EXTREME])),
            int: lambda: integer(random.choice(_INTEGERS)),
            bool: lambda: random.choice([True, False, False, True, 0, 1, "", None]),
            float: lambda: real(random.choice(_FLOATS)),
            np.ndarray: lambda: array(random),
        }

    def _list(self, annotation: Any, node: Node | None) -> Tree:
        """A list of another length, order or content."""
        random = self.random
        there = node.value if node is not None and isinstance(node.value, list) else []
        first = item_of(annotation, 0)
        match random.randrange(8):
            case 0:
                return []
            case 1:
                return there[:1]
            case 2:
                return there[::-1]
            case 3:
                return [*there, *there]
            case 4:
                return [*there, self.of(first)]
            case 5:
                return [self.of(item_of(annotation, i)) for i in range(random.choice([1, 2, 3]))]
            case 6:
                return [*there[:-1], self.of(item_of(annotation, max(len(there) - 1, 0)))]
        return there * random.choice([3, 10, 200])

    def _of_class(self, kind: type) -> Tree:
        """An example whose class is a subclass; any other, if there is none."""
        fitting = [
            tag
            for tag in self.wire.by_tag
            if any(issubclass(each, kind) for each in self.wire.entries[tag].classes)
        ]
        return self.example(self.random.choice(fitting)) if fitting else self.anything()

    def example(self, tag: str) -> Tree:
        """An example of a tag, with a change in a third of the cases."""
        if self.random.random() < 0.3:
            return self.case(tag, 1).tree
        return self.random.choice(self.wire.by_tag[tag])

    def anything(self) -> Tree:
        """A scalar, a list, or an example of any tag."""
        random = self.random
        match random.randrange(7):
            case 0:
                return integer(random.choice(_INTEGERS))
            case 1:
                return real(random.choice(_FLOATS))
            case 2:
                return random.choice([*_TEXTS, *TYPES])
            case 3:
                return random.choice(
                    [True, False, [], [1, 2], ["a", "b"], [None], [[]], array(random)]
                )
            case 4:
                stop = random.choice([0, 3, 10**6, 10**7])
                return {"@": "range/1", "start": 0, "step": random.choice([1, 2, -1]), "stop": stop}
            case 5:
                items = [self.of(Any) if random.random() < 0.2 else random.choice([1, "a", "b", 2])]
                return {"@": "list/1", "items": items * random.choice([0, 1, 2])}
        return random.choice(self.wire.by_tag[random.choice(list(self.wire.by_tag))])


def _apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether neither place is within the other."""
    least = min(len(one), len(other))
    return one[:least] != other[:least]


def filled(wire: Wire, mutator: Mutator, carrier: Carrier, value: Tree) -> Iterator[Tree]:
    """The examples of the carrier's tag with a value in its field, in random order.

    First one for each budget and measure, of which few fit a rule.
    """
    trees = wire.by_tag[carrier.tag]
    trees = mutator.random.sample(trees, len(trees))
    first = {text_of([tree.get("budget"), tree.get("measure")]): tree for tree in trees}
    for tree in [*first.values(), *trees]:
        yield tree | {carrier.field: [value] if carrier.listed else value}
