"""Names of data sets, analysts, columns and whatever else others wrote are text, and no markup."""

import json
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator import commands
from curator.reports.pages import FORMS, carried, page
from curator.reports.questions import questions
from curator.reports.registry import fields_of
from curator.reports.reviewing import document_of
from curator.settings.configuration import read_configuration
from queryable import ZCDP
from tests.reporting import NOW, clinic, record

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "a|b",
    "`code` *bold* [link](javascript:alert(1)) ![x](http://example.org/x)",
    "&lt;b&gt; &#60;",
    "```",
    "# no title",
    "- no list",
    "http://example.org",
)
HIDDEN = (
    "line\n\n# title\n\n```json\n{}\n```\n",
    "\u202egnp.exe",
    "\ud800",
    "nul\0",
    "\x1b[31mred",
)
"""Texts that cannot be names, and may stand in facts that another version wrote."""
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "ul", "li"),
    *("small", "table", "thead", "tbody", "tr", "th", "td", "script"),
}


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str, str | None]] = set()
        self.others: list[str] = []
        self.cells: list[str] = []
        self._cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {(tag, name, value) for name, value in attrs}
        self._cell = tag == "td"
        self.cells += [""] * self._cell

    def handle_endtag(self, tag: str) -> None:
        self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


def replaced(value: Any, new: Callable[[str], str]) -> Any:
    """JSON with other texts in the place of names and values; keys of data sets too."""
    if isinstance(value, dict):
        return {name: replaced(each, new) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(each, new) for each in value]
    return new(value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A curator whose columns, units, roots, checks and words of the owner are hostile."""
    folder = tmp_path_factory.mktemp("hostile") / "clinic"
    stated = clinic(folder, rows=20)
    for name in HOSTILE:
        root = curator.open(
            folder / "ledger.db", FiltCon(ZCDP(1)), {name: [1, 2]}, name=name,
            key=str(folder / "noise.key"),
        )  # fmt: skip
        curator.release(root)
        record(folder, name, name, result=name, **{name: 1})
    column = "<script>alert(1)</script>"
    (folder / "units.csv").write_text(f"{column},age\n1,2\n")
    stated.write_text(
        stated.read_text().replace("A clinic", HOSTILE[1].replace('"', '\\"'))
        + '[datasets.units]\nsource = "units.csv"\n'
        + f'privacy_unit = "{column}"\nmax_rows = 1\nbudget = {{ zcdp = 1 }}\n'
        + f'types = {{ "{column}" = "INTEGER" }}\n'
    )
    units, table = curator.open_configured(stated, "units")
    curator.release(table)
    units.close()
    return stated


@pytest.fixture(scope="module")
def documents(stated: Path) -> list[Mapping[str, Any]]:
    """The review of this curator, and others with each hostile text as the value of all facts."""
    real = document_of(read_configuration(stated), NOW)
    facts = json.loads(json.dumps(document_of(read_configuration(stated), NOW)["facts"]))
    found = [real]
    for text in (*HOSTILE, *HIDDEN):
        wrong = replaced(facts, lambda _, text=text: text)  # type: ignore[misc]
        wrong["data_sets"] = {
            f"{text}{n}": each for n, each in enumerate([*wrong["data_sets"].values()][:2])
        }
        found.append(
            {
                **real,
                "facts": wrong,
                "questions": [
                    {name: getattr(each, name) for name in type(each).__slots__ if name[0] != "_"}
                    for each in questions(wrong)
                ],
                "registry": {
                    name: [
                        {"field": each.field, "value": each.value, "source": each.source}
                        for each in fields_of(wrong, name)
                    ]
                    for name in wrong["data_sets"]
                },
                "heads": {text: {"event": 1, "hash": text}},
            }
        )
    return found


def test_the_hostile_names_are_in_the_review(documents: list[Mapping[str, Any]]) -> None:
    """Otherwise the tests below would show nothing."""
    names = set(documents[0]["facts"]["data_sets"])
    assert set(HOSTILE) <= names
    assert documents[0]["facts"]["owner"]["data_curator"] == HOSTILE[1]
    assert documents[0]["facts"]["data_sets"]["units"]["unit_column"] == HOSTILE[0]


def test_html_has_no_markup_of_names(documents: list[Mapping[str, Any]]) -> None:
    honest = Seen(page(documents[0], "html")).attributes
    for document in documents:
        text = page(document, "html")
        seen = Seen(text)
        assert set(seen.tags) <= TAGS
        assert seen.attributes == honest
        assert seen.others == []
        assert seen.tags.count("script") == 1
        assert text.isprintable() or set(text) - {"\n"} == {
            each for each in set(text) - {"\n"} if each.isprintable()
        }
    attributes = {(tag, name) for tag, name, _ in honest}
    assert attributes == {
        *(("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content")),
        *(("th", "scope"), ("script", "type"), ("script", "id")),
    }


def test_html_shows_names_as_they_are(documents: list[Mapping[str, Any]]) -> None:
    cells = Seen(page(documents[0], "html")).cells
    assert set(HOSTILE) <= set(cells)


def test_markdown_has_no_markup_of_names(documents: list[Mapping[str, Any]]) -> None:
    """Each page has the blocks of one with plain names, and no link, picture, code or HTML."""
    reader = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    for document in documents[1:]:
        plain = json.loads(
            json.dumps(document).replace(json.dumps(next(iter(document["heads"])))[1:-1], "x")
        )
        tokens = reader.parse(page(document, "markdown"))
        assert [each.type for each in tokens] == [
            each.type for each in reader.parse(page(plain, "markdown"))
        ]
        inner = {each.type for token in tokens for each in token.children or ()}
        assert inner <= {"text", "text_special"}
        assert [each.info for each in tokens if each.type in {"fence", "code_block"}] == ["json"]
        assert "html_block" not in {each.type for each in tokens}


@pytest.mark.parametrize("form", FORMS)
def test_a_page_with_hostile_names_carries_its_document(
    documents: list[Mapping[str, Any]], form: str
) -> None:
    for document in documents:
        text = page(document, form)
        assert text.encode("utf-8")
        assert json.dumps(carried(text)) == json.dumps(
            json.loads(json.dumps(document, sort_keys=True))
        )


def test_the_command_writes_them(stated: Path, tmp_path: Path) -> None:
    for suffix in ("md", "html", "json"):
        out = tmp_path / f"review.{suffix}"
        commands.report(str(stated), out=str(out))
        assert carried(out.read_text(encoding="utf-8"))
