"""A question, the lines that an analyst writes for it, and its exact answer."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from queryable.answers.estimates import LabelledEstimate


@attrs.frozen
class Task:
    """A question about one data set.

    Attributes:
        question: in words.
        lines: what an analyst writes; the last line is an expression, the answer.
        exact: the exact answer, shaped as the estimate, of the frame of the data.
        recipe: the heading of the recipe that teaches the lines.
        seen: the values that should be in the interval, if the answer is no estimate: its ends.
    """

    question: str
    lines: str
    exact: Callable[[Any], Any]
    recipe: str
    seen: Callable[[Any], tuple[Any, Any]] | None = None

    def answer(self, names: dict[str, Any]) -> Any:
        """What the lines answer. They may define names for later tasks."""
        *first, last = ast.parse(self.lines).body
        assert isinstance(last, ast.Expr), self.lines
        exec(compile(ast.Module(first, []), "<task>", "exec"), names)
        return eval(compile(ast.Expression(last.value), "<task>", "eval"), names)

    def holds(self, answer: Any, exact: Any) -> bool:
        """Whether the exact answer is within the interval, for all entries at once."""
        if self.seen is not None:
            low, high = self.seen(answer)
        else:
            assert isinstance(answer, LabelledEstimate), answer
            low, high = answer.interval(simultaneous=bool(answer.axes))
        slack = 1e-9 * np.abs(np.asarray(exact, float))  # of exact answers in floats
        low, high = np.asarray(low, float) - slack, np.asarray(high, float) + slack
        return bool(np.all((low <= exact) & (exact <= high)))


def run(
    tasks: list[Task], names: Mapping[str, Any], frame: Any
) -> list[tuple[Task, Any, Any, bool]]:
    """Each task, its answer, the exact answer, and whether the interval held."""
    space, found = dict(names), []
    for task in tasks:
        answer, exact = task.answer(space), task.exact(frame)
        found.append((task, answer, exact, task.holds(answer, exact)))
    return found
