"""A real browser on the pages: Debian's chromium, without a window."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mechanisms import Count, GroupBy, Keys, Mean
from queryable import ZCDP
from tests.pages import HOSTILE, Pages, browsed

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
PLACES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((place for place in map(shutil.which, PLACES) if place), None)
WAIT = 20_000  # milliseconds


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages() -> Pages:
    found = Pages()
    found.fill()
    return found


@pytest.fixture(scope="module")
def at(pages: Pages) -> Iterator[str]:
    with browsed(pages) as address:
        yield address


class Tab:
    """A page of a browser of its own; whatever goes wrong in it is kept."""

    def __init__(self, chromium: Any, pages: Pages, at: str, **options: Any) -> None:
        self.context = chromium.new_context(base_url=at, accept_downloads=True, **options)
        self.page, self.pages = self.context.new_page(), pages
        self.page.set_default_timeout(WAIT)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        self.page.on("request", self._asked)
        self._at = at

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self._at):
            self.wrong.append(f"asked for {request.url}")

    def own(self) -> None:
        """Be the owner."""
        self.page.goto(f"/enter?code={self.pages.front.sessions.make_code()}")
        self.page.wait_for_url("**/")

    def log_in(self, name: str) -> None:
        """Log an analyst in, with the keyboard alone."""
        self.page.goto("/login")
        self.page.wait_for_selector("#token:focus")
        self.page.keyboard.type(self.pages.tokens[name])
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda address: not address.endswith("/login"))

    def until(self, test: str) -> None:
        """Wait until an expression of JavaScript holds."""
        for _ in range(WAIT // 50):  # playwright's own waiting is forbidden by the policy
            if self.page.evaluate(test):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {test}")


@pytest.fixture
def tab(chromium: Any, pages: Pages, at: str) -> Iterator[Tab]:
    found = Tab(chromium, pages, at)
    yield found
    found.context.close()
    assert found.wrong == []


def test_the_budget_moves_when_an_analyst_launches(tab: Tab, pages: Pages) -> None:
    """What is folded stays folded, and the focus stays where it is."""
    tab.log_in("bo")
    assert tab.page.url.endswith("/data/visits")
    tab.page.locator(".tree summary").first.press("Enter")
    width = "document.querySelector('.total .bar rect').getBoundingClientRect().width"
    before, said = tab.page.evaluate(width), tab.page.inner_text(".total")
    pages.launch(1, rho="1/250")
    tab.until(f"{width} > {before} + 5")
    assert tab.page.inner_text(".total") != said
    assert tab.page.locator(".tree details").first.get_attribute("open") is None
    assert tab.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    tab.until("document.getElementById('news').textContent.includes('of the budget used')")


def test_groups_are_a_small_table_and_no_column_is_cut(chromium: Any) -> None:
    """At 1,200 pixels, with long charges, names of analysts and keys of groups."""
    pages, long = Pages(), "k" * 200
    pages.fill()
    mine = pages.root.children[0]
    bins = Keys.bins("age", [0, 20, 40, 100])
    ages = mine.release(GroupBy([bins], Count()), loss=ZCDP("1/1000"), name="by age")
    where = Keys("age", list(range(40)))
    answer = mine.release(GroupBy([where, Keys(HOSTILE, [1])], Count()), loss=ZCDP("1/1234567"))
    mine.release(GroupBy({HOSTILE: [1, 2]}, Mean("age", 0, 100)), loss=ZCDP("1/1000"), name=long)
    with browsed(pages) as at:
        tab = Tab(chromium, pages, at, viewport={"width": 1200, "height": 900})
        tab.own()
        tab.page.goto("/data/visits")
        cut = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(tab.page.evaluate(cut)) <= 0
        left = "cells => cells.map(e => Math.round(e.getBoundingClientRect().left))"
        starts = tab.page.locator(".messages > thead th").evaluate_all(left)
        row = tab.page.locator(".messages > tbody > tr", has_text="by age:")
        assert row.locator("> *").evaluate_all(left) == starts == sorted({*starts})
        texts = row.locator(".groups tr").all_inner_texts()
        _, rows, _ = ages.as_texts()
        shown = [[key, value, f"{low} to {high}"] for key, value, low, high in rows]
        assert [each.split("\t") for each in texts] == [["age", "estimate", "interval"], *shown]
        assert row.locator("caption").inner_text() == "95% intervals, each by itself"
        heights = row.locator(".groups tbody bdi").evaluate_all("a => a.map(e => e.clientHeight)")
        assert max(heights) < 30  # no key is broken into several lines
        second = tab.page.locator(".messages > tbody > tr").nth(1)
        assert second.locator(".groups tbody tr").count() == 10
        assert f"and {answer.count - 10} more" in second.inner_text()
        assert tab.page.locator(".groups img").count() == 0
        tab.context.close()
        assert tab.wrong == []


@pytest.mark.slow
def test_the_filter_works_with_the_keyboard_alone(tab: Tab) -> None:
    tab.own()
    tab.page.goto("/data/visits")
    keyboard = tab.page.keyboard
    keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "skip"
    assert tab.page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    for _ in range(60):
        if tab.page.evaluate("document.activeElement.id") == "words":
            break
        keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert tab.page.evaluate(style) != "none", tab.page.evaluate("document.activeElement.id")
    keyboard.type("count-7")
    tab.until("document.querySelectorAll('.messages tbody tr').length === 1")
    assert "1 message of" in tab.page.inner_text(".count")
    assert tab.page.url.endswith("?words=count-7")
    assert tab.page.evaluate("document.activeElement.id") == "words"
    keyboard.press("Control+A")
    keyboard.press("Delete")
    keyboard.press("Tab")
    keyboard.type("ref")  # chooses "refused"
    tab.until("document.querySelector('.messages tbody').innerText.includes('refused')")
    assert tab.page.locator(".messages tbody tr").count() == 1


@pytest.mark.slow
def test_downloads(tab: Tab, tmp_path: Path) -> None:
    tab.own()
    tab.page.goto("/data/visits?words=count")
    for form in ("CSV", "JSON"):
        with tab.page.expect_download() as waiting:
            tab.page.click(f".export >> text={form}")
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.name == f"visits.{form.lower()}"
        assert path.stat().st_size > 1000
    assert all("count" in json.dumps(row).lower() for row in json.loads(path.read_text()))


@pytest.mark.slow
def test_logging_in_and_out(tab: Tab, chromium: Any, pages: Pages, at: str) -> None:
    tab.page.goto("/data/visits")
    assert tab.page.url.endswith("/login")
    tab.log_in("bo")
    seen = tab.page.inner_text("main")
    assert "bo's own" in seen
    assert "search" not in seen
    assert tab.page.evaluate("document.cookie") == ""
    (cookie,) = tab.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    other = Tab(chromium, pages, at)
    other.log_in("ada")
    other.page.goto("/data/visits")
    mine = other.page.inner_text("main")
    assert "search" in mine
    assert "bo's own" not in mine
    assert other.page.goto("/data/calls").status == 404
    assert other.wrong == [
        "Failed to load resource: the server responded with a status of 404 (Not Found)"
    ]
    other.context.close()
    tab.page.click("text=Log out")
    tab.page.wait_for_url("**/login")
    tab.page.go_back()
    tab.page.wait_for_url("**/login")
    assert "bo's own" not in tab.page.content()
    # a look for news that was on its way when the session ended is refused
    late = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
    tab.wrong = [each for each in tab.wrong if each != late]


@pytest.mark.slow
def test_pages_work_without_scripts(chromium: Any, pages: Pages, at: str) -> None:
    tab = Tab(chromium, pages, at, java_script_enabled=False)
    tab.log_in("ada")
    tab.page.goto("/data/visits")
    assert not tab.page.is_visible("#pause")
    tab.page.fill("#words", "count-7")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**words=count-7**")
    assert tab.page.locator(".messages tbody tr").count() == 1
    tab.page.click("text=Log out")
    tab.page.wait_for_url("**/login")
    tab.context.close()


@pytest.mark.slow
def test_updates_can_be_paused(tab: Tab, pages: Pages) -> None:
    tab.log_in("ada")
    tab.page.goto("/data/visits:2")
    tab.until("document.getElementById('connection').textContent === 'Updates by itself'")
    tab.page.click("#pause")
    with tab.page.expect_request("**/live", timeout=WAIT):
        pages.launch(2)
        assert "No messages yet" in tab.page.inner_text("[data-part=messages]")
        tab.page.click("#pause")
    tab.until("document.querySelectorAll('.messages tbody tr').length === 1")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_sticks_out(
    chromium: Any, pages: Pages, at: str, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = Tab(chromium, pages, at, color_scheme=theme)
    tab.page.goto("/login")
    paths = ["/login", "/", "/data/visits"]
    for path in paths:
        if path == "/":
            tab.own()
        tab.page.goto(path)
        tab.page.wait_for_timeout(350)  # bars move for so long
        for width in (400, 1280):
            tab.page.set_viewport_size({"width": width, "height": 900})
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        found = axe.run(tab.page)
        assert found.violations_count == 0, (path, found.generate_report())
    assert tab.wrong == []
    tab.context.close()
