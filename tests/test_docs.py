"""The code in pages and docstrings runs, and the site has every page.

`test_readme.py` runs the code of the README, `test_recipes.py` runs the recipes, and
`test_notebooks.py` runs the notebooks.
"""

import ast
import doctest
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from curator.leases import KEEPER
from curator.ledgers import SQLiteLedger

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^([ \t>]*)(```+|~~~+)[ \t]*([\w+-]*).*$", flags=re.MULTILINE)
SECTION = re.compile(r"^(?:Args|Attributes|Raises):\n((?:    .*\n?|\n)+)", flags=re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\S.*)", flags=re.MULTILINE)
PAGES = [*sorted(DOCS.glob("**/*.md")), *sorted(ROOT.glob("*.md"))]
ELSEWHERE = {"recipes.md", "asking.md", "opendp.md"}
"""`test_recipes.py`, `test_served_pages.py` and, where OpenDP is, its unit tests run them."""
WITH_CODE = [
    page
    for page in PAGES
    if DOCS in page.parents and page.name not in ELSEWHERE and BLOCK.search(page.read_text("utf-8"))
]
THEORY = sorted((DOCS / "theory").glob("**/*.md"))
CODE = re.compile(r"`[^`\n]*`")
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", flags=re.DOTALL)
MISREAD = re.compile(r"\\[^\w\s]|(?<![\w\s])_(?!\s)|<\S")
CITED = re.compile(r"docs/theory\.md,\s+\"?(.{60})", flags=re.DOTALL)
PLAIN = ("text", "console", "sh", "toml", "json")
PACKAGES = ("queryable", "mechanisms", "composition", "curator")
SITE = (ROOT / ".mkdocs.yml").read_text("utf-8")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_code_runs(page: Path) -> None:
    """The code blocks of a page run one after another in one namespace."""
    names, before = {"__name__": "__main__"}, KEEPER.held()
    for source in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(source, str(page), "exec"), names)
    mine = [each for each in KEEPER.held() if not any(each is other for other in before)]
    assert [each.root for each in mine if not each.released and gone(each.ledger)] == []


def gone(ledger: Any) -> bool:
    """Whether the file of an open ledger is no longer there: the next renewal ends the process."""
    return isinstance(ledger, SQLiteLedger) and not Path(ledger.path).exists()


def unrun(text: str) -> list[str]:
    """Return blocks that may be code but are not run: without a language, or indented."""
    opened = FENCE.findall(text)[::2]
    return [
        f"{indent}{fence}{language}"
        for indent, fence, language in opened
        if language not in PLAIN and (language != "python" or indent or fence != "```")
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_run_or_is_no_code(page: Path) -> None:
    assert unrun(page.read_text(encoding="utf-8")) == []


def test_a_block_that_is_not_run_is_noticed() -> None:
    for fence in ("```", "```py", "  ```python", "~~~python", "```pycon"):
        assert unrun(f"text\n{fence}\n1 / 0\n{fence[:-6] or '```'}\n")
    assert unrun("```python\n1\n```\n\n```text\nno code\n```\n") == []


def modules() -> list[str]:
    """Return every module that has an example in a docstring."""
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("module", modules())
def test_examples_in_docstrings_run(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed


def test_there_are_examples() -> None:
    """Otherwise the tests above would run no example."""
    assert len(modules()) >= 4
    assert {DOCS / "auditing.md", DOCS / "tables" / "files.md"} <= set(WITH_CODE)


def unnamed(docstring: str) -> list[str]:
    """Return entries of `Args`, `Attributes` and `Raises` that do not begin with `name:`."""
    entries = [line for section in SECTION.findall(docstring) for line in ENTRY.findall(section)]
    return [entry for entry in entries if not re.match(r"\*{0,2}[\w., ]+:( |$)", entry)]


def test_arguments_in_docstrings_have_names() -> None:
    """Otherwise the generator warns, and the strict build of the site fails."""
    found = [
        f"{name(path)}: {entry}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module)
        for entry in unnamed(ast.get_docstring(node) or "")
    ]
    assert found == []


def test_an_argument_without_a_name_is_noticed() -> None:
    docstring = "Add.\n\nArgs:\n    k: how many.\n        At least 1.\n    Others as `f`.\n"
    assert unnamed(docstring) == ["Others as `f`."]


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=name)
def test_files_that_are_named_are_there(page: Path) -> None:
    """Modules, tests and other files that are named with their folder."""
    named = re.findall(r"`((?:\w+/)+[\w.]+\.\w+)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def misread(text: str) -> list[str]:
    """Return formulas that GitHub may show differently from the site.

    Markdown may be read before a formula: a backslash before punctuation is then dropped, and an
    underscore after punctuation can start emphasis. With a space after it (`}_ i`) it cannot. The
    site's table of contents shows a heading's formula as TeX.
    """
    text = CODE.sub("", text)
    outside = FORMULA.sub("", text)
    cells = (cell for line in text.splitlines() if line[:1] == "|" for cell in line.split("|"))
    return [
        *(each for each in FORMULA.findall(text) if MISREAD.search(each)),
        *(each for each in FORMULA.findall(text) if each.count("{") != each.count("}")),
        *(line for line in outside.splitlines() if "$" in line),
        *(cell for cell in cells if cell.count("$") % 2),
        *(line for line in text.splitlines() if line[:1] == "#" and "$" in line),
    ]


@pytest.mark.parametrize("page", [DOCS / "theory.md", *THEORY], ids=name)
def test_formulas_read_alike_on_github(page: Path) -> None:
    assert misread(page.read_text(encoding="utf-8")) == []


def test_a_formula_that_github_misreads_is_noticed() -> None:
    for formula in (r"$\{x\}$", r"$\mathbb{E}_P$", "$a<b$", "$a", "$e^{x$", "| $|x|$ |", "# $x$"):
        assert misread(f"text {formula} text" if formula[0] == "$" else formula)
    assert misread("$\\mathbb{E}_ P x_i$ and\n\n$$\na < b\n$$\n\n| $a$ | `$b` |\n") == []


def test_the_index_of_the_theory_has_every_title_that_is_cited() -> None:
    """`docs/theory.md, mixed children` in a docstring is a row of the table in that page."""
    index = (DOCS / "theory.md").read_text(encoding="utf-8")
    titles = re.findall(r"^\| [\d.]+ \| \[(.*?)\]", index, flags=re.MULTILINE)
    cited = {
        " ".join(each.split()).lower()
        for package in (*PACKAGES, "tests")
        for path in (ROOT / package).rglob("*.py")
        for each in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) >= 10
    assert [each for each in cited if not each.startswith(tuple(map(str.lower, titles)))] == []


def test_the_site_has_every_page() -> None:
    found = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")}
    found |= {f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")}
    found |= {"index.md", "changelog.md", "contributing.md", "security.md"}
    assert set(re.findall(r": ([\w/]+\.md)$", SITE, flags=re.MULTILINE)) == found


def test_the_site_fetches_nothing() -> None:
    """No fonts, scripts or styles of other sites; `offline` would load one from a CDN."""
    assert "font: false" in SITE
    assert not re.search(r"https?://|^ *- (offline|social|privacy)\b", SITE, flags=re.MULTILINE)
    assert not re.search(r"https?:|@import", (DOCS / "style.css").read_text("utf-8"))
