"""DuckDB, the embedded engine: files larger than memory, and frames without a copy.

It opens a source, finds the kinds of its columns, and runs one SQL statement per request.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

import attrs

from mechanisms.tables import column_types
from mechanisms.tables.column_types import Kind
from mechanisms.tables.engines.cells import Readings, as_asked, cast, readings, sql_type
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.csv_files import csv_files
from mechanisms.tables.engines.opening import SETTINGS, Misread, Sources, lock_down
from mechanisms.tables.engines.parquet_files import all_valid, parquet_files, valid_copy
from mechanisms.tables.engines.protocol import Choice, interrupts
from mechanisms.tables.engines.sql import DuckDBDialect, Sql, identifier
from mechanisms.tables.request import Bins, Categories, Request

_MOST = 2**63 - 2  # 2**63 - 1 is infinity, which fails as a constant on the first row
_KINDS = {
    "BOOLEAN": column_types.BOOLEAN,
    "FLOAT": column_types.real(32),
    "DOUBLE": column_types.real(64),
    "VARCHAR": column_types.TEXT,
    "UUID": column_types.TEXT,
    "BLOB": column_types.BYTES,
    "DATE": attrs.evolve(column_types.DATE, low=2 - 2**31, high=2**31 - 2),
    "TIMESTAMP_S": column_types.moments("timestamp", 10**9, _MOST // 10**6),
    "TIMESTAMP_MS": column_types.moments("timestamp", 10**6, _MOST // 1000),
    "TIMESTAMP": column_types.moments("timestamp", 1000, _MOST),
    "TIMESTAMP_NS": column_types.moments("timestamp", 1, _MOST),
    "TIMESTAMP WITH TIME ZONE": column_types.moments("instant", 1000, _MOST),
    "TIMESTAMPTZ_NS": column_types.moments("instant", 1, _MOST),
    "INTERVAL": column_types.moments("duration", 1000),
} | {
    f"{'' if signed else 'U'}{name}": column_types.integer(bits, signed=signed)
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("INTEGER", 32),
        ("BIGINT", 64),
        ("HUGEINT", 128),
    )
    for signed in (True, False)
}


def kind_of(declared: str, *, written: bool = False) -> Kind:
    """The kind of a column, from DuckDB's name of its type."""
    if written:
        return column_types.WRITTEN
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared):
        kind = column_types.decimal(int(digits[1]), int(digits[2]))
    elif declared.startswith("ENUM("):
        return attrs.evolve(column_types.TEXT, declared="ENUM")
    else:
        kind = _KINDS.get(declared, column_types.OTHER)
    return attrs.evolve(kind, declared=declared)


@attrs.frozen
class Plan:
    """A statement and its parameters, which are public constants."""

    statement: str
    parameters: tuple[Any, ...]


class DuckDB:
    """A source opened with DuckDB.

    A CSV file is copied once, at opening, into a database of its own in a folder that only this
    user can read. So is a Parquet file with cells that are not valid. Afterwards DuckDB can read
    the opened files and nothing else.

    Args:
        source: a path of a CSV or Parquet file or a pattern of such paths, or an Arrow table.
        columns: the columns to use; by default all.
        written: the names of columns of an Arrow table whose text represents Python objects.
        types: of columns of a CSV file and of `written` ones, by name, as DuckDB names them; a cell
            that does not parse becomes missing.
        separator, quote, encoding: of a CSV file, see `csv_files.CsvFormat`. By default a comma (a
            tabulator in a .tsv file), a double quotation mark, UTF-8.
        memory_limit: such as "500MB"; beyond it DuckDB writes to `temp_directory`.
        threads: how many it may use.
        temp_directory: where a folder is made that only this user can read, for rows that do not
            fit into memory; `close` removes it. By default the system's folder for such files.
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: Iterable[str] | None = None,
        written: Iterable[str] = (),
        types: Mapping[str, str] | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | Path | None = None,
        **dialect: Any,
    ) -> None:
        import duckdb

        self.sources = Sources.of(source) if isinstance(source, str | Path) else Sources()
        csv = self.sources.form == "csv"
        if not csv and dialect:
            raise TypeError(f"leave {next(iter(dialect))} out; it is for CSV files")
        types = {} if types is None else types
        if not csv and any(name not in written for name in types):
            raise TypeError("types is for CSV files and Python objects; others have their own")
        self._folder = mkdtemp(prefix="queryable-", dir=temp_directory)
        limits = {"memory_limit": memory_limit, "threads": threads}
        # A folder of its own: DuckDB keeps access to it.
        config: dict[str, Any] = {"temp_directory": self._folder}
        config |= {name: limit for name, limit in limits.items() if limit is not None}
        database = Path(self._folder, "rows") if csv else ":memory:"
        self._connection = duckdb.connect(str(database), config=config | SETTINGS)
        self._finish = finalize(self, _let_go, self._connection, self._folder)
        self._lock = Lock()
        self._connection.execute("SET GLOBAL TimeZone = 'UTC'")
        # In Jupyter without ipywidgets the bar is off, and DuckDB 2.0 refuses to set it.
        progress = self._connection.execute("SELECT current_setting('enable_progress_bar')")
        if progress.fetchall() != [(False,)]:
            self._connection.execute("SET enable_progress_bar = false")
        self.misread: Misread | None = None
        opened: list[str] = []
        match self.sources.form:
            case "csv":
                relation = self._csv(types, dialect)
                written = relation.columns
            case "parquet":
                opened = self.sources.plain(self._folder)
                relation = parquet_files(self._connection, opened)
                if not all_valid(relation, opened):
                    relation, self.misread = valid_copy(
                        self._connection, relation, opened, Path(self._folder)
                    )
                    self.sources.require_unchanged()
                    self.sources, opened = Sources(), []  # the copy is what is asked
            case _:
                relation = self._arrow(source, types)
        found = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if columns is not None:
            found = {name: found[name] for name in _named(columns, found)}
        self.kinds: Mapping[str, Kind] = {
            name: kind_of(declared, written=name in written and name not in types)
            for name, declared in found.items()
        }
        self._view(relation)
        lock_down(self._connection, opened)

    def _view(self, relation: Any) -> None:
        """Create the view `data`, with further columns for each reading of an undeclared column."""
        names = {name: identifier(name) for name in self.kinds}
        self._written: dict[str, dict[str, str]] = {}
        self._columns = {
            name: kind_of("VARCHAR") if kind == column_types.WRITTEN else kind
            for name, kind in self.kinds.items()
        }
        selected = list(names.values())
        for name, kind in self.kinds.items():
            if kind != column_types.WRITTEN:
                continue
            self._written[name] = {}
            for reading, (text, declared) in readings(names[name]).items():
                column = f"{name}\x1f{reading}"
                while column.lower() in {other.lower() for other in self._columns}:
                    column += "_"
                self._written[name][reading] = column
                self._columns[column] = kind_of(declared)
                selected.append(f"{text} AS {identifier(column)}")
        relation.project(", ".join(selected)).create_view("data")

    def _arrow(self, source: Any, types: Mapping[str, str]) -> Any:
        names = [str(name).lower() for name in source.column_names]
        if len(set(names)) < len(names):
            raise ValueError("rename a column: two have the same name, ignoring case")
        if types:
            source = self._typed(source, types)
        self._frame = source  # the view reads it, so it has to be kept alive
        return self._connection.from_arrow(source)

    def _typed(self, source: Any, types: Mapping[str, str]) -> Any:
        """An Arrow table with its written columns read as declared, once."""
        for name, each in types.items():
            text = self._connection.from_arrow(source.select([name]))
            declared = sql_type(self._connection, name, each)
            [kind] = self._connection.sql(f"SELECT CAST(NULL AS {declared})").types
            read = text.project(
                f"{cast(identifier(name), declared, kind_of(str(kind)))} AS {identifier(name)}"
            )
            place = source.column_names.index(name)
            source = source.set_column(place, name, read.to_arrow_table().column(0))
        return source

    def _csv(self, types: Mapping[str, str], dialect: dict[str, Any]) -> Any:
        """The cells in a table of the database; each cell is cast on its own."""
        names, files = csv_files(self.sources.paths, dialect)
        _named(types, names)
        given = {name: sql_type(self._connection, name, each) for name, each in types.items()}
        declared = [given.get(name, "VARCHAR") for name in names]
        columns = zip(map(identifier, names), declared, strict=True)
        self._connection.execute(f"CREATE TABLE stored ({', '.join(map(' '.join, columns))})")
        relation = self._connection.table("stored")
        cells = [
            cast(identifier(str(i)), declared[i], kind_of(str(found)))
            if name in types
            else identifier(str(i))
            for i, (name, found) in enumerate(zip(names, relation.types, strict=True))
        ]
        written = [0] * len(names)
        self._connection.begin()
        for batch in chain.from_iterable(file.batches(len(names)) for file in files):
            self._connection.register("batch", batch)
            self._connection.execute(f"INSERT INTO stored SELECT {', '.join(cells)} FROM batch")
            self._connection.unregister("batch")
            written = [
                sum_ + batch.num_rows - column.null_count
                for sum_, column in zip(written, batch.columns, strict=True)
            ]
        self._connection.commit()
        self.sources.require_unchanged()
        self.sources = Sources()  # from here on, the copy is read
        [(rows, *read)] = relation.aggregate(
            ", ".join(["count(*)", *(f"count({identifier(name)})" for name in names)])
        ).fetchall()
        self.misread = Misread(
            rows,
            sum(file.misfits for file in files),
            {name: written[i] - read[i] for i, name in enumerate(names) if name in types},
        )
        return relation

    def plan(self, request: Request, choice: Choice) -> Plan:
        """Compile the request to one statement.

        The rows of a unit are chosen by windows over truth values, keys and terms, so that no long
        text is held while rows are sorted.
        """
        self.sources.require_unchanged()
        dialect = DuckDBDialect()
        compiler = Compiler(dialect, self._columns)
        request = as_asked(request, self._written)
        terms = [compiler.term(term) for term in request.terms]
        where = compiler.selected(request.where)
        for by in request.by:
            where = where & _among(compiler, by)
        keys = [_key(compiler, by) for by in request.by]
        named = [f"key_{i}" for i in range(len(keys))]
        selected = ", ".join(
            [f"CASE WHEN {where.text} THEN {key.text} END AS key_{i}" for i, key in enumerate(keys)]
            + [f"{term.text} AS term_{i}" for i, term in enumerate(terms)]
        )
        if request.per is None:
            source = f"(SELECT {selected} FROM data WHERE {where.text})"
        else:
            inner = f"SELECT {where.text} AS selected, {selected}, "
            source = self._chosen(compiler, request, choice, inner)
        sums = [
            f"coalesce(sum(term_{i}), 0)" if asked.column is not None else "count(*)"
            for i, asked in enumerate(request.terms)
        ]
        totals = [f"{each} AS total_{i}" for i, each in enumerate(sums)]
        statement = f"SELECT {', '.join(named + totals)} FROM {source}"
        if keys:
            statement += f" GROUP BY {', '.join(named)}"
            indices = [_index(compiler, by, key) for by, key in zip(request.by, named, strict=True)]
            names = [f"total_{i}" for i in range(len(sums))]
            statement = f"SELECT {', '.join(indices + names)} FROM ({statement})"
        return Plan(statement, tuple(dialect.parameters))

    def _chosen(self, compiler: Compiler, request: Request, choice: Choice, inner: str) -> str:
        """The selected rows among the counted rows of each unit, as SQL after FROM."""
        per = request.per
        assert per is not None
        every = ", ".join(map(identifier, self.kinds))
        keys = [f"key_{i}" for i in range(len(request.by))]
        order = ["row_hash", "selected", *keys, *(f"term_{i}" for i in range(len(request.terms)))]
        if choice.column is not None:
            first = _order(choice.column, compiler.kind(choice.column), self._written)
            inner += "".join(f"{each} AS keep_{i}, " for i, each in enumerate(first))
            order = [f"keep_{i} ASC NULLS LAST" for i in range(len(first))] + order
        unit = _unit(per.column, compiler.kind(per.column))
        rows = (
            f"{inner}{unit} AS unit, hash(xor(hash({every}), {choice.seed}::UBIGINT)) AS row_hash "
            f"FROM data WHERE {compiler.present(per.column).text}"
        )
        by_row, group = ", ".join(order), ", ".join(keys)
        source = (
            f"(SELECT * FROM (SELECT * FROM ({rows}) "
            f"QUALIFY row_number() OVER (PARTITION BY unit ORDER BY {by_row}) <= {per.max_rows}) "
            "WHERE selected)"
        )
        caps = []
        if keys and per.groups < per.max_rows:
            hashed = f"hash(xor(hash(unit, {group}), {choice.seed}::UBIGINT))"
            rank = f"dense_rank() OVER (PARTITION BY unit ORDER BY {hashed}, {group})"
            caps.append(f"{rank} <= {per.groups}")
        if keys and per.rows_per_group < per.max_rows:
            row = f"row_number() OVER (PARTITION BY unit, {group} ORDER BY {by_row})"
            caps.append(f"{row} <= {per.rows_per_group}")
        return f"(SELECT * FROM {source} QUALIFY {' AND '.join(caps)})" if caps else source

    def run(self, plan: Plan) -> list[tuple[int, ...]]:
        """The indices and sums of every group."""
        self.sources.require_unchanged()
        with self._lock, interrupts():
            result = self._connection.execute(plan.statement, list(plan.parameters))
            rows = result.fetchall()
        self.sources.require_unchanged()
        return [tuple(map(int, row)) for row in rows]

    def close(self) -> None:
        """Close the connection and delete what was written to disk."""
        self._finish()


def _let_go(connection: Any, folder: str) -> None:
    connection.close()
    rmtree(folder, ignore_errors=True)


def _named(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """The names, if all of them are columns.

    Raises:
        ValueError: one is not.
    """
    wanted, known = list(names), list(columns)
    for name in wanted:
        if name not in known:
            raise ValueError(f"there is no column {name!r} in the source; it has {known}")
    return wanted


def _unit(column: str, kind: Kind) -> str:
    """The value that identifies a row's unit: the cell, or the digest of a long one.

    A digest has 64 characters, and only cells of fewer than 64 are used directly.
    """
    name, digest = identifier(column), f"sha256({identifier(column)})"
    if kind.name == "bytes":
        return f"CASE WHEN octet_length({name}) < 64 THEN {name} ELSE CAST({digest} AS BLOB) END"
    if kind.name == "text" and kind.declared == "VARCHAR":
        return f"CASE WHEN strlen({name}) < 64 THEN {name} ELSE {digest} END"
    return name


def _order(column: str, kind: Kind, written: Mapping[str, Readings]) -> list[str]:
    """The order of a unit's rows: by number first, then by the beginning of the text."""
    name = identifier(column)
    if column in written:
        return [identifier(written[column]["number"]), f"left({name}, 100)"]
    return [f"left({name}, 100)" if kind.declared == "VARCHAR" else name]


def _key(compiler: Compiler, by: Categories | Bins) -> Sql:
    """The value that rows are grouped by: the cell itself if possible, as this is fastest.

    Cells that equal one category must have one key, because a unit's rows are bounded per key.
    Intervals, such as a month and thirty days, are grouped by the category's index.
    """
    if _by_index(compiler, by):
        key: Sql = compiler.group(by)
        return key
    kind = compiler.kind(by.column)
    cell: Sql = compiler.dialect.cell(by.column, kind)
    return Sql(f"({cell.text} + 0)") if kind.name == "float" else cell  # -0.0 is 0.0


def _by_index(compiler: Compiler, by: Categories | Bins) -> bool:
    return isinstance(by, Bins) or compiler.kind(by.column).name == "duration"


def _among(compiler: Compiler, by: Categories | Bins) -> Sql:
    if isinstance(by, Bins):
        present: Sql = compiler.present(by.column)
        return present
    members = [literal.text for _, literal in compiler.members(by)]
    if not members:
        return Sql("FALSE")
    cell = compiler.dialect.cell(by.column, compiler.kind(by.column))
    return Sql(f"({compiler.present(by.column).text} AND {cell.text} IN ({', '.join(members)}))")


def _index(compiler: Compiler, by: Categories | Bins, key: str) -> str:
    if isinstance(by, Bins) or _by_index(compiler, by):
        return key
    cases = [f"WHEN {literal.text} THEN {index}" for index, literal in compiler.members(by)]
    return f"CASE {key} {' '.join(cases)} END" if cases else "NULL"
