"""A driver of Python's database API 2.0 (PEP 249) for the data sets of a curator.

`pandas.read_sql(query, curator.dbapi.connect(url, token, loss=ZCDP("1/500")))` works, as do
notebooks and tools that take a connection. Each number `n` of a query has the ends of its interval
beside it, `n_low` and `n_high`. A query that was asked before is answered again for nothing.

There are no transactions: what was charged stays charged.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Never, Self

from curator.client.connecting import Connection as CuratorConnection
from curator.client.connecting import connect as connect_curator
from curator.client.in_sql import answered
from curator.wire import AccessError, UnavailableError, WireError
from mechanisms.tables.in_sql.answers import SqlAnswer
from mechanisms.tables.in_sql.refusals import SqlError
from queryable.errors import InteractiveError, QueryError, QueryRefusedError

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"


class Warning(Exception):  # noqa: A001, N818 (PEP 249)
    """PEP 249."""


class Error(Exception):
    """PEP 249: the base of all errors of this module."""


class InterfaceError(Error):
    """PEP 249: the connection or the cursor is used wrongly."""


class DatabaseError(Error):
    """PEP 249."""


class DataError(DatabaseError):
    """PEP 249."""


class OperationalError(DatabaseError):
    """PEP 249: the budget does not pay for it, or the curator does not answer."""


class IntegrityError(DatabaseError):
    """PEP 249."""


class InternalError(DatabaseError):
    """PEP 249: the query failed; its charge is kept."""


class ProgrammingError(DatabaseError):
    """PEP 249: the query is wrong; nothing was charged."""


class NotSupportedError(DatabaseError):
    """PEP 249: the query is not answered here; the text has one that is. Nothing was charged."""


STRING, BINARY, NUMBER, DATETIME, ROWID = "STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"


def connect(
    url: str | Sequence[str],
    token: str | None = None,
    *,
    within: Any = None,
    loss: Any = None,
    confidence: Any = None,
    **options: Any,
) -> "SqlConnection":
    """Connect to a curator.

    Args:
        url, token, options: as for `curator.connect`.
        within, loss: how accurate the numbers of each query should be, or what each query may lose;
            see `Queryable.sql`. A cursor's `within` and `loss` say it for its own queries.
        confidence: of the intervals, by default 0.95.

    Raises:
        OperationalError: the curator does not answer, or does not know the token.
    """
    with _translated():
        made = connect_curator(url, token, **options)
    return SqlConnection(made, {"within": within, "loss": loss, "confidence": confidence})


class SqlConnection:
    """The data sets that a token reaches, as a database."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    OperationalError, IntegrityError = OperationalError, IntegrityError
    InternalError, ProgrammingError = InternalError, ProgrammingError
    NotSupportedError, DataError = NotSupportedError, DataError

    def __init__(self, made: CuratorConnection | Mapping[str, Any], how: Mapping[str, Any]) -> None:
        self._made: Any = made
        self._how, self._open = dict(how), True

    def cursor(self) -> "Cursor":
        """A cursor."""
        self._require_open()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: each query is charged and kept when it is answered."""
        self._require_open()

    def rollback(self) -> Never:
        """What was charged stays charged.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("what was charged stays charged: there are no transactions")

    def close(self) -> None:
        """Close the connection and its cursors."""
        if self._open:
            self._open = False
            close = getattr(self._made, "close", None)
            if close is not None:
                close()

    def _require_open(self) -> None:
        if not self._open:
            raise InterfaceError("the connection is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """Asks queries, and has the rows of the last one.

    Attributes:
        within, loss, confidence: of its queries; by default those of the connection.
        arraysize: how many rows `fetchmany` returns.
        description: of each column its name and its type.
        rowcount: how many rows the answer has; -1 before.
        answer: the `SqlAnswer`, or what EXPLAIN says.
    """

    arraysize = 1

    def __init__(self, connection: SqlConnection) -> None:
        self.connection = connection
        self.within, self.loss = connection._how["within"], connection._how["loss"]
        self.confidence = connection._how["confidence"]
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount, self.answer = -1, None
        self._rows: list[tuple[Any, ...]] = []
        self._at, self._open = 0, True

    def execute(self, operation: str, parameters: Sequence[Any] | None = None) -> Self:
        """Ask a query; `parameters` are values for the `?` in it."""
        self._require_open()
        given = () if parameters is None else tuple(parameters)
        how = {"within": self.within, "loss": self.loss, "confidence": self.confidence}
        self.description, self.rowcount, self.answer = None, -1, None
        self._rows, self._at = [], 0
        with _translated():
            answer = answered(self.connection._made, operation, given, **how)
        self.answer = answer
        if isinstance(answer, SqlAnswer):
            names, self._rows = answer.columns, list(answer.rows)
        else:
            names, self._rows = ("explanation",), [(line,) for line in str(answer).split("\n")]
        self.rowcount = len(self._rows)
        self.description = [
            (name, _type_of([row[place] for row in self._rows]), None, None, None, None, True)
            for place, name in enumerate(names)
        ]
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> Never:
        """Each query has an answer of its own.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("execute one query after the other: each has an answer")

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        self._require_answer()
        end = self._at + (self.arraysize if size is None else size)
        rows, self._at = self._rows[self._at : end], min(end, len(self._rows))
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All further rows."""
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing, as PEP 249 permits."""

    def setoutputsize(self, size: Any, column: Any = None) -> None:
        """Nothing, as PEP 249 permits."""

    def close(self) -> None:
        """Close the cursor."""
        self._open = False

    def _require_open(self) -> None:
        self.connection._require_open()
        if not self._open:
            raise InterfaceError("the cursor is closed")

    def _require_answer(self) -> None:
        self._require_open()
        if self.description is None:
            raise InterfaceError("execute a query first")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _type_of(values: list[Any]) -> str:
    there = next((each for each in values if each is not None), None)
    if isinstance(there, bool | int | float):
        return NUMBER
    return DATETIME if hasattr(there, "year") else STRING


@contextmanager
def _translated() -> Iterator[None]:
    """The errors of a query as PEP 249 has them."""
    try:
        yield
    except SqlError as error:
        raise NotSupportedError(str(error)) from error
    except QueryRefusedError as error:
        raise OperationalError(str(error)) from error
    except (QueryError, TypeError, ValueError) as error:
        raise ProgrammingError(str(error)) from error
    except (AccessError, UnavailableError, WireError) as error:
        raise OperationalError(str(error)) from error
    except InteractiveError as error:
        raise InternalError(str(error)) from error
