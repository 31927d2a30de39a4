"""Rows of a database behind Ibis: a neighbour is a statement over the same connection.

The rows are copied once into a temporary table of the session, with a number for each. A neighbour
leaves out numbers, and adds rows that are written as constants. The database evaluates all of it,
by its own semantics. The owner's tables are read and never written.
"""

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from fractions import Fraction
from typing import Any
from weakref import finalize

from mechanisms.tables.engines.ibis.databases import database_of, execute
from mechanisms.tables.engines.ibis.engine import Ibis
from mechanisms.tables.engines.ibis.statements import SourceRows, rows_of
from mechanisms.tables.expressions.column_types import Kind
from queryable.audit.rows.forms import AddedRecord, Form, Name, is_missing, repeated
from queryable.data.growing import growable

_CONSTANTS = (
    "boolean",
    "integer",
    "decimal",
    "float",
    "text",
    "bytes",
    "date",
    "timestamp",
    "instant",
)


class DatabaseForm(Form):
    """The rows of a table on Ibis.

    Args:
        table: a table that is not joined.
    """

    def __init__(self, table: Any) -> None:
        import ibis

        engine: Ibis = table._engine
        self._table, self._engine, self._backend = table, engine, engine.backend
        self._schema = table._root.source.schema()
        self._dialect: Any = engine.columns.dialect()
        self._number = self._dialect.named(engine.columns.own("place"))
        self._rows = ibis.util.gen_name("queryable_rows")
        database = database_of(self._backend)
        engine.rows.upload(self._backend)
        numbered = (
            f"SELECT d.*, ROW_NUMBER() OVER (ORDER BY NULL) AS {self._number} "
            f"FROM ({engine.rows.sql}) AS d"
        )
        held = database.keep(self._backend, self._rows, numbered)
        self._finish = finalize(self, _drop, database, self._backend, self._rows, held)
        [(self.count,)] = self._fetch(f"SELECT COUNT(*) AS n FROM {self._named}", {"n": "int64"})
        self.names: tuple[Name, ...] = tuple(
            name for name, kind in table.columns.items() if kind.name in _CONSTANTS
        )
        self.unit = None if table.unit is None else table.unit.column
        self.heavy = None if table.unit is None else table.unit.max_rows

    @property
    def _named(self) -> str:
        return str(self._dialect.named(self._rows))

    def _fetch(self, statement: str, schema: dict[str, Any]) -> list[tuple[Any, ...]]:
        return rows_of(self._backend, statement, schema)

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column; of times the text, since some are beyond Python's."""
        cell, kind = self._dialect.named(str(name)), self._schema[name]
        if self._table.columns[name].name in ("date", "timestamp", "instant"):
            cell, kind = f"CAST({cell} AS {self._dialect.type_of('VARCHAR')})", "string"
        statement = f"SELECT {cell} AS cell FROM {self._named} ORDER BY {self._number}"
        return [value for (value,) in self._fetch(statement, {"cell": kind})]

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the cell is a constant of the column's type."""
        try:
            return bool(self._constant(str(name), cell))
        except (TypeError, ValueError, OverflowError, AttributeError):
            return False

    def _constant(self, name: str, cell: Any) -> str:
        """A cell of a column's type as SQL.

        Raises:
            TypeError: the type has no such cell.
        """
        if cell is None:
            if not self._schema[name].nullable:
                raise TypeError(f"column {name!r} has no missing cells")
            return self._typed(name, "NULL")
        if self._backend.name == "sqlite" and is_missing(cell):
            raise TypeError("SQLite has no NaN")
        kind = self._table.columns[name]
        return self._typed(name, self._dialect.literal(kind, _in_steps(kind, cell)).text)

    def _typed(self, name: str, literal: str) -> str:
        """A constant of exactly the column's type; SQLite has types of cells alone."""
        if self._backend.name == "sqlite":
            return literal
        declared = self._backend.compiler.type_mapper.to_string(self._schema[name])
        return f"CAST({literal} AS {declared})"

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """A table over a statement. The first table's connection has to stay open."""
        names = list(self._table.columns)
        plain = ", ".join(map(self._dialect.named, names))
        gone = ", ".join(str(place + 1) for place in removed)
        where = f" WHERE {self._number} NOT IN ({gone})" if removed else ""
        selects = [f"SELECT {plain} FROM {self._named}{where}"]
        selects += [self._row(names, *each) for each in repeated(added)]
        return self._over(" UNION ALL ".join(selects))

    def _row(self, names: Sequence[str], added: AddedRecord, times: int) -> str:
        """SQL of an added record, so many times."""
        cells = []
        for name in names:
            column = self._dialect.named(name)
            if name in added.cells or added.base is None:
                cells.append(f"{self._constant(name, added.cells.get(name))} AS {column}")
            else:
                cells.append(f"d.{column}")
        base = "" if added.base is None else f"{self._named} AS d CROSS JOIN "
        digits = " UNION ALL ".join(f"SELECT {digit} AS digit" for digit in range(10))
        tens = " CROSS JOIN ".join(f"({digits}) AS {name}" for name in ("a", "b", "c"))
        where = f"a.digit + 10 * b.digit + 100 * c.digit < {times}"
        if added.base is not None:
            where += f" AND d.{self._number} = {added.base + 1}"
        return f"SELECT {', '.join(cells)} FROM {base}{tens} WHERE {where}"

    def _over(self, statement: str) -> Any:
        """The table over other rows: as its root, so that blocks are those of these rows."""
        engine = self._table._root.over(SourceRows(statement), self._table.columns)
        other = copy(self._table)
        other._root = other._engine = engine
        other._parts, other._next = growable([engine.rows]), None
        other._forget()
        other._source_of = self  # the copy of the rows is dropped with the form
        if self._backend.name == "sqlite":
            finalize(other, _drop_view, self._backend, engine.columns.data)
        return other


def _in_steps(kind: Kind, cell: Any) -> Any:
    """A cell as `SqlDialect.literal` takes it.

    Raises:
        TypeError: the kind has no such cell.
    """
    expected: dict[str, Any] = {
        "text": str,
        "bytes": bytes,
        "boolean": bool,
        "float": (int, float),
        "integer": int,
        "decimal": object,
        "date": dt.date,
        "timestamp": dt.datetime,
        "instant": dt.datetime,
    }
    if not isinstance(cell, expected[kind.name]) or (is_missing(cell) and kind.name != "float"):
        raise TypeError("no such cell")
    match kind.name:
        case "text" | "bytes" | "boolean":
            return cell
        case "float":
            number = float(cell)
            if kind.single and number == number and float(_single(number)) != number:  # noqa: PLR0124
                raise TypeError("no such cell")
            return number
        case "integer" | "decimal":
            steps = Fraction(cell) / (kind.step or 1)
        case _:
            steps = _since_1970(cell, kind) / (kind.step or 1)
    if steps.denominator != 1 or not kind.low <= steps <= kind.high:
        raise TypeError("no such cell")
    return int(steps)


def _single(number: float) -> Any:
    import numpy as np

    with np.errstate(all="ignore"):
        return np.float32(number)


def _since_1970(cell: Any, kind: Kind) -> Fraction:
    """Nanoseconds since 1970."""
    if kind.name == "date":
        if isinstance(cell, dt.datetime):
            raise TypeError("no such cell")
        return Fraction((cell - dt.date(1970, 1, 1)).days * 86_400 * 10**9)
    if (cell.tzinfo is not None) is not (kind.name == "instant"):
        raise TypeError("no such cell")
    plain = cell.astimezone(dt.UTC).replace(tzinfo=None) if cell.tzinfo is not None else cell
    elapsed = plain - dt.datetime(1970, 1, 1)  # noqa: DTZ001
    return Fraction(elapsed // dt.timedelta(microseconds=1)) * 1000


def _drop(database: Any, backend: Any, name: str, held: Any) -> None:
    with suppress(Exception):  # the connection may be closed
        database.drop(backend, name, held)


def _drop_view(backend: Any, name: str) -> None:
    with suppress(Exception):
        execute(backend, f"DROP VIEW IF EXISTS {name}")
