"""The comparison with other libraries: its table is what was measured, and our script runs."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from benchmarks.peers import data, table
from benchmarks.peers.lines import lines

FOLDER = Path(table.__file__).parent
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
OURS = RESULTS["ours"]["tasks"]


def test_the_page_has_the_results() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.with_results(page) == page, "run `python -m benchmarks.peers.table`"


@pytest.mark.parametrize("name", table.LIBRARIES)
def test_results_are_of_the_scripts_as_they_are(name: str) -> None:
    counted = lines(FOLDER / f"with_{name}.py")
    tasks = RESULTS[name]["tasks"]
    assert set(tasks) == set(table.QUESTIONS)
    for task, row in tasks.items():
        assert "impossible" in row or row["lines"] == counted[task], task


def test_our_answers_take_two_lines_and_one_try() -> None:
    for task, row in OURS.items():
        assert "impossible" not in row, task
        assert row["lines"] <= 2, task
        assert row["tries"] == 1, task


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, object]:
    folder = tmp_path_factory.mktemp("peers")
    data.write(folder, data.rows())
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(FOLDER)
    with patch.context():
        return importlib.import_module("with_ours").opened(folder)  # type: ignore[no-any-return]


@pytest.mark.parametrize("task", table.QUESTIONS)
def test_our_script_runs(task: str, session: tuple[object, object]) -> None:
    answer = getattr(sys.modules["with_ours"], task)(*session)
    assert str(answer)
