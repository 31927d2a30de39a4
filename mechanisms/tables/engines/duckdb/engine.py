"""DuckDB, the embedded engine: files larger than memory, and frames without a copy.

It opens a source, finds the kinds of its columns, and runs one SQL statement per request.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

import attrs
import numpy as np

from mechanisms.tables.engines.duckdb.progress import bar_of, count_progress
from mechanisms.tables.engines.files.cell_formats import CellFormats
from mechanisms.tables.engines.files.cells import readings
from mechanisms.tables.engines.files.frames import ArrowFrame
from mechanisms.tables.engines.files.loading import names_of, numbered, rows_of_arrow, stored
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.files.opening import SETTINGS, Sources, lock_down
from mechanisms.tables.engines.files.parquet_files import (
    all_valid,
    parquet_files,
    require_read_as_written,
    valid_copy,
)
from mechanisms.tables.engines.limits import limited
from mechanisms.tables.engines.protocol import Choice, Engine, interrupts
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.found import FindPlan, find_statement, found_by
from mechanisms.tables.engines.sql.keeping import KeptTables, registered
from mechanisms.tables.engines.sql.kept import CountedRows
from mechanisms.tables.engines.sql.statements import Plan, kind_of_operand, statement_of
from mechanisms.tables.engines.sql.together import scans
from mechanisms.tables.engines.sql.types import kind_of
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.discovery import Discovery, FoundKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.data.cells import Array
from queryable.wording.quoting import quoted

_OF_CELLS = ("decimal", "thousands", "date_format")
_MOST_SUMS = 100
"""How many sums one statement has."""
_SHORT = {"INTEGER", "BIGINT"}  # types of results that fit into int64


class DuckDB(Engine):
    """A source opened with DuckDB.

    A CSV file is copied once, at opening, into a database of its own in a folder that only this
    user can read. So is a Parquet file with cells that are not valid. Afterwards DuckDB can read
    the opened files and nothing else.

    Args:
        source: a path of a CSV or Parquet file or a pattern of such paths, files that were found,
            an Arrow table, or a frame as one.
        columns: the columns to use; by default all.
        types: of columns of a CSV file and of Python objects, by name, as DuckDB names them; a cell
            that does not parse becomes missing.
        separator, sep, quote, encoding, null_values: of a CSV file, see `csv_lines.CsvFormat`.
            By default a comma (a tabulator in a .tsv file), a double quotation mark, UTF-8.
        decimal, thousands, date_format: of its cells, see `cell_formats.CellFormats`.
        memory_limit: such as "500MB"; beyond it DuckDB writes to `temp_directory`.
        max_temp_directory_size: such as "20GB": how much DuckDB writes there at most, kept rows
            included. Without room for these, they are chosen anew for each question.
        threads: how many it may use.
        temp_directory: where a folder is made that only this user can read, for rows that do not
            fit into memory; `close` removes it. By default the system's folder for such files.
        progress: whether a bar shows how much of a question has been read; for the owner only.
    """

    can_be_interrupted = True
    grows = True
    kinds: Mapping[str, Kind] = {}
    misread: Misread | None = None
    numbers: Iterator[int]
    """Numbers for the names of further tables, which no two have in common."""
    unused: deque[str]
    """Statements that drop what nothing refers to any more."""
    schemas: dict[Any, dict[str, str]]
    """The types of columns in DuckDB, by the schema of an Arrow table."""
    allowed: Mapping[Path, str]
    """The files of blocks, as the connection may read them."""
    narrowed: bool
    """Whether only some columns of the source are used."""
    _numbered: str | None = None
    """The name of a column of the Arrow table that numbers its rows."""

    def __init__(
        self,
        source: Any,
        *,
        columns: Iterable[str] | None = None,
        types: Mapping[str, str] | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | Path | None = None,
        max_temp_directory_size: str | None = None,
        progress: bool = False,
        **dialect: Any,
    ) -> None:
        import duckdb

        self.sources = files = _files(source)
        csv = files.form == "csv"
        if not csv and dialect:
            raise TypeError(f"leave {next(iter(dialect))} out; it is for CSV files")
        types = _declared(types)
        of_cells = {name: dialect.pop(name) for name in _OF_CELLS if name in dialect}
        self.formats = CellFormats(**of_cells)
        written = source.written if isinstance(source, ArrowFrame) else ()
        if not csv and any(name not in written for name in types):
            raise TypeError("types is for CSV files and Python objects; others have their own")
        self.folder = mkdtemp(prefix="queryable-", dir=temp_directory)
        self.narrowed = columns is not None
        # A folder of its own: DuckDB keeps access to it.
        config: dict[str, Any] = {"temp_directory": self.folder}
        config |= {
            name: limit
            for name, limit in (("memory_limit", memory_limit), ("threads", threads))
            if limit is not None
        }
        database = Path(self.folder, "rows") if csv else ":memory:"
        self._held = [duckdb.connect(str(database), config=config | SETTINGS)]
        self._finish = finalize(self, _let_go, self._held, self.folder)
        self._lock = Lock()
        self.numbers, self.unused, self.schemas = count(1), deque[str](), {}
        self._connection.execute("SET GLOBAL TimeZone = 'UTC'")
        if max_temp_directory_size is not None:  # without effect as an option of `connect`
            self._connection.execute("SET max_temp_directory_size = $1", [max_temp_directory_size])
        count_progress(self._connection, wanted=progress)
        self._progress = self._connection.query_progress if progress else None
        opened: list[str] = []
        match self.sources.form:
            case "csv":
                relation, self.misread = stored(
                    *(self._connection, files, types, dialect, self.formats, Path(self.folder))
                )
                # from here on, the copy is read
                self.sources, written = Sources(), relation.columns
            case "parquet":
                opened = self.sources.plain(self.folder)
                relation = parquet_files(self._connection, opened, files.paths)
                if not all_valid(relation, opened):
                    relation, self.misread = valid_copy(
                        self._connection, relation, opened, Path(self.folder)
                    )
                    self.sources.require_unchanged()
                    self.sources, opened = Sources(), []  # the copy is what is asked
            case _:
                # the view reads the frame, so it has to be kept alive
                self._frame, self._numbered, self.misread = numbered(
                    *(self._connection, types, _frame(source), self.formats)
                )
                relation = rows_of_arrow(self._connection, self._frame)
        found = _types(relation, self._numbered, columns)
        if files.form == "parquet":
            require_read_as_written(files.paths, found)
        self.kinds = {
            name: kind_of(declared, written=name in written and name not in types)
            for name, declared in found.items()
        }
        self._view(relation, *self._positions(relation, opened))
        self.allowed = files.plainly(self.folder)
        lock_down(self._connection, [*opened, *self.allowed.values()], self.folder)
        self._keeper = KeptTables(self._held)

    def _view(self, relation: Any, position: str | None, length: int) -> None:
        """Create the view `data`, with further columns for each reading of an undeclared column.

        Args:
            position: SQL of a row's number, from 0 to below `length`, if it has one.
        """
        names = {name: identifier(name) for name in self.kinds}
        written: dict[str, dict[str, str]] = {}
        kinds = {
            name: kind_of("VARCHAR") if kind == column_types.WRITTEN else kind
            for name, kind in self.kinds.items()
        }
        selected = list(names.values())
        for name, kind in self.kinds.items():
            if kind != column_types.WRITTEN:
                continue
            written[name] = {}
            for reading, (text, declared) in readings(names[name], self.formats.of(name)).items():
                column = f"{name}\x1f{reading}"
                while column.lower() in {other.lower() for other in kinds}:
                    column += "_"
                written[name][reading] = column
                kinds[column] = kind_of(declared)
                selected.append(f"{text} AS {identifier(column)}")
        filed = frozenset() if self._numbered else frozenset(written)  # frames are numbered
        self.columns = ViewColumns(tuple(self.kinds), kinds, written, filed=filed)
        self._selected = ", ".join(selected)
        if position is not None and length < 2**24:  # of more, choosing again is faster
            name = self.columns.own("row")
            self.columns = attrs.evolve(self.columns, position=name, length=length)
            self._selected = ", ".join([*selected, identifier(name)])
            selected.append(f"CAST({position} AS INTEGER) AS {identifier(name)}")
        relation.project(", ".join(selected)).create_view("data")

    def _positions(self, relation: Any, opened: list[str]) -> tuple[str | None, int]:
        """SQL of a number of each row, the same in each query, and how many numbers there are."""
        names = {name.lower() for name in relation.columns}
        if self._numbered is not None:
            return identifier(self._numbered), self._frame.num_rows
        if not opened and self.misread is not None and "rowid" not in names:
            return "rowid", self.misread.rows
        if opened and not names & {"file_index", "file_row_number"}:
            found = self._connection.execute(
                "SELECT file_name, num_rows FROM parquet_file_metadata($1)", [opened]
            )
            sizes = dict(found.fetchall())
            if sizes.keys() == set(opened):
                *starts, length = accumulate((sizes[path] for path in opened), initial=0)
                return f"{starts}[CAST(file_index AS BIGINT) + 1] + file_row_number", length
        return None, 0

    def kind(self, operand: Operand) -> Kind:
        """The kind of an operand."""
        return kind_of_operand(operand, self.kinds, self.columns)

    def choose_rows(self, per: PrivacyUnit, choice: Choice) -> None:
        """Choose the rows that count of each unit, of which later choices are made.

        Questions whose `max_rows` is at most that of the unit read no other rows from here on.
        """
        self.sources.require_unchanged()
        names = frozenset(self.kinds)
        with self._lock, interrupts():
            kept = CountedRows(per.column, per.max_rows, choice, names, self.columns)
            self._keeper.choose(kept, self._selected)
        self._require_unchanged()

    @property
    def _connection(self) -> Any:
        if not self._held:
            raise ValueError("open the table again: it is closed")
        return self._held[0]

    def require_unchanged(self) -> None:
        """Check that the source is open and that its files are as they were at opening.

        Raises:
            ValueError: they are not.
        """
        _ = self._connection
        self.sources.require_unchanged()

    def plan(self, request: Request, choice: Choice) -> Plan:
        """Compile the request to one statement."""
        self.require_unchanged()
        return statement_of(request, choice, self.columns)

    def run(self, plan: Plan) -> list[tuple[int, ...]] | Array:
        """The indices and sums of every group; for keys an array, if their types fit into int64."""
        found = self.columns_of(plan)
        if isinstance(found, list):
            return found
        return np.column_stack(found).astype(np.int64)

    def columns_of(self, plan: Plan) -> list[tuple[int, ...]] | tuple[Array, ...]:
        """As `run`, but for keys and records the columns of the array, if they are short."""
        self.sources.require_unchanged()
        with self._reading():
            statement = self._statement(plan)
            with registered(self._connection, plan.tables):
                found = self._connection.execute(statement, list(plan.parameters))
                names = {column[0] for column in found.description}
                short = {str(column[1]) for column in found.description} <= _SHORT
                many = bool(plan.tables) or plan.many
                if many and short and len(names) == len(found.description):
                    arrays = list(found.fetchnumpy().values())
                else:
                    arrays, rows = None, found.fetchall()
        self._require_unchanged()
        if arrays is None:
            return [tuple(map(int, row)) for row in rows]
        if any(map(np.ma.is_masked, arrays)):
            raise TypeError("a group has no index or no sum")
        return tuple(arrays)

    def run_together(self, plans: Sequence[Plan]) -> list[list[tuple[int, ...]]]:
        """As `run` for each plan, in as few scans as possible. It fails if one of them does."""
        plans, shared = scans(plans, _MOST_SUMS)
        found: dict[int, list[tuple[int, ...]]] = {}
        for scan in shared:
            rows = self.run(scan.plan)
            found |= zip(scan.places, scan.split(_tuples(rows)), strict=True)
        return [found[i] if i in found else _tuples(self.run(plan)) for i, plan in enumerate(plans)]

    def plan_find(self, asked: Discovery, choice: Choice) -> FindPlan:
        """Compile what finds keys to one statement."""
        self.require_unchanged()
        return find_statement(asked, choice, self.columns)

    def find(self, plan: FindPlan) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each."""
        self.sources.require_unchanged()
        with self._reading():
            yield from found_by(self._connection, plan)
        self._require_unchanged()

    def _statement(self, plan: Plan) -> str:
        """The statement of a plan, with the rows that it reads by the names of them."""
        if plan.kept is not None:
            rows, statement, coded = self._keeper.source(plan.kept), plan.statement, plan.coded
            column = None if coded is None else self._keeper.coded(plan.kept, coded.codes)
            if coded is not None and column is not None:
                rows = f"SELECT *, {column} AS {coded.name} FROM ({rows})"
                statement = coded.statement
            return f"WITH kept AS NOT MATERIALIZED ({rows}) {statement}"
        if plan.view != "data":
            rows = f"SELECT * FROM {identifier(plan.view)}"
            return f"WITH data AS NOT MATERIALIZED ({rows}) {plan.statement}"
        return plan.statement

    def _require_unchanged(self) -> None:
        """Check the files after rows were read, and forget rows that may be of a changed file."""
        try:
            self.sources.require_unchanged()
        except ValueError:
            with self._lock:
                self._keeper.forget()
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read rows for a question: one question at a time, each within the timeout."""
        limit = limited(self.timeout, self._connection.interrupt)
        with self._lock, interrupts(), bar_of(self._progress), limit:
            yield

    def release_files(self) -> None:
        """Do not check the opened files any more: parts that read files check their own."""
        self.sources = Sources()

    def fetch(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement of ours, without parameters."""
        with self._lock, interrupts():
            rows: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
        return rows

    def arrow(self, table: str) -> Any:
        """A table of the database as an Arrow table."""
        with self._lock, interrupts():
            return self._connection.table(identifier(table)).to_arrow_table()

    def copy_to(self, other: "DuckDB", name: str, select: str) -> None:
        """Create a table of another source's database from rows of this one. Rows are streamed."""
        self.sources.require_unchanged()
        if other is self:
            self.fetch(f"CREATE TABLE {identifier(name)} AS {select}")
        else:
            with self._lock, other._lock, interrupts():
                rows = self._connection.sql(select)
                typed = list(zip(map(identifier, rows.columns), map(str, rows.types), strict=True))
                wide = [f"{it}::VARCHAR AS {it}" if "HUGE" in of else it for it, of in typed]
                wide_rows = rows.project(", ".join(wide))  # Arrow has no integers of 128 bits
                read = getattr(wide_rows, "to_arrow_reader", None) or wide_rows.fetch_record_batch
                with read() as reader:
                    other._connection.register("copied", reader)
                    same = ", ".join(f"TRY_CAST({it} AS {of}) AS {it}" for it, of in typed)
                    create = f"CREATE TABLE {identifier(name)} AS SELECT {same} FROM copied"
                    other._connection.execute(create)
                    other._connection.unregister("copied")
        self.sources.require_unchanged()

    def close(self) -> None:
        """Close the connection and delete what was written to disk."""
        self._finish()


def _files(source: Any) -> Sources:
    """The files of a source that is one or more files."""
    if isinstance(source, str | Path):
        return Sources.of(source)
    return source if isinstance(source, Sources) else Sources()


def _frame(source: Any) -> ArrowFrame:
    return source if isinstance(source, ArrowFrame) else ArrowFrame(source)


def _types(relation: Any, numbered: str | None, columns: Iterable[str] | None) -> dict[str, str]:
    """The types of the columns that are used, without that which numbers the rows."""
    found = dict(zip(relation.columns, map(str, relation.types), strict=True))
    found.pop(numbered or "", None)
    return found if columns is None else {name: found[name] for name in names_of(columns, found)}


def _let_go(held: list[Any], folder: str) -> None:
    """Close the connection, and let go of it: DuckDB tells of one that outlives the interpreter."""
    held.pop().close()
    rmtree(folder, ignore_errors=True)


def _declared(types: Any) -> Mapping[str, str]:
    """Check the declared types of columns."""
    if types is not None and not isinstance(types, Mapping):
        raise TypeError(f"types is {quoted(types)}; it should be like {{'age': 'INTEGER'}}")
    return types or {}


def _tuples(rows: list[tuple[int, ...]] | Array) -> list[tuple[int, ...]]:
    """Rows of Python's own integers, whose sums do not overflow."""
    return list(map(tuple, rows.tolist())) if isinstance(rows, np.ndarray) else rows
