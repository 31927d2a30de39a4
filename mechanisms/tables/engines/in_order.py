"""The rows of a batch one by one, for bounds that count the rows of a unit as they arrive.

The rows are copied once into a table of the database. Their places in it are the order in which
they count. Touches data.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.duckdb import DuckDB
from mechanisms.tables.engines.parts import Part, Stored, every, several, stored
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.engines.sql import identifier


@attrs.frozen(eq=False)
class InOrder:
    """The rows of some parts, in a table."""

    root: DuckDB
    rows: Stored
    number: str

    def values(self, name: str) -> list[Any]:
        """The cells of a column, None where one is missing.

        Raises:
            KeyError: there is no such column.
        """
        kind, cell = self.root.kinds[name], identifier(name)
        if kind.name in ("text", "written"):
            cell = f"CAST({cell} AS VARCHAR)"
        read = f"SELECT {cell} FROM {identifier(self.rows.name)} ORDER BY {self.number}"
        found = (value for (value,) in self.root.fetch(read))
        return [value if value == value else None for value in found]  # noqa: PLR0124 (NaN)

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
