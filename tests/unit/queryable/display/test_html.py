from html.parser import HTMLParser

import pytest

from composition import FiltCon, OdomCon
from queryable import MechanismFault, PureDP, Queryable
from queryable.display.html import FOLDED_ROWS
from tests.strategies import Faulty, Toy, raising

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


def test_names_are_escaped() -> None:
    hostile = "<script>alert('x')</script> & \"quotes\""
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(), name=hostile)
    kind = type("<img src=x onerror=alert(1)>", (Toy,), {})
    q.launch(kind())
    page = Checked(q._repr_html_())
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert hostile in page.text


def test_many_children_are_folded_and_the_page_stays_small() -> None:
    q = Queryable(FiltCon(PureDP(10**4)), None)
    for _ in range(2000):
        q.launch(Toy())
    html = q._repr_html_()
    page = Checked(html)
    assert "1,990 more: 1,990 live" in page.text
    assert page.tags.count("li") < FOLDED_ROWS + 20
    assert len(html) < 60_000


def test_an_odometer_has_a_total_and_no_bar() -> None:
    q = Queryable(OdomCon(PureDP), None)
    q.launch(Toy())
    page = Checked(q._repr_html_())
    assert "spent PureDP(epsilon=0.1)" in page.text
    assert "u" not in page.tags
