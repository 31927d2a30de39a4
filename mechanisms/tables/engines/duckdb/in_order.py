"""The rows of a batch one by one, for bounds that count the rows of a unit as they arrive.

The rows are copied once into a table of the database. Their places in it are the order in which
they count. Touches data.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.duckdb.parts import Part, StoredRows, every, several, stored
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.engines.sql.expression import identifier
from queryable.data.cells import python_values
from queryable.data.guarded import safely

_MICROSECONDS = (
    "((datepart('year', {0})::HUGEINT * 12 + datepart('month', {0})) * 30 + datepart('day', {0})) "
    "* 86400000000 + (datepart('hour', {0})::HUGEINT * 60 + datepart('minute', {0})) * 60000000 "
    "+ datepart('microsecond', {0})"
)
"""An interval as DuckDB compares it: a month is 30 days."""


@attrs.frozen(eq=False)
class InOrder:
    """The rows of some parts, in a table."""

    root: DuckDB
    rows: StoredRows
    number: str

    def values(self, name: str) -> list[Any]:
        """The cells of a column, None where one is missing, or where its type has no keys.

        Two cells have equal keys (`queryable.data.keys`) if and only if DuckDB says that they are
        equal. Reading fails at no cell, even where Python has no such time.

        Raises:
            KeyError: there is no such column.
        """
        kind, cell = self.root.kinds[name], identifier(name)
        if kind.name in ("date", "timestamp", "instant"):
            return self._moments(cell, UTC if kind.name == "instant" else None)
        if kind.name in ("text", "written") or kind.declared in ("TIME", "TIME_NS"):
            cell = f"CAST({cell} AS VARCHAR)"
        elif kind.name == "other":
            cell = "NULL"
        elif kind.name == "duration":
            cell = _MICROSECONDS.format(cell)
        found = [value for (value,) in self.root.fetch(self._read(cell))]
        if kind.name == "duration":  # those beyond Python's have no key
            return [safely(lambda count: timedelta(microseconds=count), each) for each in found]
        return [value if value == value else None for value in found]  # noqa: PLR0124 (NaN)

    def _moments(self, cell: str, zone: tzinfo | None) -> list[Any]:
        """Dates and times; numpy's where Python has none, which has fewer years and digits."""
        with self.root._lock, interrupts():
            rows = self.root._connection.sql(self._read(cell)).to_arrow_table()
        moments = rows.column(0).to_numpy()
        missing = np.isnat(moments).tolist()
        found = zip(python_values(moments), missing, strict=True)
        cells = [None if no else each for each, no in found]
        return [it.replace(tzinfo=zone) if type(it) is datetime else it for it in cells]

    def _read(self, cell: str) -> str:
        return f"SELECT {cell} FROM {identifier(self.rows.name)} ORDER BY {self.number}"

    def part(self, rows: Sequence[int]) -> Part:
        """The rows at these places, each once."""
        import pyarrow as pa

        name = f"part {next(self.root.numbers)}"
        wanted = pa.table({"place": pa.array(np.asarray(rows, dtype=np.int64))})
        with self.root._lock, interrupts():
            connection = self.root._connection
            connection.register("wanted", wanted)
            connection.execute(
                f"CREATE TABLE {identifier(name)} AS SELECT {every(self.root)} FROM "
                f"{identifier(self.rows.name)} WHERE {self.number} IN (SELECT place FROM wanted)"
            )
            connection.unregister("wanted")
        return stored(self.root, name, every(self.root))


def in_order(root: DuckDB, parts: Callable[[], Sequence[Part]]) -> InOrder:
    """Copy the rows of some parts."""
    engine = several(root, parts)
    number = identifier(root.columns.own("place"))
    name = f"part {next(root.numbers)}"
    root.fetch(
        f"CREATE TABLE {identifier(name)} AS SELECT *, row_number() OVER () - 1 AS {number} "
        f"FROM {identifier(engine.ready())}"
    )
    return InOrder(root, stored(root, name, every(root)), number)
