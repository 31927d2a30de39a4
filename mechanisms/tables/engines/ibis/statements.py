"""Statements in the words of a database, and their rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from mechanisms.tables.engines.ibis.databases import database_of, interruptible


@attrs.frozen(eq=False)
class SourceRows:
    """Rows of a database as SQL.

    Args:
        holds: the expressions of Ibis that it was made of, whose tables in memory it reads. Such a
            table is dropped when nothing refers to it.
    """

    sql: str
    holds: tuple[Any, ...] = ()

    def upload(self, backend: Any) -> None:
        """Upload the tables in memory."""
        for each in self.holds:
            backend._run_pre_execute_hooks(each)


def source_of(backend: Any, expression: Any) -> SourceRows:
    """The rows of an expression of Ibis.

    Raises:
        ValueError: the database does not have what the expression needs.
    """
    try:
        statement = str(backend.compile(expression))
    except Exception:
        raise _too_large(backend) from None
    return SourceRows(_rewritten(backend, statement, back=True), (expression,))


def _rewritten(backend: Any, statement: str, *, back: bool = False) -> str:
    """A statement in the words of its database; for an untested one sqlglot finds them.

    Args:
        back: whether the statement is in these words, and is wanted as `SqlDialect` writes it.
    """
    if database_of(backend).tested:
        return statement
    from sqlglot import transpile

    ways = ("duckdb", backend.dialect)[:: -1 if back else 1]
    [found] = transpile(statement, read=ways[0], write=ways[1])
    return found


def statement_of(backend: Any, statement: str) -> str:
    """A statement of `SqlDialect` in the words of the database, which has to accept its size.

    It is not run.

    Raises:
        ValueError: the database does not accept it.
    """
    try:
        written = _rewritten(backend, statement)
        database_of(backend).accept(backend, written)
    except Exception:
        raise _too_large(backend) from None
    return written


def _too_large(backend: Any) -> ValueError:
    return ValueError(
        f"use fewer constants, or nest fewer predicates: the query is too large for "
        f"{backend.name}, or uses a function that it does not have"
    )


def rows_of(backend: Any, statement: str, schema: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with interruptible(statement):
        return database_of(backend).rows(backend, statement, schema)


def stream_of(backend: Any, statement: str, schema: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """As `rows_of`, one row after the other; not all of them are in memory where this is known."""
    with interruptible(statement):
        yield from database_of(backend).stream(backend, statement, schema)
