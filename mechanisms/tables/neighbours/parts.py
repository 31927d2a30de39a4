"""Rows of a table in its own database, by parts: of a table that has grown, or is in blocks.

The rows are read as the table has read them. A neighbour is a table over other parts of the same
source, so the first table has to stay open.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import attrs

from mechanisms.tables.engines.duckdb.in_order import InOrder, in_order
from mechanisms.tables.engines.duckdb.parts import Part
from mechanisms.tables.engines.protocol import interrupts
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.neighbours.written import number_of
from queryable.audit.rows.forms import AddedRecord, Form, Name, repeated, same_cell
from queryable.data.growing import growable
from queryable.data.guarded import pass_on


@attrs.frozen(eq=False)
class _Section:
    """The rows of one block, or those that are in none.

    Args:
        start: how many rows are in the sections before it.
    """

    block: Hashable
    parts: Sequence[Part]
    rows: InOrder
    start: int
    count: int


class PartsForm(Form):
    """The rows of a table on DuckDB.

    Args:
        table: a table that is not joined.
    """

    def __init__(self, table: Any) -> None:
        self._table, self._root = table, table._root
        self._sections: list[_Section] = []
        self.count = 0
        for block, parts in _sections(table._parts):
            rows = in_order(self._root, partial(list, parts))
            [(count,)] = self._root.fetch(f"SELECT count(*) FROM {identifier(rows.rows.name)}")
            self._sections.append(_Section(block, parts, rows, self.count, count))
            self.count += count
        self.names: tuple[Name, ...] = tuple(
            name for name, kind in table.columns.items() if kind.name != "other"
        )
        self.unit = None if table.unit is None else table.unit.column
        self.heavy = None if table.unit is None else table.unit.max_rows

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column, as keys have them."""
        cells = [cell for each in self._sections for cell in each.rows.values(str(name))]
        if self._root.kinds[str(name)].name != "written":
            return cells
        return [None if cell is None else number_of(cell) for cell in cells]

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether a cast to the column's type changes nothing."""
        if self._root.kinds[str(name)].name in ("written", "text") and cell is not None:
            return isinstance(cell, str) and "\0" not in cell
        try:
            with self._root._lock, interrupts():
                found = self._root._connection.execute(f"SELECT {self._cast(name)}", [cell])
                [(held,)] = found.fetchall()
            return same_cell(held, cell)
        except BaseException as error:  # of any class of DuckDB
            pass_on(error)
            return False

    def _cast(self, name: Name) -> str:
        kind = self._root.kinds[str(name)]
        return f"CAST(? AS {'VARCHAR' if kind.name == 'written' else kind.declared})"

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """A table over other parts of the same source."""
        parts = growable([])
        for section in self._sections:
            gone = {place - section.start for place in removed}
            gone = {place for place in gone if 0 <= place < section.count}
            more = [each for each in added if self._section_of(each) is section]
            found = section.parts
            if gone:
                kept = [place for place in range(section.count) if place not in gone]
                found = [section.rows.part(kept)]
            if more:
                found = [*found, self._made(more)]
            parts = parts.after(list(found), section.block)
        other = self._table._of(parts, dict(self._table._names))
        other._source_of = self  # the copies of its rows are dropped with the form
        return other

    def _section_of(self, added: AddedRecord) -> _Section:
        place = self.count if added.base is None else added.base
        return next(
            (it for it in self._sections if place < it.start + it.count), self._sections[-1]
        )

    def _made(self, added: Sequence[AddedRecord]) -> Part:
        """New rows, in a table of the database."""
        from mechanisms.tables.engines.duckdb.parts import stored_rows

        root, name = self._root, f"part {next(self._root.numbers)}"
        columns = ", ".join(map(identifier, root.kinds))
        with root._lock, interrupts():
            create = f"CREATE TABLE {identifier(name)} AS SELECT {columns} FROM data WHERE FALSE"
            root._connection.execute(create)
            for each, times in repeated(added):
                cells, given = [], []
                for column in root.kinds:
                    if column in each.cells or each.base is None:
                        cells.append(self._cast(column))
                        given.append(each.cells.get(column))
                    else:
                        cells.append(f"d.{identifier(column)}")
                source = f" FROM range({times}) AS times(i)"
                if each.base is not None:
                    section = self._section_of(each)
                    source += f", {identifier(section.rows.rows.name)} AS d WHERE "
                    source += f"d.{section.rows.number} = {each.base - section.start}"
                insert = f"INSERT INTO {identifier(name)} SELECT {', '.join(cells)}{source}"
                root._connection.execute(insert, given)
        return stored_rows(root, name)


def _sections(parts: Any) -> list[tuple[Hashable, list[Part]]]:
    """The parts of each block; those that are in no block come first."""
    named = [(block, list(parts.over([block]))) for block in parts.blocks]
    taken = {id(part) for _, each in named for part in each}
    others = [part for part in parts.whole if id(part) not in taken]
    return [*([(None, others)] if others or not named else []), *named]
