"""The counted rows of each unit on a database, chosen once.

They are kept in a temporary table of the owner's connection: a question is a statement over a
relation of its name. Where there is no such table, the choice of the rows is put in front of the
statement, as a common table expression of the same name. So a question has one meaning.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any
from weakref import finalize

from mechanisms.tables.engines.ibis.databases import database_of

Counted = tuple[Any, ...]
"""What the rows of a `CountedRows` depend on."""

MOST = 8
"""How many sets of kept rows one table has at a time; the one that was used longest ago goes."""


class KeptRows:
    """The temporary tables of one engine, which are dropped with it.

    What is kept depends on which columns and bounds the questions named, and on nothing else. The
    exception is a table that the database does not make, for lack of a right or of space. Then
    rows are chosen for each question from there on, with the same result.
    """

    def __init__(self, backend: Any) -> None:
        import ibis

        self.backend = backend
        self.lock = RLock()
        self._prefix = ibis.util.gen_name("queryable_kept")
        self._names: dict[Counted, str] = {}
        self._columns: dict[Counted, tuple[str, ...]] = {}
        self._made: dict[str, Any] = {}  # by name, also what is half made
        self._keeps = database_of(backend).tested  # elsewhere rows are chosen for each question
        self._finish = finalize(self, _let_go, backend, self._made)

    def name(self, rows: Counted) -> str:
        """The name of the relation that questions about these rows read."""
        return self._names.setdefault(rows, f"{self._prefix}_{len(self._names)}")

    def ready(
        self, rows: Counted, columns: Iterable[str], chosen: Callable[[tuple[str, ...]], str]
    ) -> bool:
        """Whether the table is there with these columns, after it was made if need be.

        Args:
            chosen: the SQL of the choice of rows with some columns.
        """
        if not self._keeps:
            return False
        held = self._columns.pop(rows, ())
        if not held or not set(columns) <= set(held):
            held = tuple(dict.fromkeys([*held, *columns]))
            self.drop(rows)
            for oldest in list(self._columns)[: max(0, len(self._columns) + 1 - MOST)]:
                self.drop(oldest)
            try:
                self._make(self.name(rows), chosen(held))
            except BaseException as error:
                self.drop(rows)
                if isinstance(error, Exception) and not isinstance(error, TimeoutError):
                    return False
                raise
        self._columns[rows] = held  # the last one is the one used last
        return True

    def stop(self) -> None:
        """Drop all tables, and make no more."""
        self._keeps = False
        for rows in list(self._names):
            self.drop(rows)

    def drop(self, rows: Counted) -> None:
        """Drop the table of these rows, if there is one."""
        self._columns.pop(rows, None)
        name = self.name(rows)
        if name in self._made:
            with suppress(Exception):  # then the next attempt, or the end of the session, drops it
                database_of(self.backend).drop(self.backend, name, self._made[name])
                del self._made[name]

    def _make(self, name: str, chosen: str) -> None:
        self._made[name] = None
        self._made[name] = database_of(self.backend).keep(self.backend, name, chosen)


_running: list[bool] = []
_waiting: list[tuple[Any, dict[str, Any]]] = []


@contextmanager
def running() -> Iterator[None]:
    """While one of our statements runs, tables that are collected wait until it has ended."""
    _running.append(True)
    try:
        yield
    finally:
        _running.pop()
        while _waiting and not _running:
            _let_go(*_waiting.pop())


def _let_go(backend: Any, made: dict[str, Any]) -> None:
    """Drop the tables of an engine that was collected."""
    if made and _running:
        _waiting.append((backend, made))
        return
    for name in list(made):
        with suppress(Exception):  # the connection may be closed, and its tables gone
            database_of(backend).drop(backend, name, made.pop(name))
