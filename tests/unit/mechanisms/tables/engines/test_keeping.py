"""The rows that count are chosen once, and nothing but the time tells whether they were."""

from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from mechanisms import Count, GroupBy, Histogram, Mean, PrivacyUnit, Sum, Table, column
from mechanisms.tables.engines import keeping, kept
from queryable.statistics import IntegerStatistic

ROWS = [
    {"person": i % 7 if i % 11 else None, "x": i * 37 % 20, "g": "abc"[i % 3], "when": i % 5}
    for i in range(120)
]


def opened(rows: list[dict[str, Any]] = ROWS, **options: Any) -> Table:
    options = {"privacy_unit": "person", "max_rows": 3, "seed": 5} | options
    return Table(pa.Table.from_pylist(rows), **options)


def statistics(*units: PrivacyUnit) -> list[IntegerStatistic]:
    """Some that read other columns and have other bounds."""
    states = {"g": ["a", "b"]}
    return [
        each
        for per in units
        for each in (
            Count(per=per),
            Count(column("x") > 7, per=per),
            Sum("x", 0, 30, column("g") != "a", per=per),
            Histogram("g", ["a", "c"], per=per),
            GroupBy(states, Mean("x", 0, 15, per=per)),
            Histogram("when", [0, 1, 2], column("x") > 3, per=per),
        )
    ]


UNITS = [
    PrivacyUnit("person", max_rows=3),
    PrivacyUnit("person", max_rows=5, max_groups=1),
    PrivacyUnit("person", max_rows=5, max_rows_per_group=2),
]


def tables_of(table: Table) -> list[str]:
    """The names of the tables of kept rows."""
    found = table._engine._connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary"
    ).fetchall()
    return [name for (name,) in found]


@pytest.mark.parametrize("keep", [None, "when"])
def test_what_was_asked_before_makes_no_difference(keep: str | None) -> None:
    """The values of questions in any order are those of tables that were asked nothing before."""
    asked = statistics(*UNITS)
    cold = [np.asarray(statistic(opened(keep=keep))).tolist() for statistic in asked]
    table, order = opened(keep=keep), list(range(len(asked))) * 2
    Random(1).shuffle(order)
    for i in order:
        table = opened(keep=keep) if i == 4 else table
        assert np.asarray(asked[i](table)).tolist() == cold[i]


def test_rows_are_chosen_once_for_the_same_bounds() -> None:
    """Bounds on groups are no other choice, and a new column extends the table of kept rows."""
    table = opened()
    for statistic in statistics(UNITS[0]):
        statistic(table)
    assert len(tables_of(table)) == 1
    for statistic in statistics(*UNITS[1:]):
        statistic(table)
    assert len(tables_of(table)) == 2


@pytest.mark.parametrize("threads", [1, 4])
def test_rows_of_equal_hash_are_chosen_by_their_cells(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """If all rows tie, the kept rows are the first in the order of all cells, however they lie."""
    monkeypatch.setattr(kept, "hash_of", lambda columns, choice: "0::UBIGINT")
    rows = [row for row in ROWS if row["person"] is not None]
    expected = 0
    for person in range(7):
        cells = sorted((row["x"], row["g"], row["when"]) for row in rows if row["person"] == person)
        expected += sum(x for x, _, _ in cells[:3])
    for seed in range(5):
        shuffled = Random(seed).sample(ROWS, len(ROWS))
        table = opened(shuffled, threads=threads)
        assert Sum("x", 0, 30, per=table.unit)(table) == expected
        assert Count(per=table.unit)(table) == 21


def test_equal_rows_are_kept_up_to_the_bound() -> None:
    """Rows that are equal in all cells tie, and no more than `max_rows` of them are kept."""
    rows = [{"person": i % 2, "x": 1} for i in range(1000)] + [{"person": 2, "x": 1}]
    table = opened(rows)
    assert Count(per=table.unit)(table) == 7


def test_without_room_rows_are_chosen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that has no room for kept rows answers the same."""

    def full(keeper: Any, statement: str) -> Any:
        if statement.startswith("CREATE"):
            raise duckdb.OutOfMemoryException("no room")
        return run(keeper, statement)

    asked = statistics(*UNITS)
    values = [np.asarray(statistic(opened())).tolist() for statistic in asked]
    run = keeping.Keeper._run
    monkeypatch.setattr(keeping.Keeper, "_run", full)
    table = opened()
    assert [np.asarray(statistic(table)).tolist() for statistic in asked] == values
    assert tables_of(table) == []


def test_the_number_of_sets_is_bounded() -> None:
    """The set that was asked for first is dropped, and is chosen again when it is asked for."""
    table = opened()
    for max_rows in [*range(1, keeping.MOST + 4), 1]:
        count = Count(per=PrivacyUnit("person", max_rows=max_rows))
        assert count(table) == 7 * max_rows
    assert len(tables_of(table)) == keeping.MOST
