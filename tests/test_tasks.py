"""Everyday questions about data that no page uses: two lines each, as the recipes have them.

The answers have fixed random bits. `python -m benchmarks.tasks --runs 100` says how often each
interval holds with others.
"""

from pathlib import Path

import pytest

from benchmarks.tasks import flights, health
from benchmarks.tasks.__main__ import names
from benchmarks.tasks.task import Task, run

MODULES = {"health": health, "flights": flights}
TASKS = [task for module in MODULES.values() for task in module.TASKS]
PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"


def test_there_are_24() -> None:
    assert len({task.question for task in TASKS}) == len(TASKS) >= 24


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question)
def test_each_is_two_lines_of_a_recipe(task: Task) -> None:
    lines = task.lines.splitlines()
    assert len(lines) <= 2
    assert f"\n### {task.recipe}\n" in PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_each_is_right_within_its_interval(name: str) -> None:
    module = MODULES[name]
    frame = module.frame()
    for task, answer, exact, right in run(module.TASKS, names(module.START, frame, 1), frame):
        assert right, (task.question, answer, exact)
