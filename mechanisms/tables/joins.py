"""Joins of tables: what is refused, and which privacy unit the joined rows have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import column_name
from mechanisms.tables.named_joins import NamedJoin, name_of_join, owners
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.losses.numbers import natural, several
from queryable.wording.quoting import one_of, quoted

ROW = "row before the join"
"""What a unit is called that is a row of a table before a join."""


def _pairs(on: Any) -> list[tuple[str, str]]:
    if isinstance(on, Mapping):
        pairs = [(column_name(mine), column_name(theirs)) for mine, theirs in on.items()]
    else:
        listed = several(on, "on") if isinstance(on, Sequence) and not isinstance(on, str) else [on]
        pairs = [(name, name) for name in map(column_name, listed)]
    if not pairs:
        raise ValueError("on is empty; it should name at least one column")
    return pairs


def _names(value: Any) -> list[str] | dict[str, str] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {column_name(theirs): column_name(mine) for theirs, mine in value.items()}
    if isinstance(value, str):
        raise TypeError(f"columns is {value!r}; it should be a list such as [{value!r}]")
    return [column_name(name) for name in several(value, "columns")]


def _positive(value: Any, name: str) -> int | None:
    if value is None:
        return None
    number = natural(value, name)
    if not 1 <= number < 2**31:
        raise ValueError(f"{name} is {quoted(value)}; it should be at least 1")
    return number


def _matches(value: Any) -> int | None:
    return _positive(value, "max_matches")


def _rows(value: Any) -> int | None:
    return _positive(value, "max_rows")


def _implied(value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else several(value, "implied")
    return [column_name(name) for name in listed]


@attrs.frozen
class Join:
    """What is joined with a table, and how: public.

    Args:
        on: the names of the key columns, of both sides: one, a list, or a mapping from the table's
            own names to those of the other side.
        columns: the columns of the other side that are added; by default all but its keys. A
            mapping says what each is called in the joined rows.
        how: "left" keeps rows without a match; "inner" leaves them out.
        max_matches: how many public rows a key may have.
        max_rows: how many joined rows of a privacy unit are counted.
        name: what SQL calls the other side; None if SQL does not join it.
        implied: columns in `on` whose equality follows from the others, so that SQL may leave it
            out.
    """

    on: list[tuple[str, str]] = attrs.field(converter=_pairs)
    columns: list[str] | dict[str, str] | None = attrs.field(default=None, converter=_names)
    how: str = attrs.field(default="left", validator=one_of("left", "inner"))
    max_matches: int | None = attrs.field(default=None, converter=_matches)
    max_rows: int | None = attrs.field(default=None, converter=_rows)
    # How SQL names it says nothing about the rows, so it is not in their fingerprint, the repr.
    name: str | None = attrs.field(
        default=None, converter=attrs.converters.optional(name_of_join), repr=False
    )
    implied: list[str] = attrs.field(factory=list, converter=_implied, repr=False)

    @property
    def inner(self) -> bool:
        """Whether rows without a match are left out."""
        return self.how == "inner"

    def added(self, left: Engine, right: Engine) -> dict[str, str]:
        """The columns that are added: their names on the other side, and in the joined rows.

        Raises:
            ValueError: a column does not exist, or both sides have it.
        """
        for engine, place in ((left, 0), (right, 1)):
            for pair in self.on:
                _require(pair[place], engine)
        keys = {theirs for _, theirs in self.on}
        if self.columns is None:
            names = {name: name for name in right.kinds if name not in keys}
        else:
            names = dict(
                self.columns
                if isinstance(self.columns, dict)
                else zip(self.columns, self.columns, strict=True)
            )
            for name in names:
                _require(name, right)
        taken = {name.lower() for name in left.kinds}
        for name, mine in names.items():
            if mine.lower() in taken:
                raise ValueError(
                    f"rename the column {mine!r}, which both sides have, columns="
                    f"{{{name!r}: 'other_{name}'}}, or leave it out of columns=[..]"
                )
            taken.add(mine.lower())
        return names

    def after(
        self, joins: tuple[NamedJoin, ...], columns: Mapping[str, str], *, private: bool
    ) -> tuple[NamedJoin, ...]:
        """The joins that SQL may write, with this one if it has a name.

        Args:
            joins: those before it.
            columns: that were added, as `added` gives them.
            private: whether the other side is a private table, of which rows are chosen.

        Raises:
            ValueError: the names do not fit.
        """
        if self.name is not None:
            several = private or (self.max_matches or 1) > 1
            implied = tuple(self.implied)
            return (*joins, NamedJoin(self.name, self.on, columns, self.inner, several, implied))
        if self.implied:
            raise ValueError("leave implied out: it is for SQL, which joins by a name= alone")
        for mine, _ in self.on:
            if mine in owners(joins):
                raise ValueError(
                    f"give a name= too: {mine!r} is a column of {owners(joins)[mine].name!r}, and "
                    "queries in SQL that do not join that would have the columns added here"
                )
        return joins


def _require(name: str, engine: Engine) -> None:
    if name not in engine.kinds:
        raise ValueError(f"{no_column(name, engine.kinds)}, to join by")


def with_public(
    engine: Engine, unit: PrivacyUnit | None, source: Any, join: Join
) -> tuple[Engine, PrivacyUnit | None, dict[str, str]]:
    """The rows joined with a public table, their privacy unit, and the columns that were added.

    Args:
        source: an engine, or what is opened as one.

    Raises:
        TypeError, ValueError: they do not fit; this depends on public facts alone.
    """
    public = source if isinstance(source, Engine) else _opened(source)
    if (rows := public.in_memory()) is not None:
        public = _opened(rows)
    names = join.added(engine, public)
    try:
        joined = _join_public(engine, public, names, join)
    finally:
        if public is not source:
            public.close()
    if join.max_rows is not None:
        if unit is None or unit.joined:
            raise ValueError("give max_matches instead of max_rows: the table has no privacy_unit")
        return joined, attrs.evolve(unit, max_rows=join.max_rows), names
    if join.max_matches is None or (unit is not None and not unit.joined):
        return joined, unit, names
    most = join.max_matches * (1 if unit is None else unit.max_rows)
    return joined, unit if most == 1 else PrivacyUnit(ROW, max_rows=most, joined=True), names


def _join_public(engine: Any, public: Any, names: Mapping[str, str], join: Join) -> Engine:
    from mechanisms.tables.engines.duckdb.joins import join_public, rows_of
    from mechanisms.tables.engines.ibis.engine import Ibis

    most = join.max_matches
    if isinstance(engine, Ibis):
        from mechanisms.tables.engines.ibis.joins import join_public as join_on_ibis

        return join_on_ibis(engine, rows_of(public), join.on, names, inner=join.inner, most=most)
    return join_public(
        rows_of(engine), rows_of(public), join.on, names, inner=join.inner, most=most
    )


def _opened(source: Any) -> Any:
    """A public table, opened. Types of Python objects are inferred: its contents are public."""
    from mechanisms.tables.engines.duckdb.engine import DuckDB
    from mechanisms.tables.engines.files.excel_files import excel_sheet, is_excel
    from mechanisms.tables.engines.files.frames import as_arrow

    if is_excel(source):
        source = excel_sheet(source).columns
    if isinstance(source, str | Path):
        opened = DuckDB(source)
    else:
        opened = DuckDB(as_arrow(_inferred(source)))
    if opened.misread is not None:
        opened.misread.warn(4)
    return opened


def _inferred(source: Any) -> Any:
    import pyarrow as pa

    if type(source).__module__.partition(".")[0] == "ibis":
        return source.to_pyarrow()
    try:
        if hasattr(source, "iloc") and hasattr(source, "columns"):
            return pa.Table.from_pandas(source, preserve_index=False)
        if isinstance(source, Mapping):
            return pa.table({str(name): pa.array(cells) for name, cells in source.items()})
    except (pa.ArrowException, TypeError, ValueError):  # of several types: read as text
        return source
    return source


def with_private(
    engines: tuple[Engine, Engine],
    units: tuple[PrivacyUnit | None, PrivacyUnit | None],
    choices: tuple[Choice, Choice],
    join: Join,
) -> tuple[Engine, PrivacyUnit, dict[str, str]]:
    """The rows of two private tables of one unit, their privacy unit, and the columns added.

    Raises:
        TypeError, ValueError: they do not fit; this depends on public facts alone.
    """
    mine, theirs = units
    if mine is None or theirs is None or mine.joined or theirs.joined:
        raise TypeError(
            "open both tables with privacy_unit= and max_rows=; without a unit one row could "
            "decide about any number of joined rows. A table that is public is joined by "
            "join(public=.., on=..)"
        )
    if (mine.column, theirs.column) not in join.on:
        if mine.column != theirs.column:
            raise TypeError(
                f"give two tables of one privacy unit; they are of {mine.column!r} and "
                f"{theirs.column!r}. If both name the same persons, write "
                f"on={{{mine.column!r}: {theirs.column!r}}}"
            )
        raise ValueError(
            f"add {mine.column!r} to on=[..]; a joined row of two persons would belong to both"
        )
    if join.max_matches is not None:
        raise ValueError(
            "leave max_matches out; it is for a public table, and max_rows bounds this"
        )
    names = join.added(*engines)
    most = mine.max_rows * theirs.max_rows if join.max_rows is None else join.max_rows
    unit = attrs.evolve(mine, max_rows=most)
    return _join_private(engines, (mine, theirs), choices, names, join), unit, names


def _join_private(
    engines: tuple[Any, Any],
    units: tuple[PrivacyUnit, PrivacyUnit],
    choices: tuple[Choice, Choice],
    names: Mapping[str, str],
    join: Join,
) -> Engine:
    from mechanisms.tables.engines.duckdb.joins import join_private, rows_of
    from mechanisms.tables.engines.ibis.engine import Ibis

    of_ibis = [isinstance(engine, Ibis) for engine in engines]
    if all(of_ibis):
        from mechanisms.tables.engines.ibis.joins import join_private as join_on_ibis

        return join_on_ibis(*engines, join.on, names, units, choices, inner=join.inner)
    if any(of_ibis):
        raise TypeError("give two tables of one database, or two of files and frames")
    left, right = map(rows_of, engines)
    return join_private(left, right, join.on, names, units, choices, inner=join.inner)
