"""Tables that grow: what a batch may be, what a snapshot has, and which blocks are read."""

import datetime as dt
import gc
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from composition import Blocks, FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Gaussian,
    Histogram,
    Laplace,
    SparseVector,
    Sum,
    Table,
    ToeplitzCounter,
    Total,
    TreeCounter,
    column,
)
from queryable import ZCDP, Last, PureDP, Queryable, QueryError, SeededCoins, UserLevel
from queryable.streams.blocks import BlocksQuery
from tests.engines import opened, quietly

AGES = {"who": ["a", "b", "c"], "age": np.array([31, 47, 62])}
MORE = {"who": ["a", "d"], "age": np.array([25, 58])}
OLD = column("age") >= 40


def written(path: Path, cells: dict[str, Any]) -> Path:
    """A Parquet file, or a CSV file by its ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        pd.DataFrame(cells).to_csv(path, index=False)
    else:
        parquet.write_table(pa.table(cells), path)
    return path


def days(folder: Path, count: int = 5, form: str = "parquet") -> Path:
    """A folder of days: day i has the ages i, i + 1 times, of one person and another."""
    for i in range(count):
        cells = {"who": ["p", *[f"q{i}"] * i], "age": [i] * (i + 1)}
        written(folder / "visits" / f"day=2026-03-{i + 1:02}" / f"x.{form}", cells)
    return folder / "visits"


def test_old_table_keeps_its_rows() -> None:
    """Two tables go on from one; what is remembered is of one snapshot."""
    table = Table(AGES)
    assert Count(OLD)(table) == 2
    more = table.append(MORE)
    other = table.append({"who": [], "age": np.array([], np.int64)})
    most = more.append(MORE)
    for _ in range(2):
        found = [Count(OLD)(each) for each in (table, more, other, most)]
        assert found == [2, 3, 2, 4]
    assert [Count()(each) for each in (table, more, other, most)] == [3, 5, 3, 7]


@pytest.mark.parametrize(
    "batch",
    [
        {"who": ["d", "e"], "age": [25, "58"]},
        {"age": np.array([25, 58]), "who": ["d", "e"]},
        pd.DataFrame({"who": ["d", "e"], "age": [25, 58]}),
        pl.DataFrame({"who": ["d", "e"], "age": [25, 58]}),
        pa.table({"who": ["d", "e"], "age": [25, 58]}),
        np.array([("d", 25), ("e", 58)], dtype=[("who", "U1"), ("age", np.int64)]),
    ],
)
def test_batches_in_memory(batch: Any) -> None:
    """Every form of frame extends a table of any other form."""
    for first in (AGES, pd.DataFrame(AGES), pa.table(AGES)):
        assert Sum("age", 0, 100)(Table(first).append(batch)) == 140 + 83


@pytest.mark.parametrize("first", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("then", ["b.csv", "b.parquet", "folder/b.csv", "folder/b.parquet", ""])
def test_batches_of_files(tmp_path: Path, first: str, then: str) -> None:
    """A file, a folder or a dict of columns extends files of either form."""
    types = {"age": "BIGINT"} if first == "a.csv" else {}
    path = written(tmp_path / first, AGES)
    options: dict[str, Any] = {"types": types} if types else {}
    with Table(path, **options) as table:
        batch = written(tmp_path / then, MORE) if then else {**MORE, "age": [25, 58]}
        if "/" in then:
            batch = tmp_path / "folder"
        more = table.append(str(batch) if isinstance(batch, Path) else batch)
        assert (Count()(more), Sum("age", 0, 100)(more), Count(OLD)(more)) == (5, 223, 3)
        assert Count()(table) == 3


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        ({"who": ["d"]}, "no column 'age'"),
        ({"who": ["d"], "age": np.array([1]), "more": [1]}, "a column 'more'"),
        ({"who": ["d"], "age": np.array([1.5])}, "'age' is DOUBLE in the batch and BIGINT"),
        ({"who": np.array([1]), "age": np.array([1])}, "convert .*types={'who': 'BIGINT'}"),
        ([{"who": "d", "age": 1}], "source is a list"),
        ("nowhere.csv", "o such file"),
        ("nowhere.txt", "should end in"),
        (Table, "another table"),
        ({"who": ["d"], "age": np.array([1, 2])}, "length"),
    ],
)
def test_other_schemas_are_refused(batch: Any, why: str) -> None:
    """By public facts alone; the table and a queryable over it are as they were."""
    table = Table(AGES)
    batch = Table(MORE) if batch is Table else batch
    with pytest.raises((TypeError, ValueError, OSError), match=why):
        table.append(batch)
    visits = Queryable(FiltCon(PureDP(10**6)), table)
    with pytest.raises(QueryError, match=why):
        visits.feed(batch)
    visits.feed(MORE)
    assert round(float(visits(Laplace(Count(), epsilon=10**4)))) == 5


def test_cells_that_do_not_fit_are_missing() -> None:
    """As at opening; the owner is told, and may refuse the batch."""
    shown: list[Any] = []
    table = Table(AGES, on_misread=shown.append)
    more = table.append({"who": ["d", "e", "f"], "age": [25, "x", None]})
    assert (Count()(more), Count(column("age") >= 0)(more)) == (6, 4)
    assert [each.findings for each in shown] == [
        ("age: 1 cells are no valid BIGINT and are missing",)
    ]

    def refuse(_: object) -> None:
        raise RuntimeError

    strict = Table(AGES, on_misread=refuse)
    with pytest.raises(RuntimeError):
        strict.append({"who": ["d"], "age": ["x"]})


def test_corrupt_files(tmp_path: Path) -> None:
    """A batch that is no Parquet file is refused; invalid text in one is missing."""
    table = Table(AGES)
    (tmp_path / "bad.parquet").write_bytes(b"not a file")
    with pytest.raises(ValueError, match=r"bad\.parquet' is no Parquet file"):
        table.append(tmp_path / "bad.parquet")
    invalid = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffd")
    )
    parquet.write_table(pa.table({"who": invalid, "age": [1, 2]}), tmp_path / "text.parquet")
    more = table.append(tmp_path / "text.parquet")
    assert (Count()(more), Count(column("who") == "d")(more)) == (5, 1)


def test_bounds_hold_over_all_batches() -> None:
    """At most `max_rows` rows of a unit count, in whichever batches they are."""
    table = Table(AGES, privacy_unit="who", max_rows=2)
    for _ in range(4):
        table = table.append({"who": ["a", "e"], "age": np.array([1, 2])})
    assert Count(per=table.unit)(table) == 2 + 1 + 1 + 2
    assert CountUnits(per=table.unit)(table) == 4
    everything = Table(
        {"who": ["a", "b", "c", *["a", "e"] * 4], "age": np.array([31, 47, 62, *[1, 2] * 4])},
        privacy_unit="who",
        max_rows=2,
        seed=table.seed,
    )
    assert Sum("age", 0, 99, per=table.unit)(table) == Sum("age", 0, 99, per=table.unit)(everything)


def test_rows_are_chosen_when_they_arrive() -> None:
    """If the owner chose rows at opening, a batch has its rows chosen when it is appended."""
    table = Table(AGES, privacy_unit="who", max_rows=1)
    table.choose_rows()
    more = table.append(MORE, block="m")
    keeper = more._engine.root._keeper
    assert keeper._before is not None
    assert keeper._before[0].view == more._engine.view
    assert Count(per=more.unit)(more) == 4
    assert Count(per=table.unit)(table) == 3
    assert Count(OLD, per=more.unit)(more.over(["m"])) == 1


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_folders_are_blocks(tmp_path: Path, form: str) -> None:
    """In the order of their names; a further folder is appended as a block."""
    options: dict[str, Any] = {"types": {"age": "BIGINT"}} if form == "csv" else {}
    with Table(days(tmp_path, form=form), blocks="day", **options) as table:
        names = [f"2026-03-{i + 1:02}" for i in range(5)]
        assert table.blocks == tuple(names)
        assert Histogram("age", range(5))(table).tolist() == [1, 2, 3, 4, 5]
        assert Histogram("age", range(5))(table.over(names[1:3])).tolist() == [0, 2, 3, 0, 0]
        batch = written(tmp_path / "visits" / "day=2026-03-06" / f"x.{form}", MORE)
        more = table.append(batch.parent, block="2026-03-06")
        assert more.blocks == (*names, "2026-03-06")
        assert (Count()(more), Count()(more.over(["2026-03-06", names[0]]))) == (17, 3)
        assert (Count()(table), Count()(more.over([]))) == (15, 0)
        for wrong in (["2026-03-07"], ["2026-03-01", 1]):
            with pytest.raises(KeyError, match="no block"):
                more.over(wrong)


def test_only_named_blocks_are_read(tmp_path: Path) -> None:
    """The others may be deleted or destroyed; a changed file is noticed where it is named."""
    folder = days(tmp_path)
    table = Table(folder, blocks="day", privacy_unit="who", max_rows=2)
    shutil.rmtree(folder / "day=2026-03-01")
    (folder / "day=2026-03-02" / "x.parquet").write_bytes(b"destroyed")
    last = table.over(["2026-03-04", "2026-03-05"])
    assert Count(per=table.unit)(last) == 2 + 2 + 2
    assert CountUnits(per=table.unit)(last) == 3
    (listed,) = last._engine.root.fetch(
        f"SELECT sql FROM duckdb_views() WHERE view_name = '{last._engine.view}'"
    )
    assert listed[0].count("x.parquet") == 2
    for name in ("2026-03-01", "2026-03-02"):
        with pytest.raises(ValueError, match="a file has changed"):
            Count(per=table.unit).totals(table.over([name]))


def test_files_that_change_are_noticed(tmp_path: Path) -> None:
    """Also where an answer is remembered; tables without the file go on."""
    table = Table(AGES)
    batch = written(tmp_path / "b.parquet", MORE)
    more = table.append(batch)
    assert Count()(more) == 5
    os.utime(batch, ns=(1, 1))
    for statistic in (Count(), Count(OLD)):
        with pytest.raises(ValueError, match="a file has changed"):
            statistic.totals(more)
    assert Count()(table) == 3


def test_wrong_blocks(tmp_path: Path) -> None:
    """Folders and columns that are not there, and blocks of rows in memory."""
    days(tmp_path)
    with pytest.raises(FileNotFoundError, match="month="):
        Table(tmp_path / "visits", blocks="month")
    with pytest.raises(ValueError, match="folder"):
        Table(tmp_path / "visits" / "day=2026-03-01" / "x.parquet", blocks="day")
    with pytest.raises(TypeError, match="leave blocks out"):
        Table(AGES, blocks="age")
    parquet.write_table(
        pa.table({"age": ["x"]}), tmp_path / "visits" / "day=2026-03-02" / "y.parquet"
    )
    with pytest.raises((TypeError, ValueError), match=r"no column 'who'|same columns"):
        Table(tmp_path / "visits", blocks="day")


def test_blocks_of_a_database() -> None:
    """A column names the block; rows that are appended are in blocks of their own."""
    pytest.importorskip("ibis")
    types = {"day": "text", "age": "integer"}
    rows = [(f"2026-03-0{i}", i) for i in (1, 1, 2, 3)]
    with quietly():
        table = opened("ibis on duckdb", types, rows, blocks={"day": ["2026-03-01"]})
        assert table.blocks == ("2026-03-01",)
        more = table.append(table._root.source.filter(table._root.source.age == 3), block="new")
        assert more.blocks == ("2026-03-01", "new")
        assert [Count()(each) for each in (table, more)] == [4, 5]
        assert Count()(more.over(["2026-03-01", "new"])) == 3
        assert Count()(more.over(["2026-03-01"])) == 2
        assert Count()(more.over([])) == 0
        with pytest.raises(KeyError, match="no block"):
            more.over(["2026-03-02"])
        open_table = opened("ibis on duckdb", types, rows, blocks="day")
        assert Count()(open_table.over(["2026-03-02", "2030-01-01"])) == 1
        for wrong in (AGES, open_table._root.source, table._root.source.select("age")):
            with pytest.raises(TypeError):
                table.append(wrong)
        limited = table._root.source.limit(1)
        with pytest.raises(ValueError, match="a limit"):
            table.append(limited)


def test_joined_tables_do_not_grow() -> None:
    """The rows of blocks can be joined, and a join of grown rows has them."""
    table = Table(AGES).append(MORE, block=1)
    joined = table.join(public={"who": ["a", "d"], "x": [1, 2]}, on="who")
    assert Count(column("x") >= 1)(joined) == 3
    gc.collect()
    assert Count(column("x") == 2)(joined) == 1
    for wrong in (lambda: joined.append(MORE), lambda: joined.batch(MORE)):
        with pytest.raises(TypeError, match="before the join"):
            wrong()


def test_snapshots_are_shared_and_dropped() -> None:
    """So a filter and the filters in it share one copy."""
    table = Table(AGES)
    batch = table.batch(MORE)
    assert table.append(batch) is table.append(batch)
    assert table.append(batch).append(batch) is not table.append(batch)
    assert table.batch(batch) is batch
    assert Count()(table.append(batch, block=1)) == 5
    # The database has views of living tables only, and copies of files of these.
    table = Table(AGES)
    for i in range(5):
        table = table.append({"who": ["x"], "age": [i]}, block=i)
        assert Count()(table) == 4 + i
        assert Count()(table.over([i])) == 1
    gc.collect()
    root = table._engine.root
    assert Count()(table.append(MORE)) == 10
    views = root.fetch("SELECT count(*) FROM duckdb_views() WHERE view_name LIKE 'grown %'")
    assert views[0][0] <= 2


def test_feeding_a_tree(tmp_path: Path) -> None:
    """Filters, a sparse vector and counters of the table's statistics see each batch once."""
    visits = Queryable(FiltCon(PureDP(10**9)), Table(AGES), coins=SeededCoins(1), allow_seeded=True)
    inner = visits(FiltCon(PureDP(10**8)))
    search = visits(SparseVector(threshold=4, epsilon=10**5))
    trees = [
        visits(TreeCounter(each, epsilon=10**5, horizon=8))
        for each in (Count(OLD), Sum("age", 0, 100), Histogram("who", ["a", "d"]))
    ]
    assert search(Count(OLD)) is False
    for batch in (
        MORE,
        written(tmp_path / "b.parquet", MORE),
        str(written(tmp_path / "b.csv", MORE)),
    ):
        visits.feed(batch)
    for each in (visits, inner):
        assert round(float(each(Laplace(Count(), epsilon=10**5)))) == 9
    assert [np.round(tree(Total())).tolist() for tree in trees] == [3, 249, [3, 3]]


def test_counters_bound_the_rows_of_units() -> None:
    """Over all batches, even where the table chooses rows of its own."""
    table = Table(AGES, privacy_unit="who", max_rows=2)
    visits = Queryable(FiltCon(ZCDP(10**9)), table, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(QueryError, match=r"per=visits\.unit"):
        visits(ToeplitzCounter(Count(), rho=10**6, horizon=8))
    counter = visits(ToeplitzCounter(Count(per=table.unit), rho=10**6, horizon=8))
    level = UserLevel("who", 1)
    once = visits(ToeplitzCounter(Count(per=table.unit), rho=10**6, horizon=8, neighbours=level))
    for _ in range(3):
        visits.feed({"who": ["a", "a", "b", None], "age": [1, 2, 3, 4]})
    assert round(float(counter(Total()))) == 2 + 2
    assert round(float(once(Total()))) == 2


@pytest.mark.parametrize("first", [dt.date(2026, 3, 1), "monday", 7])
def test_names_of_blocks(first: Any) -> None:
    """Text, integers and dates name blocks; a block may have several batches."""
    table = Table(AGES).append(MORE, block=first).append(MORE, block="b").append(MORE, block=first)
    assert table.blocks == (first, "b")
    assert [Count()(table.over([first])), Count()(table.over(["b", first]))] == [4, 6]


def test_blocks_with_budgets_of_their_own(tmp_path: Path) -> None:
    """Folders that exist are closed blocks; files and frames are fed as further ones."""
    visits = Queryable(Blocks(FiltCon(ZCDP(10**6))), Table(days(tmp_path), blocks="day"))
    exact = Gaussian(Count(), rho=10**4)
    assert [each.closed for each in visits(BlocksQuery())] == [True] * 5
    assert round(float(visits.launch_over(exact, ["2026-03-02", "2026-03-05"]))) == 7
    visits.feed({"who": ["z"], "age": [7]}, block="new")
    visits.feed(written(tmp_path / "b.parquet", MORE), block="new")
    with pytest.raises(QueryError, match="still open"):
        visits.launch_over(exact, ["new"])
    visits.feed.close("new")
    assert round(float(visits.launch_over(exact, Last(2)))) == 3 + 5
    with pytest.raises(QueryError, match="2026-03-01"):
        visits.feed(MORE, block="2026-03-01")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_units_count_in_their_first_blocks(tmp_path: Path, form: str) -> None:
    """In the blocks that were there at opening, and in those that arrive as files."""
    options: dict[str, Any] = {"types": {"age": "BIGINT"}} if form == "csv" else {}
    options |= {"privacy_unit": "who", "max_rows": 9}
    with Table(days(tmp_path, form=form), blocks="day", **options) as table:
        visits = Queryable(Blocks(FiltCon(ZCDP(10**6)), unit="who", unit_blocks=2), table)
        exact = Gaussian(Count(per=table.unit), rho=10**4)
        found = [visits.launch_over(exact, [name]) for name in table.blocks]
        assert [round(float(each)) for each in found] == [1, 2, 2, 3, 4]
        batch = written(tmp_path / f"b.{form}", {"who": ["p", "q1", "q1"], "age": [1, 2, 3]})
        for name, kept in (("x", 2), ("y", 0)):
            visits.feed(batch, block=name)
            visits.feed.close(name)
            assert round(float(visits.launch_over(exact, [name]))) == kept
        assert round(float(visits.launch_over(exact, Last(7)))) == 14
