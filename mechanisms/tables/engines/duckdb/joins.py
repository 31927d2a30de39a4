"""Joins of a DuckDB table with a public table, or with a private table of the same unit.

A joined row is computed from one row of the left side and one row of the right side. The right side
is copied beside the left one; of two private tables the left side is copied too. Which rows of a
unit are copied depends on the unit's own rows and public values alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.files.cell_formats import CellFormat
from mechanisms.tables.engines.files.cells import cast
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.found import FindPlan, find_statement
from mechanisms.tables.engines.sql.kept import CountedRows
from mechanisms.tables.engines.sql.statements import (
    Plan,
    kind_of_operand,
    statement_of,
)
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.discovery import Discovery, FoundKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.data.cells import Array

_READ = {"integer": ("BIGINT", column_types.integer(64)), "date": ("DATE", column_types.DATE)}
"""As what an undeclared cell is read to be compared with a cell of this kind."""

EXACT = ("text", "integer", "date", "boolean")
"""Kinds whose cells are equal or not, exactly, on every engine."""

Pairs = Sequence[tuple[str, str]]
"""Key columns of the left and the right side."""


@attrs.frozen(eq=False)
class ViewRows(Engine):
    """The rows of a view of a DuckDB connection, as an engine.

    Args:
        root: the source that was opened, with the connection; it is closed with the first table.
        view: the name of the view.
        kinds: the kind of each column.
        columns: the columns of the view, with the readings of undeclared columns.
        formats: how the cells of undeclared columns are written.
    """

    root: DuckDB
    view: str
    kinds: Mapping[str, Kind]
    columns: ViewColumns = attrs.field(repr=False)
    formats: Mapping[str, CellFormat] = attrs.field(repr=False)

    def ready(self) -> str:
        """The name of the view, which is there."""
        return self.view

    @property
    def misread(self) -> Misread | None:
        """What could not be read in the left table's source. Private."""
        return self.root.misread

    def kind(self, operand: Operand) -> Kind:
        """The kind of an operand."""
        return kind_of_operand(operand, self.kinds, self.columns)

    def require_unchanged(self) -> None:
        """Check that the table that was opened first is open, and that its files are unchanged."""
        self.root.require_unchanged()

    def plan(self, request: Request, choice: Choice) -> Plan:
        """The statement over the view."""
        self.root.sources.require_unchanged()
        plan = statement_of(request, choice, self.columns)
        kept = None if plan.kept is None else attrs.evolve(plan.kept, view=self.view)
        return attrs.evolve(plan, view=self.view, kept=kept)

    def run(self, plan: Plan) -> list[tuple[int, ...]] | Array:
        """The indices and sums of every group."""
        return self.root.run(plan)

    def columns_of(self, plan: Plan) -> list[tuple[int, ...]] | tuple[Array, ...]:
        """The rows, or for records their columns, if these are short."""
        return self.root.columns_of(plan)

    def run_together(self, plans: Sequence[Plan]) -> list[list[tuple[int, ...]]]:
        """As `run` for each plan, in as few scans as possible."""
        return self.root.run_together(plans)

    def plan_find(self, asked: Discovery, choice: Choice) -> FindPlan:
        """The statement that finds keys, over the view."""
        self.root.sources.require_unchanged()
        return attrs.evolve(find_statement(asked, choice, self.columns), view=self.view)

    def find(self, plan: FindPlan) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each."""
        return self.root.find(plan)

    def close(self) -> None:
        """Do nothing: the rows belong to the table that was opened first."""


def rows_of(engine: Engine) -> ViewRows:
    """The rows of a table, joined or not.

    Raises:
        TypeError: DuckDB does not have them.
    """
    if isinstance(engine, ViewRows):
        engine.ready()
        return engine
    if not isinstance(engine, DuckDB):
        raise TypeError("join tables of files, frames or databases; this is of another engine")
    formats = {name: engine.formats.of(name) for name in engine.columns.written}
    return ViewRows(engine, "data", engine.kinds, engine.columns, formats)


def join_public(
    left: ViewRows,
    right: ViewRows,
    on: Pairs,
    columns: Mapping[str, str],
    *,
    inner: bool,
    most: int | None,
) -> ViewRows:
    """Each row with the public rows of its keys, at most `most` of them.

    Args:
        columns: of the public side, which are added, and their names in the joined rows.
        inner: whether rows without a match are left out; else their added cells are missing.
        most: how many public rows a key has at most: the first ones in the order of all their
            columns. None: one, and a table in which a key occurs twice is refused.

    Raises:
        TypeError, ValueError: the columns do not fit, or a public key occurs twice.
    """
    keys = [_key(left, right, pair) for pair in on]
    rows = f"SELECT * FROM {identifier(right.view)}"
    told = attrs.evolve(right.columns, filed=frozenset())  # what public cells hold is known
    right = attrs.evolve(right, columns=told)
    copy = _copied(left.root, right, rows, [theirs for _, theirs in keys], columns)
    copy.limit(most, on)
    return _joined(left, left.view, copy, [mine for mine, _ in keys], inner=inner)


def public_rows(
    right: ViewRows, keys: Sequence[str], on: Pairs, columns: Mapping[str, str], most: int | None
) -> tuple[Any, tuple[str, ...]]:
    """The rows of a public table that `join_public` copies, for another engine.

    Args:
        keys: SQL of the cells that are compared.

    Returns:
        An Arrow table, and the names of its key columns.
    """
    rows = f"SELECT * FROM {identifier(right.view)}"
    own = ViewColumns(right.columns.source, right.columns.kinds, {})
    copy = _copied(right.root, attrs.evolve(right, columns=own), rows, keys, columns)
    copy.limit(most, on)
    return right.root.arrow(copy.name), copy.keys


def join_private(
    left: ViewRows,
    right: ViewRows,
    on: Pairs,
    columns: Mapping[str, str],
    units: tuple[PrivacyUnit, PrivacyUnit],
    choices: tuple[Choice, Choice],
    *,
    inner: bool,
) -> ViewRows:
    """The kept rows of each unit on the left, with those of the same unit on the right.

    Raises:
        TypeError, ValueError: the columns do not fit.
    """
    unit = units[0].column, units[1].column
    keys = [_key(left, right, pair, unit=pair == unit) for pair in on]
    kept, rows = (_kept(*each) for each in zip((left, right), units, choices, strict=True))
    copy = _copied(left.root, right, rows, [theirs for _, theirs in keys], columns)
    name = _fresh(left.root, "kept")
    left.root.fetch(f"CREATE TABLE {identifier(name)} AS {kept}")
    return _joined(left, name, copy, [mine for mine, _ in keys], inner=inner)


def _key(
    left: ViewRows, right: ViewRows, pair: tuple[str, str], *, unit: bool = False
) -> tuple[str, str]:
    """SQL of the left cell, and of the right one as a value of the same type; equal or not exactly.

    Args:
        unit: whether the columns name the privacy unit. Then both sides have to tell units apart
            in the same way: the texts "1" and "01" are two units, and would be one number.

    Raises:
        TypeError: their kinds do not compare exactly.
    """
    mine, theirs = left.kinds[pair[0]], right.kinds[pair[1]]
    names = ["text" if kind.name == "written" else kind.name for kind in (mine, theirs)]
    here, there = map(identifier, pair)
    if names == ["text", "text"]:
        return _as_text(here, mine), _as_text(there, theirs)
    if names[0] == names[1] and names[0] in EXACT:
        return here, f"TRY_CAST({there} AS {mine.declared})"
    if not unit and mine.name == "written" and theirs.name in _READ:
        declared, kind = _READ[theirs.name]
        here = cast(here, declared, kind, left.formats[pair[0]])
        return here, f"TRY_CAST({there} AS {declared})"
    if not unit and theirs.name == "written" and mine.name in _READ:
        declared, kind = _READ[mine.name]
        there = cast(there, declared, kind, right.formats[pair[1]])
        return here, f"TRY_CAST({there} AS {mine.declared})"
    raise unlike(pair, mine, theirs)


def key_for(kind: Kind, right: ViewRows, name: str) -> str:
    """SQL of a public cell as a value that compares with cells of a kind, without a left side.

    Raises:
        TypeError: there is none.
    """
    theirs, cell = right.kinds[name], identifier(name)
    if kind.name == "text" and theirs.name in ("text", "written"):
        return _as_text(cell, theirs)
    if kind.name in _READ and theirs.name == "written":
        return cast(cell, *_READ[kind.name], right.formats[name])
    if kind.name == theirs.name and kind.name in EXACT:
        return f"TRY_CAST({cell} AS BIGINT)" if kind.name == "integer" else cell
    raise unlike((name, name), kind, theirs)


def unlike(pair: tuple[str, str], mine: Kind, theirs: Kind) -> TypeError:
    """The error for keys that do not compare exactly."""
    names = [kind.declared or kind.name for kind in (mine, theirs)]
    return TypeError(
        f"convert {pair[0]!r} or {pair[1]!r} before the join, so that both are text, whole "
        f"numbers, dates or truth values; they are {names[0]} and {names[1]}. A column of a CSV "
        "file is declared by Table(.., types={'zip': 'BIGINT'})"
    )


def _as_text(cell: str, kind: Kind) -> str:
    return cell if kind.name == "written" else f"CAST({cell} AS VARCHAR)"


@attrs.frozen(eq=False)
class _Copy:
    """A table beside the left side: the keys of the right side, and the columns that are added."""

    root: DuckDB
    name: str
    keys: tuple[str, ...]
    kinds: Mapping[str, Kind]
    columns: ViewColumns
    formats: Mapping[str, CellFormat]

    def limit(self, most: int | None, on: Pairs) -> None:
        """Keep so many rows of equal keys, the first in the order of all columns.

        Raises:
            ValueError: no number is given, and keys occur twice.
        """
        name, by = identifier(self.name), ", ".join(map(identifier, self.keys))
        if most is None:
            counts = f"SELECT count(*) AS n FROM {name} GROUP BY {by}"
            [(largest,)] = self.root.fetch(f"SELECT coalesce(max(n), 1) FROM ({counts})")
            if largest > 1:
                self.root.fetch(f"DROP TABLE {name}")
                raise ValueError(
                    f"give max_matches={largest}, or leave rows out of the public table: up to "
                    f"{largest} of its rows have equal keys {[theirs for _, theirs in on]}"
                )
        else:
            every, first = (
                ", ".join(map(identifier, self.columns.kinds)),
                _fresh(self.root, "first"),
            )
            order = f"ORDER BY {every}" if every else ""
            self.root.fetch(
                f"CREATE TABLE {identifier(first)} AS SELECT * FROM {name} "
                f"QUALIFY row_number() OVER (PARTITION BY {by} {order}) <= {most}"
            )
            self.root.fetch(f"DROP TABLE {name}")
            self.root.fetch(f"ALTER TABLE {identifier(first)} RENAME TO {name}")


def _copied(
    root: DuckDB, right: ViewRows, rows: str, keys: Sequence[str], columns: Mapping[str, str]
) -> _Copy:
    """Copy some columns of the right side, where all of its keys are there."""
    kinds = {mine: right.kinds[name] for name, mine in columns.items()}
    written, named_here = dict[str, dict[str, str]](), dict(columns)
    for name, mine in columns.items():
        if name in right.columns.written:
            of = right.columns.written[name]
            written[mine] = {reading: f"{mine}\x1f{reading}" for reading in of}
            named_here |= {of[reading]: own for reading, own in written[mine].items()}
    own = ViewColumns(
        tuple(columns.values()),
        {mine: right.columns.kinds[name] for name, mine in named_here.items()},
        written,
        filed=frozenset(columns[name] for name in right.columns.filed if name in columns),
    )
    name = _fresh(root, "joined")
    named = tuple(f"{name} key {i}" for i in range(len(keys)))
    cells = [f"{key} AS {identifier(it)}" for it, key in zip(named, keys, strict=True)]
    cells += (f"{identifier(it)} AS {identifier(mine)}" for it, mine in named_here.items())
    there = " AND ".join(f"{identifier(key)} IS NOT NULL" for key in named)
    select = f"SELECT * FROM (SELECT {', '.join(cells)} FROM ({rows})) WHERE {there}"
    right.root.copy_to(root, name, select)
    formats = {mine: right.formats[it] for it, mine in columns.items() if mine in written}
    return _Copy(root, name, named, kinds, own, formats)


def _joined(
    left: ViewRows, source: str, copy: _Copy, keys: Sequence[str], *, inner: bool
) -> ViewRows:
    """The view of a table or view on the left, joined with a copy."""
    names = [*left.columns.kinds, *copy.columns.kinds]
    pairs = zip(keys, copy.keys, strict=True)
    matches = " AND ".join(f"{here} = {identifier(key)}" for here, key in pairs)
    view = _fresh(left.root, "view")
    only = f" WHERE {identifier(copy.keys[0])} IS NOT NULL" if inner else ""
    left.root.fetch(
        f"CREATE VIEW {identifier(view)} AS SELECT {', '.join(map(identifier, names))} "
        f"FROM {_without_rowid(source)} LEFT JOIN {_without_rowid(copy.name)} ON {matches}{only}"
    )
    columns = ViewColumns(
        (*left.columns.source, *copy.columns.source),
        {**left.columns.kinds, **copy.columns.kinds},
        {**left.columns.written, **copy.columns.written},
        filed=left.columns.filed | copy.columns.filed,
    )
    formats = {**left.formats, **copy.formats}
    return ViewRows(left.root, view, {**left.kinds, **copy.kinds}, columns, formats)


def _without_rowid(name: str) -> str:
    """The rows of a table without DuckDB's own `rowid`, which a column may have as its name."""
    return f"(SELECT * FROM {identifier(name)})"


def _fresh(root: DuckDB, name: str) -> str:
    """A name in the database that nothing has."""
    return f"{name} {next(root.numbers)}"


def _kept(rows: ViewRows, unit: PrivacyUnit, choice: Choice) -> str:
    """The rows of each unit that count, with all columns."""
    columns = rows.columns
    names = frozenset(columns.kinds)
    return CountedRows(unit.column, unit.max_rows, choice, names, columns, rows.view).exact()
