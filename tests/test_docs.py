"""The code in the docs runs."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = [
    pytest.param(page, id=page.name)
    for page in sorted(DOCS.glob("*.md"))
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES)
def test_code_runs(page: Path) -> None:
    """The blocks of a page, one after another, in one namespace."""
    names = {"__name__": "__main__"}
    for source in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(source, str(page), "exec"), names)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_files_that_are_named_are_there(page: Path) -> None:
    """Modules, tests and what else has a folder in its name."""
    named = re.findall(r"`((?:\w+/)+[\w.]+\.\w+)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (DOCS.parent / path).exists()] == []


def test_the_guide_to_auditing_has_code() -> None:
    """Else nothing above would run."""
    assert any(page.values[0] == DOCS / "auditing.md" for page in PAGES)
