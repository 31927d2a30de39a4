"""What differs between the databases behind Ibis: sessions, statements, constants.

Constants follow one rule: nothing is written into a statement that an escape convention, a
session's setting or a substitution of variables could interpret. Text with characters other than
letters, digits and a few signs is written in hexadecimal digits.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.limits import limited
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind

_PLAIN = re.compile(r"[A-Za-z0-9 _.,/+-]*")
_SETTINGS = {"standard_conforming_strings": "on", "server_encoding": "UTF8"}


def require_session(backend: Any) -> None:
    """Check that a Postgres session reads text constants by the SQL standard, and uses Unicode.

    Raises:
        ValueError: it does not.
    """
    if backend.name != "postgres":
        return
    for setting, needed in _SETTINGS.items():
        with backend.con.cursor() as cursor:
            [found] = cursor.execute(f"SHOW {setting}").fetchone()
        if found != needed:
            raise ValueError(f"set {setting} = {needed} in the session; it is {found}")


@attrs.frozen
class Constants:
    """Constants of text and bytes, made with the functions of one database."""

    name: str
    _text: Callable[[str], Expression] | None = None
    _bytes: Callable[[str], Expression] | None = None

    def text(self, value: str) -> Expression:
        """A text, written in hexadecimal digits unless it is plain.

        Raises:
            TypeError: the database cannot hold it, or no way to write it there is known.
        """
        import ibis

        if _PLAIN.fullmatch(value):
            return ibis.literal(value)
        if self._text is None:
            raise TypeError(
                f"use only letters A to Z, digits, spaces and _ . , / + - in constants of text on "
                f"{self.name}"
            )
        if self.name == "postgres" and "\0" in value:
            raise TypeError("leave NUL characters out of constants: no text of Postgres has one")
        return self._text(value.encode().hex())

    def bytes(self, value: bytes) -> Expression:
        """Bytes, written in hexadecimal digits.

        Raises:
            TypeError: no way to write them on this database is known.
        """
        if self._bytes is None:
            raise TypeError(f"leave constants of bytes out: they cannot be written on {self.name}")
        return self._bytes(value.hex())


def constants_of(backend: Any) -> Constants:
    """How text and bytes are written on a database."""
    match backend.name:
        case "duckdb":
            unhex = _function("unhex", str, result=bytes)
            decode = _function("decode", bytes, result=str)
            return Constants("duckdb", lambda digits: decode(unhex(digits)), unhex)
        case "sqlite":
            backend.con.create_function("queryable_text", 1, _text_of_hex, deterministic=True)
            backend.con.create_function("queryable_bytes", 1, bytes.fromhex, deterministic=True)
            text = _function("queryable_text", str, result=str)
            return Constants("sqlite", text, _function("queryable_bytes", str, result=bytes))
        case "postgres":
            decode = _function("decode", str, str, result=bytes)
            convert = _function("convert_from", bytes, str, result=str)
            return Constants(
                "postgres",
                lambda digits: convert(decode(digits, "hex"), "UTF8"),
                lambda digits: decode(digits, "hex"),
            )
        case "pyspark":
            unhex = _function("unhex", str, result=bytes)
            decode = _function("decode", bytes, str, result=str)
            return Constants("pyspark", lambda digits: decode(unhex(digits), "UTF-8"), unhex)
    return Constants(backend.name)


def _text_of_hex(digits: str) -> str:
    return bytes.fromhex(digits).decode()


def _function(name: str, *given: type, result: type) -> Callable[..., Expression]:
    """A function of the database itself, by the types of its arguments and its result."""
    import ibis

    def unary(value):  # type: ignore[no-untyped-def]
        ...

    def binary(value, how):  # type: ignore[no-untyped-def]
        ...

    function: Callable[..., Expression] = ibis.udf.scalar.builtin(
        (unary, binary)[len(given) - 1], name=name, signature=(given, result)
    )
    return function


def instants_of_spark(backend: Any, source: Any) -> dict[str, Kind]:
    """The columns of Spark that are instants. Ibis does not distinguish them from timestamps."""
    if backend.name != "pyspark":
        return {}
    fields = backend.raw_sql(backend.compile(source)).schema
    instant = attrs.evolve(column_types.moments("instant", 1000), declared="timestamp")
    return {field.name: instant for field in fields if field.dataType.typeName() == "timestamp"}


def without_wide_integers(backend: Any, source: Any) -> Any:
    """The source; on DuckDB with columns of HUGEINT as DECIMAL(38, 0), as Ibis takes them.

    Otherwise a comparison with a constant would fail at a cell of 39 digits. Such a cell is
    missing.
    """
    if backend.name != "duckdb":
        return source
    backend._run_pre_execute_hooks(source)
    rows = backend.con.sql(backend.compile(source))
    wide = [
        name
        for name, kind in zip(rows.columns, map(str, rows.types), strict=True)
        if kind == "HUGEINT"
    ]
    cells = {name: source[name].cast("string").try_cast("decimal(38, 0)") for name in wide}
    return source.mutate(**cells) if cells else source


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
    """Check that SQLite accepts the size of a statement. It is prepared, not run.

    Raises:
        ValueError: it does not.
    """
    if backend.name == "sqlite":
        try:
            backend.con.execute(f"EXPLAIN {statement}").close()
        except Exception:
            raise _too_large(backend) from None


def _too_large(backend: Any) -> ValueError:
    return ValueError(
        f"use fewer constants, or nest fewer predicates: the query is too large for "
        f"{backend.name}, or uses a function that it does not have"
    )


def in_front(backend: Any, name: str, rows: str, statement: str) -> str:
    """A statement that reads a relation of this name, with the rows of the relation in front."""
    quote = "`" if backend.name == "pyspark" else '"'
    others = statement.removeprefix("WITH ")
    comma = "" if others == statement else ","
    return f"WITH {quote}{name}{quote} AS ({rows}){comma} {others}"


def relation_of(backend: Any, name: str, schema: Any) -> Any:
    """The relation of this name, which need not exist yet."""
    import ibis.expr.operations as ops

    return ops.DatabaseTable(name=name, schema=schema, source=backend).to_expr()


def as_view(backend: Any, source: Any) -> Any:
    """The same rows; on SQLite by a temporary view, because its parser limits nesting."""
    import ibis

    if backend.name != "sqlite":
        return source
    name = ibis.util.gen_name("queryable_view")
    backend.con.execute(f'CREATE TEMP VIEW "{name}" AS {backend.compile(source)}')
    return relation_of(backend, name, source.schema())


def rows_of(backend: Any, expression: Any, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, or of its expression where SQL is not run directly."""
    backend._run_pre_execute_hooks(expression)  # tables in memory are registered
    with _interruptible(statement):
        if backend.name == "pyspark":
            return [tuple(row) for row in backend._session.sql(statement).collect()]
        if backend.name not in _DIRECT:
            return [tuple(row.values()) for row in backend.to_pyarrow(expression).to_pylist()]
        with backend._safe_raw_sql(statement) as cursor:
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def stream_of(backend: Any, expression: Any, statement: str) -> Iterator[tuple[Any, ...]]:
    """As `rows_of`, one row after the other; not all of them are in memory where this is known."""
    backend._run_pre_execute_hooks(expression)
    with _interruptible(statement), ExitStack() as stack:
        if backend.name == "pyspark":
            yield from map(tuple, backend._session.sql(statement).toLocalIterator())
        elif backend.name == "postgres":
            stack.enter_context(backend.con.transaction())
            cursor = stack.enter_context(backend.con.cursor(name=_cursor_name()))  # the server's
            yield from cursor.execute(statement)
        elif backend.name in _DIRECT:
            cursor = stack.enter_context(backend._safe_raw_sql(statement))
            while rows := cursor.fetchmany(_AT_A_TIME):
                yield from rows
        else:
            for batch in backend.to_pyarrow_batches(expression):
                yield from (tuple(row.values()) for row in batch.to_pylist())


def _cursor_name() -> str:
    import ibis

    return str(ibis.util.gen_name("queryable_found"))


def execute(backend: Any, statement: str) -> None:
    """Run a statement without rows."""
    with _interruptible(statement), backend._safe_raw_sql(statement):
        pass


def _interruptible(statement: str) -> Any:
    """Ibis's functions on SQLite may fail on a cell; in their absence a failure is an interrupt."""
    return interrupts(total="_ibis_" not in statement)


@contextmanager
def within(backend: Any, timeout: Fraction | None) -> Iterator[None]:
    """Interrupt the statements of the block if it takes longer than the timeout.

    Raises:
        TimeoutError: it took longer.
    """
    if timeout is None:
        yield
    elif backend.name == "pyspark":
        import ibis

        session, tag = backend._session, ibis.util.gen_name("queryable")
        session.addTag(tag)
        try:
            with limited(timeout, lambda: session.interruptTag(tag)):
                yield
        finally:
            session.removeTag(tag)
    else:
        stop = backend.con.cancel if backend.name == "postgres" else backend.con.interrupt
        with limited(timeout, stop):
            yield


_DIRECT = ("duckdb", "sqlite", "postgres")
_AT_A_TIME = 10_000
