"""DuckDB, the embedded engine: files larger than memory, and frames without a copy.

Responsible for opening a source, for naming its columns' kinds, and for one SQL statement a
request. Knows no statistic and no privacy.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import attrs

from mechanisms import kinds
from mechanisms.engines.protocol import Choice
from mechanisms.engines.sql import DuckDBDialect, Sql, quoted
from mechanisms.expressions import Compiler
from mechanisms.kinds import Kind
from mechanisms.totals import Bins, Categories, Totals

_MOST = 2**63 - 2  # 2**63 - 1 is infinity: as a constant it fails, on the first row it meets
_KINDS = {
    "BOOLEAN": kinds.BOOLEAN,
    "FLOAT": kinds.real(32),
    "DOUBLE": kinds.real(64),
    "VARCHAR": kinds.TEXT,
    "UUID": kinds.TEXT,
    "BLOB": kinds.BYTES,
    "DATE": attrs.evolve(kinds.DATE, low=2 - 2**31, high=2**31 - 2),
    "TIMESTAMP_S": kinds.moments("timestamp", 10**9, _MOST // 10**6),
    "TIMESTAMP_MS": kinds.moments("timestamp", 10**6, _MOST // 1000),
    "TIMESTAMP": kinds.moments("timestamp", 1000, _MOST),
    "TIMESTAMP_NS": kinds.moments("timestamp", 1, _MOST),
    "TIMESTAMP WITH TIME ZONE": kinds.moments("instant", 1000, _MOST),
    "TIMESTAMPTZ_NS": kinds.moments("instant", 1, _MOST),
    "INTERVAL": kinds.moments("duration", 1000),
} | {
    f"{'' if signed else 'U'}{name}": kinds.integer(bits, signed=signed)
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("INTEGER", 32),
        ("BIGINT", 64),
        ("HUGEINT", 128),
    )
    for signed in (True, False)
}


def kind_of(declared: str) -> Kind:
    """The kind of a column that DuckDB describes so."""
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared):
        kind = kinds.decimal(int(digits[1]), int(digits[2]))
    elif declared.startswith("ENUM("):
        return attrs.evolve(kinds.TEXT, declared="ENUM")
    else:
        kind = _KINDS.get(declared, kinds.OTHER)
    return attrs.evolve(kind, declared=declared)


@attrs.frozen
class Plan:
    """A statement and its parameters: public constants."""

    statement: str
    parameters: tuple[Any, ...]


class DuckDB:
    """A source opened with DuckDB.

    Args:
        source: a path of a CSV or Parquet file or a pattern of such paths, or an Arrow table.
        columns: which to know; by default all.
        types: of a CSV file's columns, by name, in DuckDB's words; a cell that is none is missing.
        memory_limit: as "500MB"; beyond it DuckDB writes to `temp_directory`.
        threads: how many it may use.
        temp_directory: where it writes what does not fit, rows of the data among it. By default a
            folder that only this user can read, removed on `close`.
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: Iterable[str] | None = None,
        types: Mapping[str, str] | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | Path | None = None,
    ) -> None:
        import duckdb

        self._folder = mkdtemp(prefix="queryable-") if temp_directory is None else None
        config: dict[str, Any] = {"temp_directory": str(temp_directory or self._folder)}
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        if threads is not None:
            config["threads"] = threads
        self._connection = duckdb.connect(config=config)
        self._finish = finalize(self, _let_go, self._connection, self._folder)
        self._connection.execute("SET GLOBAL TimeZone = 'UTC'")
        relation = self._opened(source, types)
        if columns is not None:
            relation = relation.project(", ".join(map(quoted, _named(columns, relation.columns))))
        relation.create_view("data")
        self.kinds: Mapping[str, Kind] = {
            name: kind_of(str(declared))
            for name, declared in zip(relation.columns, relation.types, strict=True)
        }

    def _opened(self, source: Any, types: Mapping[str, str] | None) -> Any:
        if not isinstance(source, str | Path):
            if types is not None:
                raise TypeError("types are for CSV files; a frame has its own")
            names = [str(name).lower() for name in source.column_names]
            if len(set(names)) < len(names):
                raise ValueError("two columns have the same name, but for upper and lower case")
            self._frame = source  # what the view reads must outlive it
            return self._connection.from_arrow(source)
        path = str(source)
        if path.lower().endswith((".parquet", ".pq")):
            if types is not None:
                raise TypeError("types are for CSV files; a Parquet file has its own")
            return self._connection.read_parquet(path)
        if path.lower().endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
            return self._csv(path, types or {})
        raise ValueError(f"source is {path!r}; it should end in .csv, .tsv or .parquet")

    def _csv(self, path: str, types: Mapping[str, str]) -> Any:
        """Every cell is read as text and cast by itself: none that does not fit stops the scan.

        Nor does a line that is no CSV, which in strict mode would.
        """
        sniffed = self._connection.read_csv(path, strict_mode=False)
        found = dict(zip(sniffed.columns, map(str, sniffed.types), strict=True)) | dict(types)
        _named(types, sniffed.columns)
        text = self._connection.read_csv(
            path, all_varchar=True, ignore_errors=True, strict_mode=False
        )
        if list(text.columns) != list(sniffed.columns):
            raise ValueError("the columns of the CSV file have no stable names")
        formats = self._time_formats(path)
        cells = (
            f"{_cast(quoted(name), _sql_type(found[name]), formats)} AS {quoted(name)}"
            for name in sniffed.columns
        )
        return text.project(", ".join(cells))

    def _time_formats(self, path: str) -> dict[str, str | None]:
        """How dates and timestamps are written in the first file, where that is not ISO 8601."""
        ask = self._connection.execute
        [(first,)] = ask("SELECT min(file) FROM glob(?)", [path]).fetchall()
        sniff = "SELECT DateFormat, TimestampFormat FROM sniff_csv(?, strict_mode = false)"
        [found] = ask(sniff, [first or path]).fetchall()
        return dict(zip(("DATE", "TIMESTAMP"), found, strict=True))

    def plan(self, request: Totals, choice: Choice) -> Plan:
        """One statement for the whole request."""
        dialect = DuckDBDialect()
        compiler = Compiler(dialect, self.kinds)
        terms = [compiler.term(term) for term in request.terms]
        where = compiler.selected(request.where)
        for by in request.by:
            where = where & _among(compiler, by)
        keys = [_key(compiler, by) for by in request.by]
        source = _rows(compiler, request, choice, where, keys)
        sums = [
            f"coalesce(sum({term.text}), 0)" if asked.column is not None else "count(*)"
            for term, asked in zip(terms, request.terms, strict=True)
        ]
        key, total = _fresh("key", compiler), _fresh("total", compiler)
        grouped = [f"{each.text} AS {key}_{i}" for i, each in enumerate(keys)]
        sums = [f"{each} AS {total}_{i}" for i, each in enumerate(sums)]
        statement = f"SELECT {', '.join(grouped + sums)} FROM {source}"
        if keys:
            statement += f" GROUP BY {', '.join(each.text for each in keys)}"
            indices = [_index(compiler, by, f"{key}_{i}") for i, by in enumerate(request.by)]
            names = [f"{total}_{i}" for i in range(len(sums))]
            statement = f"SELECT {', '.join(indices + names)} FROM ({statement})"
        return Plan(statement, tuple(dialect.parameters))

    def run(self, plan: Plan) -> list[tuple[int, ...]]:
        """Every group's indices and sums."""
        with self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")  # a notebook's default is another
            rows = cursor.execute(plan.statement, list(plan.parameters)).fetchall()
        return [tuple(map(int, row)) for row in rows]

    def close(self) -> None:
        """Close the connection and remove what was written."""
        self._finish()


def _let_go(connection: Any, folder: str | None) -> None:
    connection.close()
    if folder is not None:
        rmtree(folder, ignore_errors=True)


def _named(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """The names, if all are columns.

    Raises:
        ValueError: one is none.
    """
    wanted, known = list(names), list(columns)
    for name in wanted:
        if name not in known:
            raise ValueError(f"there is no column {name!r} in the source")
    return wanted


def _cast(text: str, declared: str, formats: Mapping[str, str | None]) -> str:
    """A cell's text as a value, null where it is none."""
    cast = f"TRY_CAST({text} AS {declared})"
    written = formats.get(declared)
    if not written:
        return cast
    constant = "'" + written.replace("'", "''") + "'"
    return f"coalesce(TRY_CAST(try_strptime({text}, {constant}) AS {declared}), {cast})"


def _sql_type(declared: str) -> str:
    """A declared type, which is written into a statement: a name, and numbers in brackets."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9 ]*(\(\d+(,\s*\d+)?\))?", declared):
        raise ValueError(f"type {declared!r} should be a name, such as BIGINT or DECIMAL(10,2)")
    return declared


def _fresh(name: str, compiler: Compiler) -> str:
    """A name that begins like no column; DuckDB's names know no case."""
    while any(column.lower().startswith(name) for column in compiler.kinds):
        name += "_"
    return name


def _key(compiler: Compiler, by: Categories | Bins) -> Sql:
    """What rows are grouped by: a cell itself, as a hash table on it is fastest.

    Cells that equal one category are one key, or a unit's rows would be bounded in each of them:
    intervals, a month and thirty days say, are grouped by the category's index.
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


def _rows(compiler: Compiler, request: Totals, choice: Choice, where: Sql, keys: list[Sql]) -> str:
    """What is added up, as SQL after FROM: the rows selected, of each unit those that count."""
    per = request.per
    if per is None:
        return f"data WHERE {where.text}"
    used = [quoted(name) for name in request.columns]
    unit = quoted(per.column)
    row_hash = _fresh("row_hash", compiler)
    order = [row_hash, *used]
    if choice.column is not None:
        compiler.kind(choice.column)
        order.insert(0, f"{quoted(choice.column)} ASC NULLS LAST")
    every = ", ".join(quoted(name) for name in compiler.kinds)
    by_row = ", ".join(order)
    read = ", ".join(
        dict.fromkeys([unit, *used, *([quoted(choice.column)] if choice.column else [])])
    )
    hashed = (
        f"SELECT {read}, hash(xor(hash({every}), {choice.seed}::UBIGINT)) AS {row_hash} "
        f"FROM data WHERE {compiler.present(per.column).text}"
    )
    source = (
        f"(SELECT * FROM ({hashed}) "
        f"QUALIFY row_number() OVER (PARTITION BY {unit} ORDER BY {by_row}) <= {per.max_rows}) "
        f"WHERE {where.text}"
    )
    caps = []
    group = ", ".join(key.text for key in keys)
    if keys and per.groups < per.max_rows:
        hashed_group = f"hash(xor(hash({unit}, {group}), {choice.seed}::UBIGINT))"
        rank = f"dense_rank() OVER (PARTITION BY {unit} ORDER BY {hashed_group}, {group})"
        caps.append(f"{rank} <= {per.groups}")
    if keys and per.rows_per_group < per.max_rows:
        row = f"row_number() OVER (PARTITION BY {unit}, {group} ORDER BY {by_row})"
        caps.append(f"{row} <= {per.rows_per_group}")
    return f"(SELECT * FROM {source} QUALIFY {' AND '.join(caps)})" if caps else source
