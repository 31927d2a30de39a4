"""Groups of many keys and fine grids on DuckDB: joined with the rows, in linear time."""

from itertools import product
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Count, GroupBy, Histogram, Keys, Quantiles, Table
from mechanisms.tables.aggregates import Aggregate
from mechanisms.tables.engines import keyed
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
        Histogram("x", bins=[i / 8 for i in range(count + 1)]),
        Quantiles("x", "1/2", [i / 8 for i in range(count)]),
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
def test_steps_by_a_sorted_join(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random intervals and quantiles, with no steps written into statements, as in plain Python."""
    monkeypatch.setattr(keyed, "_FEW_STEPS", 0)
    for seed in range(8):
        compare(form, ("sorted", seed))


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
