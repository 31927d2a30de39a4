"""DuckDB: its further types, what it writes into statements, and files."""

import datetime as dt
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, GroupBy, Histogram, Mean, Quantile, Sum, Table, column
from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.files.opening import Sources
from queryable import ZCDP, ApproxDP, MechanismFault, Queryable, QueryError
from queryable.statistics import IntegerStatistic

x = column("x")


def typed(path: Path, declared: str, *cells: str) -> Table:
    """A Parquet file with one column of a type, of these SQL values and a null."""
    rows = ", ".join(f"(({cell})::{declared})" for cell in (*cells, "NULL"))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t(x)) TO '{path}'")
    return Table(path)


@pytest.mark.parametrize(
    ("declared", "least", "most"),
    [
        ("TINYINT", -128, 127),
        ("USMALLINT", 0, 2**16 - 1),
        ("INTEGER", -(2**31), 2**31 - 1),
        ("UBIGINT", 0, 2**64 - 1),
        ("DECIMAL(4,1)", Decimal("-999.9"), Decimal("999.9")),
        ("DECIMAL(38,0)", -(10**38) + 1, 10**38 - 1),
        ("DECIMAL(38,10)", Decimal(-(10**28) + 1), Decimal(10**28 - 1)),
    ],
)
def test_extremes_of_every_number_type(
    declared: str, least: Any, most: Any, tmp_path: Path
) -> None:
    """Neither a comparison nor a sum overflows, whatever the type and the bounds."""
    table = typed(tmp_path / "x.parquet", declared, f"'{least}'", f"'{most}'", "'5'")
    values = {"x": [least, most, 5, None]}
    statistics: list[IntegerStatistic] = [
        Count(x >= 5),
        Count(x < 2**70),
        Count(x == -(2**70)),
        Count(x > 4.5),
        Sum("x", -100, 300),
        Sum("x", 2, 3, unit="0.5"),
        Sum("x", -100, 300, unit=7),
        Mean("x", -(10**6), 10**6),
        Histogram("x", [5, 2**64, 0.1]),
        Quantile("x", "1/2", [-5, 5, 2**64]),
    ]
    for statistic in statistics:
        assert np.array_equal(statistic(table), statistic(values)), statistic


def test_singles(tmp_path: Path) -> None:
    """As numpy has them: compared with the nearest single, added up by their own decimal."""
    cells = ["0.29", "0.1", "-0.57", "inf", "nan", "3e38", "16777217"]
    table = typed(tmp_path / "x.parquet", "FLOAT", *(f"'{cell}'" for cell in cells))
    values = {"x": np.array([*map(float, cells)], dtype=np.float32)}
    for statistic in (
        Sum("x", -10, 10, unit="0.01"),
        Sum("x", 0, 2**40, unit="1/8"),
        Sum("x", 0, 2**24 + 1),
        Sum("x", -(2**53), 2**53, unit=2**120),
        Sum("x", -1, 1, unit="0.03"),
        Count(x == 0.1),
        Count(x <= 0.29),
        Histogram("x", [0.1, float(np.float32(0.1))]),
    ):
        assert np.array_equal(statistic(table), statistic(values)), statistic


def test_every_hundredth() -> None:
    """Each decimal of two digits, and the floats next to it, are whole hundredths as written."""
    exact = np.arange(-3000, 3000) / 100
    cells = np.concatenate([exact, np.nextafter(exact, 99), np.nextafter(exact, -99)])
    table = Table({"x": cells})
    for unit in ("0.01", "0.03", "0.1", "0.7"):
        statistic = GroupBy({"x": cells[::17].tolist()[:40]}, Sum("x", -30, 30, unit=unit))
        assert np.array_equal(statistic(table), statistic({"x": cells})), unit
        assert Sum("x", -30, 30, unit=unit)(table) == Sum("x", -30, 30, unit=unit)({"x": cells})


def test_times_of_every_resolution() -> None:
    """Timestamps down to nanoseconds, with zones and without, and durations."""
    moment = np.datetime64("2020-01-01T00:00:00.000000500", "ns")
    for unit in ("s", "ms", "us", "ns"):
        frame = {"x": np.array([moment, np.datetime64("NaT")]).astype(f"M8[{unit}]")}
        for statistic in (Count(x >= moment), Count(x < moment), Count(x == moment)):
            assert statistic(Table(frame)) == statistic(frame), (unit, statistic)
    zoned = pl.DataFrame({"x": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]})
    east = dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    for precision in ("ms", "us", "ns"):
        table = Table(zoned.with_columns(pl.col("x").cast(pl.Datetime(precision, "UTC"))))
        assert Count(x == east)(table) == Histogram("x", [east])(table)[0] == 1
    lasting = Table({"x": np.array([90, 3_600], dtype="m8[s]")})
    assert Count(x > dt.timedelta(minutes=2))(lasting) == 1
    assert Histogram("x", [np.timedelta64(90, "s")])(lasting).tolist() == [1]


def test_intervals_of_one_length_are_one_group(tmp_path: Path) -> None:
    """A month equals thirty days, so a person is counted in that group once."""
    path = tmp_path / "x.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 1 AS p, unnest([INTERVAL 1 MONTH, INTERVAL 30 DAYS, INTERVAL 720 HOURS]) "
            f"AS x) TO '{path}'"
        )
    table = Table(path, privacy_unit="p", max_rows=3, max_rows_per_group=1)
    month = dt.timedelta(days=30)
    assert Histogram("x", [month], per=table.unit)(table).tolist() == [1]


def test_categories_are_text() -> None:
    """An enumeration compares as its text, in the text's order, not in its own.

    The categories of pandas may be the cells' own, so such a column has no type.
    """
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", None], categories=["b", "a"])})
    assert Count(x.cast("text") > "a")(Table(frame)) == 1
    assert Count(x > "a")(Table(pl.DataFrame({"x": ["b", "a", None]}, {"x": pl.Enum("ba")}))) == 1
    assert Histogram("x", ["a", "c"])(Table(frame)).tolist() == [1, 0]


def test_what_is_unknown_can_be_there() -> None:
    """Nested columns are no obstacle to counting the others, per person too."""
    source = pa.table({"p": [1, 1, 2], "x": [[1], [2, 3], None], "y": [{"a": 1}] * 3})
    assert Count()(Table(source)) == 3
    table = Table(source, privacy_unit="p", max_rows=1)
    assert Count(per=table.unit)(table) == 2
    with pytest.raises(TypeError, match="does not compare"):
        table.check(Count(x == 1, per=table.unit))


def test_constants_of_text_are_parameters() -> None:
    """Nothing that a request says is part of a statement but names, which are quoted."""
    engine = DuckDB(pa.table({'a"; DROP TABLE data; --': ["x"], "b": [1]}))
    table = Table(engine=engine)
    hostile = "'; DROP TABLE data; --"
    where = (column('a"; DROP TABLE data; --') == hostile) & (column("b") > 0)
    plan = table._plan(Count(where).request)
    assert hostile not in plan.statement
    assert hostile in plan.parameters
    assert '"a""; DROP TABLE data; --"' in plan.statement
    assert Count(where)(table) == 0
    assert Count()(table) == 1


def test_a_damaged_file_reveals_nothing(tmp_path: Path) -> None:
    """A file that goes wrong under a query says only that something failed."""
    path = tmp_path / "people.parquet"
    pd.DataFrame({"name": ["x"] * 10}).to_parquet(path)
    faults: list[BaseException] = []
    table = Table(path)
    queryable = Queryable(FiltCon(ZCDP(1)), table, on_fault=faults.append)
    path.write_bytes(b"hidden" * 100)
    table._engine.sources = Sources()  # as if the change were not noticed
    with pytest.raises(MechanismFault) as caught:
        queryable.launch(Gaussian(Count(column("name") == "x"), rho="1/2"))
    assert "people" not in "".join(traceback.format_exception(caught.value))
    assert "people" in str(faults[0])


def test_options_are_handed_on(tmp_path: Path) -> None:
    table = Table({"x": [1]}, memory_limit="200MB", threads=1, temp_directory=tmp_path)
    rows = table._engine._connection.execute(
        "SELECT current_setting('threads'), current_setting('temp_directory'), "
        "current_setting('TimeZone')"
    ).fetchone()
    assert rows == (1, table._engine.folder, "UTC")
    assert Path(table._engine.folder).parent == tmp_path
    table.close()
    assert list(tmp_path.iterdir()) == []


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    """Only those that are named are known, and decide which rows are chosen."""
    table = Table({"p": [1, 1], "x": [1, 2], "y": [3, 4]}, columns=["p", "x"])
    assert list(table.columns) == ["p", "x"]
    with pytest.raises(MechanismFault):
        Sum("y", 0, 9)(table)


FAR = 2**63 - 1
FAR_TIMES = [(sign, np.datetime64(sign * FAR, u)) for u in ("s", "us", "ns") for sign in (1, -1)]
FAR_DAYS = [
    (sign, np.datetime64(sign * far, "D")) for far in (2**31 - 1, 2**40) for sign in (1, -1)
]
FAR_CONSTANTS: dict[str, list[tuple[int, Any]]] = {
    "date": FAR_TIMES + FAR_DAYS,
    "timestamp": FAR_TIMES + FAR_DAYS,
    "instant": [
        (1, dt.datetime(9999, 12, 31, tzinfo=dt.UTC)),
        (-1, dt.datetime(1, 1, 1, tzinfo=dt.UTC)),
    ],
    "duration": [(s, np.timedelta64(s * FAR, u)) for u in ("s", "us", "ns") for s in (1, -1)],
}
TIMES = {
    "date": [pa.date32(), pa.date64()],
    "timestamp": [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")],
    "instant": [pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")],
    "duration": [pa.duration(unit) for unit in ("s", "ms", "us", "ns")],
}


@pytest.mark.parametrize("kind", TIMES)
def test_no_time_makes_a_query_fail(kind: str) -> None:
    """Neither a constant beyond all times, which a row alone would run into, nor a cell."""
    for declared in TIMES[kind]:
        bits = 32 if declared == pa.date32() else 64
        far = 2 ** (bits - 1) - 1
        counts = pa.array([0, far, -far, -far - 1, far // 10**3], f"int{bits}")
        source = pa.table({"p": range(5), "x": counts.view(declared)})
        table = Table(source, privacy_unit="p", max_rows=1)
        assert table.columns["x"].name == kind
        for sign, constant in FAR_CONSTANTS[kind]:
            below = Count((column("p") == 0) & (x < constant), per=table.unit)
            assert below.value(table) == (sign > 0), (declared, constant)
            assert Count((x < constant) | ~(x < constant), per=table.unit).value(table) == 5
            Histogram("x", [constant], per=table.unit).value(table)


def test_declared_columns_of_many_objects_stay_beside_the_others() -> None:
    """DuckDB computes blocks of rows in any order; a cell stays in its own row."""
    count = 300_000
    table = Table({"a": list(range(count)), "b": np.arange(count)}, types={"a": "BIGINT"})
    with table:
        assert Count(column("a") == column("b"))(table) == count


def test_a_table_that_is_closed_refuses_before_a_charge() -> None:
    """That it is closed is public. It was charged once, and then failed."""
    table = Table({"a": [1, 2, 3], "s": ["x", "y", "x"]})
    handle = Queryable(FiltCon(ApproxDP(1, "1e-5")), table)
    table.close()
    for asked in (table.count(), table.discovered_keys("s")):
        with pytest.raises(QueryError, match="open the table again: it is closed"):
            handle.release(asked, loss=ApproxDP("1/9", "1e-6"))
    with pytest.raises(ValueError, match="open the table again: it is closed"):
        table.join(public={"s": ["x"], "w": [3]}, on="s")
    assert handle.privacy_loss() == ApproxDP(0, 0)
