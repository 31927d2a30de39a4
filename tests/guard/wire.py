"""What an analyst may send: the tags of her codec, an example of each, and their fields.

A *tree* is a value as JSON: a dict with the tag under "@", a list, or a scalar. `Wire` reads trees
with the analyst's codec, and knows which fields of which tags take a value.
"""

import json
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path as File
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

import attrs

from curator.codec import CODEC, QUERIES, QUERY_LIMITS, Codec, Entry, encode
from curator.codec.fields import Custom, FieldKind, Plain, kind_of
from queryable import Ask, InteractiveMechanism, Launch, LaunchOver
from queryable.errors import CodecError
from queryable.messages import AskMany, LaunchMany
from queryable.statistics import IntegerStatistic

Tree: TypeAlias = Any
Place: TypeAlias = tuple[str | int, ...]
"""Where a node is in a tree: names of fields and positions in lists."""

EXAMPLES = File(__file__).parents[1] / "unit" / "curator" / "codec" / "examples.txt"


def text_of(tree: Tree) -> str:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def tag_of(tree: Tree) -> str | None:
    """The tag of an object; None of a list or a scalar."""
    return tree.get("@") if isinstance(tree, dict) else None


@attrs.frozen
class Node:
    """A place in a tree where something else may be put.

    Attributes:
        place: where it is.
        name: the tag and the field that it is the value of.
        annotation: the type of the field.
        value: what is there; None if nothing is.
    """

    place: Place
    name: tuple[str, str]
    annotation: Any = attrs.field(repr=False)
    value: Tree = None


@attrs.frozen
class Carrier:
    """A field that takes a value: a tag, the name of the field, and whether in a list."""

    tag: str
    field: str
    listed: bool


class Wire:
    """A codec with examples of its tags.

    Args:
        codec: the codec that reads what an analyst sends.
        more: further examples.
    """

    sent = (IntegerStatistic, InteractiveMechanism, Launch, Ask, AskMany, LaunchMany, LaunchOver)
    """What can be asked, launched or sent."""

    def __init__(self, codec: Codec, more: tuple[Any, ...] = ()) -> None:
        self.codec = codec
        self.entries: dict[str, Entry] = {entry.tag: entry for entry in codec.entries}
        self._plain = Plain(codec._dump, codec.limits)
        self._carriers: dict[type, tuple[Carrier, ...]] = {}
        self.examples = tuple(self._readable([*EXAMPLES.read_text().splitlines(), *more]))

    def _readable(self, texts: list[Any]) -> Iterator[Tree]:
        for text in dict.fromkeys(texts):
            tree = json.loads(text)
            if self.read(tree) is not None:
                yield tree

    def read(self, tree: Tree) -> Any:
        """The value of a tree; None if the codec refuses it."""
        try:
            return self.codec.decode(text_of(tree))
        except (CodecError, ValueError):  # ValueError: an integer that Python does not spell
            return None

    @cached_property
    def by_tag(self) -> dict[str, list[Tree]]:
        """The examples of each tag, and the parts of others with that tag."""
        found: dict[str, list[Tree]] = {}
        for tree in sorted(self.nodes_of_examples, key=lambda tree: len(text_of(tree))):
            tag = tag_of(tree)
            if tag in self.entries and tree not in found.setdefault(tag, []):
                found[tag].append(tree)
        return found

    @cached_property
    def nodes_of_examples(self) -> list[Tree]:
        """Every node of every example."""
        return [node for tree in self.examples for node in _nodes(tree)]

    @cached_property
    def seen(self) -> dict[tuple[str, str], list[Tree]]:
        """What the examples have in each field."""
        found: dict[tuple[str, str], list[Tree]] = {}
        for tree in self.examples:
            for node in self.nodes(tree):
                values = found.setdefault(node.name, [])
                if node.value not in values:
                    values.append(node.value)
        return found

    def nodes(self, tree: Tree, place: Place = (), annotation: Any = Any) -> Iterator[Node]:
        """Every place in a tree, with the type that may be there; fields left out are places too.

        The first ones are the fields of the outermost object.
        """
        entry = self.entries.get(tag_of(tree) or "")
        if isinstance(tree, dict) and entry is not None:
            for name, kind in entry.fields.items():
                yield Node((*place, name), (entry.tag, name), kind, tree.get(name))
            for name, kind in entry.fields.items():
                yield from self.nodes(tree.get(name), (*place, name), kind)
        elif isinstance(tree, list):
            for number, each in enumerate(tree):
                kind = item_of(annotation, number)
                yield Node((*place, number), ("", "item"), kind, each)
                yield from self.nodes(each, (*place, number), kind)

    @cached_property
    def _fields(self) -> list[tuple["Carrier", FieldKind]]:
        """Every field that states what it takes, alone or in a list."""
        found = []
        for tag in self.by_tag:
            for name, annotation in self.entries[tag].fields.items():
                for option in options_of(annotation):
                    for kind, listed in ((option, False), (item_of(option, 0), True)):
                        if kind not in (Any, NoneType) and not isinstance(kind, Custom):
                            carrier = Carrier(tag, name, listed)
                            found.append((carrier, kind_of(kind, self._plain)))
        return found

    def carriers(self, value: Any) -> tuple[Carrier, ...]:
        """The fields that state that they take such a value, and lead to what can be sent."""
        kind = type(value)
        if kind not in self._carriers:
            self._carriers[kind] = tuple(
                carrier for carrier in self._taking(value) if carrier.tag in self._leading
            )
        return self._carriers[kind]

    def _taking(self, value: Any) -> Iterator[Carrier]:
        for carrier, kind in self._fields:
            try:
                kind.write(value)
            except Exception:  # a class's own writer is given something else
                continue
            yield carrier

    @cached_property
    def _leading(self) -> set[str]:
        """The tags of what can be sent, and of what can be put into it in some steps."""
        outer = {
            tag: {carrier.tag for carrier in self._taking(self.read(trees[0]))}
            for tag, trees in self.by_tag.items()
        }
        found = {tag for tag in outer if issubclass(self.entries[tag].classes[0], self.sent)}
        while more := {tag for tag, around in outer.items() if around & found} - found:
            found |= more
        return found


def options_of(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of a union."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def item_of(annotation: Any, number: int) -> Any:
    """The type of an entry of a list, which is a tuple where it is read; Any if nothing says."""
    for option in options_of(annotation):
        if get_origin(option) is tuple:
            items = get_args(option)
            if len(items) == 2 and items[1] is Ellipsis:
                return items[0]
            return items[number] if number < len(items) else Any
    return Any


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    if isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(each)


def put(tree: Tree, place: Place, value: Tree) -> Tree:
    """The tree with another value at one place; None leaves a field out."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if isinstance(tree, list):
        return [put(e, rest, value) if i == first else e for i, e in enumerate(tree)]
    new = put(tree.get(first), rest, value)
    kept = {name: each for name, each in tree.items() if name != first}
    return kept if new is None else kept | {first: new}


def tree_of(value: Any) -> Tree:
    return json.loads(encode(value))


def _with_subclasses(codec: Codec) -> Wire:
    from tests.guard import subclasses
    from tests.guard.examples import EXAMPLES as MORE

    texts = [text_of(tree_of(each)) for each in MORE]
    pairs = subclasses.entries()
    for text in tuple(texts):
        tree = json.loads(text)
        texts += [text_of(tree | {"@": entry.tag}) for tag, entry in pairs if tag_of(tree) == tag]
    return Wire(codec.joined(entry for _, entry in pairs), tuple(texts))


@cache
def analysts() -> Wire:
    """What an analyst may send, also at a site that declares classes of its own."""
    return _with_subclasses(QUERIES)


@cache
def everything() -> Wire:
    """Everything that has a tag, within the limits of a message."""
    return _with_subclasses(CODEC.within(QUERY_LIMITS))
