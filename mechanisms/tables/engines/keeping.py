"""The kept rows of a DuckDB source, in tables, so that they are chosen once.

A table is made at the first question that needs it. Which tables there are depends only on the
bounds and columns that questions named, and on whether there is room on disk.
"""

from itertools import count
from typing import Any

import attrs

from mechanisms.tables.engines.kept import Kept
from mechanisms.tables.engines.sql import identifier

MOST = 8
"""How many sets of kept rows there are at most; the one that was asked for first is dropped."""


class Keeper:
    """The tables of kept rows on one connection.

    They are temporary tables: in memory, and in the connection's folder for temporary files beyond
    `memory_limit`. The caller allows one thread at a time.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._tables: dict[tuple[Any, ...], tuple[str, frozenset[str]]] = {}
        self._numbers = count(1)
        self._keeps = True

    def source(self, kept: Kept) -> str:
        """SQL of the rows, with at least the wanted columns."""
        import duckdb

        if self._keeps:
            try:
                return f"SELECT * FROM {identifier(self._table(kept))}"
            except (
                duckdb.OutOfMemoryException,
                duckdb.IOException,
            ):  # no room in memory or on disk
                self._keeps = False
                self.forget()
        return kept.exact()

    def forget(self) -> None:
        """Drop all tables."""
        self._tables.clear()
        self._drop_others()

    def _table(self, kept: Kept) -> str:
        """The table of these rows. It is made, or made anew with more columns, if need be."""
        name, names = self._tables.pop(kept.of, ("", frozenset()))
        if not name or not kept.names <= names:
            self._drop_others()
            names |= kept.names
            name = self._made(attrs.evolve(kept, names=names))
        self._tables[kept.of] = name, names
        if len(self._tables) > MOST:
            del self._tables[next(iter(self._tables))]
            self._drop_others()
        return name

    def _made(self, kept: Kept) -> str:
        """A new table; nothing refers to it if this is interrupted."""
        name = f"chosen {next(self._numbers)}"
        table = identifier(name)
        self._run(f"CREATE TEMP TABLE {table} AS {kept.first()}")
        [(tied,)] = self._run(f"SELECT EXISTS ({kept.tied(name)})")
        if tied:
            units = f"{name} tied"
            self._run(f"CREATE TEMP TABLE {identifier(units)} AS {kept.tied(name)}")
            among = f"SELECT * FROM {identifier(units)}"
            self._run(f"DELETE FROM {table} WHERE {identifier(kept.columns.unit)} IN ({among})")
            self._run(f"INSERT INTO {table} BY NAME {kept.exact(among)}")
            self._run(f"DROP TABLE {identifier(units)}")
        return name

    def _drop_others(self) -> None:
        """Drop tables that nothing refers to, also those of an interrupted question."""
        used = {name for name, _ in self._tables.values()}
        found = self._run("SELECT table_name FROM duckdb_tables() WHERE temporary")
        for (name,) in found:
            if name.startswith("chosen ") and name not in used:
                self._run(f"DROP TABLE temp.{identifier(name)}")

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
        return rows
