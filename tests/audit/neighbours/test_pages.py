"""Nothing is found in the demo, the notebooks and the recipes: each of their queryables is held."""

import io
import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest

from queryable import Queryable
from queryable.audit import NeighbourReport, keep_batches, on_neighbours
from queryable.errors import HandleError
from tests.test_recipes import BLOCK, seeded

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FEW = 4


@contextmanager
def opened() -> Iterator[list[Queryable]]:
    """The roots that are made while the block runs, with the batches that they are fed."""
    made: list[Queryable] = []
    was = Queryable._set

    def remembered(self: Queryable, root: Any) -> None:
        was(self, root)
        with suppress(HandleError):  # of another process
            keep_batches(self)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Queryable, "_set", remembered)
        yield made


def reports(run: Callable[[], Any], number: int) -> list[NeighbourReport]:
    """What is found for each root, of those that have their data still."""
    with opened() as made, redirect_stdout(io.StringIO()):
        run()
    found = []
    for root in made:
        with suppress(TypeError, HandleError, FileNotFoundError):  # closed, or its folder is gone
            found.append(on_neighbours(root, number))
    return found


def blocks(page: Path) -> None:
    names = {"__name__": "__main__"}
    for code, _ in BLOCK.findall(page.read_text(encoding="utf-8")):
        with seeded(code):
            exec(compile(code, str(page), "exec"), names)


def cells(notebook: Path) -> None:
    names = {"__name__": "__main__", "display": lambda *_: None}
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(re.sub(r"(?m)^%.*$", "", cell.source), str(notebook), "exec"), names)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


def test_nothing_is_found_in_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["demo"])
    [report] = reports(lambda: runpy.run_path(str(ROOT / "notebooks" / "demo.py")), 20)
    assert report.holds, report
    assert report.ratio == 1
    assert not report.unchecked
    assert report.renewed <= 1, report


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda each: each.stem)
def test_nothing_is_found_in_a_notebook(notebook: Path) -> None:
    for report in reports(lambda: cells(notebook), FEW):
        assert report.holds, report


@pytest.mark.slow
def test_nothing_is_found_in_the_recipes() -> None:
    found = reports(lambda: blocks(ROOT / "docs" / "recipes.md"), FEW)
    assert len(found) > 5
    for report in found:
        assert report.holds, report
        assert not report.unchecked, report
