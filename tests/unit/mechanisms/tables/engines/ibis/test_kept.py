"""Rows that are chosen once: equal to rows chosen anew, and gone with their table."""

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import attrs
import ibis
import pytest

from mechanisms import (
    Count,
    CountUnits,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    PrivacyUnit,
    Sum,
    Table,
    column,
)
from mechanisms.tables.engines import limits
from mechanisms.tables.engines.ibis import databases
from mechanisms.tables.engines.ibis import kept as ibis_kept
from mechanisms.tables.engines.ibis.engine import Ibis
from queryable import MechanismFault
from queryable.statistics import IntegerStatistic
from tests.engines import ENGINES, mostly, opened, quietly

every_database = pytest.mark.parametrize(
    "name",
    mostly(
        *("ibis on duckdb", "ibis on sqlite, collated", "ibis on postgres"),
        among=ENGINES[1:],
    ),
)
some_or_all = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
"""Of the statistics a quick test asks one in so many."""
embedded = pytest.mark.parametrize("name", ["ibis on duckdb", "ibis on sqlite"])

TYPES = {"p": "text", "x": "integer", "y": "float", "g": "text", "b": "bytes", "day": "date"}
ROWS = [
    (
        random.Random(i).choice(["ann", "bob", "cal", "dan", None]),
        i * 7 % 5,
        random.Random(-i).choice([0.5, 2.5, None, float("inf")]),
        random.Random(i + 99).choice(["a", "b", "c", "|=", None]),
        random.Random(i + 7).choice([b"1", b"2", None]),
        None,
    )
    for i in range(60)
]


def statistics(per: PrivacyUnit | None) -> list[IntegerStatistic]:
    """Of several columns and bounds."""
    assert per is not None
    capped = attrs.evolve(per, max_groups=1, max_rows_per_group=1)
    one = attrs.evolve(per, max_rows=1)
    return [
        Count(per=per),
        Count(column("x") > 1, per=per),
        Sum("y", 0, 3, column("g") == "a", unit="0.5", per=per),
        Mean("x", 0, 4, per=one),
        Histogram("g", ["a", "b", "|="], per=capped),
        Histogram("x", bins=[0, 2, 5], per=per),
        GroupBy(Keys.of({"g": ["a", "c"], "x": [0, 3]}, "g", "x"), Count(per=capped)),
        Count(column("b") == b"1", per=one),
        CountUnits(column("x") > 2, per=per),
        Count(column("p") == "ann", per=per),
    ]


def values(table: Table, asked: list[IntegerStatistic]) -> list[Any]:
    return [each.value(table) for each in asked]


def answers(asked: list[IntegerStatistic], found: list[Any]) -> dict[str, str]:
    return {repr(each): repr(value) for each, value in zip(asked, found, strict=True)}


def fresh(name: str, **options: Any) -> Table:
    return opened(name, TYPES, ROWS, privacy_unit="p", max_rows=3, seed=5, **options)


def engine_of(table: Table) -> Ibis:
    assert isinstance(table._engine, Ibis)
    return table._engine


@contextmanager
def choosing_anew() -> Iterator[None]:
    """No table keeps rows, as on a database without temporary tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ibis_kept.KeptRows, "ready", lambda *given: False)
        yield


@pytest.mark.parametrize("name", mostly("ibis on sqlite, collated", among=ENGINES[1:]))
def test_warm_cold_and_evicted_are_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked before, with room for one set of kept rows, and with none."""
    first = fresh(name)
    asked = statistics(first.unit)
    expected = answers(asked, values(first, asked))
    with choosing_anew():
        assert answers(asked, values(fresh(name), asked)) == expected
    for seed, room in ((1, 8), (2, 1))["collated" in name :]:
        monkeypatch.setattr(ibis_kept, "MOST", room)
        order = [*asked, *asked[::3]]
        random.Random(seed).shuffle(order)
        table = fresh(name)
        table._remembered.close()  # every question reaches the database
        assert answers(order, values(table, order)) == expected
        assert len(engine_of(table)._kept._columns) <= room


@embedded
def test_the_documented_number_of_sets_is_kept(name: str) -> None:
    """Eight sets of bounds; of nine, the one that was used longest ago is dropped."""
    table = fresh(name)
    held = engine_of(table)._kept._columns
    for most in range(1, ibis_kept.MOST + 2):
        Count(per=attrs.evolve(table.unit, max_rows=most)).value(table)
        last = range(max(1, most - ibis_kept.MOST + 1), most + 1)
        assert [max_rows for _, _, max_rows, _ in held] == list(last)
        assert temporary(table) == len(held)


def temporary(table: Table) -> int:
    """How many tables of kept rows the connection has."""
    backend = engine_of(table).backend
    name = "table_name" if backend.name == "duckdb" else "name"
    source = "duckdb_tables()" if backend.name == "duckdb" else "sqlite_temp_master"
    with backend._safe_raw_sql(
        f"SELECT count(*) FROM {source} WHERE {name} LIKE '%queryable_kept%'"
    ) as cursor:
        [found] = cursor.fetchone()
    return int(found)


@embedded
def test_kept_rows_are_dropped_with_the_table(name: str) -> None:
    table = fresh(name)
    asked = statistics(table.unit)[2:4]
    values(table, asked)
    assert temporary(table) == 2  # of two bounds
    before = values(table, asked)
    table.close()
    assert temporary(table) == 0
    second = Table(engine_of(table).source, privacy_unit="p", max_rows=3, seed=5)
    assert answers(asked, values(second, asked)) == answers(asked, before)
    assert temporary(table) == 2
    del second
    gc.collect()
    assert temporary(table) == 0


@embedded
def test_a_lost_table_is_made_again(name: str) -> None:
    """The owner may roll back or drop what is in their connection; no question fails of it."""
    table = fresh(name)
    backend, statistic = engine_of(table).backend, Sum("x", 0, 9, per=table.unit)
    expected = Sum("x", 0, 9, per=table.unit).value(fresh(name))
    Count(per=table.unit).value(table)
    assert statistic.value(table) == expected
    for kept in list(engine_of(table)._kept._made):
        backend.raw_sql(f'DROP TABLE "{kept}"')
    assert Sum("x", 0, 9, column("x") >= 0, per=table.unit).value(table) == expected
    assert temporary(table) == 0
    assert Sum("x", 0, 9, column("x") > -1, per=table.unit).value(table) == expected
    assert temporary(table) == 1


@some_or_all
def test_without_the_right_to_make_tables_rows_are_chosen_anew(step: int) -> None:
    table = fresh("ibis on sqlite")
    asked = statistics(table.unit)[::step]
    expected = answers(asked, values(fresh("ibis on sqlite"), asked))
    engine_of(table).backend.raw_sql("PRAGMA query_only = ON").close()
    assert answers(asked, values(table, asked)) == expected
    assert not engine_of(table)._kept._keeps


@embedded
def test_nothing_half_made_remains_after_an_interrupt(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = fresh(name)
    engine, made = engine_of(table), databases.execute

    def interrupted(backend: Any, statement: str) -> None:
        made(backend, statement)
        if statement.startswith("CREATE"):
            raise KeyboardInterrupt

    monkeypatch.setattr(databases, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.run(table._plan(Count(per=table.unit).request))
    assert temporary(table) == 0
    assert not engine._kept._columns
    monkeypatch.setattr(databases, "execute", made)
    assert Count(per=table.unit).value(table) == Count(per=table.unit).value(fresh(name))


@every_database
def test_rows_of_equal_hash_are_ordered_by_all_cells(name: str) -> None:
    """A separator in a text gives two rows one text and one hash; bytes are not hashed at all."""
    types = {"p": "integer", "a": "text", "c": "text", "b": "bytes"}
    rows: list[Any] = [(1, "x|=y", "z", b"1"), (1, "x", "y|=z", b"1"), (1, "x", "y|=z", b"0")]
    found = set()
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        table = opened(name, types, rows, privacy_unit="p", max_rows=1, seed=0)
        counts = [
            Count(column("a") == "x", per=table.unit),
            Count(column("b") == b"0", per=table.unit),
        ]
        if seed % 2:
            counts.reverse()
        found.add(str(sorted(map(repr, (each.value(table) for each in counts)))))
        assert all(each.value(table) == 1 for each in counts)
    assert len(found) == 1


def test_a_collation_of_units_outlives_the_copy(tmp_path: Any) -> None:
    """`a` and `A` are one unit in the source, and in the kept rows, which have no collation."""
    connection = ibis.sqlite.connect(tmp_path / "data.db")
    connection.raw_sql("CREATE TABLE data (p TEXT COLLATE NOCASE, g TEXT)").close()
    for person in ("a", "A"):
        for group in "xyz":
            connection.raw_sql(f"INSERT INTO data VALUES ('{person}', '{group}')").close()
    with quietly():
        table = Table(connection.table("data"), privacy_unit="p", max_rows=6, max_groups=1)
        counts = Histogram("g", ["x", "y", "z"], per=table.unit).value(table)
        again = GroupBy({"g": ["x", "y", "z"]}, Count(per=table.unit)).value(table)
    assert sorted(counts) == sorted(again) == [0, 0, 2]


def test_a_failure_of_the_question_itself_stays_one() -> None:
    table = fresh("ibis on duckdb")
    engine_of(table).backend.raw_sql("DROP TABLE data")
    with pytest.raises(MechanismFault):
        Count(per=table.unit)(table)
    assert engine_of(table)._kept._keeps


@every_database
def test_a_question_that_takes_too_long_fails_and_the_next_one_does_not(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half made remains, and rows are still kept afterwards."""
    monkeypatch.setattr(limits, "_AGAIN", 0.001)
    rows = [(str(i % 900), i, 0.5, "a", None, None) for i in range(30_000)]
    table = opened(name, TYPES, rows, privacy_unit="p", max_rows=3, seed=5)
    engine = engine_of(table)
    statistic = Count(column("x") >= 0, per=table.unit)
    engine.timeout = Fraction(1, 10**6)
    if "spark" not in name:  # a job of Spark may end before its first interrupt
        with pytest.raises(TimeoutError):
            engine.run(table._plan(statistic.request))
        assert not engine._kept._columns
    engine.timeout = Fraction(600)
    assert statistic.value(table) == 2_700
    assert engine._kept._keeps
    assert len(engine._kept._made) == 1


@some_or_all
@embedded
def test_rows_are_chosen_before_the_first_question(name: str, step: int) -> None:
    """With all columns, so that no question with the table's bounds chooses again."""
    table = fresh(name)
    table.choose_rows()
    assert temporary(table) == 1
    engine, asked = engine_of(table), statistics(table.unit)[::step]
    made = dict(engine._kept._columns)
    expected = answers(asked, values(fresh(name), asked))
    assert answers(asked, values(table, asked)) == expected
    assert {rows: engine._kept._columns[rows] for rows in made} == made
