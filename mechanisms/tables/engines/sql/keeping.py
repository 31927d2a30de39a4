"""The kept rows of a DuckDB source, in tables, so that they are chosen once.

A table is made at the first question that needs it. Which tables there are depends only on the
bounds, columns and keys that questions named, and on whether there is room on disk. Rows that were
chosen before the first question are the source of later choices of at most as many rows of each
unit. The place of a row among a few keys of text is a column, so that texts are compared once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import attrs

from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.kept import CountedRows
from mechanisms.tables.engines.sql.keyed import Codes

MOST = 8
"""How many sets of kept rows there are at most; the one that was asked for first is dropped. Also
how many columns of codes each of them has."""

_TEXTS = "\x1ftexts"
"""The keys that codes are made of, as an enumeration."""

_VIEW = "\x1frows"
"""The view of the rows that were chosen before the first question."""


@contextmanager
def registered(connection: Any, tables: Mapping[str, Any]) -> Iterator[None]:
    """Arrow tables by the names that statements have for them.

    DuckDB refuses to change names while it has a result that was not fetched. An interrupt may
    leave one, and the next statement ends it.
    """
    if not tables:
        yield
        return
    connection.execute("SELECT 1").fetchall()
    try:
        for name, table in tables.items():
            connection.register(name, table)
        yield
    except BaseException:
        connection.execute("SELECT 1").fetchall()
        raise
    finally:
        for name in tables:
            connection.unregister(name)


class KeptTables:
    """The tables of kept rows on one connection.

    They are temporary tables: in memory, and in the connection's folder for temporary files beyond
    `memory_limit`. The caller allows one thread at a time.

    Args:
        held: has the connection until it is closed.
    """

    def __init__(self, held: Sequence[Any]) -> None:
        self._held = held
        self._tables: dict[tuple[Any, ...], tuple[str | None, frozenset[str]]] = {}
        self._numbers = count(1)
        self._keeps = True
        self._before: tuple[CountedRows, str] | None = None
        self._codes: dict[str, dict[Codes, str]] = {}
        self._encodes = True

    def choose(self, kept: CountedRows, selected: str) -> None:
        """Choose rows before the first question, from which later ones are chosen.

        Without room on disk nothing is chosen.

        Args:
            kept: the rows, with all columns of the source.
            selected: the columns of a view of all rows, as SQL over those of the source.
        """
        import duckdb

        self.forget()
        try:
            name = self._made(kept, None)
        except (duckdb.OutOfMemoryException, duckdb.IOException):
            self.forget()
            return
        self._run(
            f"CREATE TEMP VIEW {identifier(_VIEW)} AS SELECT {selected} FROM {identifier(name)}"
        )
        self._before = kept, name
        self._drop_others()

    def _among(self, kept: CountedRows) -> CountedRows:
        """The same rows, chosen among those that were chosen before, if these are enough."""
        if self._before is None:
            return kept
        before, _ = self._before
        if attrs.evolve(kept, max_rows=before.max_rows).of != before.of:
            return kept
        return attrs.evolve(kept, view=_VIEW) if kept.max_rows <= before.max_rows else kept

    def source(self, kept: CountedRows) -> str:
        """SQL of the rows, with at least the wanted columns."""
        import duckdb

        if self._keeps:
            try:
                return f"SELECT * FROM {identifier(self._table(self._among(kept)))}"
            except (
                duckdb.OutOfMemoryException,
                duckdb.IOException,
            ):  # no room in memory or on disk
                self._keeps = False
                self.forget()
        return self._anew(kept)

    def coded(self, kept: CountedRows, codes: Codes) -> str | None:
        """The column of the table of `source` with a row's code; it is made at the first question.

        Returns:
            None if there is no such column: the table has many others, or there is no room.
        """
        import duckdb

        table, _ = self._tables.get(self._among(kept).of, (None, None))
        if not self._keeps or table is None:
            return None
        known = self._codes.setdefault(table, {})
        if codes not in known and len(known) < MOST and self._encodes:
            column = identifier(kept.columns.own(f"code {next(self._numbers)}"))
            try:
                self._encode(f"temp.{identifier(table)}", column, codes)
                known[codes] = column
            except (
                duckdb.OutOfMemoryException,
                duckdb.IOException,
            ):  # no room in memory or on disk
                self._encodes = False
        return known.get(codes)

    def _encode(self, table: str, column: str, codes: Codes) -> None:
        """Add a column of codes to a table; nothing refers to it if this is interrupted."""
        texts = f"SELECT key FROM {identifier(_TEXTS)} ORDER BY place"
        with registered(self._held[0], {_TEXTS: codes.table()}):
            self._run(f"CREATE OR REPLACE TEMP TYPE {identifier(_TEXTS)} AS ENUM ({texts})")
        code = f"enum_code(TRY_CAST({codes.cell} AS {identifier(_TEXTS)}))"  # null of other texts
        self._run(f"ALTER TABLE {table} ADD COLUMN {column} UTINYINT")
        self._run(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE UTINYINT USING {code}")

    def forget(self) -> None:
        """Drop all tables."""
        self._tables.clear()
        self._before = None
        self._run(f"DROP VIEW IF EXISTS temp.{identifier(_VIEW)}")
        self._drop_others()

    def _table(self, kept: CountedRows) -> str:
        """The table of these rows. It is made, or made anew with more columns, if need be."""
        name, names = self._tables.get(kept.of, (None, frozenset()))
        if name is None or not kept.names <= names:
            names |= kept.names
            name = self._made(attrs.evolve(kept, names=names), name)
            self._tables.pop(kept.of, None)
            self._tables[kept.of] = name, names
            while len(self._tables) > MOST:
                del self._tables[next(iter(self._tables))]
            self._drop_others()
        else:
            self._tables[kept.of] = self._tables.pop(kept.of)
        return name

    def _made(self, kept: CountedRows, known: str | None) -> str:
        """A new table of these rows, by the positions of known ones if rows have positions.

        So cells that may be long are not held while rows are sorted. All rows that were chosen
        before the first question are copied as they are.
        """
        if self._before is not None and kept == self._among(
            attrs.evolve(self._before[0], names=kept.names)
        ):
            name = f"chosen {next(self._numbers)}"
            self._run(f"CREATE TEMP TABLE {identifier(name)} AS {kept.every()}")
            return name
        if kept.columns.position is None:
            return self._chosen(kept)
        if known is None:
            known = self._chosen(attrs.evolve(kept, names=kept.narrow))
            if kept.names == kept.narrow:
                return known
        name = f"chosen {next(self._numbers)}"
        self._run(f"CREATE TEMP TABLE {identifier(name)} AS {kept.again(identifier(known))}")
        return name

    def _chosen(self, kept: CountedRows) -> str:
        """A new table of rows that are chosen now; nothing refers to it if this is interrupted."""
        name = f"chosen {next(self._numbers)}"
        table = identifier(name)
        self._run(f"CREATE TEMP TABLE {table} AS {kept.first()}")
        [(tied,)] = self._run(f"SELECT EXISTS ({kept.tied(table)})")
        if tied:
            self._settle(name, kept)
        return name

    def _settle(self, name: str, kept: CountedRows) -> None:
        """Reduce units with too many rows, which tie, to the first ones in the order of all cells.

        Mostly these rows are equal in all cells. Then it makes no difference which ones are kept.
        """
        table = identifier(name)
        among, unequal = self._tied(table, kept)
        if unequal:
            self._run(f"DELETE FROM {table} WHERE {identifier(kept.columns.unit)} IN ({among})")
            self._run(f"INSERT INTO {table} BY NAME {kept.exact(among)}")
        else:
            self._run(f"DELETE FROM {table} WHERE {identifier(kept.columns.tied)}")

    def _anew(self, kept: CountedRows) -> str:
        """SQL that chooses the rows each time. It takes two passes, and little room."""
        rows, columns = f"({kept.first()})", kept.columns
        self._drop_others()
        among, unequal = self._tied(rows, kept)
        if not unequal:
            return f"SELECT * FROM {rows} WHERE NOT {identifier(columns.tied)}"
        others = f"SELECT * FROM {rows} WHERE {identifier(columns.unit)} NOT IN ({among})"
        return f"{others} UNION ALL BY NAME {kept.exact(among)}"

    def _tied(self, rows: str, kept: CountedRows) -> tuple[str, bool]:
        """A statement whose results are the units with too many rows, and whether cells differ."""
        units = identifier(f"chosen {next(self._numbers)}")
        self._run(f"CREATE TEMP TABLE {units} AS {kept.tied(rows)}")
        among = f"SELECT * FROM {units}"
        return among, bool(self._run(kept.unequal(among)))

    def _drop_others(self) -> None:
        """Drop tables that nothing refers to, also those of an interrupted question."""
        used = {name for name, _ in self._tables.values()}
        used |= set() if self._before is None else {self._before[1]}
        self._codes = {name: codes for name, codes in self._codes.items() if name in used}
        found = self._run("SELECT table_name FROM duckdb_tables() WHERE temporary")
        for (name,) in found:
            if name.startswith("chosen ") and name not in used:
                self._run(f"DROP TABLE temp.{identifier(name)}")

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._held[0].execute(statement).fetchall()
        return rows
