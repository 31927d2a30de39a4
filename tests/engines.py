"""Tables with the same rows on every engine, for conformance tests.

`ENGINES` lists the engines. `opened(engine, types, rows)` returns a `Table`. Tests on Postgres need
a server, and tests on Spark need PySpark and Java; they are skipped with a reason where these are
missing.
"""

import atexit
import datetime as dt
import importlib.util
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mechanisms import Table
from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.request import Request
from tests.postgres import POSTGRES, collated, server

Types = Mapping[str, str]
"""Column names mapped to one of the kinds that are the keys of `_ARROW`."""
Rows = list[tuple[Any, ...]]

_ARROW = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "instant": pa.timestamp("us", tz="UTC"),
    "money": pa.decimal128(12, 2),
}
_SQLITE = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "TEXT",
    "bytes": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "instant": "TIMESTAMPTZ",
    "money": "DECIMAL(12,2)",
}
_POSTGRES = {
    "integer": "bigint",
    "float": "double precision",
    "boolean": "boolean",
    "text": "text",
    "bytes": "bytea",
    "date": "date",
    "timestamp": "timestamp",
    "instant": "timestamptz",
    "money": "numeric(12,2)",
}
_numbers = count()


def _java() -> str | None:
    """The reason why Spark cannot run here, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed (extra `spark`)"
    return None if shutil.which("java") else "there is no Java on the path"


SPARK = pytest.mark.skipif(_java() is not None, reason=f"no Spark: {_java()}")
EMBEDDED = ["duckdb", "ibis on duckdb", "ibis on sqlite"]
ENGINES = [
    *EMBEDDED,
    "ibis on sqlite, collated",
    pytest.param("ibis on postgres", marks=POSTGRES),
    pytest.param("ibis on postgres, collated", marks=POSTGRES),
    pytest.param("ibis on spark", marks=SPARK),
]
"""On the collated ones the text of every column ignores case, in comparisons and in its order."""


def mostly(*quick: str, among: Sequence[Any] = ENGINES) -> list[Any]:
    """The engines, with the mark `slow` on all others than these.

    A test that compiles many statements is quick on one engine of each dialect: two collations of
    one dialect differ in text alone.
    """
    given = [each if hasattr(each, "marks") else pytest.param(each) for each in among]
    assert set(quick) <= {each.values[0] for each in given}
    return [
        each
        if each.values[0] in quick
        else pytest.param(*each.values, marks=[*each.marks, pytest.mark.slow])
        for each in given
    ]


DIALECTS = mostly("duckdb", "ibis on duckdb", "ibis on sqlite", "ibis on postgres")
"""The engines; only one of each dialect is quick, and none with a collation."""

FEW = mostly("duckdb", "ibis on sqlite")
"""The engines; only DuckDB and one on which all is compiled by Ibis are quick."""


class Plain(Engine):
    """What every engine has to do, by another one, and nothing else."""

    kinds: Mapping[str, Kind] = {}

    def __init__(self, engine: Engine) -> None:
        self.engine, self.kinds = engine, engine.kinds

    def kind(self, operand: Operand) -> Kind:
        return self.engine.kind(operand)

    def plan(self, request: Request, choice: Choice) -> Any:
        return self.engine.plan(request, choice)

    def run(self, plan: Any) -> Any:
        return self.engine.run(plan)

    def close(self) -> None:
        self.engine.close()


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress the deprecation warnings that Ibis and its backends give about each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def arrow(types: Types, rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    return pa.table(
        [
            pa.array(list(values), type=_ARROW[kind], from_pandas=False)
            for values, kind in zip(columns, types.values(), strict=True)
        ],
        names=list(types),
    )


def opened(engine: str, types: Types, rows: Rows, **options: Any) -> Table:
    """Return a table with these rows on this engine; `options` are passed to `Table`."""
    with quietly():
        if engine == "duckdb":
            return Table(arrow(types, rows), **options)
        source = {
            "ibis on duckdb": _on_duckdb,
            "ibis on sqlite": _on_sqlite,
            "ibis on sqlite, collated": partial(_on_sqlite, text="TEXT COLLATE NOCASE"),
            "ibis on postgres": _on_postgres,
            "ibis on postgres, collated": partial(
                _on_postgres, connected=collated, text='text COLLATE "alike"'
            ),
            "ibis on spark": _on_spark,
        }[engine](types, rows)
        return Table(source, **options)


def _on_duckdb(types: Types, rows: Rows) -> Any:
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.register("given", arrow(types, rows))
    connection.raw_sql("CREATE TABLE data AS SELECT * FROM given")
    return connection.table("data")


def _on_sqlite(types: Types, rows: Rows, text: str = "TEXT") -> Any:
    import ibis

    path = Path(_folder()) / f"{next(_numbers)}.db"
    declared = {**_SQLITE, "text": text}
    columns = ", ".join(
        '"' + name.replace('"', '""') + f'" {declared[kind]}' for name, kind in types.items()
    )
    with sqlite3.connect(path) as raw:
        raw.execute(f"CREATE TABLE data ({columns})")
        marks = ", ".join("?" * len(types))
        raw.executemany(
            f"INSERT INTO data VALUES ({marks})",
            [tuple(map(_for_sqlite, row, types.values())) for row in rows],
        )
    raw.close()
    return ibis.sqlite.connect(path).table("data")


def _for_sqlite(cell: Any, kind: str) -> Any:
    if cell is None:
        return None
    match kind:
        case "date":
            return cell.isoformat()
        case "timestamp":
            return cell.isoformat(sep=" ")
        case "instant":
            return cell.astimezone(dt.UTC).replace(tzinfo=None).isoformat(sep=" ")
        case "money":
            return float(cell)
    return cell


@cache
def _postgres() -> Any:
    import ibis

    return ibis.postgres.connect(host=server(), user="postgres", database="postgres")


def _on_postgres(
    types: Types, rows: Rows, connected: Callable[[], Any] = _postgres, text: str = "text"
) -> Any:
    connection, name = connected(), f"engine_{next(_numbers)}"
    declared = {**_POSTGRES, "text": text}
    columns = ", ".join(
        '"' + name.replace('"', '""') + f'" {declared[kind]}' for name, kind in types.items()
    )
    with connection.con.cursor() as cursor:
        cursor.execute(f"CREATE UNLOGGED TABLE {name} ({columns})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    connection.con.commit()
    return connection.table(name)


def _on_spark(types: Types, rows: Rows) -> Any:
    import ibis
    from pyspark.sql import types as spark

    kinds = {
        "integer": spark.LongType(),
        "float": spark.DoubleType(),
        "boolean": spark.BooleanType(),
        "text": spark.StringType(),
        "bytes": spark.BinaryType(),
        "date": spark.DateType(),
        "timestamp": spark.TimestampNTZType(),
        "instant": spark.TimestampType(),
        "money": spark.DecimalType(12, 2),
    }
    fields = [spark.StructField(name, kinds[kind]) for name, kind in types.items()]
    name = f"data_{next(_numbers)}"
    session = _session()
    session.createDataFrame(rows, spark.StructType(fields)).createOrReplaceTempView(name)
    return ibis.pyspark.connect(session).table(name)


@cache
def _session() -> Any:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(Path(_folder(), "spark-warehouse")))
        .getOrCreate()
    )


@cache
def _folder() -> str:
    path = tempfile.mkdtemp(prefix="queryable-tests-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
