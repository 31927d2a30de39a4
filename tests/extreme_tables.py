"""Tables whose cells are at the limits of their types, on every engine that types them.

`FORMS` lists the engines. Each has a column of every type that it knows.
"""

import csv
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import duckdb

from mechanisms import Table
from tests.engines import quietly

Row = tuple[Any, ...]

_WHOLE = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT", 128: "HUGEINT"}
_FLOATS = ["nan", "inf", "-inf", "-0.0", "0.1", "5e-324", "1.7976931348623157e308"]
_DAYS = ["infinity", "-infinity", "0001-01-01", "9999-12-31", "1970-01-01"]
_TEXTS = ["", "a", "9223372036854775808", "-9223372036854775808", "1e400", "1e-400", "nan"]
_TEXTS += ["9" * 400, "9999-12-31", "true"]


@attrs.frozen
class Kept:
    """A column: its declared type, the family of constants that it compares with, and its cells."""

    declared: str
    family: str
    cells: Sequence[Any] = attrs.field(repr=False)


def _decimal(precision: int, scale: int, *more: str, name: str = "DECIMAL") -> Kept:
    nines = "9" * precision
    most = f"{nines[scale:] or '0'}.{nines[:scale]}" if scale else nines
    least = f"0.{'1'.zfill(scale)}" if scale else "1"
    return Kept(f"{name}({precision},{scale})", "number", [most, f"-{most}", least, *more])


DUCKDB: dict[str, Kept] = {
    f"i{bits}": Kept(name, "number", [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 1, -1])
    for bits, name in _WHOLE.items()
}
DUCKDB |= {
    f"u{bits}": Kept(f"U{name}", "number", [2**bits - 1, 2 ** (bits - 1), 0, 1])
    for bits, name in _WHOLE.items()
}
DUCKDB |= {
    "b": Kept("BOOLEAN", "boolean", ["true", "false"]),
    "f32": Kept("FLOAT", "number", [*_FLOATS[:5], "1e-45", "3.4e38"]),
    "f64": Kept("DOUBLE", "number", [*_FLOATS, "1e150", "9.3e18", "2.3e-308"]),
    **{f"d{p}_{s}": _decimal(p, s) for p, s in ((4, 1), (12, 2), (18, 18), (38, 0), (38, 10))},
    **{f"d{p}_{s}": _decimal(p, s) for p, s in ((38, 37), (38, 38))},
    "day": Kept("DATE", "moment", [*_DAYS, "5881580-07-10", "5877642-06-25 (BC)"]),
    "ts": Kept("TIMESTAMP", "moment", [*_DAYS, "290309-12-22 (BC) 00:00:00"]),
    "ts_s": Kept("TIMESTAMP_S", "moment", _DAYS[2:]),
    "ts_ms": Kept("TIMESTAMP_MS", "moment", _DAYS[2:]),
    "ts_ns": Kept("TIMESTAMP_NS", "moment", ["1677-09-22", "2262-04-11 23:47:16"]),
    "tz": Kept("TIMESTAMPTZ", "instant", [f"{day} 00:00:00+00" for day in _DAYS[2:]]),
    "span": Kept("INTERVAL", "duration", ["0 days", "1 month", "-100000 years", "178956970 years"]),
    "t": Kept("VARCHAR", "text", _TEXTS),
    "bytes": Kept("BLOB", "bytes", ["a"]),
    "uuid": Kept("UUID", "text", ["00000000-0000-0000-0000-000000000000"]),
}
WRITTEN = {"w": Kept("VARCHAR", "number", _TEXTS)}
"""A column without a declared type."""

POSTGRES: dict[str, Kept] = {
    **{name: DUCKDB[name] for name in ("i16", "i32", "i64", "b", "t")},
    "f32": Kept("real", "number", DUCKDB["f32"].cells),
    "f64": Kept("double precision", "number", DUCKDB["f64"].cells),
    **{
        f"d{p}_{s}": _decimal(p, s, "nan", name="numeric") for p, s in ((12, 2), (38, 10), (38, 38))
    },
    "wide": _decimal(307, 150, "nan", name="numeric"),
    "long": _decimal(400, 0, "nan", name="numeric"),
    "fine": _decimal(500, 450, "nan", name="numeric"),
    "day": Kept("date", "moment", [*_DAYS, "5874897-12-31", "4713-01-01 BC"]),
    "ts": Kept("timestamp", "moment", [*_DAYS, "294276-12-31", "4713-01-01 BC"]),
    "tz": Kept("timestamptz", "instant", [*_DAYS, "294276-12-31 00:00:00+00"]),
    "bytes": Kept("bytea", "bytes", ["a"]),
}
_NO_TEXT = "not UTF-8"
"""In its place SQLite stores a text of other bytes."""
_ANY: list[Any] = ["x", b"\xff", 2**63 - 1, -(2**63), 1.5, 1e300, float("inf"), 0, 1, _NO_TEXT]
"""SQLite stores any cell in any column."""
SQLITE: dict[str, Kept] = {
    "b": Kept("BOOLEAN", "boolean", [0, 1, 2, *_ANY]),
    "i64": Kept("BIGINT", "number", [*_ANY, "9" * 400]),
    "f64": Kept("DOUBLE", "number", [5e-324, 1.7e308, -float("inf"), *_ANY]),
    "d12_2": Kept("DECIMAL(12,2)", "number", [9999999999.99, -9999999999.99, *_ANY]),
    "day": Kept("DATE", "moment", [*_DAYS, *_ANY]),
    "ts": Kept("TIMESTAMP", "moment", ["0001-01-01 00:00:00", "9999-12-31 23:59:59", *_ANY]),
    "tz": Kept("TIMESTAMPTZ", "instant", ["0001-01-01 00:00:00+00:00", *_ANY]),
    "t": Kept("TEXT", "text", [*_TEXTS, *_ANY]),
    "bytes": Kept("BLOB", "bytes", _ANY),
}


@attrs.frozen
class Form:
    """Columns on an engine.

    Args:
        columns: without `row`, which numbers the rows, and `person`, of whom each has three.
        source: gives what a `Table` opens, and its options.
    """

    columns: Mapping[str, Kept] = attrs.field(repr=False)
    source: Callable[[Mapping[str, str], Sequence[Row]], tuple[Any, dict[str, Any]]]

    @property
    def declared(self) -> dict[str, str]:
        """The declared types."""
        named = {name: each.declared for name, each in self.columns.items()}
        return {"row": "BIGINT", "person": "BIGINT", **named}

    @property
    def families(self) -> dict[str, str]:
        """The families of constants that columns compare with."""
        return {name: each.family for name, each in self.columns.items()}

    @property
    def rows(self) -> list[Row]:
        """Rows that have each cell at least once, and in the end a row without cells."""
        cells = [each.cells for each in self.columns.values()]
        length = max(map(len, cells))
        found = [(i, i // 3, *(each[i % len(each)] for each in cells)) for i in range(length)]
        return [*found, (length, length // 3, *(None for _ in cells))]

    def table(self, rows: Sequence[Row], **options: Any) -> Table:
        with quietly():
            source, own = self.source(self.declared, rows)
            return Table(source, **own, **options)


def _path(suffix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="queryable-tests-"), f"data{suffix}")


def _filled(connection: Any, declared: Mapping[str, str], rows: Sequence[Row]) -> Any:
    """Fill a table of DuckDB from the texts of its cells."""
    connection.execute("SET TimeZone = 'UTC'")
    typed = ", ".join(f"{name} {of}" for name, of in declared.items())
    connection.execute(f"CREATE TABLE data ({typed})")
    marks = ", ".join(f"CAST(${i} AS {of})" for i, of in enumerate(declared.values(), 1))
    for row in rows:
        texts = [None if cell is None else str(cell) for cell in row]
        connection.execute(f"INSERT INTO data VALUES ({marks})", texts)
    return connection


def _in_csv(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    path = _path(".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(declared)
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    return path, {"types": {name: of for name, of in declared.items() if name not in WRITTEN}}


def _in_parquet(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    path = _path(".parquet")
    with duckdb.connect() as connection:
        _filled(connection, declared, rows).execute(f"COPY data TO '{path}'")
    return path, {}


def _in_arrow(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    with duckdb.connect() as connection:
        return _filled(connection, declared, rows).table("data").to_arrow_table(), {}


def _on_duckdb(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    import ibis

    connection = ibis.duckdb.connect()
    _filled(connection.con, declared, rows)
    return connection.table("data"), {}


def _on_sqlite(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    import ibis

    path = _path(".db")
    with sqlite3.connect(path) as raw:
        raw.execute(f"CREATE TABLE data ({', '.join(map(' '.join, declared.items()))})")
        raw.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(declared))})", rows)
        for name in declared:
            raw.execute(
                f"UPDATE data SET {name} = CAST(x'ff41' AS TEXT) WHERE {name} = ?", [_NO_TEXT]
            )
    raw.close()
    return ibis.sqlite.connect(path).table("data"), {}


_numbers = count()


def _on_postgres(declared: Mapping[str, str], rows: Sequence[Row]) -> tuple[Any, dict[str, Any]]:
    from tests.engines import _postgres

    connection, name = _postgres(), f"extreme_{next(_numbers)}"
    marks = ", ".join(f"CAST(%s::text AS {of})" for of in declared.values())
    with connection.con.cursor() as cursor:
        cursor.execute(
            f"CREATE UNLOGGED TABLE {name} ({', '.join(map(' '.join, declared.items()))})"
        )
        texts = [[None if cell is None else str(cell) for cell in row] for row in rows]
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", texts)
    connection.con.commit()
    return connection.table(name), {}


def _without(*names: str) -> dict[str, Kept]:
    return {name: each for name, each in DUCKDB.items() if name not in names}


FORMS: dict[str, Form] = {
    "csv": Form(DUCKDB | WRITTEN, _in_csv),
    "parquet": Form(_without("span", "i128", "u128"), _in_parquet),
    "arrow": Form(_without("i128", "u128", "uuid"), _in_arrow),
    "ibis on duckdb": Form(_without("u128"), _on_duckdb),
    "ibis on sqlite": Form(SQLITE, _on_sqlite),
    "ibis on postgres": Form(POSTGRES, _on_postgres),
}
