"""What differs between the databases behind Ibis: one value for each (`Database`).

What is not said about a database is as Ibis has it on any. A database whose name is not among
`DATABASES` is used with these defaults, if Ibis has an md5 of text there.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from hashlib import md5
from typing import Any

import attrs

from mechanisms.tables.engines.ibis import sqlite_functions
from mechanisms.tables.engines.ibis.dialects import LikePostgres, OnPostgres, OnSpark
from mechanisms.tables.engines.ibis.on_sqlite import OnSQLite
from mechanisms.tables.engines.limits import limited
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.on_duckdb import OnDuckDB
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind

_AT_A_TIME = 10_000


def _nothing(*_: Any) -> None:
    pass


def _unchanged(_backend: Any, source: Any) -> Any:
    return source


def _nested(_backend: Any, source: str) -> str:
    return f"({source})"


def _no_kinds(_backend: Any, _source: Any) -> dict[str, Kind]:
    return {}


Schema = Mapping[str, Any]
"""The columns of a statement's rows, with their types in Ibis."""


def _by_arrow(backend: Any, statement: str, schema: Schema) -> list[tuple[Any, ...]]:
    rows = backend.sql(statement, schema=schema)
    return [tuple(row.values()) for row in rows.to_pyarrow().to_pylist()]


def _by_batches(backend: Any, statement: str, schema: Schema) -> Iterator[tuple[Any, ...]]:
    for batch in backend.sql(statement, schema=schema).to_pyarrow_batches():
        yield from (tuple(row.values()) for row in batch.to_pylist())


def _fetched(backend: Any, statement: str, _schema: Schema) -> list[tuple[Any, ...]]:
    with backend._safe_raw_sql(statement) as cursor:
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _fetched_in_parts(backend: Any, statement: str, _schema: Schema) -> Iterator[tuple[Any, ...]]:
    with backend._safe_raw_sql(statement) as cursor:
        while rows := cursor.fetchmany(_AT_A_TIME):
            yield from rows


def _temporary(backend: Any, name: str, chosen: str) -> None:
    execute(backend, f'CREATE TEMP TABLE "{name}" AS {chosen}')


def _drop_temporary(backend: Any, name: str, _held: None) -> None:
    execute(backend, f'DROP TABLE IF EXISTS "{name}"')


def _interrupted(backend: Any, timeout: Fraction) -> AbstractContextManager[None]:
    return limited(timeout, backend.con.interrupt)


@attrs.frozen(kw_only=True)
class Database:
    """A database behind Ibis.

    Functions of it are given its connection (Ibis's backend) first.

    Args:
        name: as Ibis names it.
        tested: whether the tests run on it. Elsewhere rows are chosen for each question, many keys
            are written into the statement, and nothing is interrupted.
        dialect: its expressions; by default columns compare with constants, and no more.
        digest: a function that gives the md5 of a text; if None, the one that Ibis knows.
        row_hash: the hash of a row's text, by which rows are sorted, if there is a shorter one.
        holds_any_cell: whether a column may hold cells of another type than it declares.
        casts_fail: whether a text that does not parse makes its cast fail.
        most_sums: how many sums one statement has. Spark compiles 100.
        uploaded_decimal: if Python objects are uploaded and not Arrow tables, a decimal as one.
        decimals_as_text: whether uploaded decimals are texts, which the database casts.
        open: checks the session, and registers functions.
        readable: a source with columns as Ibis can take them.
        kinds: the kinds of columns that Ibis does not tell apart.
        view: a source as a name, if statements may not nest it.
        accept: fails if the database does not take a statement of this size.
        rows, stream: the rows of a statement; `stream`, one after the other.
        keep, drop: keeps the rows of a statement under a name until they are dropped. What `keep`
            returns is given to `drop`, or None if it failed.
        within: interrupts the statements of a block after a timeout.
    """

    name: str
    tested: bool = False
    dialect: type[SqlDialect] = SqlDialect
    digest: str | None = None
    row_hash: str | None = None
    holds_any_cell: bool = False
    casts_fail: bool = True
    most_sums: int = 50
    uploaded_decimal: Callable[[Any], Any] | None = None
    decimals_as_text: bool = False
    open: Callable[[Any], None] = _nothing
    readable: Callable[[Any, Any], Any] = _unchanged
    kinds: Callable[[Any, Any], Mapping[str, Kind]] = _no_kinds
    view: Callable[[Any, str], str] = _nested
    accept: Callable[[Any, str], None] = _nothing
    rows: Callable[[Any, str, Schema], list[Any]] = _by_arrow
    stream: Callable[[Any, str, Schema], Iterator[Any]] = _by_batches
    keep: Callable[[Any, str, str], Any] = _temporary
    drop: Callable[[Any, str, Any], None] = _drop_temporary
    within: Callable[[Any, Fraction], AbstractContextManager[None]] = _interrupted

    def dialect_on(self, backend: Any) -> Callable[[], SqlDialect]:
        """What makes the expressions of a statement.

        Raises:
            ValueError: no md5 is known on the database.
        """
        import ibis.expr.operations as ops

        digest = self.digest or "md5({})"
        if self.digest is None and not backend.has_operation(ops.HexDigest):
            raise ValueError(
                "copy the rows to a file or to another database: no md5 is known on "
                f"{backend.name}, and rows are chosen by it"
            )
        has_nan = bool(backend.has_operation(ops.IsNan))
        row_hash = self.row_hash or digest
        return partial(self.dialect, self.name, backend, has_nan, digest, row_hash)


def _without_wide_integers(backend: Any, source: Any) -> Any:
    """On DuckDB: columns of HUGEINT as DECIMAL(38, 0), as Ibis takes them.

    Otherwise a comparison with a constant would fail at a cell of 39 digits. Such a cell is
    missing.
    """
    backend._run_pre_execute_hooks(source)
    rows = backend.con.sql(backend.compile(source))
    wide = [
        name
        for name, kind in zip(rows.columns, map(str, rows.types), strict=True)
        if kind == "HUGEINT"
    ]
    cells = {name: source[name].cast("string").try_cast("decimal(38, 0)") for name in wide}
    return source.mutate(**cells) if cells else source


DUCKDB = Database(
    name="duckdb",
    tested=True,
    dialect=OnDuckDB,
    row_hash="md5_number({})",
    most_sums=300,
    readable=_without_wide_integers,
    rows=_fetched,
    stream=_fetched_in_parts,
)


_md5 = partial(md5, usedforsecurity=False)


def _register(backend: Any) -> None:
    create = backend.con.create_function
    create("queryable_text", 1, lambda digits: bytes.fromhex(digits).decode(), deterministic=True)
    create("queryable_bytes", 1, bytes.fromhex, deterministic=True)
    create("queryable_md5", 1, lambda text: _md5(text).hexdigest(), deterministic=True)
    create("queryable_digest", 1, lambda text: _md5(text).digest(), deterministic=True)
    sqlite_functions.register(backend.con)


def _temporary_view(backend: Any, source: str) -> str:
    """On SQLite, whose parser limits nesting."""
    import ibis

    name = f'"{ibis.util.gen_name("queryable_view")}"'
    backend.con.execute(f"CREATE TEMP VIEW {name} AS {source}")
    return name


def _explain(backend: Any, statement: str) -> None:
    """Prepare it, which does not run it."""
    backend.con.execute(f"EXPLAIN {statement}").close()


SQLITE = Database(
    name="sqlite",
    tested=True,
    dialect=OnSQLite,
    digest="queryable_md5(CAST({} AS BLOB))",
    row_hash="queryable_digest(CAST({} AS BLOB))",
    holds_any_cell=True,
    casts_fail=False,
    most_sums=300,  # it takes 2,000 columns
    uploaded_decimal=float,
    open=_register,
    view=_temporary_view,
    accept=_explain,
    rows=_fetched,
    stream=_fetched_in_parts,
)

_SETTINGS = {"standard_conforming_strings": "on", "server_encoding": "UTF8"}


def _require_session(backend: Any) -> None:
    """Check that a Postgres session reads text constants by the SQL standard, and uses Unicode."""
    for setting, needed in _SETTINGS.items():
        with backend.con.cursor() as cursor:
            [found] = cursor.execute(f"SHOW {setting}").fetchone()
        if found != needed:
            raise ValueError(f"set {setting} = {needed} in the session; it is {found}")


def _by_cursor(backend: Any, statement: str, _schema: Schema) -> Iterator[tuple[Any, ...]]:
    """By a cursor of the server, since the client's has all rows."""
    import ibis

    name = str(ibis.util.gen_name("queryable_found"))
    with backend.con.transaction(), backend.con.cursor(name=name) as cursor:
        yield from cursor.execute(statement)


POSTGRES = Database(
    name="postgres",
    tested=True,
    dialect=OnPostgres,
    digest="md5({})",
    most_sums=300,  # it takes 1,664 columns
    open=_require_session,
    rows=_fetched,
    stream=_by_cursor,
    within=lambda backend, timeout: limited(timeout, backend.con.cancel),
)


def _instants(backend: Any, source: Any) -> dict[str, Kind]:
    """The columns of Spark that are instants. Ibis does not distinguish them from timestamps."""
    fields = backend.raw_sql(backend.compile(source)).schema
    instant = attrs.evolve(column_types.moments("instant", 1000), declared="timestamp")
    return {field.name: instant for field in fields if field.dataType.typeName() == "timestamp"}


def _collected(backend: Any, statement: str, _schema: Schema) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in backend._session.sql(statement).collect()]


def _iterated(backend: Any, statement: str, _schema: Schema) -> Iterator[tuple[Any, ...]]:
    yield from map(tuple, backend._session.sql(statement).toLocalIterator())


def _cached(backend: Any, name: str, chosen: str) -> Any:
    """Spark keeps what it computes in memory, and on disk where that does not suffice."""
    frame = backend._session.sql(chosen).cache()
    frame.createOrReplaceTempView(name)
    return frame


def _drop_cached(backend: Any, name: str, frame: Any) -> None:
    if frame is not None:
        backend._session.catalog.dropTempView(name)
        frame.unpersist()


@contextmanager
def _tagged(backend: Any, timeout: Fraction) -> Iterator[None]:
    import ibis

    session, tag = backend._session, ibis.util.gen_name("queryable")
    session.addTag(tag)
    try:
        with limited(timeout, lambda: session.interruptTag(tag)):
            yield
    finally:
        session.removeTag(tag)


SPARK = Database(
    name="pyspark",
    tested=True,
    dialect=OnSpark,
    uploaded_decimal=str,  # Ibis cannot give Spark a decimal that is missing
    decimals_as_text=True,
    kinds=_instants,
    rows=_collected,
    stream=_iterated,
    keep=_cached,
    drop=_drop_cached,
    within=_tagged,
)

DATABASES = {
    each.name: each
    for each in (
        *(DUCKDB, SQLITE, POSTGRES, SPARK),
        *(
            Database(name=name, digest="md5({})")
            for name in ("bigquery", "clickhouse", "mysql", "snowflake")
        ),
        *(Database(name=name, digest="md5(encode({}))") for name in ("athena", "trino")),
        Database(name="oracle", digest="rawtohex(standard_hash({}, 'MD5'))"),
        Database(name="risingwave", dialect=LikePostgres, digest="md5({})"),
    )
}
"""The databases of which more is known than Ibis knows, by name."""


def database_of(backend: Any) -> Database:
    """What is known of the database of a connection."""
    return DATABASES.get(backend.name) or Database(name=backend.name)


def execute(backend: Any, statement: str) -> None:
    """Run a statement without rows."""
    with interruptible(statement), backend._safe_raw_sql(statement):
        pass


def interruptible(statement: str) -> Any:
    """Raise interrupts as such.

    Ibis's functions on SQLite may fail on a cell; in their absence a failure is an interrupt.
    """
    return interrupts(total="_ibis_" not in statement)


def within(backend: Any, timeout: Fraction | None) -> AbstractContextManager[None]:
    """Interrupt the statements of the block if it takes longer than the timeout.

    Raises:
        TimeoutError: it took longer.
    """
    if timeout is None:
        return nullcontext()
    return database_of(backend).within(backend, timeout)
