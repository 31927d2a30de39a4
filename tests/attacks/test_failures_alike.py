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
    Covariance,
    DiscoveredKeys,
    GroupBy,
    Laplace,
    Mean,
    Std,
    Sum,
    Table,
    Variance,
    column,
    when,
)
from mechanisms.tables.requests.request import Categories, Combinations
from queryable import MechanismFault, PureDP, Queryable, QueryError
from queryable.faults import touching_data
from queryable.statistics import IntegerStatistic
from tests.attacks.hostile_tables import FORMS as IN_MEMORY
from tests.engines import quietly
from tests.extreme_tables import FORMS
from tests.hostile_constants import Question, Questions
from tests.postgres import POSTGRES

ENGINES = [pytest.param(form, marks=POSTGRES) if "postgres" in form else form for form in FORMS]
UNITS = [None, pytest.param("person", marks=pytest.mark.slow)]


@cache
def tables(form: str, unit: str | None = None) -> dict[str, Table]:
    """All rows, all but the one without cells, none, and tables of one row."""
    rows, options = FORMS[form].rows, {"privacy_unit": unit, "max_rows": 2} if unit else {}
    chosen = {"all": rows, "all with cells": rows[:-1], "none": []}
    chosen |= {f"row {i}": rows[i : i + 1] for i in (0, 1, len(rows) - 1)}
    return {name: FORMS[form].table(some, seed=1, **options) for name, some in chosen.items()}


def evaluate(asked: Any, dataset: Any) -> None:
    """Evaluate a statistic, or find keys."""
    if not isinstance(asked, DiscoveredKeys):
        asked(dataset)
        return
    for batch in touching_data(lambda: list(asked.found(dataset))):
        batch.keys(np.arange(len(batch.counts)))


def outcome(asked: Any, dataset: Any) -> str:
    """What a launch would be answered. The check reads no rows."""
    with quietly():
        try:
            if isinstance(dataset, Table):
                dataset.check(asked)
            else:
                asked.check(dataset)
        except (KeyError, TypeError, ValueError):
            return "refused"
        except Exception as error:  # a launch is charged, and then fails
            return f"failed to check: {error}"
        try:
            evaluate(asked, dataset)
        except MechanismFault:
            return "failed"
    return "answered"


def outcomes(question: Question, form: str, unit: str | None, random: Random) -> set[str]:
    """Of tables with other rows, and of rows that a predicate selects."""
    opened = tables(form, unit)
    found = {outcome(question(None), opened[name]) for name in ("all", "none")}
    if found == {"refused"}:
        return found
    found.add(outcome(question(None), opened[random.choice(sorted(opened))]))
    for row in (-1, random.randrange(len(FORMS[form].rows))):
        found.add(outcome(question(column("row") == row), opened["all"]))
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
        assert found in ({"answered"}, {"refused"}), f"{found}: {question(None)!r} ({number})"
        seen.update(found)
    return seen


@pytest.mark.parametrize("form", ENGINES)
@pytest.mark.parametrize(
    ("unit", "questions"),
    [
        (None, range(4)),
        pytest.param(None, range(4, 500), marks=pytest.mark.slow),
        pytest.param("person", range(250), marks=pytest.mark.slow),
    ],
)
def test_no_row_decides_whether_a_question_fails(
    form: str, unit: str | None, questions: range
) -> None:
    """At 1b177ec five causes on DuckDB and one on Postgres let a row decide.

    What a check accepts is answered on every table, so nothing is charged and then failed.
    """
    seen = asked(form, questions, unit)
    assert seen["answered"] * 8 >= len(questions) - 8, seen


def _of(name: str, *given: Any, unit: Any = 1) -> list[Callable[[Table], IntegerStatistic]]:
    """Statistics of a column, the bounds and the unit."""
    return [
        lambda table, kind=kind: kind(name, *given, unit=unit, per=table.unit)
        for kind in (Sum, Mean, Variance, Std)
    ]


LATE = np.datetime64(2**63 - 1, "us"), np.datetime64("5881580-07-11")
"""Beyond the times, and beyond the dates, of DuckDB."""
CASES: dict[str, list[Callable[[Table], IntegerStatistic]]] = {
    **{f"{name}, 0 in 2^-33": _of(name, 0, 0, unit=Fraction(1, 2**33)) for name in ("i64", "b")},
    **{f"{name}, 0 in 10^-20": _of(name, 0, 0, unit="1e-20") for name in ("i8", "d12_2")},
    **{f"{name} in 10^310": _of(name, -1, 1, unit=10**310) for name in ("i64", "b", "d38_10")},
    "d12_2 up to 10^330": [lambda table: table.sum("d12_2", 0, 10**330)],
    "a day beyond the calendar": [
        lambda table: table.count(column("day").truncate("day") == LATE[1])
    ],
    "a time beyond the calendar": [
        lambda table: table.count(column("ts").cast("timestamp") >= LATE[0])
    ],
    "a wide number beside another": [lambda table: table.count(column("u128") < column("i8"))],
    "a wide number as a key": [lambda table: table.group_by({"u128": [0, 2**40]}).count()],
}
"""Questions that failed at 1b177ec if a row was selected, or if it held a large number."""


SECOND = {"i16": 2**15 - 1, "i32": 2**31 - 1, "i64": 2**63 - 1, "row": 1, "person": 0}
"""Cells of the second row."""
PARTS = [Categories(name, range(cell - 74, cell + 1)) for name, cell in SECOND.items()]
SHORT: dict[str, IntegerStatistic] = {
    "of two cells": Variance("b", 0, 1, unit="1e-6"),
    "of cells that are constants": Covariance(
        column("t").cast("date").quarter(), "i16", {"quarter of (t as date)": (0, 0), "i16": (0, 0)}
    ),
    "of places": GroupBy(Combinations(tuple(PARTS), tuple((i,) * 5 for i in range(75))), Count()),
}


@pytest.mark.parametrize("name", FORMS["ibis on sqlite"].columns)
def test_no_cell_that_is_chosen_fails(name: str) -> None:
    """SQLite stores texts of any bytes in columns of numbers, and gives them to no function.

    The error of such a function was taken for an interrupt.
    """
    chosen = when(column("row") >= 0).then(column(name)).otherwise(column(name))
    table = tables("ibis on sqlite")["all"]
    for of_cell in (
        lambda: chosen.cast("text").contains("x"),
        lambda: chosen.cast("integer") == 1,
        lambda: chosen.cast("number") > 1,
        lambda: chosen.cast("boolean") == True,  # noqa: E712
        lambda: chosen.lower().strip() == "x",
        lambda: chosen.like("_x"),
        lambda: chosen * 2 > 1,
        lambda: chosen.cast("date").year() == 2020,
        lambda: chosen == column(name),
    ):
        try:
            asked = Count(of_cell())
        except TypeError:  # no such predicate can be built
            continue
        assert outcome(asked, table) in ("answered", "refused"), asked


@POSTGRES
@pytest.mark.parametrize("case", SHORT)
def test_no_product_has_32_bits(case: str) -> None:
    """Postgres reads short digits as integers of 32 bits, and fails if their product is longer.

    At 1b177ec the first failed if a row was selected, and the last if the second row was.
    """
    found = {outcome(SHORT[case], table) for table in tables("ibis on postgres").values()}
    assert found == {"answered"}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("case", CASES)
def test_a_failure_says_nothing_about_a_record(case: str, unit: str | None) -> None:
    """The attack: a record is there if and only if a question fails that costs 3e-9."""
    for make in CASES[case]:
        seen = set()
        for name in ("all", "none", "row 0"):
            table = tables("csv", unit)[name]
            queryable, statistic = Queryable(FiltCon(PureDP("3e-9")), table), make(table)
            try:
                queryable.launch(Laplace(statistic, scale=max(statistic.l1, 1) * 10**9))
                seen.add("answered")
            except MechanismFault:
                seen.add("failed")
            except QueryError:
                assert queryable.privacy_loss() == PureDP(0)
                seen.add("refused")
        assert seen in ({"answered"}, {"refused"})


FAMILIES = {
    **dict.fromkeys(("double", "half", "long", "integer", "unsigned", "masked", "x"), "number"),
    **dict.fromkeys(("complex", "anything", "decimal", "wide", "sparse"), "number"),
    **dict.fromkeys(("moment", "second", "day", "year", "y"), "moment"),
    **{name: name for name in ("text", "bytes", "duration", "instant")},
    "truth": "boolean",
}
"""The families of constants for the columns of data in memory; `x` and `y` hold anything."""


@cache
def records(form: str, unit: str | None) -> Any:
    """The records of all rows."""
    return tables(form, unit)["all"].records()


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "questions", [range(20), pytest.param(range(20, 600), marks=pytest.mark.slow)]
)
def test_what_a_record_adds_is_known_of_every_answer(
    form: str, unit: str | None, questions: range
) -> None:
    """`Individual` computes it after the charge, by a statement of its own."""
    per, seen = tables(form, unit)["all"].unit, 0
    for number in questions:
        random = Random(f"{form} {unit} {number}")
        try:
            asked = Questions(random, FORMS[form].families, per).question()(None)
        except (TypeError, ValueError):
            continue
        if (
            getattr(asked, "by_record", False)
            and outcome(asked, tables(form, unit)["all"]) == "answered"
        ):
            asked.contributions(records(form, unit))
            seen += 1
    assert seen * 10 >= len(questions), seen


@pytest.mark.parametrize("form", IN_MEMORY)
@pytest.mark.parametrize(
    "questions", [range(5), pytest.param(range(5, 300), marks=pytest.mark.slow)]
)
def test_no_record_in_memory_decides_whether_a_question_fails(form: str, questions: range) -> None:
    """Of a list nothing is checked before the charge; then a question fails whatever is in it."""
    seen: Counter[str] = Counter()
    whole = IN_MEMORY[form]
    kept = {name: each for name, each in whole.columns.items() if name in FAMILIES}
    whole, families = attrs.evolve(whole, columns=kept), {name: FAMILIES[name] for name in kept}
    for number in questions:
        random = Random(f"{form} {number}")
        rows = [whole.row(random, 0.6) for _ in range(5)]
        try:
            statistic = Questions(random, families).question()(None)
        except (TypeError, ValueError):
            continue
        parts = [rows, [], *([row] for row in rows)]
        found = {outcome(statistic, whole.table(part)) for part in parts}
        assert len(found) == 1, f"{found}: {statistic!r} ({number})"
        seen.update(found)
    assert seen["answered"] * 4 >= len(questions), seen
