"""Tables that grow: batches as parts of a table, and the rows of named blocks.

A table is a value. `append` gives another one, over the parts of the first and one more. All of
them share the source that was opened first. Which parts there are is public, and so is their
schema; what is in them is read when a question that was paid for needs it.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self
from weakref import ref

import attrs

from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import column_name
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.checks.datasets import Described
from queryable.data.growing import Grown, growable, snapshot
from queryable.errors import MechanismFault
from queryable.faults import touching_data
from queryable.losses.numbers import several as listed
from queryable.streams.contributions import Records
from queryable.wording.quoting import quoted

_CANNOT = "append to the table before the join: a joined table does not grow"


class GrowingTable(Described):
    """What a `Table` does with batches and blocks."""

    _engine: Any
    _reading: dict[str, Any]
    _on_misread: Callable[[Any], object] | None
    _root: Any
    """The engine of the source that was opened first."""
    _unit: PrivacyUnit | None
    _parts: Grown | None
    """The parts of its engine; None if it cannot grow."""
    _names: dict[Hashable, None]
    _closed: frozenset[Hashable] = frozenset()
    """The blocks that were there at opening."""
    _column: str | None = None
    """The column of a database that names the block of a row."""
    _choice: Choice
    """The order of a unit's rows."""
    _chooses = False
    """Whether rows are chosen when they arrive, and not at the first question."""
    as_opened = True
    """Whether it has the rows that it was opened with. Public."""
    _rows: Any = None
    """A copy of a batch's rows, in an order."""
    _next: tuple[Any, Hashable, "ref[Self]"] | None = None
    """The last batch that was appended, its block, and the table with it."""

    @abstractmethod
    def step(self, column: str) -> Fraction | None:
        """What every number of a column is a multiple of, by its public type; None if unknown."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget what was remembered about other rows."""

    @abstractmethod
    def choose_rows(self) -> None:
        """Choose the rows of each unit that count."""

    def _begin(self, blocks: Any) -> None:
        """Start with the rows that were opened, or with blocks."""
        self._root, self._names = self._engine, {}
        self._parts = growable([_first(self._root)]) if self._root.grows else None
        if blocks is None:
            return
        if isinstance(blocks, BlockFolders):
            parts = growable([])
            for name, sources in blocks.files:
                given = [] if sources is None else self._parts_of(sources, opening=True)
                parts, self._names = parts.after(given, name), {**self._names, name: None}
            self._root.release_files()
            self._closed = frozenset(self._names)
            self._parts = parts
            self._engine = _over(self._root, parts)
        elif self._root.has_blocks:
            name, names = _in_column(blocks)
            if name not in self._root.kinds:
                raise ValueError(no_column(name, self._root.kinds))
            if self._root.kinds[name].name not in ("text", "integer", "date"):
                raise TypeError(f"blocks={name!r} should be a column of text, integers or dates")
            self._column, self._names = name, dict.fromkeys(names)
            self._closed = frozenset(names)
        else:
            raise TypeError(
                "leave blocks out: it is for a folder of files or an Ibis table. Rows in memory "
                "are put in blocks by table.append(rows, block=..)"
            )

    @property
    def blocks(self) -> tuple[Hashable, ...]:
        """The names of the blocks, in order. Public."""
        return tuple(self._names)

    @property
    def may_go_on(self) -> bool:
        """Whether rows may still arrive for the last block: not if it was there at opening."""
        return not self._names or next(reversed(self._names)) not in self._closed

    def append(self, records: Any, block: Hashable = None) -> Self:
        """The table with one more batch. This table keeps its rows.

        The columns and their types are those of this table. A batch is a path of a file, a pattern
        or a folder; a frame or a dict of columns, whose Python objects are read as the table's
        types; of a database, an Ibis table of the same connection. A cell that is no value of its
        type is missing, as at opening. The new table uses the source of this one, so this one has
        to stay open; files and frames of the batch must not change.

        The privacy unit's bounds hold for all rows together: of a unit, `max_rows` rows of the new
        table count.

        Args:
            block: the public name of the block that the batch belongs to: a text, an integer or a
                date.

        Raises:
            TypeError, ValueError: the batch has other columns or types, or is no batch.
        """
        if self._next is not None and self._next[0] is records and self._next[1] == block:
            known = self._next[2]()
            if known is not None:
                return known
        if self._parts is None:
            raise TypeError(_CANNOT)
        parts = self._parts.after(self._parts_of(records), block)
        names = self._names
        if block is not None and block not in names:
            names = {**names, block: None}
        grown = self._of(parts, names)
        if self._chooses:
            grown.choose_rows()
        self._next = records, block, ref(grown)
        return grown

    def batch(self, records: Any) -> Self:
        """A batch alone, as a table of the same columns. `append` takes it as it takes the batch.

        Each of its rows is a unit: counters bound the rows of a unit over all batches. `on_misread`
        is told as by `append`, but if it raises, this is a fault for the curator, and no error:
        whether a batch arrives may not depend on its rows.

        Raises:
            TypeError, ValueError: the batch has other columns or types, or is no batch.
        """
        if self._parts is None:
            raise TypeError(_CANNOT)
        if isinstance(records, GrowingTable) and records._root is self._root:
            return records  # type: ignore[return-value]
        found, misread = self._found(records)
        with suppress(MechanismFault):  # what the function does decides nothing about the batch
            touching_data(lambda: self._tell(misread))
        return self._alone(found)

    def over(self, blocks: Iterable[Hashable]) -> Self:
        """The rows of the named blocks alone; other blocks are not read.

        The privacy unit's bounds hold for the rows of these blocks: of a unit, `max_rows` of them
        count.

        Raises:
            KeyError: there is no such block.
        """
        names = list(dict.fromkeys(listed(blocks, "blocks")))
        if self._parts is None:
            raise KeyError("a joined table has no blocks; join the rows of blocks instead")
        named = self._names if self._column is None or self._names else names
        for name in names:
            if name not in named:
                raise KeyError(f"there is no block {quoted(name)}")
        arrived = [name for name in names if name in self._parts._blocks]
        parts = growable(list(self._parts.over(arrived)))
        if self._column is not None and (old := [it for it in names if it not in arrived]):
            from mechanisms.tables.engines.ibis.parts import among

            parts = parts.after([among(self._root, self._column, old)], None)
        return self._of(parts, dict.fromkeys(names))

    @property
    def gives_rows(self) -> bool:
        """Whether its rows can be read one by one: not those of a database or a join. Public."""
        return self._parts is not None and not self._root.has_blocks

    def column_values(self, name: str) -> list[Any]:
        """The cells of a column of a batch, as Python values with None for a missing cell.

        Raises:
            TypeError: the table is one of a database.
            KeyError: there is no such column.
        """
        return list(self._in_order().values(column_name(name)))

    def take(self, rows: Sequence[int]) -> Self:
        """The rows of a batch at these places, as `column_values` counts them."""
        return self._alone([self._in_order().part(rows)])

    def records(self, earlier: Records | None = None) -> Records:
        """Its rows, or its privacy units with all their rows, each with a number.

        The rows are copied once. They are read again only by the statistics that ask for them.

        Args:
            earlier: the records before batches were appended. They keep their numbers, and new
                rows of a unit have the number of the unit.

        Raises:
            TypeError: the table is one of a database, or joined.
            ValueError: the earlier records are of a table that this one does not go on from.
        """
        if self._parts is None or not self.gives_rows:
            raise TypeError("records are told apart in files and frames only")
        from mechanisms.tables.engines.duckdb.recorded import recorded
        from mechanisms.tables.records import TableRecords

        unit = None if self._unit is None else self._unit.column
        known = earlier.recorded if isinstance(earlier, TableRecords) else None
        copy = recorded(self._root, snapshot(self._parts), unit, known)
        return TableRecords(copy, self._choice, self._some, self.step)

    def _some(self, part: Any) -> Self:
        """The table of some of its rows."""
        other = self._of(growable([part]), {})
        other._chooses = False
        return other

    def _alone(self, parts: list[Any]) -> Self:
        """A batch of some parts."""
        other = self._of(growable(parts), {})
        other._unit, other._chooses = None, False
        return other

    def _in_order(self) -> Any:
        if self._rows is None:
            if self._parts is None or not self.gives_rows:
                raise TypeError("rows are taken one by one from files and frames only")
            from mechanisms.tables.engines.duckdb.in_order import in_order

            self._rows = in_order(self._root, partial(snapshot, self._parts))
        return self._rows

    def _of(self, parts: Grown, names: dict[Hashable, None]) -> Self:
        """The table over some parts."""
        other = copy(self)
        other._parts, other._names, other._next, other._rows = parts, names, None, None
        other._engine, other.as_opened = _over(self._root, parts), False
        other._forget()
        return other

    def _parts_of(self, records: Any, *, opening: bool = False) -> list[Any]:
        """The parts of a batch, after the owner was told what could not be read."""
        found, misread = self._found(records)
        if opening:
            self._require_units(misread)
        self._tell(misread, 4)
        return found

    def _found(self, records: Any) -> tuple[list[Any], Any]:
        """The parts of a batch, and what could not be read."""
        if isinstance(records, GrowingTable):
            if records._root is not self._root or records._parts is None:
                raise TypeError("give the rows themselves, or a path: this is another table")
            return list(snapshot(records._parts)), None
        if self._root.has_blocks:
            from mechanisms.tables.engines.ibis import parts as ibis_parts

            return ibis_parts.parts_of(self._root, records), None
        from mechanisms.tables.engines.duckdb import parts

        found, misread = parts.parts_of(self._root, records, self._reading)
        return list(found), misread

    def _tell(self, misread: Any, stacklevel: int = 3) -> None:
        """Show the owner what could not be read; without a function for it, warn of the worst."""
        if misread is None:
            return
        if self._on_misread is None:
            misread.warn(stacklevel)
        elif misread.findings:
            self._on_misread(misread)

    def _require_units(self, misread: Any) -> None:
        """Check that the cells that name who is protected were decoded. At opening only.

        Raises:
            ValueError: some were not, so that their rows would count for nobody.
        """
        if misread is not None and self._unit is not None:
            misread.require_decoded(self._unit.column)


class BlockFolders:
    """The folders of blocks with their files."""

    def __init__(self, files: Sequence[tuple[str, Any]]) -> None:
        self.files = files


def found_blocks(source: str | Path, column: Any) -> tuple[Any, BlockFolders]:
    """A file of a folder of blocks, for the schema, and the blocks with their files."""
    from mechanisms.tables.engines.files.folders import blocks_of, of_files

    files = blocks_of(source, column_name(column))
    first = next(sources for _, sources in files if sources is not None)
    every = tuple(path for _, sources in files if sources for path in sources.paths)
    more = every if first.form == "parquet" else ()
    return attrs.evolve(of_files(first.paths[:1]) or first, more=more), BlockFolders(files)


def _in_column(blocks: Any) -> tuple[str, list[Hashable]]:
    """The column of blocks of a database, and their names if they are given."""
    if not isinstance(blocks, Mapping):
        return column_name(blocks), []
    if len(blocks) != 1:
        raise ValueError("give one column as blocks, with the names of the blocks")
    [(name, names)] = blocks.items()
    return column_name(name), list(dict.fromkeys(listed(names, "blocks")))


def _first(engine: Any) -> Any:
    """The part with the rows that were there at opening."""
    if engine.has_blocks:
        return engine.rows
    from mechanisms.tables.engines.duckdb.parts import first_part

    return first_part(engine)


def _over(root: Any, parts: Grown) -> Any:
    """An engine over parts."""
    if root.has_blocks:
        from mechanisms.tables.engines.ibis import parts as ibis_parts

        return ibis_parts.several(root, snapshot(parts))
    from mechanisms.tables.engines.duckdb.parts import several

    return several(root, partial(snapshot, parts))
