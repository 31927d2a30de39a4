"""Trees as text and as HTML."""

import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from composition import (
    Blocks,
    FiltCon,
    OdomCon,
    Rogers2023,
    ViaGDP,
    ViaZCDP,
    Whitehouse2023,
    budget,
)
from composition.rules.slack import SlackAccount, SlackRule
from queryable import ZCDP, ApproxDP, MechanismFault, PureDP, Queryable, QueryRefusedError
from queryable.answers.drawing import CLAIMED, EXACT, INK, SERIES, new_figure
from queryable.checks.protection import RECORD
from queryable.display.html import FOLDED_ROWS
from queryable.display.nodes import TreeNode
from queryable.display.siblings import SiblingRun, Siblings, counted, tallied
from queryable.display.text import MOST_NODES, as_text, percent
from tests.strategies import Faulty, Toy, raising


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
    q = Queryable(OdomCon(PureDP), None)
    q.launch(Toy())
    assert q.tree().splitlines()[::2] == ["OdomCon  no limit  live", "|  spent PureDP(epsilon=0.1)"]


def test_what_is_charged_in_another_measure_is_shown_in_one() -> None:
    """The percentage, what is spent and what remains are of rho; the loss is in epsilon, once."""
    q = Queryable(budget(2, "1e-6"), None)
    q.launch(Toy(PureDP("1/5")), name="search")
    q.launch(Toy(ZCDP("1/100")), name="count")
    q.launch(FiltCon(ZCDP("1/50")), name="team")
    assert q.tree() == (
        "FiltCon  ApproxDP(epsilon=2, delta=1e-06)  live\n"
        "|  protects one record: each record on its own, even if several belong to one person\n"
        "|  [###########.........] 57% of rho  spent ApproxZCDP(rho≈0.0499, delta=0), remaining "
        "ApproxZCDP(rho≈0.0375, delta=1e-07); the loss so far is "
        "ApproxDP(epsilon≈1.48, delta=9e-07)\n"
        "|- search: Toy  PureDP(epsilon=0.2), here ApproxZCDP(rho≈0.0199, delta=0)  "
        "23% of its parent's rho  live\n"
        "|- count: Toy  ZCDP(rho=0.01)  11% of its parent's rho  live\n"
        "`- team: FiltCon  ZCDP(rho=0.02)  23% of its parent's rho  live\n"
        "      [....................] 0%  spent ZCDP(rho=0), remaining ZCDP(rho=0.02)"
    )
    assert "57% of rho<" in q._repr_html_()
    assert 'title="11% of its parent&#x27;s rho"' in q._repr_html_()
    assert 'title="0% of its budget"' in q._repr_html_()


RULES = (ViaZCDP(), ViaGDP(), Whitehouse2023("5e-7"), Rogers2023("5e-7"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_the_share_is_that_of_what_is_spent_in_what_there_was(rule: SlackRule) -> None:
    """In what the rule adds up, which the percentage names; a refusal has the same amounts."""
    q = Queryable(FiltCon(ApproxDP(1, "1e-6"), rule), None)
    for epsilon in ("1/10", "1/20", "1/30"):
        q.launch(Toy(PureDP(epsilon)))
    account = q.node.account
    assert isinstance(account, SlackAccount)
    spent, left = rule.weight(account.spent()), rule.weight(account.remaining())
    assert q.node.share is not None
    assert float(q.node.share) == pytest.approx(spent / (spent + left), rel=1e-9)
    assert f"{percent(q.node.share)} of {rule.weighs}  spent {account.spent()}" in q.tree()
    with pytest.raises(QueryRefusedError) as refused:
        q.launch(Toy(PureDP(1)))
    so_far = f"the loss so far is {q.privacy_loss()} of ApproxDP(epsilon=1, delta=1e-06)"
    assert so_far in str(refused.value)
    measures = {refused.value.spent.measure, refused.value.requested.measure}  # type: ignore[attr-defined]
    assert measures == {account.remaining().measure}
    assert (refused.value.spent, refused.value.remaining) == (account.spent(), account.remaining())


def test_blocks_are_shown_in_one_measure() -> None:
    q = Queryable(Blocks(budget(2, "1e-6")), [])
    for day, epsilons in ((1, ["1/5"]), (2, ["1/10", "1/10"])):
        q.feed([day], block=day)
        q.feed.close(day)
        for epsilon in epsilons:
            q.launch_over(Toy(PureDP(epsilon)), [day])
    largest = "23% of rho  spent ApproxZCDP(rho≈0.0199, delta=0), remaining"
    assert [largest in line for line in q.tree().splitlines()[2:5]] == [True, True, False]
    assert "11% of rho  spent ApproxZCDP(rho≈0.00999, delta=0), remaining" in q.tree()


def test_displays_send_no_query() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy())
    assert all([q.tree(), q.ledger(), q.explain(), q._repr_html_()])
    assert len(q.view) == 1
    assert q.privacy_loss() == PureDP("0.1")


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


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio as defined by the WCAG."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", sorted({INK, CLAIMED, EXACT, *SERIES}))
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_colours_are_legible_on_white_and_on_black(colour: str, page: str) -> None:
    """The WCAG require 3 for graphics and large text; orange on white has slightly less."""
    assert contrast(colour, page) >= 2.7


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        new_figure(1, 1)


VOID = {"br", "hr", "img", "meta"}


class Checked(HTMLParser):
    """Checks that tags are closed in order, and collects the text and the attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_the_tree() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(), name="visits")
    q.launch(FiltCon(PureDP("0.2"))).launch(Toy())
    with pytest.raises(MechanismFault):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    page = Checked(q._repr_html_())
    for said in ("visits: Toy", "live", "failed", "40%", "remaining PureDP(epsilon=0.6)", "[1]"):
        assert said in page.text
    assert ("style", "width:40%") in page.attributes
    q = Queryable(OdomCon(PureDP), None)
    q.launch(Toy())
    page = Checked(q._repr_html_())
    assert "spent PureDP(epsilon=0.1)" in page.text
    assert "u" not in page.tags


def test_names_are_escaped_and_many_children_folded() -> None:
    hostile = "<script>alert('x')</script> & \"quotes\""
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(), name=hostile)
    kind = type("<img src=x onerror=alert(1)>", (Toy,), {})
    q.launch(kind())
    page = Checked(q._repr_html_())
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert hostile in page.text
    q = Queryable(FiltCon(PureDP(10**4)), None)
    for _ in range(2000):
        q.launch(Toy())
    html = q._repr_html_()
    page = Checked(html)
    assert "1,990 more: 1,990 live" in page.text
    assert page.tags.count("li") < FOLDED_ROWS + 20
    assert len(html) < 60_000


PIECES = st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=8)


class Words:
    """Words for places: those of even ones have queries, and two neighbours are of one kind."""

    def __init__(self) -> None:
        self.nodes: dict[int, str] = {}

    def make(self, place: int) -> str:
        return f"run {place}"

    def takers(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place % 2 == 0]

    def kinds(self, places: Sequence[int]) -> list[tuple[str, int]]:
        return list(Counter(f"run {place // 2}" for place in places).items())

    def statuses(self, places: Sequence[int]) -> Counter[str]:
        return Counter({"run ": len(places)})


def built(pieces: list[int | None]) -> tuple[Siblings[str], list[str]]:
    """Build siblings from nodes (None) and run lengths, and the equal list."""
    siblings: Siblings[str] = Siblings()
    flat: list[str] = []
    for length in pieces:
        start = len(flat)
        if length is None:
            siblings.append(f"made {start}")
            flat.append(f"made {start}")
        else:
            places = range(start, start + length)
            siblings.append(SiblingRun(places, Words()))
            flat += [f"run {place}" for place in places]
    return siblings, flat


@given(PIECES, st.integers(-20, 20), st.integers(-20, 20))
def test_they_are_a_sequence(pieces: list[int | None], start: int, stop: int) -> None:
    siblings, flat = built(pieces)
    assert list(siblings) == flat
    assert len(siblings) == len(flat)
    assert list(siblings[start:stop]) == flat[start:stop]
    assert [siblings[place] for place in range(-len(flat), len(flat))] == flat * 2
    assert list(siblings.made()) == [each for each in flat if each.startswith("made")]
    takers = [each for each in flat if each.startswith("made") or int(each[4:]) % 2 == 0]
    assert list(siblings.takers()) == takers


def test_a_run_may_grow_and_have_nodes_that_are_made() -> None:
    places, words = [0, 2], Words()
    siblings = Siblings(["made 0", SiblingRun(places, words)])
    words.nodes[2] = "changed"
    assert list(siblings) == ["made 0", "run 0", "changed"]
    places.append(4)
    siblings.grown()
    assert len(siblings) == 4
    assert list(siblings[2:]) == ["changed", "run 4"]
    assert list(siblings.made()) == ["made 0", "changed"]
    assert list(siblings[3:].made()) == []
    siblings, _ = built([None, 2])
    with pytest.raises(IndexError):
        siblings[3]
    with pytest.raises(ValueError, match="step"):
        siblings[::2]


@given(PIECES)
def test_counts_make_few_nodes(pieces: list[int | None]) -> None:
    siblings, flat = built(pieces)
    assert sum(count for _, count in counted(siblings)) == len(flat)
    counts = tallied(siblings, lambda node: node[:4])
    assert counts == tallied(flat, lambda node: node[:4])
