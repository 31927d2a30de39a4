"""Groups of many keys and fine grids on DuckDB: joined with the rows, in linear time."""

import sys
from itertools import product
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Count, GroupBy, Histogram, Keys, Quantiles, Sum, Table, column
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.sql import keyed
from mechanisms.tables.statistics.aggregates import Aggregate
from tests.attacks.test_table_values import compare
from tests.datasets import FILES

CELLS = {"i": np.arange(1000) % 700, "t": [f"key {i % 300}" for i in range(1000)]}
CELLS |= {"x": np.arange(1000) / 8}


def many(count: int) -> list[Aggregate]:
    """Statistics of many keys, intervals, combinations and candidates."""
    half = {"i": list(range(count // 2)), "t": [f"key {i}" for i in range(count // 2)]}
    return [
        Histogram("i", range(count)),
        Histogram("t", [f"key {i}" for i in range(count)]),
        Histogram("x", bins=[i / 8 + i % 3 / 99 for i in range(count + 1)]),
        Quantiles("x", "1/2", [i / 8 + i % 3 / 99 for i in range(count)]),
        GroupBy(Keys.of(half, "i", "t"), Count()),
    ]


@pytest.mark.parametrize("number", range(5))
def test_statements_do_not_grow_with_keys(number: int) -> None:
    """A statement of 2,000 keys is as long as one of 200, and its keys are ten times as many."""
    table = Table(CELLS)
    short, long = (table._plan(many(count)[number].request) for count in (200, 2000))
    assert len(short.statement) + 50 > len(long.statement)
    assert len(short.parameters) == len(long.parameters)
    [[few], [more]] = ([it.num_rows for it in plan.tables.values()] for plan in (short, long))
    assert 0.9 < more / few / 10 < 1.1


def test_equal_distances_need_no_keys() -> None:
    """Intervals of equal length, and candidates at equal distances, are found by arithmetic."""
    table = Table(CELLS)
    for count in (300, 3000):
        for statistic in (
            Histogram("x", bins=[i / 8 for i in range(count + 1)]),
            Quantiles("x", "1/2", [i / 10 for i in range(count)]),
            Quantiles("i", "1/2", range(0, 7 * count, 7)),
        ):
            plan = table._plan(statistic.request)
            assert not plan.tables
            assert len(plan.statement) < 3000
            assert np.array_equal(statistic(table), statistic(CELLS)), statistic


def test_the_values_of_many_keys() -> None:
    """As in memory, of all kinds of groups."""
    table = Table(CELLS)
    for statistic in many(3000):
        assert np.array_equal(statistic(table), statistic(CELLS)), type(statistic)
        assert np.sum(statistic(CELLS)) > 0


def test_many_keys_of_a_unit() -> None:
    """With bounds on groups, in groups by two columns: each unit counts in two groups at most."""
    people = Table({"who": np.arange(1000) // 10, **CELLS}, privacy_unit="who", max_rows=8)
    assert people.unit is not None
    per = attrs.evolve(people.unit, max_groups=2, max_rows_per_group=1)
    by: Any = [{"i": list(range(700))}, Keys.bins("x", [i / 8 for i in range(1000)])]
    assert GroupBy(by, Count(per=per))(people).sum() == 200


@pytest.mark.parametrize("form", [*FILES, "table on pandas"])
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_steps_by_a_sorted_join(form: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random intervals and quantiles, with no steps written into statements, as in plain Python."""
    monkeypatch.setattr(keyed, "_FEW_STEPS", 0)
    monkeypatch.setattr(keyed, "_MOST_BUCKETS", 0)
    monkeypatch.setattr(Compiler, "even", lambda compiler, by: None)
    for seed in seeds:
        compare(form, ("sorted", seed))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("operators", ["both", "one"])
def test_steps_by_intervals(operators: str, single: bool) -> None:
    """Random floats at other distances, with cells at and beside them, as in memory."""
    random = Random(f"{operators} {single}")
    for scale in (1e-280, 0.01, 1.0, 1e290):
        gaps = [random.choice([1, 2, 3, 5.5]) * scale for _ in range(300)]
        values = np.cumsum(gaps) - 300 * scale
        if single and scale in (0.01, 1.0):
            values = values.astype(np.float32)
        near = [values, *(np.nextafter(values, values.dtype.type(end)) for end in (-1e38, 1e38))]
        wide = [np.inf, -np.inf, np.nan, 0.0, 5e-324, random.uniform(-1, 1) * scale]
        cells = {"x": np.concatenate([*near, np.array(wide).astype(values.dtype)])}
        grid = values.astype(float).tolist()
        ours = Histogram("x", bins=grid) if operators == "one" else Quantiles("x", "1/2", grid)
        table = Table(cells)
        [keys] = table._plan(ours.request).tables.values()
        assert "bucket" in keys.column_names
        assert np.array_equal(ours(table), ours(cells))


def test_one_key_of_several_types() -> None:
    """Keys that equal one cell count it once, for the first; minus zero is zero."""
    table = Table(
        {"x": np.array([0.0, -0.0, 1.0, np.nan, np.inf]), "b": [True, False, True] + [None] * 2}
    )
    assert Histogram("x", [-0.0, float("inf"), True])(table).tolist() == [2, 1, 1]
    assert Histogram("b", [1, 0, 2])(table).tolist() == [2, 1, 0]
    assert Histogram("x", ["a"])(table).tolist() == [0]
    pairs = [(x, b) for x, b in product([0, 1], [True, False])]
    by = Keys.of({"x": [x for x, _ in pairs], "b": [b for _, b in pairs]}, "x", "b")
    assert GroupBy(by, Count())(table).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "declared",
    [
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("int8", "int32")),
        "int64",
        "uint64",
    ],
)
def test_sums_by_cells_are_the_sums_by_keys(declared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of keys in any order, with gaps, or that no cell equals; also sums of more than 64 bits."""
    random = Random(declared)
    limits = np.iinfo(declared)
    for base in (limits.min, max(limits.min, -60), limits.max - 120):
        cells = [base + random.randrange(120) for _ in range(2000)]
        rows = {"who": np.arange(2000) // 4, "i": np.array(cells, declared)}
        rows |= {"x": np.array([2**62 + random.randrange(9) for _ in cells])}
        keys: list[Any] = random.sample(range(int(base) - 5, int(base) + 125), 90)
        for options in ({}, {"privacy_unit": "who", "max_rows": 3, "seed": 1}):
            with Table(rows, **options) as table:
                per = table.unit
                capped = None if per is None else attrs.evolve(per, max_groups=2)
                asked: list[Aggregate] = [Histogram("i", keys, per=per)]
                asked += [Histogram("i", keys, column("x") > 2**62 + 3, per=capped)]
                asked += [GroupBy({"i": keys}, Sum("x", 0, 2**63 - 1, per=per))]
                by_cell = [table._engine.plan(each.request, table._choice) for each in asked]
                assert "GROUP BY cell_0" in by_cell[0].statement
                found = [table.totals(each.request).tolist() for each in asked]
            with monkeypatch.context() as patch, Table(rows, **options) as table:
                patch.setattr(keyed, "_ends", lambda kinds, cells: None)
                keyed._keys.cache_clear()
                assert found == [table.totals(each.request).tolist() for each in asked]
            keyed._keys.cache_clear()
            if per is None:
                counts = [cells.count(key) for key in keys]
                assert found[0] == [[count] for count in counts]
                assert sum(map(sum, found[2])) == sum(
                    int(x) for x, i in zip(rows["x"], cells, strict=True) if i in keys
                )


def test_sparse_keys_do_not_group_by_cell() -> None:
    """Memory grows with the number of keys, and not with how many different cells there are."""
    table = Table(CELLS)
    for keys in ([0, 10**6], [True, 500]):
        plan = table._plan(Histogram("i", keys).request)
        assert "GROUP BY cell_0" not in plan.statement


def test_no_work_in_python_for_each_key() -> None:
    """Twice the keys make no more calls in Python, of a count by integers."""
    made = [0]

    def called(frame: Any, event: str, argument: Any) -> None:
        made[0] += event in ("call", "c_call")

    def calls(count: int) -> int:
        with Table(CELLS) as table:
            made[0] = 0
            sys.setprofile(called)
            try:
                statistic = table.group_by({"i": range(count)}).count()
                table.check(statistic)
                statistic(table)
            finally:
                sys.setprofile(None)
        return made[0]

    assert calls(2000) - calls(1000) < 100
