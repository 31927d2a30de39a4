"""Large values of every tag that an analyst may send, and the messages that have them.

`cases` makes an example of a tag large: its lists have hundreds or thousands of entries, its
numbers are as large or as small as may be written, and it is put into what can be sent.
"""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import mechanisms as m
import queryable as q
from curator.codec.analysts import ANALYST_TAGS
from queryable.messages import LaunchMany
from queryable.statistics import IntegerStatistic
from tests.guard.conversations import wrapped
from tests.guard.costs import HOSTS, ROOTS, Sent
from tests.guard.hostile_fields import Mutator
from tests.guard.walk import MESSAGES, climbed
from tests.guard.wire import Node, Tree, Wire, options_of, put, tag_of, text_of, tree_of

_COUNTS = (0, 1, 5, 17, 30, 100, 300, 600, 900, 3000)
_NUMBERS = ["1", "2", "1/7", "100", "1000", "1000000", "1E+9", "1E+15", "1E+30", "1E+60", "1E+150"]
_NUMBERS += ["1E+300", "1/1000000000", f"1/{10**30}", f"1/{10**150}", f"{10**200}/{7**150}"]
_INTEGERS = [1, 2, 10, 100, 900, 1000, 5000, 10**5, 10**6, 10**7, 2**31, 2**53]
_LONGEST = 100_000


def _varied(tree: Tree, number: int) -> Tree:
    """An entry like this one, with another constant in it."""
    if isinstance(tree, bool) or tree is None:
        return tree
    if isinstance(tree, int):
        return tree + number
    if isinstance(tree, float):
        return tree + number
    if isinstance(tree, str):
        try:
            return str(Fraction(tree) + number)
        except ValueError:
            return f"{tree}{number}" if not tree.startswith((">", "<", "=", "!")) else tree
    if isinstance(tree, list):
        return [_varied(each, number) for each in tree]
    names = [name for name in tree if name != "@"]
    return tree | {name: _varied(tree[name], number) for name in names[-1:]}


class Inflater:
    """Makes examples large."""

    def __init__(self, wire: Wire, random: Random) -> None:
        self.wire, self.random, self.mutator = wire, random, Mutator(wire, random)

    def large(self, tag: str) -> Tree:
        """An example of a tag with one to four large fields."""
        random = self.random
        tree = random.choice(self.wire.by_tag[tag])
        for _ in range(random.choice([1, 2, 2, 3, 4])):
            nodes = list(self.wire.nodes(tree))[:400]
            if not nodes:
                return tree
            node = random.choice(nodes)
            value = self.value(node)
            new = put(tree, node.place, value)
            if len(text_of(new)) < _LONGEST:
                tree = new
        return tree

    def value(self, node: Node) -> Tree:
        """A large value for a place."""
        random, options = self.random, options_of(node.annotation)
        if tag_of(node.value) == "array/1":
            size = random.choice([1, 30, 900, 6000])
            return {"@": "array/1", "dtype": "<f8", "items": [0.5] * size, "shape": [size]}
        if tag_of(node.value) == "list/1":
            return {"@": "list/1", "items": self.longer(node.value["items"])}
        if isinstance(node.value, list):
            return self.longer(node.value)
        if Fraction in options:
            return random.choice(_NUMBERS)
        if int in options:
            return random.choice(_INTEGERS)
        if node.value is None or random.random() < 0.2:
            return self.mutator.value(node)
        if random.random() < 0.2:
            return {"@": "range/1", "start": 0, "step": 1, "stop": random.choice(_INTEGERS[:8])}
        return self._nested(node)

    def longer(self, items: list[Tree]) -> list[Tree]:
        """A list of such items, all the same or each with another constant."""
        count = self.random.choice(_COUNTS)
        if not items:
            return items
        same = self.random.random() < 0.4
        parts = [items[place % len(items)] for place in range(count)]
        return parts if same else [_varied(each, number) for number, each in enumerate(parts)]

    def _nested(self, node: Node) -> Tree:
        """The value within itself, or an example of its tag made larger."""
        tag = tag_of(node.value)
        if tag not in self.wire.by_tag:
            return node.value
        tree = self.random.choice(self.wire.by_tag[tag])
        for _ in range(self.random.choice([1, 3, 10, 60])):
            inner = [
                each for each in self.wire.nodes(tree) if tag_of(each.value) == tag and each.place
            ]
            if not inner:
                return tree
            value = self.random.choice(self.wire.by_tag[tag])
            new = put(value, inner[0].place[:1], tree) if isinstance(value, dict) else tree
            if self.wire.read(new) is None:
                return tree
            tree = new
        return tree

    def message(self, tag: str) -> tuple[Any, ...] | None:
        """Messages with a large value of a tag; None if the codec refuses it."""
        tree = self.large(tag)
        value = self.wire.read(tree)
        if value is None:
            return None
        _, value = climbed(self.wire, tree, value, self.mutator)
        if isinstance(value, MESSAGES):
            return (value,)
        if isinstance(value, q.InteractiveMechanism) and self.random.random() < 0.6:
            return (q.Launch(value),)
        if isinstance(value, IntegerStatistic) and self.random.random() < 0.5:
            return (q.Launch(m.Gaussian(value, variance=100)), m.Estimate(value, 50))
        return (value, *wrapped(value))


def root_of(message: Any, random: Random) -> str:
    """The root whose measure fits a message."""
    launched = getattr(message, "mechanism", None)
    try:
        own = type(launched.privacy_map(1)).__name__
    except Exception:
        own = ""
    fitting = {"PureDP": "pure", "ApproxDP": "approximate", "RDP": "rdp"}.get(own, "zCDP")
    return fitting if random.random() < 0.85 else random.choice([*ROOTS])


def cases(wire: Wire, count: int, seed: int, tags: Any = ANALYST_TAGS) -> Iterator[Sent]:
    """Large cases of every tag, turn by turn."""
    random = Random(seed)
    inflater = Inflater(wire, random)
    names = sorted(each for each in tags if each in wire.by_tag)
    made = 0
    while made < count:
        for tag in names:
            for message in inflater.message(tag) or ():
                place = root_of(message, random)
                if not isinstance(message, q.Launch | LaunchMany | q.CanAfford):
                    place = random.choice([*HOSTS, *ROOTS])
                elif random.random() < 0.15:
                    place = random.choice([*HOSTS])
                try:
                    text = text_of(tree_of(message))
                except Exception:
                    continue
                made += 1
                yield Sent(tag, text, place)
