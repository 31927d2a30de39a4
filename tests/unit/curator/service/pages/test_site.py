"""The pages as HTML and files: who sees what, what is escaped, and what headers say."""

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon, budget
from curator.access import Revoked
from curator.service.pages.content import tree_of
from curator.service.pages.rendering import HEADERS, _environment, assets
from curator.service.routes import analysts_application, pages_application
from curator.service.workers.workers import NoWorkerError
from queryable import ZCDP, PureDP, Queryable
from queryable.checks.protection import RECORD
from tests.pages import Near, Pages
from tests.strategies import Toy
from tests.unit.curator.service.asgi import Got, awaited, call

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
FORM = {"host": "h", "content-type": "application/x-www-form-urlencoded"}


class Browser:
    """Sends requests with the cookie that it was given."""

    def __init__(self, pages: Pages, application: Any) -> None:
        self.pages, self.application, self.cookie = pages, application, ""

    async def get(self, path: str, **headers: str) -> Got:
        given = {**headers, **({"cookie": self.cookie} if self.cookie else {})}
        got = await call(self.application, "GET", path, protocol=None, headers=given)
        self._keep(got)
        return got

    async def post(self, path: str, body: str = "", **headers: str) -> Got:
        given = {**FORM, **headers, **({"cookie": self.cookie} if self.cookie else {})}
        got = await call(
            self.application, "POST", path, body.encode(), protocol=None, headers=given
        )
        self._keep(got)
        return got

    def _keep(self, got: Got) -> None:
        if "set-cookie" in got.headers:
            self.cookie = got.headers["set-cookie"].partition(";")[0]

    async def log_in(self, name: str) -> Got:
        return await self.post("/login", f"token={self.pages.tokens[name]}")

    async def own(self) -> None:
        await self.get(f"/enter?code={self.pages.front.sessions.make_code()}")


async def browsing(pages: Pages, make: Any = pages_application) -> Browser:
    """A browser of pages whose front has read who has access."""
    await pages.front.keeper.read()
    return Browser(pages, make(pages.front))


@pytest.fixture(scope="module")
def pages() -> Pages:
    found = Pages()
    found.fill()
    return found


def test_a_bar_says_what_it_is_a_share_of() -> None:
    """Of rho where rho adds up; of the budget in a child whose budget is a rho."""
    handle = Queryable(budget(2, "1e-6"), None)
    handle.launch(Toy(PureDP("1/5")))
    handle.launch(FiltCon(ZCDP("1/50")))
    row = _environment().from_string('{% import "parts.html" as parts %}{{ parts.row(node) }}')
    tree = tree_of(handle.node, RECORD)["tree"]
    page = "".join(row.render(node=node) for node in (tree, *tree["children"]))
    labels = re.findall(r'aria-label="([^"]*)"', page)
    assert labels == ["46% of its rho", "23% of its parent&#39;s rho", "0% of its budget"]
    assert re.findall(r'"true">([^<]*)<', page) == ["46% of rho", "23% of rho", "0%"]


@awaited
async def test_everything_hostile_is_escaped(pages: Pages) -> None:
    browser = await browsing(pages)
    await browser.own()
    for path in ("/", "/data/visits", "/data/visits/live"):
        body = (await browser.get(path)).body.decode()
        assert "<script>" not in body
        assert "<img" not in body
        assert "\u202e" not in body
        assert " style=" not in body
        assert "<style" not in body
    assert "&lt;script&gt;alert(1)" in body
    assert "{{7*7}}" in body
    query = "?words=%22%3E%3Cscript%3E&who=%3Cimg%3E&outcome=%3Cb%3E"
    body = (await browser.get(f"/data/visits{query}")).body.decode()
    assert 'value="&#34;&gt;&lt;script&gt;"' in body
    assert "<img" not in body


@awaited
async def test_every_reply_has_the_headers(pages: Pages) -> None:
    browser = await browsing(pages)
    replies = [await browser.get("/login"), await browser.get("/data/visits")]
    await browser.own()
    paths = ("/", "/live", "/data/visits", "/data/none", "/nothing", "/data/visits/messages.csv")
    replies += [await browser.get(path) for path in paths]
    replies.append(await browser.post("/logout", origin="https://elsewhere"))
    assert [each.status for each in replies] == [200, 303, 200, 200, 200, 404, 404, 200, 403]
    for each in replies:
        for name, value in HEADERS.items():
            assert each.headers[name.lower()] == value
    got = await browser.get("/assets/page.css")
    assert got.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert (await browser.get("/assets/site.py")).status == 404


@awaited
async def test_the_cookie_is_for_this_site_and_not_for_scripts(pages: Pages) -> None:
    browser = await browsing(pages)
    got = await browser.log_in("bo")
    assert (got.status, got.headers["location"]) == (303, "/")
    attributes = {each.strip().lower() for each in got.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "samesite=strict", "path=/"}
    assert pages.tokens["bo"] not in got.headers["set-cookie"]
    assert (await browser.get("/data/visits")).status == 200
    kept = browser.cookie
    await browser.post("/logout", origin="http://h")
    browser.cookie = kept
    assert (await browser.get("/data/visits")).headers["location"] == "/login"
    assert (await browser.get("/data/visits/live")).status == 401


@pytest.mark.parametrize(
    "body", ["", "token=", "token=qy_wrong", "token=" + "a" * 3000, "token=%ff", "a=1&" * 20]
)
@awaited
async def test_wrong_tokens_begin_no_session(pages: Pages, body: str) -> None:
    browser = await browsing(pages)
    got = await browser.post("/login", body)
    assert got.status in {400, 401}
    assert "set-cookie" not in got.headers


@awaited
async def test_forms_of_other_sites_begin_no_session(pages: Pages) -> None:
    browser = await browsing(pages)
    body = f"token={pages.tokens['bo']}"
    for origin in ("https://elsewhere", "null", "http://h:81"):
        assert (await browser.post("/login", body, origin=origin)).status == 403
    assert not browser.cookie


@awaited
async def test_an_analyst_sees_nothing_of_others(pages: Pages) -> None:
    browser = await browsing(pages)
    await browser.log_in("bo")
    seen = b""
    for path in ("/", "/live", "/data/visits", "/data/visits/live"):
        seen += (await browser.get(path)).body
    for form in ("csv", "json"):
        seen += (await browser.get(f"/data/visits/messages.{form}")).body
    text = seen.decode()
    assert "bo&#39;s own" in text
    assert not re.search(r"\bada\b|SparseVector|\bteam\b|alert|rho=0\.1\)|the owner<", text)
    for root in ("calls", "visits:2", "visits:1", "none", "%2e%2e", "@access"):
        for tail in ("", "/live", "/messages.csv", "/messages.json"):
            assert (await browser.get(f"/data/{root}{tail}")).status == 404


@awaited
async def test_an_analyst_with_several_grants_and_with_none(pages: Pages) -> None:
    browser = await browsing(pages)
    await browser.log_in("ada")
    assert b"visits/2" in (await browser.get("/")).body
    assert (await browser.get("/data/visits:2")).status == 200
    await browser.log_in("cy")
    assert b"You have no grant yet" in (await browser.get("/")).body
    await browser.log_in("bo")
    assert (await browser.get("/")).headers["location"] == "/data/visits"


@awaited
async def test_exports_have_all_messages(pages: Pages) -> None:
    browser = await browsing(pages)
    await browser.own()
    told = (await browser.get("/data/visits/messages.json")).told
    assert [row["number"] for row in told] == list(range(1, len(told) + 1))
    assert [row["who"] for row in told[:4]] == ["the owner"] * 3 + ["ada"]
    assert told[3]["loss"] == {"measure": "ZCDP", "rho": "1/500"}
    got = await browser.get("/data/visits/messages.csv")
    assert got.headers["content-disposition"] == 'attachment; filename="visits.csv"'
    rows = list(csv.DictReader(io.StringIO(got.body.decode())))
    assert [row["asked"] for row in rows] == [row["asked"] for row in told]
    assert json.loads(rows[3]["loss_exact"]) == told[3]["loss"]
    chosen = (await browser.get("/data/visits/messages.json?outcome=refused")).told
    assert [row["outcome"] for row in chosen] == ["refused"]
    assert (await browser.get("/data/calls/messages.json")).told == []


@awaited
async def test_long_exports_are_put_together(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = await browsing(pages)
    await browser.own()
    paths = [f"/data/visits/messages.{form}" for form in ("csv", "json")]
    whole = [(await browser.get(path)).body for path in paths]
    monkeypatch.setattr("curator.service.answering.reading.ROWS", 7)
    assert [(await browser.get(path)).body for path in paths] == whole


@awaited
async def test_an_export_ends_when_the_token_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut off, so that it does not look complete."""
    pages = Pages()
    pages.fill()
    monkeypatch.setattr("curator.service.answering.reading.ROWS", 2)
    browser = await browsing(pages)
    await browser.log_in("ada")
    whole = await browser.get("/data/visits/messages.json")
    assert len(whole.told) > 4
    asked, page = list[Any](), Near.page

    async def counted(near: Any, path: Any, after: int | None = None) -> Any:
        asked.append(after)
        if len(asked) == 2:
            pages.store.change(Revoked("ada"))
        return await page(near, path, after)

    monkeypatch.setattr(Near, "page", counted)
    cut = await browser.get("/data/visits/messages.json")
    assert len(asked) == 2
    assert len(cut.body) < len(whole.body)
    assert not cut.body.rstrip().endswith(b"]")
    assert (await browser.get("/data/visits/messages.json")).status == 303


@awaited
async def test_what_is_unchanged_is_not_sent_again() -> None:
    pages = Pages()
    browser = await browsing(pages)
    await browser.own()
    first = await browser.get("/data/visits/live")
    tag = {"if-none-match": first.headers["etag"]}
    assert (await browser.get("/data/visits/live", **tag)).status == 304
    pages.launch()
    assert (await browser.get("/data/visits/live", **tag)).status == 200


@awaited
async def test_a_data_set_without_a_worker_is_said_to_have_none() -> None:
    pages = Pages()
    pages.near["visits"].gone = NoWorkerError("visits is being opened", 3)
    browser = await browsing(pages)
    await browser.own()
    assert b"visits is being opened" in (await browser.get("/")).body
    got = await browser.get("/data/visits")
    assert (got.status, got.headers["retry-after"]) == (503, "3")


@awaited
async def test_the_protocol_is_not_on_the_address_of_the_pages(pages: Pages) -> None:
    browser = await browsing(pages)
    assert (await browser.get("/v1")).status == 404
    assert (await browser.get("/v1/owner/analysts")).status == 404
    browser = await browsing(pages, analysts_application)
    assert (await browser.get("/v1")).status == 200
    assert (await browser.get("/login")).status == 200
    await browser.own()
    got = await browser.get("/v1/roots/visits/page", **{"queryable-protocol": "1"})
    assert got.status == 401  # a cookie is no token


@awaited
async def test_tags_are_balanced(pages: Pages) -> None:
    from html.parser import HTMLParser

    class Checked(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag not in {"meta", "link", "input", "br"}:
                self.open.append(tag)

        def handle_startendtag(self, tag: str, attrs: Any) -> None:
            """It is closed at once."""

        def handle_endtag(self, tag: str) -> None:
            if tag != "option":
                while self.open[-1] == "option":
                    self.open.pop()
            assert self.open.pop() == tag

    browser = await browsing(pages)
    paths = ["/login", "/none", "/", "/data/visits"]
    await browser.own()
    for path in paths:
        checked = Checked()
        checked.feed((await browser.get(path)).body.decode())
        assert checked.open == [], path


def test_assets_load_nothing_from_elsewhere() -> None:
    for name, each in assets().items():
        text = each.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|eval|innerHTML", text), name


@pytest.mark.slow
def test_the_wheel_has_templates_and_assets(tmp_path: Path) -> None:
    root = Path(__file__).parents[5]
    program = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    with zipfile.ZipFile(tmp_path / built.stdout.split()[-1]) as wheel:
        names = set(wheel.namelist())
    there = root / "curator/service/pages"
    files = [each for part in ("assets", "templates") for each in (there / part).iterdir()]
    assert len(files) > 8
    assert {str(each.relative_to(root)) for each in files} <= names
