"""Adversaries as trees: their queries, and the bounded length of their text."""

from typing import Any

from queryable.audit import Strategy
from queryable.audit.views.strategies import StrategyNode
from queryable.view import View

LEAF = StrategyNode()
TREE = Strategy(
    StrategyNode(
        branches=(
            (
                None,
                StrategyNode(
                    "first", ((True, StrategyNode("second", ((3, LEAF),))), (False, LEAF))
                ),
            ),
        )
    )
)


def test_the_query_depends_on_the_answers() -> None:
    """It stops at a leaf, or after an answer that is not in the tree."""
    start = View(None)
    assert TREE(start) == "first"
    assert TREE(start.then("first", True)) == "second"
    assert TREE(start.then("first", False)) is None
    assert TREE(start.then("first", "something else")) is None
    assert TREE(start.then("first", True).then("second", 3)) is None
    assert TREE(View("another opening")) is None


def test_answers_are_compared_by_their_keys() -> None:
    """A list matches a tuple, because the tree stores keys."""
    tree = Strategy(StrategyNode(branches=(((1, 2), StrategyNode("go")),)))
    assert tree(View([1, 2])) == "go"


def test_it_prints_a_line_for_each_answer() -> None:
    """Each line has the next query; later answers are indented."""
    assert str(TREE).splitlines() == [
        "None -> ask 'first'",
        "  True -> ask 'second'",
        "    3 -> stop",
        "  False -> stop",
    ]


def test_the_text_is_cut_off() -> None:
    """Nodes are shared, so a small tree may have 2**100 lines."""
    node: Any = LEAF
    for _ in range(100):
        node = StrategyNode("again", ((True, node), (False, node)))
    deep = Strategy(StrategyNode(branches=((None, node),)))
    assert str(deep).endswith("...")
    assert len(repr(deep)) < 100
