"""The parts of a DuckDB table that grows, and an engine over some of them.

A part holds the rows of one batch: an Arrow table in memory, Parquet files that are read where they
are, or a table of the database, which a CSV file is copied into. The names and types of columns are
those of the table that was opened first; a batch with others is refused. No cell decides about it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import finalize

import attrs

from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.duckdb.joins import ViewRows
from mechanisms.tables.engines.files.cell_formats import PLAIN, CellFormat
from mechanisms.tables.engines.files.cells import cast, readings
from mechanisms.tables.engines.files.excel_files import is_excel
from mechanisms.tables.engines.files.folders import sources_of
from mechanisms.tables.engines.files.frames import as_arrow
from mechanisms.tables.engines.files.loading import declared_type, rows_of_arrow
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.files.opening import Sources, linked
from mechanisms.tables.engines.files.parquet_files import (
    all_valid,
    parquet_files,
    require_read_as_written,
)
from mechanisms.tables.engines.protocol import Choice, interrupts
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.found import FindPlan
from mechanisms.tables.engines.sql.kept import CountedRows
from mechanisms.tables.engines.sql.statements import Plan
from mechanisms.tables.engines.sql.types import kind_of
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.discovery import FoundKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.data.cells import Array

_MOST_CHUNKS = 64
_MOST_SCHEMAS = 64


@attrs.frozen(eq=False)
class StoredRows:
    """Rows of a table or view of the database, which has the columns of the first table.

    Args:
        selected: the columns, with each reading of an undeclared one.
    """

    name: str
    selected: str = attrs.field(repr=False)


@attrs.frozen(eq=False)
class Framed:
    """Rows of an Arrow table."""

    table: Any = attrs.field(repr=False)


@attrs.frozen(eq=False)
class Filed:
    """Rows of Parquet files.

    Args:
        columns: names and types, as DuckDB finds them in the files.
        paths: of the files, as the connection may read them.
    """

    columns: tuple[Any, ...]
    paths: tuple[str, ...]
    sources: Sources = attrs.field(repr=False)


Part = StoredRows | Framed | Filed


def first_part(root: DuckDB) -> Part:
    """The rows that were there at opening."""
    return StoredRows("data", every(root))


def every(root: DuckDB) -> str:
    """All columns, as SQL."""
    return ", ".join(map(identifier, root.columns.kinds))


def parts_of(
    root: DuckDB, records: Any, reading: Mapping[str, Any]
) -> tuple[list[Part], Misread | None]:
    """The parts of a batch: one, or none if a folder has no file.

    Args:
        records: a path, a pattern or a folder of files, or a frame.
        reading: the options by which the first table reads CSV files.

    Raises:
        KeyError, TypeError, ValueError: the batch has other columns or types.
    """
    root.require_unchanged()
    import duckdb

    try:
        if is_excel(records):
            raise ValueError(
                "read the sheet, and append its rows as a frame: whether an Excel file is read "
                "depends on its cells, and no cell decides whether a batch arrives"
            )
        if isinstance(records, str | Path):
            records = sources_of(records)
            if records is None:
                return [], None
        if isinstance(records, Sources):
            others = {name: value for name, value in reading.items() if name != "sheet"}
            return _of_files(root, records, others)
        return _of_frame(root, records)
    except duckdb.Error as error:
        raise ValueError(f"the batch cannot be read ({type(error).__name__})") from None


def _of_files(
    root: DuckDB, sources: Sources, reading: Mapping[str, Any]
) -> tuple[list[Part], Misread | None]:
    if sources.form == "parquet":
        links = tuple(_linked(root, sources))
        require_read_as_written(sources.paths, root.kinds)
        with root._lock, interrupts():
            rows = parquet_files(root._connection, list(links), sources.paths)
            found = tuple(zip(rows.columns, map(str, rows.types), strict=True))
            require_same(root, {name: kind_of(declared) for name, declared in found})
            valid = all_valid(rows, list(links))
        if valid:
            sources.require_unchanged()
            return [Filed(found, links, sources)], None
        reading = {}
    types = {it: kind.declared for it, kind in root.kinds.items() if kind.name != "written"}
    options = {"types": types, **reading} if sources.form == "csv" else {}
    batch = DuckDB(sources, **options)
    try:
        require_same(root, batch.kinds)
        name = f"part {next(root.numbers)}"
        rows = f"SELECT {', '.join(map(identifier, root.kinds))} FROM data"
        batch.copy_to(root, name, rows)
        return [_stored(root, name, batch.formats.of)], batch.misread
    finally:
        batch.close()


def _linked(root: DuckDB, sources: Sources) -> Iterable[str]:
    """Paths of files that the connection may read."""
    number = next(root.numbers)
    for i, path in enumerate(sources.paths):
        yield root.allowed.get(path) or linked(path, root.folder, f"part{number}_{i}.parquet")


def _of_frame(root: DuckDB, records: Any) -> tuple[list[Part], Misread | None]:
    """Rows in memory. Python objects are read as the declared types, each cell on its own."""
    frame = as_arrow(records)
    table, objects = frame.table, frame.written
    with root._lock, interrupts():
        found = _types(root, table)
        kinds = {name: kind_of(it, written=name in objects) for name, it in found.items()}
        require_same(root, {name: _as_read(root, name, kind) for name, kind in kinds.items()})
        table = table.select(list(root.kinds))
        read = [it for it in root.kinds if it in objects and root.kinds[it].name != "written"]
        misread = Misread(table.num_rows, 0, frame.invalid, unread=frame.unread, options=False)
        if not read:
            return [Framed(_plain(table))], misread
        cells = {
            name: declared_type(
                root._connection, name, root.kinds[name].declared or "", root.formats
            )
            for name in read
        }
        selected = ", ".join(
            f"{cast(identifier(name), cells[name][1], cells[name][0])} AS {identifier(name)}"
            if name in cells
            else identifier(name)
            for name in root.kinds
        )
        name = f"part {next(root.numbers)}"
        root._connection.register("batch", table)
        root._connection.execute(f"CREATE TABLE {identifier(name)} AS SELECT {selected} FROM batch")
        root._connection.unregister("batch")
        lost = {it: table.column(it).null_count for it in read}
        asked = ", ".join(f"count(*) - count({identifier(it)})" for it in read)
        [missing] = root._connection.sql(f"SELECT {asked} FROM {identifier(name)}").fetchall()
        lost = {it: now - lost[it] for it, now in zip(read, missing, strict=True)}
        types = {it: cells[it][1] for it in read}
        misread = attrs.evolve(misread, cells={**misread.cells, **lost}, declared=types)
        return [_in_memory(root, name)], misread


def _types(root: DuckDB, table: Any) -> dict[str, str]:
    """The types of an Arrow table's columns in DuckDB. They depend on its schema alone."""
    found = root.schemas.get(table.schema)
    if found is None:
        rows = rows_of_arrow(root._connection, table.slice(0, 0))
        found = dict(zip(rows.columns, map(str, rows.types), strict=True))
        if len(root.schemas) == _MOST_SCHEMAS:
            root.schemas.clear()
        root.schemas[table.schema] = found
    return found


def _in_memory(root: DuckDB, name: str) -> Part:
    """A new table of the database as an Arrow table, if that has all of its types.

    Many Arrow tables are read together, and many tables of a database are not.
    """
    rows = root._connection.table(identifier(name))
    table = rows.to_arrow_table()
    if root._connection.from_arrow(table.slice(0, 0)).types != rows.types:
        return _stored(root, name, lambda _: PLAIN)
    root._connection.execute(f"DROP TABLE {identifier(name)}")
    return Framed(table)


def _plain(table: Any) -> Any:
    """The table without dictionaries, of which each batch has its own."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, column)
    return table


def _as_read(root: DuckDB, name: str, kind: Kind) -> Kind:
    """The kind that a column of a frame has in the table: objects are read as what is declared."""
    mine = root.kinds.get(name)
    if mine is not None and kind == column_types.WRITTEN:
        return mine
    return kind


def _stored(root: DuckDB, name: str, form: Callable[[str], CellFormat]) -> StoredRows:
    return stored(root, name, _selected(root, form))


def stored(root: DuckDB, name: str, selected: str) -> StoredRows:
    """A part that is a table of the database, which is dropped with it."""
    part = StoredRows(name, selected)
    finalize(part, root.unused.append, f"DROP TABLE {identifier(name)}")
    return part


def stored_rows(root: DuckDB, name: str) -> StoredRows:
    """A part that is a table of the database with the columns of the root, and no readings."""
    return _stored(root, name, root.formats.of)


def _selected(root: DuckDB, form: Callable[[str], CellFormat]) -> str:
    """The columns of a batch, with the readings of undeclared ones."""
    cells = {name: identifier(name) for name in root.kinds}
    for name, ways in root.columns.written.items():
        found = readings(identifier(name), form(name))
        cells |= {column: found[way][0] for way, column in ways.items()}
    return ", ".join(f"{cells[name]} AS {identifier(name)}" for name in root.columns.kinds)


def require_same(root: Any, found: Mapping[str, Kind]) -> None:
    """Check the columns of a batch against those of the table.

    Raises:
        TypeError: they are others.
    """
    for name, kind in root.kinds.items():
        if name not in found:
            raise TypeError(f"the batch has no column {name!r}, and the table has one")
        mine, theirs = _called(kind), _called(found[name])
        if mine != theirs and not (kind.name == "written" and found[name].name == "text"):
            raise TypeError(
                f"column {name!r} is {theirs} in the batch and {mine} in the table: convert it in "
                f"the batch{_or_declare(name, kind, theirs)}"
            )
    more = [name for name in found if name not in root.kinds]
    if more and not root.narrowed:
        raise TypeError(f"the batch has a column {more[0]!r}, and the table has none")


def _or_declare(name: str, kind: Kind, declared: str) -> str:
    if kind.name != "written":
        return ""
    return f" to text, or open the table with types={{{name!r}: {declared!r}}}"


def _called(kind: Kind) -> str:
    return "text without a type" if kind.name == "written" else kind.declared or kind.name


@attrs.frozen(eq=False)
class SeveralParts(ViewRows):
    """The rows of some parts, as a view that is made when it is first read.

    Args:
        parts: gives the parts.
    """

    parts: Callable[[], Sequence[Part]] = attrs.field(repr=False)
    _made: list[Sequence[Part]] = attrs.field(factory=list, repr=False)

    def ready(self) -> str:
        """The name of the view, after it was made."""
        if not self._made:
            self.require_unchanged()
            with self.root._lock, interrupts():
                while self.root.unused:
                    self.root._connection.execute(self.root.unused.pop())
                parts = list(self.parts())
                names, source = _together(self.root, parts)
                view = identifier(self.view)
                drop = f"DROP VIEW IF EXISTS temp.{view}"
                self.root._connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {source}")
                for each in (*(f"DROP VIEW IF EXISTS {identifier(it)}" for it in names), drop):
                    finalize(self, self.root.unused.append, each)
                self._made.append(parts)
        return self.view

    def require_unchanged(self) -> None:
        """Check that the table that was opened first is open, and the files of these parts."""
        self.root.require_unchanged()
        for part in self._made[0] if self._made else self.parts():
            if isinstance(part, Filed):
                part.sources.require_unchanged()

    def choose_rows(self, per: PrivacyUnit, choice: Choice) -> None:
        """Choose the rows that count of each unit, of which later choices are made."""
        self.ready()
        names = frozenset(self.columns.kinds)
        with self._read(), self.root._lock, interrupts():
            kept = CountedRows(per.column, per.max_rows, choice, names, self.columns, self.view)
            self.root._keeper.choose(kept, ", ".join(map(identifier, self.columns.kinds)))

    def run(self, plan: Plan) -> list[tuple[int, ...]] | Array:
        """The indices and sums of every group."""
        self.ready()
        with self._read():
            return self.root.run(plan)

    def run_together(self, plans: Sequence[Plan]) -> list[list[tuple[int, ...]]]:
        """As `run` for each plan, in as few scans as possible."""
        self.ready()
        with self._read():
            return self.root.run_together(plans)

    def find(self, plan: FindPlan) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each."""
        self.ready()
        with self._read():
            yield from self.root.find(plan)

    def _read(self) -> "_Read":
        return _Read(self)


@attrs.frozen
class _Read:
    """While rows are read: files are checked before and after."""

    rows: SeveralParts

    def __enter__(self) -> None:
        self.rows.require_unchanged()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        try:
            self.rows.require_unchanged()
        except ValueError:
            with self.rows.root._lock:
                self.rows.root._keeper.forget()
            raise


def several(root: DuckDB, parts: Callable[[], Sequence[Part]]) -> SeveralParts:
    """An engine over parts. It reads nothing yet."""
    formats = {name: root.formats.of(name) for name in root.columns.written}
    columns = attrs.evolve(root.columns, position=None, length=0)
    view = f"grown {next(root.numbers)}"
    return SeveralParts(root, view, root.kinds, columns, formats, parts)


def _together(root: DuckDB, parts: Sequence[Part]) -> tuple[list[str], str]:
    """The views that were made of Arrow tables, and SQL of the rows of all parts."""
    import pyarrow as pa

    selects, names = [], []
    plain = _selected(root, lambda _: PLAIN)
    frames: dict[str, list[Any]] = {}
    files: dict[tuple[Any, ...], list[str]] = {}
    for part in parts:
        match part:
            case StoredRows(name, selected):
                selects.append(f"SELECT {selected} FROM {identifier(name)}")
            case Framed(table):
                frames.setdefault(str(table.schema.remove_metadata()), []).append(table)
            case Filed(columns, paths):
                files.setdefault(columns, []).extend(paths)
    for tables in frames.values():
        names.append(f"batches {next(root.numbers)}")
        whole = pa.concat_tables([each.replace_schema_metadata() for each in tables])
        whole = whole.combine_chunks() if len(tables) > _MOST_CHUNKS else whole
        root._connection.register(names[-1], whole)
        selects.append(f"SELECT {plain} FROM {identifier(names[-1])}")
    for named in files.values():
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in named)
        read = f"read_parquet([{listed}], hive_partitioning=false)"
        selects.append(f"SELECT {plain} FROM {read}")
    if not selects:
        selects.append(f"SELECT {every(root)} FROM data WHERE FALSE")
    return names, " UNION ALL ".join(selects)
