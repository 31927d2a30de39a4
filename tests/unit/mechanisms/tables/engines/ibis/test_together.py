"""Questions that are added up together give what each gives on its own."""

import random
from typing import Any

import attrs
import pytest

from mechanisms import Count, GroupBy, Histogram, Mean, Sum, Table, Variance, column
from mechanisms.tables.engines.ibis import engine as ibis
from mechanisms.tables.engines.ibis.databases import DATABASES
from mechanisms.tables.engines.sql.statements import Plan
from mechanisms.tables.engines.sql.together import scans
from queryable.statistics import IntegerStatistic
from tests.engines import ENGINES, mostly, opened
from tests.unit.mechanisms.tables.engines.ibis.test_kept import (
    ROWS,
    TYPES,
    engine_of,
    fresh,
    statistics,
)


def many(per: Any) -> list[IntegerStatistic]:
    """Of equal and different groups, computed columns, large numbers, and the same twice."""
    x, y = column("x"), column("y")
    return [
        *(Count(x > i, per=per) for i in range(5)),
        Count(per=per),
        Count(x > 1, per=per),
        Mean("x", 0, 4, y < 2, per=per),
        Variance("x", -(2**30), 2**30, per=per),
        Sum(x * 2 + y, 0, 9, unit="0.5", per=per),
        Sum(x * 3, 0, 9, (x + 1) * 2 == 4, unit="0.5", per=per),
        Histogram("g", ["a", "b"], per=per),
        Histogram("g", ["a", "b"], x > 2, per=per),
        GroupBy({"g": ["a", "b"]}, Mean("x", 0, 4, x != 3, per=per)),
        Histogram("x", bins=[0, 2, 5], per=per),
    ]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        pytest.param("ibis on duckdb", 7, marks=pytest.mark.slow),
        pytest.param("ibis on sqlite", 7, marks=pytest.mark.slow),
        *(
            pytest.param(*each.values, 300, marks=each.marks)
            for each in mostly("ibis on sqlite", among=ENGINES[1:])
        ),
    ],
)
def test_together_is_as_one_by_one(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, with and without a unit, in one statement or several.

    How requests are divided does not depend on the database.
    """
    for each, database in list(DATABASES.items()):
        monkeypatch.setitem(DATABASES, each, attrs.evolve(database, most_sums=most))
    table = fresh(name)
    asked = [*many(table.unit), *statistics(table.unit)]
    rows = opened(name, TYPES, ROWS)
    for each, questions in ((table, asked), (rows, many(None))):
        random.Random(len(name)).shuffle(questions)
        plans = [each._plan(question.request) for question in questions]  # type: ignore[attr-defined]
        found = engine_of(each).run_together(plans)
        alone = [engine_of(each).run(plan) for plan in plans]
        for plan, together, single in zip(plans, found, alone, strict=True):
            assert nonzero(together, plan) == nonzero(single, plan)


def nonzero(rows: Any, plan: Any) -> list[tuple[int, ...]]:
    """The groups with a sum that is not zero: another question's rows may make a group."""
    return sorted(row for row in rows if any(row[plan.plan.groups :]))


def test_parts_of_requests() -> None:
    table = Table({"p": [1], "x": [1]}, privacy_unit="p", max_rows=2)
    per = table.unit
    counts = [Count(column("x") > i, per=per).request for i in range(5)]
    groups = [Histogram("x", [1, 2, 3], per=per).request, Histogram("x", [1, 2, 3]).request]
    asked = [*counts, *groups, counts[0]]
    plans = [table._engine.plan(each, table._choice) for each in asked]
    assert [scan.places for scan in scans(plans, 4)[1]] == [(0, 1, 2, 3), (4, 7)]
    assert scans(plans, 1)[1] == []


def test_a_statement_that_is_too_large_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question is then on its own."""
    table = fresh("ibis on duckdb")
    engine, written = engine_of(table), engine_of(table)._written
    plans = [table._plan(Count(column("x") > i, per=table.unit).request) for i in range(3)]

    def refuses(plan: Plan) -> Any:
        if len(plan.limbs) > 1:
            raise ValueError
        return written(plan)

    expected = engine.run_together(plans)
    monkeypatch.setattr(engine, "_written", refuses)
    assert engine.run_together(plans) == expected
    assert engine.run_together([]) == []


def test_a_table_prepares_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no question reads rows again."""
    table, read = fresh("ibis on sqlite"), []
    asked = many(table.unit)
    expected = [each.value(fresh("ibis on sqlite")) for each in asked[:3]]
    original = ibis.rows_of
    monkeypatch.setattr(ibis, "rows_of", lambda *given: read.append(1) or original(*given))
    table.prepare(asked)
    assert len(read) == 3  # without groups, by g, and by intervals of x
    assert [each.value(table) for each in asked[:3]] == expected
    assert len(read) == 3
