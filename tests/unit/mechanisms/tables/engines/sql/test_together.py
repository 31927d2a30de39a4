"""Requests that share a scan of their rows get what each of them gets alone."""

from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Count, Histogram, Mean, Sum, Table, Variance, column
from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.duckdb.joins import ViewRows
from mechanisms.tables.engines.sql import together
from mechanisms.tables.engines.sql.statements import Plan
from mechanisms.tables.requests.request import Request, placed_sums
from tests.attacks.test_table_neighbours import some_unit
from tests.datasets import FILES, held, kinds_of, opened
from tests.messy_tables import some_rows, some_types
from tests.random_statistics import Case, Maker

SOURCES = [*FILES, "table on arrow", "table on pandas"]


def counting(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that are run from now on."""
    ran: list[Plan] = []
    real = DuckDB.run

    def run(self: DuckDB, plan: Plan) -> list[tuple[int, ...]]:
        ran.append(plan)
        return real(self, plan)

    monkeypatch.setattr(DuckDB, "run", run)
    return ran


def some_cases(maker: Maker) -> list[Case]:
    """Statistics, some of them in the same groups."""
    cases = [maker.case() for _ in range(maker.random.randint(2, 12))]
    shared = maker.keys()
    return [
        attrs.evolve(case, by=shared)
        if case.inner.groupable and maker.random.random() < 0.4
        else case
        for case in cases
    ]


def differing(form: str, seed: object) -> tuple[int, int, list[Any]]:
    """How many random requests were asked, in how many statements, and those that differ."""
    random = Random(f"{form} {seed} together")
    per = some_unit(random) if random.random() < 0.6 else None
    types = some_types(random, kinds_of(form), unit=per is not None)
    options: dict[str, Any] = {}
    if per is not None:
        keep = random.choice([None, None, *types])
        options = {"privacy_unit": "person", "max_rows": 1, "seed": 5, "keep": keep}
    rows = [held(form, row) for row in some_rows(random, types, 40)]
    maker = Maker(random, types, per)
    with opened(form, types, rows, **options) as table:
        requests: list[Request] = []
        plans = []
        for case in some_cases(maker):
            request = case.statistic().request
            try:
                plans.append(table._plan(request))
            except (TypeError, KeyError):
                continue
            requests.append(request)
        with pytest.MonkeyPatch.context() as patch:
            ran = counting(table, patch)
            found = table._engine.run_together(plans)
            statements = len(ran)
        bad = []
        for request, plan, rows_found in zip(requests, plans, found, strict=True):
            alone = placed_sums(request, table._engine.run(plan))
            if not np.array_equal(placed_sums(request, rows_found), alone):
                bad.append((form, seed, request))
    return len(requests), statements, bad


@pytest.mark.parametrize("form", SOURCES)
def test_random_requests_together(form: str) -> None:
    """Of several sources, rows and units, in groups and not: the same sums, in fewer statements."""
    results = [differing(form, seed) for seed in range(3)]
    assert not [each for *_, bad in results for each in bad]
    requests, statements = (sum(each[i] for each in results) for i in (0, 1))
    assert statements < requests


@pytest.mark.slow
@pytest.mark.parametrize("form", SOURCES)
def test_many_random_requests_together(form: str) -> None:
    """As above, with more seeds."""
    assert not [each for seed in range(60) for each in differing(form, ("slow", seed))[2]]


def people() -> Table:
    """A table of 30 people."""
    rng = np.random.default_rng(1)
    cells = {"who": np.arange(300) % 30, "x": rng.integers(0, 9, 300), "y": rng.random(300)}
    return Table(cells, privacy_unit="who", max_rows=3, seed=1)


def test_counts_of_the_same_rows_are_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also sums, means and variances; histograms of the same keys are another statement."""
    table = people()
    per, x = table.unit, column("x")
    asked = [Count(x >= i, per=per) for i in range(9)]
    asked += [Sum("x", 0, 5, x != 2, per=per), Mean("y", 0, 1, unit="0.01", per=per)]
    asked += [Variance("x", 0, 8, per=per)]
    asked += [Histogram("x", range(9), x < i, per=per) for i in range(4)]
    plans = [table._plan(each.request) for each in asked]
    ran = counting(table, monkeypatch)
    found = table._engine.run_together(plans)
    assert len(ran) == 2
    for statistic, rows in zip(asked, found, strict=True):
        total = placed_sums(statistic.request, rows)
        assert np.array_equal(total, table.totals(statistic.request)), statistic
    assert len(ran) == 2 + len(asked)


def test_very_many_requests_are_several_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement has at most 100 requests, and fewer if they have many groups."""
    table = people()
    per, x = table.unit, column("x")
    plans = [table._plan(Count(x >= i, per=per).request) for i in range(250)]
    ran = counting(table, monkeypatch)
    assert [rows for [rows] in table._engine.run_together(plans)][8:11] == [
        table._engine.run(plan)[0] for plan in plans[8:11]
    ]
    assert len(ran) == 3 + 3
    monkeypatch.setattr(together, "_MOST_SUMS", 18)
    plans = [table._plan(Histogram("x", range(9), x >= i, per=per).request) for i in range(3)]
    ran.clear()
    table._engine.run_together(plans)
    assert len(ran) == 2


def test_bounds_on_groups_are_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which groups of a unit count depends on what is selected, so these share no statement."""
    table = people()
    assert table.unit is not None
    per, x = attrs.evolve(table.unit, max_groups=1), column("x")
    plans = [table._plan(Histogram("x", range(9), x >= i, per=per).request) for i in range(3)]
    ran = counting(table, monkeypatch)
    found = table._engine.run_together(plans)
    assert len(ran) == 3
    alone = [map(tuple, np.array(table._engine.run(it)).tolist()) for it in plans]
    assert [sorted(rows) for rows in found] == [sorted(rows) for rows in alone]


def test_requests_of_joined_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joined rows are read together too."""
    joined = people().join(public={"x": [1, 2, 3], "name": ["a", "b", "c"]}, on="x")
    assert isinstance(joined._engine, ViewRows)
    asked = [Count(column("name") == name, per=joined.unit) for name in "abc"]
    plans = [joined._plan(each.request) for each in asked]
    ran = counting(joined, monkeypatch)
    found = joined._engine.run_together(plans)
    assert len(ran) == 1
    assert found == [joined._engine.run(plan) for plan in plans]


def test_tables_without_rows() -> None:
    """Counts are 0, alone and together, also of what every row satisfies."""
    for options in ({}, {"privacy_unit": "x", "max_rows": 2}):
        table = Table({"x": np.array([], dtype=np.int64)}, **options)
        per = table.unit
        asked = [Count(per=per), Count(column("x") > 0, per=per), Sum("x", 0, 5, per=per)]
        asked.append(Histogram("x", [1, 2], per=per))
        plans = [table._plan(each.request) for each in asked]
        for statistic, rows in zip(asked, table._engine.run_together(plans), strict=True):
            assert not placed_sums(statistic.request, rows).any()
            assert not table.totals(statistic.request).any()


def test_one_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a scan of several fails, each is evaluated by itself."""
    table = people()
    asked = [Count(column("x") >= i, per=table.unit) for i in range(5)]
    real = DuckDB.run

    def run(self: DuckDB, plan: Plan) -> list[tuple[int, ...]]:
        if plan.statement.count("count_if") > 1 or ">= (3)" in plan.statement:
            raise RuntimeError
        return real(self, plan)

    monkeypatch.setattr(DuckDB, "run", run)
    table.prepare(asked)
    values = [table.totals(each.request).item() for each in asked if each is not asked[3]]
    assert values == sorted(values, reverse=True)
    with pytest.raises(RuntimeError):
        table.totals(asked[3].request)
