"""Adversaries as trees: what they ask, and that a text of one comes to an end."""

from typing import Any

from queryable import View
from queryable.audit import Strategy
from queryable.audit.strategies import Node

LEAF = Node()
TREE = Strategy(
    Node(branches=((None, Node("first", ((True, Node("second", ((3, LEAF),))), (False, LEAF)))),))
)


def test_it_asks_by_what_it_hears() -> None:
    """And stops where it has nothing to ask, or hears what it never expected."""
    start = View(None)
    assert TREE(start) == "first"
    assert TREE(start.then("first", True)) == "second"
    assert TREE(start.then("first", False)) is None
    assert TREE(start.then("first", "something else")) is None
    assert TREE(start.then("first", True).then("second", 3)) is None
    assert TREE(View("another opening")) is None


def test_answers_are_heard_as_they_are_compared() -> None:
    """A list as a tuple: what the tree was built from."""
    tree = Strategy(Node(branches=(((1, 2), Node("go")),)))
    assert tree(View([1, 2])) == "go"


def test_it_prints_a_line_for_each_answer() -> None:
    """With what is asked next, deeper answers further in."""
    assert str(TREE).splitlines() == [
        "None -> ask 'first'",
        "  True -> ask 'second'",
        "    3 -> stop",
        "  False -> stop",
    ]


def test_a_text_comes_to_an_end() -> None:
    """Nodes are shared, so a short computation makes a tree of 2**100 lines."""
    node: Any = LEAF
    for _ in range(100):
        node = Node("again", ((True, node), (False, node)))
    deep = Strategy(Node(branches=((None, node),)))
    assert str(deep).endswith("...")
    assert len(repr(deep)) < 100
