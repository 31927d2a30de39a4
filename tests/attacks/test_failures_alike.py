"""Whether a question fails never depends on a row.

An engine converts a constant, or multiplies two, when the first row is evaluated, and converts a
cell when the row is read. If one of these can fail, `Failed` says whether a row satisfies `where`,
and costs next to nothing: the scale of the noise is the analyst's. So a question is refused by
public facts, or it is answered, whichever rows there are: all, none, or one with extreme cells.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    DiscoveredKeys,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    Std,
    Sum,
    Table,
    Variance,
    column,
    when,
)
from mechanisms.tables.column_types import constant
from queryable import MechanismFault, PureDP, Queryable, QueryError, ZCDP
from queryable.faults import touching_data
from queryable.statistics import IntegerStatistic
from tests.attacks.hostile_tables import FORMS as IN_MEMORY
from tests.engines import quietly
from tests.extreme_tables import FORMS
from tests.hostile_constants import Question, Questions
from tests.postgres import POSTGRES

ROW = column("row")
ENGINES = [
    pytest.param(form, marks=POSTGRES) if "postgres" in form else form for form in FORMS
]


@cache
def tables(form: str, unit: str | None = None) -> dict[str, Table]:
    """All rows, all but the one without cells, none, and tables of one row."""
    rows, options = FORMS[form].rows, {"privacy_unit": unit, "max_rows": 2} if unit else {}
    chosen = {"all": rows, "all with cells": rows[:-1], "none": []}
    chosen |= {f"row {i}": rows[i : i + 1] for i in (0, 1, len(rows) - 1)}
    return {name: FORMS[form].table(some, seed=1, **options) for name, some in chosen.items()}


def outcome(statistic: IntegerStatistic, table: Table) -> str:
    """What an analyst sees: the check reads no rows."""
    with quietly():
        try:
            table.check(statistic)
        except (KeyError, TypeError, ValueError):
            return "refused"
        try:
            statistic(table)
        except MechanismFault:
            return "failed"
    return "answered"


def outcomes(question: Question, form: str, unit: str | None, random: Random) -> set[str]:
    """Of all tables, and of some rows that a predicate selects."""
    opened = tables(form, unit)
    found = {outcome(question(None), opened[name]) for name in ("all", "none")}
    if found == {"refused"}:
        return found
    found.add(outcome(question(None), opened[random.choice(sorted(opened))]))
    for row in (-1, random.randrange(len(FORMS[form].rows))):
        found.add(outcome(question(ROW == row), opened["all"]))
    return found


def asked(form: str, questions: Iterable[int], unit: str | None = None) -> Counter[str]:
    """How often random questions were answered and refused."""
    seen: Counter[str] = Counter()
    per = tables(form, unit)["none"].unit
    for number in questions:
        random = Random(f"{form} {unit} {number}")
        try:
            question = Questions(random, FORMS[form].families, per).question()
        except (TypeError, ValueError):  # no such statistic can be built
            continue
        found = outcomes(question, form, unit, random)
        assert len(found) == 1, f"{found}: {question(None)!r} of question {number}"
        assert found != {"failed"}, f"refuse {question(None)!r} of question {number}"
        seen[found.pop()] += 1
    return seen


@pytest.mark.parametrize("form", ENGINES)
@pytest.mark.parametrize(
    ("unit", "first", "number"),
    [
        (None, 0, 15),
        pytest.param(None, 15, 800, marks=pytest.mark.slow),
        pytest.param("person", 0, 300, marks=pytest.mark.slow),
    ],
)
def test_no_row_decides_whether_a_question_fails(
    form: str, unit: str | None, first: int, number: int
) -> None:
    """At 1b177ec eight kinds of rows decided, and some questions were charged and always failed."""
    seen = asked(form, range(first, first + number), unit)
    assert seen["answered"] > number / 5
