from fractions import Fraction

import pytest

from composition import FiltCon, OdomCon
from queryable import PureDP, Queryable, QueryRefusedError
from queryable.checks.protection import RECORD
from queryable.display.nodes import TreeNode
from queryable.display.siblings import Siblings
from queryable.display.text import MOST_NODES, as_text, percent
from tests.strategies import Toy


def test_a_small_tree() -> None:
    q = Queryable(FiltCon(PureDP("0.5")), None)
    q.launch(Toy(), name="visits")
    team = q.launch(FiltCon(PureDP("0.2")))
    team.launch(Toy())
    with pytest.raises(QueryRefusedError):
        q.launch(FiltCon(PureDP(1)))
    assert q.tree() == (
        "FiltCon  PureDP(epsilon=0.5)  live  1 refused\n"
        "|  protects one record: each record on its own, even if several belong to one person\n"
        "|  [############........] 60%  spent PureDP(epsilon=0.3), remaining PureDP(epsilon=0.2)\n"
        "|- visits: Toy  PureDP(epsilon=0.1)  20% of its parent's budget  live\n"
        "`- [1] FiltCon  PureDP(epsilon=0.2)  40% of its parent's budget  live\n"
        "   |  [##########..........] 50%  spent PureDP(epsilon=0.1), remaining "
        "PureDP(epsilon=0.1)\n"
        "   `- [0] Toy  PureDP(epsilon=0.1)  50% of its parent's budget  live"
    )
    assert team.tree().splitlines()[0].startswith("[1] FiltCon")


def test_displays_send_no_query() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy())
    assert all([q.tree(), q.ledger(), q.explain(), q._repr_html_()])
    assert len(q.view) == 1
    assert q.privacy_loss() == PureDP("0.1")


def test_an_odometer_has_no_bar() -> None:
    q = Queryable(OdomCon(PureDP), None)
    q.launch(Toy())
    assert q.tree().splitlines()[::2] == [
        "OdomCon  no limit  live",
        "|  spent PureDP(epsilon=0.1)",
    ]


def test_many_children_are_folded() -> None:
    q = Queryable(FiltCon(PureDP(1000)), None)
    for _ in range(1000):
        q.launch(Toy())
    lines = q.tree().splitlines()
    assert len(lines) == 14
    assert "|- ... 990 more: 990 live" in lines


def test_a_wide_tree_of_wide_trees_stays_short() -> None:
    """13 children each, three deep, would be 2,379 nodes."""

    def wide(depth: int) -> TreeNode:
        node = TreeNode(Toy(), (0,))
        node.children = Siblings(wide(depth - 1) for _ in range(13 if depth else 0))
        return node

    root = wide(3)
    assert root.count() == 1 + 13 + 13**2 + 13**3
    assert len(as_text(root, RECORD).splitlines()) < 2 * MOST_NODES


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0%"), ("1/1000", "<1%"), ("1/2", "50%"), ("9999/10000", ">99%"), (1, "100%")],
)
def test_only_exact_shares_are_shown_as_0_or_100_percent(share: object, said: str) -> None:
    assert percent(Fraction(share)) == said  # type: ignore[arg-type]


@pytest.mark.parametrize("spent", ["0.001", "0.999"])
def test_bars_are_neither_empty_nor_full_in_between(spent: str) -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(PureDP(spent)))
    bar = q.tree().split("[")[1].split("]")[0]
    assert {*bar} == {"#", "."}


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[2Jcleared", "tab\there"])
def test_names_stay_on_their_line(name: str) -> None:
    """A name cannot add lines or control characters to a terminal."""
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(), name=name)
    assert len(q.tree().splitlines()) == 4
    assert "\x1b" not in q.tree()
    assert q.ledger()[0].name == name
