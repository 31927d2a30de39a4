"""Constants that are equal in Python and are not the same question."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    DiscoveredKeys,
    Estimate,
    Frugal,
    GroupBy,
    Histogram,
    Keys,
    Quantile,
    Quantiles,
    Top,
    column,
    when,
)
from mechanisms.tables.expressions.scalars import alike
from queryable import ZCDP, Queryable

ONES = (1, 1.0, True)
ZEROS = (0, 0.0, -0.0, False)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
TIMES = (
    date(2024, 1, 1),
    np.datetime64("2024-01-01"),
    np.datetime64("2024-01-01T00:00:00"),
    NOON,
    NOON.astimezone(timezone(timedelta(hours=1))),
)
C = column("c")
CHOSEN = column("d").is_null()
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "==": lambda one: Count(one == C),
    "<=": lambda one: Count(one >= C),
    "is_in": lambda one: Count(C.is_in(["x", one])),
    "in not, and": lambda one: Count(~(one == C) & CHOSEN),
    "literal": lambda one: Count(when(CHOSEN).then(one).otherwise(C) == 7),
    "keys": lambda one: DiscoveredKeys(when(CHOSEN).then(one).otherwise(C).cast("text")),
    "keys where": lambda one: DiscoveredKeys("d", where=one == C),
    "group_by": lambda one: GroupBy({"c": [one, 7]}, Count()),
    "Keys": lambda one: GroupBy(Keys("c", [one]), Count()),
    "Keys.of": lambda one: GroupBy(Keys.of({"c": [one], "d": ["x"]}, "c", "d"), Count()),
    "bins": lambda one: GroupBy(Keys.bins("c", [-9, one, 9]), Count()),
    "Histogram": lambda one: Histogram("c", [one]),
    "Histogram of bins": lambda one: Histogram("c", bins=[-9, one, 9]),
    "Quantile": lambda one: Quantile("c", "1/2", [one, 7]),
    "Quantiles": lambda one: Quantiles("c", ["1/2"], [one, 7]),
    "Top": lambda one: Top("c", 1, [one, 7]),
}
ACCEPTED = {"bins", "Histogram of bins", "Keys.of"}
"""Edges of intervals are no booleans beside numbers, and a public table gives cells of one type."""


def asked(make: Callable[[Any], Any], constants: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The questions that can be asked, each with its constant."""
    found = []
    for each in constants:
        try:
            found.append((each, make(each)))
        except (TypeError, ValueError):
            continue
    return found


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("constants", [ONES, ZEROS], ids=["ones", "zeros"])
def test_equal_constants_are_other_questions(name: str, constants: tuple[Any, ...]) -> None:
    """So no dictionary of questions has one place for both; the same constant is the same."""
    make = QUESTIONS[name]
    known = asked(make, constants)
    assert len(known) == len(constants) or name in ACCEPTED
    assert len(known) > 1
    for (_, one), (_, other) in combinations(known, 2):
        assert one != other
    assert len({question for _, question in known}) == len(known)
    for each, question in known:
        assert make(each) == question
        assert hash(make(each)) == hash(question)


def test_alike() -> None:
    """Of every two constants only the same ones, alone and in tuples."""
    for constants in (ONES, ZEROS, TIMES):
        for (i, one), (j, other) in product(enumerate(constants), repeat=2):
            assert (alike(one) == alike(other)) == (i == j)
            assert (alike((one, "x")) == alike((other, "x"))) == (i == j)
            assert (alike(((">=", one),)) == alike(((">=", other),))) == (i == j)
    assert alike(tuple(range(9))) == alike(tuple(range(9)))
    assert alike((1, 2)) != alike((True, 2))
    assert alike(()) == alike(())


def test_a_frugal_person_does_not_answer_one_question_by_another() -> None:
    """Cells that are 1 are written `1`, and those that are True are not."""
    data = {"c": np.arange(300), "d": np.arange(300)}
    root = Queryable(FiltCon(ZCDP(1000)), data)
    frugal = root(Frugal() @ FiltCon(ZCDP(900)))
    answers = []
    for one in (1, True):
        written = when(column("d") >= 0).then(one).otherwise(None).cast("text")
        answers.append(frugal(Estimate(Count(written == "1"), within=3)).value)
        assert frugal.privacy_loss() != ZCDP(0)
    assert answers[0] > 250
    assert answers[1] < 50
