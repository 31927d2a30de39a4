"""Joins: values as in plain Python, and no unit moves them by more than their sensitivities."""

import datetime as dt
import gc
import random
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Gaussian,
    GroupBy,
    Histogram,
    PrivacyUnit,
    Sum,
    Table,
    column,
)
from queryable import ZCDP, PrivacyWarning, Queryable
from queryable.statistics import IntegerStatistic
from tests.engines import SPARK, Rows, Types, arrow, quietly
from tests.postgres import POSTGRES, server

VISITS = {"person": "integer", "zip": "text", "store": "integer", "day": "date", "x": "integer"}
PLACES = {"zip": "text", "store": "integer", "region": "text", "pop": "integer"}
ORDERS = {"person": "integer", "zip": "text", "region": "text", "pop": "integer"}
ZIPS = ["01", "1", "a", "A", "é", "a ", "'", None]
PEOPLE = 8
EVERY = slice(None)

_numbers = count()


def _connection(engine: str) -> Any:
    import ibis

    match engine:
        case "ibis on duckdb":
            return ibis.duckdb.connect()
        case "ibis on sqlite":
            return ibis.sqlite.connect()
        case "ibis on postgres":
            return ibis.postgres.connect(host=server(), user="postgres", database="postgres")
    from tests.engines import _session

    return ibis.pyspark.connect(_session())


@pytest.fixture(
    params=[
        "duckdb",
        "ibis on duckdb",
        "ibis on sqlite",
        pytest.param("ibis on postgres", marks=POSTGRES),
        pytest.param("ibis on spark", marks=[SPARK, pytest.mark.slow]),
    ]
)
def open_(request: pytest.FixtureRequest) -> Iterator[Callable[..., Table]]:
    """A function that opens tables on one connection of an engine."""
    if request.param == "duckdb":
        yield lambda types, rows, **options: Table(arrow(types, rows), **options)
        return
    with quietly():
        connection, made = _connection(request.param), []

        def made_of(types: Types, rows: Rows, **options: Any) -> Table:
            name = f"data_{next(_numbers)}"
            if request.param.endswith("spark"):
                of = {"integer": "bigint", "text": "string", "date": "date"}
                schema = ", ".join(f"{it} {of[kind]}" for it, kind in types.items())
                frame = connection._session.createDataFrame(rows, schema)
                frame.createOrReplaceTempView(name)
                return Table(connection.table(name), **options)
            made.append(name)
            if request.param == "ibis on duckdb":
                connection.con.register("given", arrow(types, rows))
                connection.raw_sql(f"CREATE TABLE {name} AS SELECT * FROM given")
                return Table(connection.table(name), **options)
            of = {"integer": "BIGINT", "text": "TEXT", "date": "DATE"}
            typed = ", ".join(f"{it} {of[kind]}" for it, kind in types.items())
            mark = "?" if request.param == "ibis on sqlite" else "%s"
            cursor = connection.con.cursor()
            cursor.execute(f"CREATE TABLE {name} ({typed})")
            cursor.executemany(
                f"INSERT INTO {name} VALUES ({', '.join([mark] * len(types))})",
                [[str(it) if isinstance(it, dt.date) else it for it in row] for row in rows],
            )
            connection.con.commit()
            return Table(connection.table(name), **options)

        yield made_of
        if request.param.endswith("postgres"):
            for name in made:
                connection.raw_sql(f'DROP TABLE "{name}"').close()
        if not request.param.endswith("spark"):
            connection.disconnect()


def visits(rng: random.Random, size: int) -> Rows:
    """Rows with missing keys, and with persons that have many rows."""
    return [
        (
            rng.choice([*range(PEOPLE), 0, 0, None]),
            rng.choice(ZIPS),
            rng.choice([1, 2, -1, None]),
            rng.choice([dt.date(2020, 1, 1), dt.date(1999, 12, 31), None]),
            rng.randrange(-5, 6),
        )
        for _ in range(size)
    ]


def places(rng: random.Random, size: int, *, distinct: bool) -> Rows:
    rows = [
        (rng.choice(ZIPS), rng.choice([1, 2, None]), rng.choice("NSW"), rng.randrange(10))
        for _ in range(size)
    ]
    return list({row[:2]: row for row in rows}.values()) if distinct else rows


def orders(rng: random.Random, size: int) -> Rows:
    return [
        (rng.choice([*range(PEOPLE), 1, None]), rng.choice(ZIPS), rng.choice("NSW"), i % 10)
        for i in range(size)
    ]


def joined(
    left: Rows, right: Rows, places: list[tuple[int, int]], *, how: str, most: int
) -> list[tuple[Any, ...]]:
    """Rows with the last two cells of those with equal keys, by plain Python."""
    found = []
    for row in left:
        keys = [row[i] for i, _ in places]
        matches = [
            other for other in right if None not in keys and [other[j] for _, j in places] == keys
        ]
        matches = sorted(matches, key=lambda other: other[-2:])[:most]
        found += [(*row, *other[-2:]) for other in matches]
        if not matches and how == "left":
            found.append((*row, None, None))
    return found


def values(rows: list[tuple[Any, ...]]) -> list[list[int]]:
    """What `statistics` gives for rows of visits with a region and a pop, without bounds."""
    groups = [[row for row in rows if row[5] == region] for region in "NSW"]
    return [
        [len(rows)],
        [sum(row[6] for row in rows if row[6] is not None)],
        [len(group) for group in groups],
        [sum(row[4] for row in group) for group in groups],
        [sum(row[5] == "N" and row[6] >= 5 for row in rows)],
    ]


def statistics(per: PrivacyUnit | None) -> list[IntegerStatistic]:
    return [
        Count(per=per),
        Sum("pop", 0, 9, per=per),
        Histogram("region", ["N", "S", "W"], per=per),
        GroupBy({"region": ["N", "S", "W"]}, Sum("x", -5, 5, per=per)),
        Count((column("region") == "N") & (column("pop") >= 5), per=per),
    ]


def answers(table: Table, per: PrivacyUnit | None, some: slice = EVERY) -> list[np.ndarray]:
    with quietly():
        return [np.atleast_1d(each.value(table)).astype(object) for each in statistics(per)[some]]


def listed(found: list[np.ndarray]) -> list[list[int]]:
    return [list(map(int, each.ravel())) for each in found]


def in_database(open_: Callable[..., Table]) -> bool:
    """Whether the tables are on Ibis, which compiles each statement for longer than it runs."""
    return open_.__name__ != "<lambda>"


@pytest.mark.parametrize("how", ["left", "inner"])
def test_values_are_those_of_plain_python(open_: Callable[..., Table], how: str) -> None:
    """Every engine, with one and two keys, with one and several matches, and of two tables.

    Databases take half of the joins one way and half of them the other way.
    """
    compare(open_, how, slice(how == "inner", None, 2) if in_database(open_) else EVERY)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["left", "inner"])
def test_all_values_are_those_of_plain_python(open_: Callable[..., Table], how: str) -> None:
    compare(open_, how, EVERY)


def compare(open_: Callable[..., Table], how: str, some: slice) -> None:
    """Compare some of the joins, and statistics, with plain Python."""
    rng = random.Random(how)
    mine = visits(rng, 40)
    by_zip = list({row[0]: row for row in places(rng, 20, distinct=True)}.values())
    several = places(rng, 30, distinct=False)
    table = open_(VISITS, mine)
    joins: list[tuple[Any, list[tuple[int, int]], Rows, int | None]] = [
        ("zip", [(1, 0)], by_zip, None),
        (["zip", "store"], [(1, 0), (2, 1)], places(rng, 30, distinct=True), None),
        ("store", [(2, 1)], several, 3),
        ({"zip": "zip"}, [(1, 0)], several, 2),
    ]
    for on, pairs, public, most in joins[some]:
        with quietly():
            both = table.join(
                public=arrow(PLACES, public),
                on=on,
                columns=["region", "pop"],
                how=how,
                max_matches=most,
            )
        expected = joined(mine, public, pairs, how=how, most=most or 1)
        assert (None if both.unit is None else both.unit.max_rows) == most
        assert listed(answers(both, both.unit, some)) == values(expected)[some]
    persons = [open_(VISITS, mine, privacy_unit="person", max_rows=99)]
    theirs = orders(rng, 30)
    persons.append(open_(ORDERS, theirs, privacy_unit="person", max_rows=99))
    keys: list[tuple[Any, list[tuple[int, int]]]] = [
        ("person", [(0, 0)]),
        (["zip", "person"], [(0, 0), (1, 1)]),
    ]
    for on, pairs in keys[some]:
        with quietly():
            both = persons[0].join(persons[1], on=on, columns=["region", "pop"], how=how)
        assert both.unit == PrivacyUnit("person", max_rows=99 * 99)
        known = [row for row in mine if row[0] is not None]
        expected = joined(known, theirs, pairs, how=how, most=1000)
        assert listed(answers(both, both.unit, some)) == values(expected)[some]
        counted = CountUnits(column("region") == "N", per=both.unit).value(both)
        assert counted == len({row[0] for row in expected if row[5] == "N"})


SORTS = ("rows", "two tables", "units")


def neighbours(
    open_: Callable[..., Table],
    rng: random.Random,
    sort: str,
    units: int = PEOPLE,
    some: slice = EVERY,
) -> int:
    """Compare tables that differ in one unit, and return how many statistics were compared.

    Args:
        units: how many are removed, one after the other.
        some: which statistics are compared.
    """
    how, seed = rng.choice(["left", "inner"]), rng.randrange(2**60)
    mine, theirs = visits(rng, 30), orders(rng, 20)
    public = arrow(PLACES, places(rng, 30, distinct=False))
    most, rows = rng.randrange(1, 4), rng.randrange(1, 4)
    per: dict[str, Any] = {"privacy_unit": "person", "max_rows": rows, "seed": seed}
    if rng.random() < 0.3:
        per["keep"] = "x"

    def at(gone: int) -> Table:
        """The joined table without so many units, its rows in any order."""
        if sort == "rows":
            rest = rng.sample(mine[gone:], len(mine) - gone)
            return open_(VISITS, rest).join(
                public=public, on="zip", columns=["region", "pop"], max_matches=most, how=how
            )
        left = [row for row in mine if row[0] is None or row[0] >= gone]
        table = open_(VISITS, rng.sample(left, len(left)), **per)
        if sort == "units":
            return table.join(
                public=public,
                on="zip",
                columns=["region", "pop"],
                max_matches=most,
                max_rows=rows + 1,
                how=how,
            )
        right = [row for row in theirs if row[0] is None or row[0] >= gone]
        other = {**per, "max_rows": most, "keep": None}
        return table.join(
            open_(ORDERS, rng.sample(right, len(right)), **other),
            on=on,
            columns=["region", "pop"],
            how=how,
            max_rows=joined_rows,
        )

    joined_rows, on = rng.choice([None, 2]), rng.choice([["person"], ["zip", "person"]])
    caps = {} if sort == "rows" else rng.choice([{}, {"max_groups": 1}, {"max_rows_per_group": 1}])
    with quietly():
        here = at(0)
        declared = None if here.unit is None else attrs.evolve(here.unit, **caps)
        before, done = answers(here, declared, some), 0
        for gone in range(1, units + 1):
            there = at(gone)
            after = answers(there, declared, some)
            asked = statistics(declared)[some]
            for statistic, one, other in zip(asked, before, after, strict=True):
                change = (one - other).ravel()
                assert sum(map(abs, change)) <= statistic.l1
                assert sum(each**2 for each in change) <= statistic.l2**2
                done += 1
            before = after
            there.close()
        here.close()
    return done


def test_a_unit_moves_a_joined_statistic_by_its_sensitivity(open_: Callable[..., Table]) -> None:
    """Rows, persons of one table, and persons of two tables, two after the other removed.

    Those with most rows, and on databases by some statistics for each of the three.
    """
    rng = random.Random(1)
    for first, sort in enumerate(SORTS):
        some = slice(first, None, 3) if in_database(open_) else EVERY
        assert neighbours(open_, rng, sort, 2, some) >= 2


@pytest.mark.long
def test_a_unit_moves_a_joined_statistic_by_its_sensitivity_at_length(
    open_: Callable[..., Table], request: pytest.FixtureRequest
) -> None:
    """2,000 comparisons on each engine; 240 on Spark, where each takes a second."""
    rng, sorts, done = random.Random(2), cycle(SORTS), 0
    while done < (240 if "spark" in request.node.name else 2000):
        done += neighbours(open_, rng, next(sorts))


REGIONS = {"zip": ["01", "02", "03"], "region": ["N", "S", "N"], "pop": [10, 20, 30]}


@pytest.mark.parametrize(
    "public",
    [
        REGIONS,
        pd.DataFrame(REGIONS),
        pl.DataFrame(REGIONS),
        pa.table(REGIONS),
        {name: np.array(cells) for name, cells in REGIONS.items()},
        "csv",
        "table",
        "ibis",
    ],
    ids=["dict", "pandas", "polars", "arrow", "numpy", "csv", "table", "ibis"],
)
def test_a_public_table_is_given_in_any_form(public: Any, tmp_path: Path) -> None:
    """Of a file the columns are read as the question asks, as everywhere."""
    if isinstance(public, str):
        import ibis

        path = tmp_path / "regions.csv"
        pd.DataFrame(REGIONS).to_csv(path, index=False)
        forms = {"csv": path, "table": Table(path), "ibis": ibis.memtable(pa.table(REGIONS))}
        public = forms[public]
    table = Table({"zip": pa.array(["01", "01", "03", "9", None])})
    with quietly():
        both = table.join(public=public, on="zip")
    assert both.unit is None
    assert Histogram("region", ["N", "S"]).value(both).tolist() == [3, 0]
    assert Sum("pop", 0, 99).value(both) == 10 + 10 + 30
    assert Count(column("region").is_null()).value(both) == 2
    assert list(both.columns) == ["zip", "region", "pop"]


@pytest.mark.parametrize("types", [None, {"store": "BIGINT", "day": "DATE"}])
def test_cells_of_a_csv_file_are_read_as_the_other_side_is_typed(
    types: dict[str, str] | None, tmp_path: Path
) -> None:
    """As whole numbers or as dates in the file's format; as text with text."""
    path = tmp_path / "a.csv"
    path.write_text("store;day\n1;31.12.2020\n01;1.1.2021\n1.000;2020-12-31\n1,5;x\nx;\n")
    format_ = {"sep": ";", "decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y"}
    with Table(path, types=types, **format_) as table:
        stores = {"store": [1, 1000, 5], "name": ["one", "many", "none"]}
        both = table.join(public=stores, on="store")
        assert Histogram("name", ["one", "many", "none"]).value(both).tolist() == [2, 1, 0]
        days = {"day": [dt.date(2020, 12, 31), dt.date(2021, 1, 1)], "rate": [2, 3]}
        assert Sum("rate", 0, 9).value(table.join(public=days, on="day")) == 5
        if types is None:
            both = table.join(public={"store": ["1", "01"], "rate": [1, 5]}, on="store")
            assert Sum("rate", 0, 9).value(both) == 6
        public = tmp_path / "b.csv"
        public.write_text("store,rate\n1,1\n01.0,5\n")
        if types is not None:
            with pytest.raises(ValueError, match="give max_matches=2"):
                table.join(public=public, on="store")


@pytest.mark.parametrize("unit", [{}, {"privacy_unit": "p", "max_rows": 9}])
def test_a_parquet_file_is_joined_where_it_is(unit: dict[str, Any], tmp_path: Path) -> None:
    """A change of the file is noticed, as without a join."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"p": [1, 1, 2], "zip": ["01", "02", None]}), path)
    both = Table(path, **unit).join(public=REGIONS, on="zip")
    assert Sum("pop", 0, 99, per=both.unit).value(both) == 30
    pq.write_table(pa.table({"p": [1], "zip": ["01"]}), path)
    with pytest.raises(ValueError, match="has changed since it was opened"):
        both.check(Count(per=both.unit))


@pytest.mark.parametrize(("mine", "theirs"), [("rowid", "v"), ("k", "rowid")])
def test_a_column_is_called_as_duckdb_calls_the_number_of_a_row(mine: str, theirs: str) -> None:
    table = Table({mine: [1, 2]}, types={mine: "BIGINT"})
    joined = table.join(public={mine: [1, 2, 2], theirs: [1, 2, 4]}, on=mine, max_matches=2)
    assert joined.sum(theirs, 0, 9)(joined) == 7


def test_columns_are_renamed_and_keys_added(open_: Callable[..., Table]) -> None:
    unit = {"privacy_unit": "person", "max_rows": 9}
    rows = [(1, "01", 1, None, 3), (1, "a", 2, None, 4), (2, "b", 1, None, 5)]
    left = open_(VISITS, rows, **unit)
    right = open_(ORDERS, [(1, "01", "N", 7), (1, "b", "S", 8), (3, "b", "S", 9)], **unit)
    public = left.join(
        public={"zip": ["01", "b"], "x": [10, 20]}, on="zip", columns={"zip": "key", "x": "y"}
    )
    private = left.join(
        right, on=["person", "zip"], columns={"zip": "key", "pop": "y", "person": "who"}
    )
    for joined, total, there in ((public, 30, 2), (private, 7, 1)):
        assert [*joined.columns][-len(joined.columns) + len(VISITS) :][:2] == ["key", "y"]
        assert joined.totals(joined.sum("y", 0, 99).request) == total
        assert joined.totals(joined.count(column("key").is_not_null()).request) == there
        assert joined.totals(joined.sum("x", 0, 99).request) == 12
    assert private.totals(private.sum("who", 0, 9).request) == 1


def test_private_tables_with_another_name_for_the_unit() -> None:
    """The owner says that both names are of the same persons, by naming them as a pair of keys."""
    mine = Table({"person": [1, 1, 2], "x": [1, 2, 3]}, privacy_unit="person", max_rows=3)
    theirs = Table({"patient": [1, 3], "y": [4, 5]}, privacy_unit="patient", max_rows=3)
    joined = mine.join(theirs, on={"person": "patient"})
    assert joined.unit == PrivacyUnit("person", max_rows=9)
    assert joined.totals(joined.count(column("y") > 3).request) == 2
    with pytest.raises(TypeError, match="of one privacy unit"):
        mine.join(theirs, on={"x": "y"})


def test_joins_follow_one_another() -> None:
    table = Table({"zip": pa.array(["01", "02"]), "x": np.array([1, 2])})
    both = table.join(public=REGIONS, on="zip").join(
        public={"region": ["N", "S", "S"], "rate": [1, 2, 3]}, on="region", max_matches=2
    )
    assert both.unit is not None
    assert (both.unit.max_rows, both.unit.joined) == (2, True)
    assert Sum("rate", 0, 9, per=both.unit).value(both) == 1 + 2 + 3
    again = both.join(public={"rate": [1, 1, 2], "z": [1, 2, 3]}, on="rate", max_matches=3)
    assert again.unit is not None
    assert again.unit.max_rows == 6
    assert Sum("z", 0, 9, per=again.unit).value(again) == 1 + 2 + 3


def test_a_launch_on_joined_rows_is_charged_and_shown() -> None:
    """The filter charges as on any table, and the sensitivity counts the matches of a row."""
    table = Table({"zip": pa.array(["01"] * 50)})
    both = table.join(public={"zip": ["01", "01"], "y": [1, 2]}, on="zip", max_matches=2)
    statistic = Count(per=both.unit)
    assert (statistic.l1, statistic.l2) == (2, 2)
    queryable = Queryable(FiltCon(ZCDP(1)), both)
    assert abs(int(queryable(Gaussian(statistic, rho=1))) - 100) < 40  # 20 standard deviations
    assert queryable.privacy_loss() == ZCDP(1)
    table = Table({"zip": pa.array(["01"] * 50)})
    both = table.join(public={"zip": ["01", "01"], "y": [1, 2]}, on="zip", max_matches=2)
    queryable = Queryable(FiltCon(ZCDP(1)), both)
    queryable(Gaussian(Count(per=both.unit), rho="1/2"))
    shown = str(queryable.tree())
    assert "protects one row before the join: at most 2 joined rows of each" in shown
    assert "Count, at most 2 joined rows per row before the join" in shown


def test_a_second_budget_over_joined_data_is_warned_of() -> None:
    """Budgets of a table and of what is joined from it add up; a private table is not public."""
    unit: dict[str, Any] = {"privacy_unit": "p", "max_rows": 1}
    frame = pa.table({"p": [1, 2]})
    table, other = Table(frame, **unit), Table({"p": pa.array([1]), "y": pa.array([1])}, **unit)
    both = table.join(other, on="p").join(public={"y": [1], "z": [1]}, on="y")
    first = Queryable(FiltCon(ZCDP(1)), both)
    for again in (table, other, table.join(public={"p": [1], "z": [1]}, on="p")):
        with pytest.warns(PrivacyWarning, match="have a queryable already"):
            Queryable(FiltCon(ZCDP(1)), again)
    assert first.privacy_loss() == ZCDP(0)
    rows = Table({"p": pa.array([1])})
    kept = Queryable(FiltCon(ZCDP(1)), rows)
    with pytest.raises(TypeError, match="or a queryable, so it is private"):
        table.join(public=rows, on="p")
    assert kept.privacy_loss() == ZCDP(0)


def test_what_is_not_declared_for_the_joined_rows_is_refused() -> None:
    table = Table({"zip": pa.array(["01"]), "row": pa.array([1])})
    both = table.join(public={"zip": ["01", "01"], "y": [1, 2]}, on="zip", max_matches=2)
    assert both.unit is not None
    one = attrs.evolve(both.unit, max_rows=1)
    for per, message in (
        (None, "per=visits"),
        (one, "give max_rows=2 or more"),
        (PrivacyUnit(both.unit.column, max_rows=9), "per=visits"),
    ):
        with pytest.raises(TypeError, match=message):
            both.check(Count(per=per))
    with pytest.raises(TypeError, match="a row is the unit"):
        both.check(CountUnits(per=both.unit))
    for per in (
        both.unit,
        PrivacyUnit("row", max_rows=1),
        PrivacyUnit("row", max_rows=1, joined=True),
    ):
        with pytest.raises(TypeError, match="per=visits"):
            table.check(Count(per=per))
    with pytest.raises(ValueError, match="the unit is one row"):
        PrivacyUnit("row", max_rows=9, max_groups=1, joined=True)


PERSONS: dict[str, Any] = {"privacy_unit": "p", "max_rows": 2}


@pytest.mark.parametrize(
    ("mine", "public", "options", "error", "message"),
    [
        ({"k": ["a"]}, {"k": ["a", "a"]}, {}, ValueError, "give max_matches=2"),
        ({"k": ["a"]}, {"k": [1]}, {}, TypeError, "convert 'k' or 'k' before the join"),
        ({"k": [1.0]}, {"k": [1.0]}, {}, TypeError, "they are DOUBLE and DOUBLE"),
        ({"k": ["a"]}, {"k": ["a"], "K": [1]}, {}, ValueError, "ignoring case"),
        ({"k": ["a"], "X": ["a"]}, {"k": ["a"], "x": [1]}, {}, ValueError, "rename the column 'x'"),
        ({"k": ["a"]}, {"z": ["a"]}, {}, ValueError, "there is no column 'k'"),
        ({"k": ["a"]}, {"k": ["a"]}, {"columns": ["y"]}, ValueError, "there is no column 'y'"),
        ({"k": ["a"]}, {"k": ["a"]}, {"columns": "y"}, TypeError, "should be a list"),
        ({"k": ["a"]}, {"k": ["a"]}, {"on": []}, ValueError, "on is empty"),
        ({"k": ["a"]}, {"k": ["a"]}, {"how": "outer"}, ValueError, "how is 'outer'"),
        ({"k": ["a"]}, {"k": ["a"]}, {"max_matches": 0}, ValueError, "max_matches is 0"),
        ({"k": ["a"]}, {"k": ["a"]}, {"max_rows": 2}, ValueError, "instead of max_rows"),
        ({"k": ["a"]}, 5, {}, TypeError, "source is a int"),
    ],
)  # fmt: skip
def test_public_tables_that_do_not_fit(
    mine: Any, public: Any, options: Any, error: type[Exception], message: str
) -> None:
    table = Table({name: pa.array(cells) for name, cells in mine.items()})
    with pytest.raises(error, match=message):
        table.join(public=public, **({"on": "k"} | options))
    assert Count().value(table) == 1


def test_private_tables_that_do_not_fit() -> None:
    """Without the unit among the keys one person's rows would decide about another's."""
    data = {"p": pa.array([1, 2]), "k": pa.array(["a", "a"])}
    table, same = Table(data, **PERSONS), Table(data | {"y": pa.array([1, 2])}, **PERSONS)
    text = Table({"p": pa.array(["1", "01"]), "y": pa.array([1, 2])}, **PERSONS)
    undeclared = Table({"p": ["1", "01"], "y": pa.array([1, 2])}, **PERSONS)
    other = Table({"q": pa.array([1]), "p": pa.array([1])}, privacy_unit="q", max_rows=1)
    for theirs, options, error, message in (
        (same, {"on": "k"}, ValueError, "add 'p' to on"),
        (same, {"on": {"p": "y"}}, ValueError, "add 'p' to on"),
        (same, {"on": "p"}, ValueError, "rename the column 'k'"),
        (same, {"on": "p", "columns": ["y"], "max_matches": 1}, ValueError, "for a public table"),
        (Table(data), {"on": "p"}, TypeError, "open both tables with privacy_unit"),
        (other, {"on": "p"}, TypeError, "one privacy unit; they are of 'p' and 'q'"),
        (text, {"on": "p"}, TypeError, "convert 'p' or 'p'"),
        (undeclared, {"on": "p"}, TypeError, "convert 'p' or 'p'"),
        (pd.DataFrame(), {"on": "p"}, TypeError, r"write join\(public="),
        (None, {"on": "p"}, TypeError, "either another table"),
        (same, {"on": "p", "public": REGIONS}, TypeError, "either another table"),
    ):
        with pytest.raises(error, match=message):
            table.join(theirs, **options)
    with pytest.raises(TypeError, match="so it is private"):
        table.join(public=same, on="p")
    with pytest.raises(TypeError, match="open both tables with privacy_unit"):
        Table(data).join(same, on="p")


def test_a_join_by_other_keys_would_break_the_bound() -> None:
    """The naive join of two private tables: one person moves a count by the rows of all others."""
    rows = pd.DataFrame({"p": range(100), "k": "a"})
    naive = [len(rows[rows.p > gone].merge(rows[rows.p > gone], on="k")) for gone in (-1, 0)]
    assert naive[0] - naive[1] == 199
    tables = [
        Table(pa.Table.from_pandas(rows[rows.p > gone], preserve_index=False), **PERSONS)
        for gone in (-1, 0)
    ]
    counts = []
    for table in tables:
        both = table.join(table, on=["p", "k"], columns=[])
        counts.append(Count(per=both.unit).value(both))
    assert counts == [100, 99]


def test_collations_make_no_keys_or_persons_equal() -> None:
    """Otherwise a row would have as many matches as the case of a public key has variants."""
    import ibis

    with quietly():
        connection = ibis.sqlite.connect()
        connection.con.execute("CREATE TABLE data (k TEXT COLLATE NOCASE)")
        connection.con.execute("INSERT INTO data VALUES ('a'), ('A'), ('b')")
        public = {"k": ["a", "A", "aa"], "y": [1, 2, 4]}
        both = Table(connection.table("data")).join(public=public, on="k")
        assert (Count().value(both), Sum("y", 0, 9).value(both)) == (3, 3)
    # One table ignores case and the other does not: no person's rows displace another's.
    import ibis

    with quietly():
        connection = ibis.sqlite.connect()
        connection.con.execute("CREATE TABLE a (p TEXT, x BIGINT)")
        connection.con.execute("CREATE TABLE b (p TEXT COLLATE NOCASE, y BIGINT)")
        connection.con.execute("INSERT INTO a VALUES ('u', 1), ('U', 1)")
        connection.con.execute("INSERT INTO b VALUES ('u', 1), ('U', 2)")
        one: dict[str, Any] = {"privacy_unit": "p", "max_rows": 1}
        table = Table(connection.table("a"), **one)
        both = table.join(Table(connection.table("b"), **one), on="p")
        assert Sum("y", 0, 9, per=both.unit).value(both) == 3


def test_the_first_table_may_be_forgotten(tmp_path: Path) -> None:
    """Its database lives as long as a table over it, and is then deleted."""
    path = tmp_path / "a.csv"
    path.write_text("zip,x\n01,1\n02,2\n")
    both = Table(path, temp_directory=tmp_path).join(public=REGIONS, on="zip")
    assert Sum("pop", 0, 99).value(both) == 30
    assert len(list(tmp_path.glob("queryable-*"))) == 1
    del both
    gc.collect()
    assert not list(tmp_path.glob("queryable-*"))


def test_wide_numbers_and_readings_survive_the_copy(tmp_path: Path) -> None:
    """Of a second private table: 128-bit integers, undeclared columns, dates, text."""
    path = tmp_path / "a.csv"
    path.write_text("p,wide,any\n1,170141183460469231731687303715884105727,2020-01-01\n2,x,y\n")
    unit: dict[str, Any] = {"privacy_unit": "p", "max_rows": 1}
    table = Table({"p": pa.array([1, 2, 3])}, **unit)
    with Table(path, types={"p": "INTEGER", "wide": "HUGEINT"}, **unit) as theirs:
        both = table.join(theirs, on="p")
    per = both.unit
    assert Count(column("wide") == 2**127 - 1, per=per).value(both) == 1
    assert Count(column("any") >= dt.date(2020, 1, 1), per=per).value(both) == 1
    assert Count(column("any") == "y", per=per).value(both) == 1
    assert [kind.name for kind in both.columns.values()] == ["integer", "integer", "written"]
    assert both.columns["wide"].declared == "HUGEINT"
