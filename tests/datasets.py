"""The same rows as a dataset in each form that statistics accept.

`opened(form, types, rows)` is a context manager. `MEMORY` forms are arrays and frames without a
`Table`; `FRAMES` are tables over these; the other forms are files and databases. A connection is
opened once for all tables of a form, so that a small table costs milliseconds.
"""

import csv
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mechanisms import Table
from tests.engines import _ARROW, _SQLITE, SPARK, _folder, _for_sqlite, _session, quietly
from tests.messy_tables import Row, Types
from tests.postgres import POSTGRES, collated, server

_numbers = count()


def in_arrow(types: Types, rows: list[Row]) -> pa.Table:
    columns = [
        pa.array([row[name] for row in rows], type=_ARROW[kind], from_pandas=False)
        for name, kind in types.items()
    ]
    return pa.table(columns, names=list(types))


_MOMENTS = {"date": "M8[D]", "timestamp": "M8[us]"}
_FILLED = {"integer": (np.int64, 0), "boolean": (np.bool_, False), "float": (np.float64, np.nan)}


def _in_numpy(kind: str, cells: list[Any], like: list[Any]) -> Any:
    if kind in _MOMENTS:
        return np.array(
            [np.datetime64("NaT") if it is None else it for it in cells], _MOMENTS[kind]
        )
    if kind == "float":
        return np.array([np.nan if it is None else it for it in cells], np.float64)
    if kind in _FILLED:
        dtype, filler = _FILLED[kind]
        plain = np.array([filler if it is None else it for it in cells], dtype)
        return np.ma.array(plain, mask=[it is None for it in cells]) if None in cells else plain
    if kind == "text" and None not in like and not any(it.endswith("\0") for it in like):
        return np.array(cells, f"U{max(map(len, like), default=1)}")
    return np.fromiter(cells, dtype=object, count=len(cells))


def in_numpy(types: Types, rows: list[Row], like: list[Row] | None = None) -> dict[str, Any]:
    """A dict of arrays; what numpy has no type for is in arrays of objects.

    The types of the arrays can hold `like` as well: an array of text cannot hold what is missing.
    """
    like = rows if like is None else like
    return {
        name: _in_numpy(kind, [row[name] for row in rows], [row[name] for row in like])
        for name, kind in types.items()
    }


def structured(types: Types, rows: list[Row], like: list[Row] | None = None) -> Any:
    """A structured array; integers that are missing make it a dict of arrays."""
    columns = in_numpy(types, rows, like)
    if any(isinstance(column, np.ma.MaskedArray) for column in columns.values()):
        return columns
    table = np.empty(len(rows), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


_PANDAS: dict[str, Any] = {
    "integer": "Int64",
    "boolean": "boolean",
    "text": "string",
    "timestamp": "datetime64[us]",
    "instant": "datetime64[us, UTC]",
    "date": pd.ArrowDtype(pa.date32()),
    "money": pd.ArrowDtype(pa.decimal128(12, 2)),
}


def _in_pandas(kind: str, cells: list[Any]) -> Any:
    if kind == "float":
        return pd.Series(_in_numpy(kind, cells, cells))
    return pd.Series(cells, dtype=_PANDAS[kind])


def in_pandas(types: Types, rows: list[Row]) -> Any:
    """A pandas frame."""
    cells = {name: [row[name] for row in rows] for name in types}
    return pd.DataFrame({name: _in_pandas(kind, cells[name]) for name, kind in types.items()})


_POLARS: dict[str, Any] = {
    "integer": pl.Int64,
    "float": pl.Float64,
    "boolean": pl.Boolean,
    "text": pl.String,
    "date": pl.Date,
    "timestamp": pl.Datetime("us"),
    "instant": pl.Datetime("us", "UTC"),
    "money": pl.Decimal(12, 2),
}


def in_polars(types: Types, rows: list[Row]) -> Any:
    """A polars frame."""
    return pl.DataFrame(
        [
            pl.Series(name, [row[name] for row in rows], _POLARS[kind])
            for name, kind in types.items()
        ]
    )


MEMORY: dict[str, Callable[..., Any]] = {
    "numpy": in_numpy,
    "structured": structured,
    "pandas": in_pandas,
    "polars": in_polars,
    "arrow": in_arrow,
}
FRAMES = [f"table on {form}" for form in MEMORY]
FILES = ["csv", "german csv", "parquet"]
COLLATED = ["ibis on sqlite, collated", "ibis on postgres, collated"]
"""Databases in which the text of every column ignores case, in comparisons and in its order."""
DATABASES = ["ibis on duckdb", "ibis on sqlite", "ibis on postgres", "ibis on spark", *COLLATED]
FORMS = [*MEMORY, *FRAMES, *FILES, *DATABASES]
_MARKS = {
    "ibis on spark": SPARK,
    "ibis on postgres": POSTGRES,
    "ibis on postgres, collated": POSTGRES,
}


def parameters(forms: list[str]) -> list[Any]:
    """The forms as parameters of a test, which skips those that need a missing server."""
    return [pytest.param(form, marks=_MARKS.get(form, ())) for form in forms]


def kinds_of(form: str) -> list[str]:
    """The kinds of columns that a form has with a public type."""
    kinds = [kind for kind in _ARROW if kind != "bytes"]
    if form.endswith(("numpy", "structured")):
        return [kind for kind in kinds if kind not in ("instant", "money")]
    return [*kinds, "written", "written"] if form == "csv" else kinds


def held(form: str, row: Row) -> Row:
    """A row as a form can hold it: empty text of a CSV file is missing."""
    if form.endswith("csv"):
        return {name: None if cell == "" else cell for name, cell in row.items()}
    return row


@contextmanager
def opened(
    form: str, types: Types, rows: list[Row], like: list[Row] | None = None, **options: Any
) -> Iterator[Any]:
    """A dataset with these rows; `options` are passed to `Table`.

    Its types are those of a table that holds `like` as well, so neighbours can have equal types.
    """
    if form in MEMORY:
        yield in_memory(form, types, rows, like)
        return
    with source(form, types, rows, like) as table_of, table_of(**options) as table:
        yield table


def in_memory(form: str, types: Types, rows: list[Row], like: list[Row] | None) -> Any:
    """A dataset in memory; only those of numpy choose types by their cells."""
    by_cells = MEMORY[form] in (in_numpy, structured)
    return MEMORY[form](types, rows, like) if by_cells else MEMORY[form](types, rows)


@contextmanager
def appended(form: str, types: Types, batches: list[list[Row]], **options: Any) -> Iterator[Any]:
    """A table with the rows of several batches: opened with the first, the others appended."""
    first, *others = batches
    with ExitStack() as stack:
        table_of = stack.enter_context(source(form, types, first))
        table = stack.enter_context(table_of(**options))
        for place, rows in enumerate(others):
            batch = stack.enter_context(source(form, types, rows)).args[0]
            table = table.append(batch, block=place)
        yield table


@contextmanager
def source(
    form: str, types: Types, rows: list[Row], like: list[Row] | None = None
) -> Iterator[partial[Table]]:
    """A function that opens these rows as a new `Table`, with the options that it is given."""
    with quietly():
        if form in FRAMES:
            yield partial(Table, in_memory(form.removeprefix("table on "), types, rows, like))
        elif form in FILES:
            path = Path(_folder(), f"{next(_numbers)}.{form.rsplit(maxsplit=1)[-1]}")
            yield partial(Table, path, **_WRITERS[form](path, types, rows))
            path.unlink()
        else:
            name = f"data_{next(_numbers)}"
            create, connected, drop = _BACKENDS[form]
            connection = connected()
            create(connection, name, types, rows)
            yield partial(Table, connection.table(name))
            drop(connection, name)


_DECLARED = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "instant": "TIMESTAMP WITH TIME ZONE",
    "money": "DECIMAL(12,2)",
}


def _in_csv(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, dt.date) else str(cell)


def _write_csv(path: Path, types: Types, rows: list[Row]) -> dict[str, Any]:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(types)
        writer.writerows([_in_csv(row[name]) for name in types] for row in rows)
    return {"types": {name: _DECLARED[kind] for name, kind in types.items() if kind != "written"}}


def _in_german(cell: Any, kind: str) -> str:
    """Numbers with a comma and perhaps points, dates with the day first; n/a is missing."""
    if cell is None:
        return "n/a"
    if kind == "date":
        return f"{cell.day}.{cell.month:02}.{cell.year:04}"
    if kind == "timestamp":
        clock = f"{cell.hour:02}:{cell.minute:02}:{cell.second:02}.{cell.microsecond:06}"
        return f"{_in_german(cell, 'date')} {clock}"
    if kind == "integer" and cell % 2:
        return f"{cell:,}".replace(",", ".")
    return str(cell).replace(".", ",") if kind in ("float", "money") else _in_csv(cell)


def _write_german(path: Path, types: Types, rows: list[Row]) -> dict[str, Any]:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL, delimiter=";")
        writer.writerow(types)
        writer.writerows(
            [_in_german(row[each], kind) for each, kind in types.items()] for row in rows
        )
    formats = {"date": "%d.%m.%Y", "timestamp": "%d.%m.%Y %H:%M:%S.%f"}
    return {
        "types": {name: _DECLARED[kind] for name, kind in types.items()},
        "date_format": {name: formats[it] for name, it in types.items() if it in formats},
        "sep": ";",
        "decimal": ",",
        "thousands": ".",
        "null_values": ["n/a"],
    }


def _write_parquet(path: Path, types: Types, rows: list[Row]) -> dict[str, Any]:
    parquet.write_table(in_arrow(types, rows), path)
    return {}


_WRITERS = {"csv": _write_csv, "german csv": _write_german, "parquet": _write_parquet}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def _duckdb() -> Any:
    import ibis

    return ibis.duckdb.connect()


def _create_in_duckdb(connection: Any, name: str, types: Types, rows: list[Row]) -> None:
    connection.con.register("given", in_arrow(types, rows))
    connection.con.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.con.unregister("given")


def _drop(connection: Any, name: str) -> None:
    cursor = connection.raw_sql(f"DROP TABLE {name}")
    if hasattr(cursor, "close") and connection.name != "duckdb":
        cursor.close()


@cache
def _sqlite() -> Any:
    import ibis

    return ibis.sqlite.connect(Path(_folder(), "fuzz.db"))


def _create_in_sqlite(
    connection: Any, name: str, types: Types, rows: list[Row], text: str = "TEXT"
) -> None:
    declared = {**_SQLITE, "text": text}
    columns = ", ".join(f"{_quoted(each)} {declared[kind]}" for each, kind in types.items())
    connection.con.execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" * len(types))
    cells = [tuple(_for_sqlite(row[each], kind) for each, kind in types.items()) for row in rows]
    connection.con.executemany(f"INSERT INTO {name} VALUES ({marks})", cells)


@cache
def _postgres() -> Any:
    import ibis

    return ibis.postgres.connect(host=server(), user="postgres", database="postgres")


_IN_POSTGRES = {
    "integer": "bigint",
    "float": "double precision",
    "boolean": "boolean",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
    "instant": "timestamptz",
    "money": "numeric(12,2)",
}


def _create_in_postgres(
    connection: Any, name: str, types: Types, rows: list[Row], text: str = "text"
) -> None:
    declared = {**_IN_POSTGRES, "text": text}
    columns = ", ".join(f"{_quoted(each)} {declared[kind]}" for each, kind in types.items())
    marks = ", ".join(["%s"] * len(types))
    with connection.con.cursor() as cursor:
        cursor.execute(f"CREATE UNLOGGED TABLE {name} ({columns})")
        cursor.executemany(
            f"INSERT INTO {name} VALUES ({marks})",
            [tuple(row[each] for each in types) for row in rows],
        )
    connection.con.commit()


@cache
def _spark() -> Any:
    import ibis

    return ibis.pyspark.connect(_session())


def _create_in_spark(connection: Any, name: str, types: Types, rows: list[Row]) -> None:
    from pyspark.sql import types as spark

    kinds = {
        "integer": spark.LongType(),
        "float": spark.DoubleType(),
        "boolean": spark.BooleanType(),
        "text": spark.StringType(),
        "date": spark.DateType(),
        "timestamp": spark.TimestampNTZType(),
        "instant": spark.TimestampType(),
        "money": spark.DecimalType(12, 2),
    }
    schema = spark.StructType(
        [spark.StructField(each, kinds[kind]) for each, kind in types.items()]
    )
    cells = [tuple(row[each] for each in types) for row in rows]
    _session().createDataFrame(cells, schema).createOrReplaceTempView(name)


def _drop_view(connection: Any, name: str) -> None:
    _session().catalog.dropTempView(name)


_BACKENDS: dict[str, tuple[Callable[..., None], Callable[[], Any], Callable[..., None]]] = {
    "ibis on duckdb": (_create_in_duckdb, _duckdb, _drop),
    "ibis on sqlite": (_create_in_sqlite, _sqlite, _drop),
    "ibis on postgres": (_create_in_postgres, _postgres, _drop),
    "ibis on spark": (_create_in_spark, _spark, _drop_view),
    "ibis on sqlite, collated": (
        partial(_create_in_sqlite, text="TEXT COLLATE NOCASE"),
        _sqlite,
        _drop,
    ),
    "ibis on postgres, collated": (
        partial(_create_in_postgres, text='text COLLATE "alike"'),
        collated,
        _drop,
    ),
}
