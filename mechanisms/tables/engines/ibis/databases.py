"""What differs between the databases behind Ibis: one value for each (`Database`).

What is not said about a database is as Ibis has it on any. A database whose name is not among
`DATABASES` is used with these defaults, if Ibis has an md5 of text there.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis import hashes, sqlite_functions
from mechanisms.tables.engines.ibis.dialect import Constants, IbisDialect, builtin
from mechanisms.tables.engines.ibis.dialects import OnDuckDB, OnPostgres, OnSpark, OnSQLite
from mechanisms.tables.engines.ibis.hashes import Hash
from mechanisms.tables.engines.limits import limited
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind

_AT_A_TIME = 10_000


def _nothing(*_: Any) -> None:
    pass


def _unchanged(_backend: Any, source: Any) -> Any:
    return source


def _no_kinds(_backend: Any, _source: Any) -> dict[str, Kind]:
    return {}


def _by_arrow(backend: Any, expression: Any, _statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in backend.to_pyarrow(expression).to_pylist()]


def _by_batches(backend: Any, expression: Any, _statement: str) -> Iterator[tuple[Any, ...]]:
    for batch in backend.to_pyarrow_batches(expression):
        yield from (tuple(row.values()) for row in batch.to_pylist())


def _fetched(backend: Any, _expression: Any, statement: str) -> list[tuple[Any, ...]]:
    with backend._safe_raw_sql(statement) as cursor:
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _fetched_in_parts(backend: Any, _expression: Any, statement: str) -> Iterator[tuple[Any, ...]]:
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
        digest: the md5 of a text.
        row_hash: the hash of a row's text, by which rows are sorted, if there is a shorter one.
        text, bytes: a constant, of its hexadecimal digits.
        has_nul: whether a text may contain the character NUL.
        holds_any_cell: whether a column may hold cells of another type than it declares.
        casts_fail: whether a text that does not parse makes its cast fail.
        byte_length: the function that counts the bytes of a value.
        most_sums: how many sums one statement has. Spark compiles 100.
        quote: what stands around a name.
        uploaded_decimal: if Python objects are uploaded and not Arrow tables, a decimal as one.
        decimals_as_text: whether uploaded decimals are texts, which the database casts.
        open: checks the session, and registers functions.
        readable: a source with columns as Ibis can take them.
        kinds: the kinds of columns that Ibis does not tell apart.
        view: a source as a name, if statements may not nest it.
        accept: fails if the database does not take a statement of this size.
        rows, stream: the rows of an expression and its statement; `stream`, one after the other.
        keep, drop: keeps the rows of a statement under a name until they are dropped. What `keep`
            returns is given to `drop`, or None if it failed.
        within: interrupts the statements of a block after a timeout.
    """

    name: str
    tested: bool = False
    dialect: type[IbisDialect] = IbisDialect
    digest: Hash = hashes.by_ibis
    row_hash: Hash = attrs.field()
    text: Callable[[str], Expression] | None = None
    bytes: Callable[[str], Expression] | None = None
    has_nul: bool = True
    holds_any_cell: bool = False
    casts_fail: bool = True
    byte_length: str = "length"
    most_sums: int = 50
    quote: str = '"'
    uploaded_decimal: Callable[[Any], Any] | None = None
    decimals_as_text: bool = False
    open: Callable[[Any], None] = _nothing
    readable: Callable[[Any, Any], Any] = _unchanged
    kinds: Callable[[Any, Any], Mapping[str, Kind]] = _no_kinds
    view: Callable[[Any, Any], Any] = _unchanged
    accept: Callable[[Any, str], None] = _nothing
    rows: Callable[[Any, Any, str], list[Any]] = _by_arrow
    stream: Callable[[Any, Any, str], Iterator[Any]] = _by_batches
    keep: Callable[[Any, str, str], Any] = _temporary
    drop: Callable[[Any, str, Any], None] = _drop_temporary
    within: Callable[[Any, Fraction], AbstractContextManager[None]] = _interrupted

    @row_hash.default
    def _same(self) -> Hash:
        return self.digest

    @property
    def constants(self) -> Constants:
        """How text and bytes are written."""
        return Constants(self.name, self.text, self.bytes, self.has_nul)

    def dialect_on(self, backend: Any) -> Callable[[Any], IbisDialect]:
        """A function from a relation to its expressions."""
        import ibis.expr.operations as ops

        constants, has_nan = self.constants, bool(backend.has_operation(ops.IsNan))
        return lambda relation: self.dialect(relation, constants, has_nan, backend)


def _unhex(digits: str) -> Expression:
    return builtin("unhex", ("string",), "binary")(digits)


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
    row_hash=hashes.applied(("md5_number", "string", "decimal(38, 0)")),
    text=lambda digits: builtin("decode", ("binary",), "string")(_unhex(digits)),
    bytes=_unhex,
    byte_length="octet_length",
    most_sums=300,
    readable=_without_wide_integers,
    rows=_fetched,
    stream=_fetched_in_parts,
)


def _register(backend: Any) -> None:
    create = backend.con.create_function
    create("queryable_text", 1, lambda digits: bytes.fromhex(digits).decode(), deterministic=True)
    create("queryable_bytes", 1, bytes.fromhex, deterministic=True)
    sqlite_functions.register(backend.con)


def _text_of_sqlite(digits: str) -> Expression:
    return builtin("queryable_text", ("string",), "string")(digits)


def _bytes_of_sqlite(digits: str) -> Expression:
    return builtin("queryable_bytes", ("string",), "binary")(digits)


def _temporary_view(backend: Any, source: Any) -> Any:
    """On SQLite, whose parser limits nesting."""
    import ibis

    name = ibis.util.gen_name("queryable_view")
    backend.con.execute(f'CREATE TEMP VIEW "{name}" AS {backend.compile(source)}')
    return relation_of(backend, name, source.schema())


def _explain(backend: Any, statement: str) -> None:
    """Prepare it, which does not run it."""
    backend.con.execute(f"EXPLAIN {statement}").close()


SQLITE = Database(
    name="sqlite",
    tested=True,
    dialect=OnSQLite,
    digest=hashes.of_sqlite,
    row_hash=hashes.short_of_sqlite,
    text=_text_of_sqlite,
    bytes=_bytes_of_sqlite,
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


def _bytes_on_postgres(digits: str) -> Expression:
    return builtin("decode", ("string", "string"), "binary")(digits, "hex")


def _by_cursor(backend: Any, _expression: Any, statement: str) -> Iterator[tuple[Any, ...]]:
    """By a cursor of the server, since the client's has all rows."""
    import ibis

    name = str(ibis.util.gen_name("queryable_found"))
    with backend.con.transaction(), backend.con.cursor(name=name) as cursor:
        yield from cursor.execute(statement)


POSTGRES = Database(
    name="postgres",
    tested=True,
    dialect=OnPostgres,
    digest=hashes.applied(("md5", "string", "string")),
    text=lambda digits: builtin("convert_from", ("binary", "string"), "string")(
        _bytes_on_postgres(digits), "UTF8"
    ),
    bytes=_bytes_on_postgres,
    has_nul=False,
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


def _collected(backend: Any, _expression: Any, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in backend._session.sql(statement).collect()]


def _iterated(backend: Any, _expression: Any, statement: str) -> Iterator[tuple[Any, ...]]:
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
    text=lambda digits: builtin("decode", ("binary", "string"), "string")(_unhex(digits), "UTF-8"),
    bytes=_unhex,
    quote="`",
    uploaded_decimal=str,  # Ibis cannot give Spark a decimal that is missing
    decimals_as_text=True,
    kinds=_instants,
    rows=_collected,
    stream=_iterated,
    keep=_cached,
    drop=_drop_cached,
    within=_tagged,
)

_OF_BINARY = (("to_utf8", "string", "binary"), ("md5", "binary", "binary"))
_UPPER = hashes.applied(*_OF_BINARY, ("to_hex", "binary", "string"))
_MD5 = hashes.applied(("md5", "string", "string"))

DATABASES = {
    each.name: each
    for each in (
        *(DUCKDB, SQLITE, POSTGRES, SPARK),
        Database(name="athena", digest=_UPPER),
        Database(name="trino", digest=_UPPER),
        Database(
            name="bigquery",
            digest=hashes.applied(("md5", "string", "binary"), ("to_hex", "binary", "string")),
        ),
        Database(
            name="clickhouse",
            digest=hashes.applied(("MD5", "string", "binary"), ("hex", "binary", "string")),
        ),
        Database(name="mysql", digest=_MD5),
        Database(name="oracle", digest=hashes.of_oracle),
        Database(name="risingwave", digest=_MD5),
        Database(name="snowflake", digest=_MD5),
    )
}
"""The databases of which more is known than Ibis knows, by name."""


def database_of(backend: Any) -> Database:
    """What is known of the database of a connection."""
    return DATABASES.get(backend.name) or Database(name=backend.name)


def statement_of(backend: Any, expression: Any) -> str:
    """The SQL of an expression.

    Raises:
        ValueError: the database does not have what the expression needs.
    """
    try:
        return str(backend.compile(expression))
    except Exception:
        raise _too_large(backend) from None


def require_accepted(backend: Any, statement: str) -> None:
    """Check that the database accepts the size of a statement. It is not run.

    Raises:
        ValueError: it does not.
    """
    try:
        database_of(backend).accept(backend, statement)
    except Exception:
        raise _too_large(backend) from None


def _too_large(backend: Any) -> ValueError:
    return ValueError(
        f"use fewer constants, or nest fewer predicates: the query is too large for "
        f"{backend.name}, or uses a function that it does not have"
    )


def in_front(backend: Any, name: str, rows: str, statement: str) -> str:
    """A statement that reads a relation of this name, with the rows of the relation in front."""
    quote = database_of(backend).quote
    others = statement.removeprefix("WITH ")
    comma = "" if others == statement else ","
    return f"WITH {quote}{name}{quote} AS ({rows}){comma} {others}"


def relation_of(backend: Any, name: str, schema: Any) -> Any:
    """The relation of this name, which need not exist yet."""
    import ibis.expr.operations as ops

    return ops.DatabaseTable(name=name, schema=schema, source=backend).to_expr()


def rows_of(backend: Any, expression: Any, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, or of its expression where SQL is not run directly."""
    backend._run_pre_execute_hooks(expression)  # tables in memory are registered
    with _interruptible(statement):
        return database_of(backend).rows(backend, expression, statement)


def stream_of(backend: Any, expression: Any, statement: str) -> Iterator[tuple[Any, ...]]:
    """As `rows_of`, one row after the other; not all of them are in memory where this is known."""
    backend._run_pre_execute_hooks(expression)
    with _interruptible(statement):
        yield from database_of(backend).stream(backend, expression, statement)


def execute(backend: Any, statement: str) -> None:
    """Run a statement without rows."""
    with _interruptible(statement), backend._safe_raw_sql(statement):
        pass


def _interruptible(statement: str) -> Any:
    """Ibis's functions on SQLite may fail on a cell; in their absence a failure is an interrupt."""
    return interrupts(total="_ibis_" not in statement)


def within(backend: Any, timeout: Fraction | None) -> AbstractContextManager[None]:
    """Interrupt the statements of the block if it takes longer than the timeout.

    Raises:
        TimeoutError: it took longer.
    """
    if timeout is None:
        return nullcontext()
    return database_of(backend).within(backend, timeout)
