"""The recipes run, and print what the page shows.

`python tests/test_recipes.py` (`make recipes`) runs the page and saves what it prints.

The blocks of `docs/recipes.md` run one after another in an empty folder, in one namespace. Each
block draws its random bits from a stream that its own text seeds, so what it prints is the same in
every run and does not depend on the recipes before it. The text block below a block of code is what
the code prints.
"""

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

from queryable.randomness import coins
from queryable.randomness.coins import SYSTEM, SeededCoins

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "recipes.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


@contextmanager
def seeded(text: str) -> Iterator[None]:
    """Take the bits of `SystemCoins` from a stream that depends on `text` only."""
    fixed = SeededCoins(int.from_bytes(sha256(text.encode()).digest()))
    SYSTEM._pools.forget()
    with (
        patch.object(coins, "random_word", lambda: fixed.bits(64)),
        patch.object(coins, "random_bytes", fixed.bytes),
    ):
        yield
    SYSTEM._pools.forget()


def printed(page: str) -> list[str]:
    """Run the blocks of a page, and return what each prints."""
    names, found = {"__name__": "__main__"}, []
    for code, _ in BLOCK.findall(page):
        text = io.StringIO()
        with redirect_stdout(text), seeded(code):
            exec(compile(code, str(PAGE), "exec"), names)
        found.append(text.getvalue())
    return found


def with_outputs(page: str) -> str:
    """The page with what its blocks print now."""
    outputs = iter(printed(page))

    def shown(found: re.Match[str]) -> str:
        output = next(outputs)
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return BLOCK.sub(shown, page)


def test_recipes_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    assert with_outputs(page) == page, "run `make recipes`"


def test_a_stale_output_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "```python\nprint(2)\n```\n\n```text\n3\n```\n"
    assert with_outputs(page) == page.replace("3", "2")


def test_equal_blocks_draw_equal_bits() -> None:
    page = "```python\nfrom queryable import SystemCoins\n\nprint(SystemCoins().bits(64))\n```\n"
    first, second = printed(page + page)
    assert first == second


def test_there_are_forty_questions_with_code() -> None:
    questions = QUESTION.findall(PAGE.read_text(encoding="utf-8"))
    assert [title for title, text in questions if "```python\n" not in text] == []
    assert len(questions) >= 40


if __name__ == "__main__":
    warnings.simplefilter("error")
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
