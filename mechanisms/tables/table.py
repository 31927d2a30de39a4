"""Tables: files, frames and databases whose rows an engine adds up.

A `Table` opens a source, describes it publicly, and holds what a request cannot choose: the privacy
unit and the seed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import attrs

from mechanisms.tables.declared import Declared, declared_of
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.files.opening import Sources
from mechanisms.tables.engines.limits import seconds
from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.expressions.column_types import Kind, require_keys
from mechanisms.tables.expressions.corrections import no_column, require_column
from mechanisms.tables.expressions.operands import column_name, operand_name, operand_of
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.growth import GrowingTable, found_blocks
from mechanisms.tables.joins import Join, with_private, with_public
from mechanisms.tables.named_joins import NamedJoin, require_joins
from mechanisms.tables.outline import Outline
from mechanisms.tables.requests.discovery import Discovery, FoundKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.remembered import ROOM, Key, Remembered, key_of, weight
from mechanisms.tables.requests.request import Categories, Request, Tabular, placed_sums
from mechanisms.tables.requests.wording import protected_unit, table_in_short
from mechanisms.tables.sources import RESOURCES, engine_of, unit_of
from queryable.checks.datasets import is_private
from queryable.checks.protection import ROW, Protected
from queryable.data.cells import Array
from queryable.losses.numbers import natural
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import UniformBelow
from queryable.statistics import Checked, IntegerStatistic


class Table(FromTable, Tabular, GrowingTable):
    """A dataset of rows in a file, a frame or a database: `Queryable(mechanism, Table(...))`.

    Opening it reads the names and types of columns, which are public, and copies the rows of a CSV
    or Excel file. The contents of rows decide no name and no type. They decide in two cases whether
    the table can be opened, which is for the owner to see: a file is refused if a cell of the
    privacy unit's column is no text in its encoding, since the rows of such persons would count for
    nobody; and an Excel file is refused if cells are merged, which hides whose a row is. No row is
    added up until a launch has been paid for; each statistic is then evaluated once, to exact
    integers.

    Privacy:
        Claim: a statistic moves by at most its declared sensitivity when one privacy unit is added
            or removed: a row, or with `privacy_unit` all rows of one person. A statistic declared
            for another unit than the table's fails before the data are read.
        Theorem: docs/tables/units.md, contribution bounding.
        Assumes: the source does not change, and its rows are independent of each other: it is not
            behind a join, limit or window in which one unit's rows decide about another's. A CSV
            file's records close the quotations that they open, as those that programs write do.
            The privacy unit's column names one person per value.
        Checked by: tests/unit/mechanisms/tables/test_table_sensitivity.py

    Args:
        source: a path of a CSV or Parquet file, or as a string a pattern of such paths; a path of
            an Excel file; a pandas, polars or Arrow frame, a numpy structured array, a dict of
            columns, or an Ibis table. With `blocks`, a folder.
        privacy_unit: the column that names who is protected; without it each row is a unit.
        max_rows, max_groups, max_rows_per_group: how much of a unit is counted, see `PrivacyUnit`.
            With a privacy unit, `max_rows` is required.
        keep: a public column: the rows of a unit with its smallest values are counted. By default
            the choice is random, the same for every statistic.
        columns: the columns to use; by default all. With fewer columns, rows are chosen faster.
        seed: of the random choice, drawn from `coins` by default. It is not secret, and no claim
            depends on it; equal seeds choose equal rows on one version of one engine.
        engine: the engine that adds up; by default DuckDB, or the Ibis table's own.
        timeout: how many seconds a statistic may take. One that takes longer is `Failed` and stays
            charged; the table can be used afterwards. It guards the owner's machine, and whether it
            strikes depends on the data.
        on_misread: a function of the data's owner, such as `print`. It is called at opening with
            the table's `misread`, and later with a batch's, if something could not be read or is
            probably not read as intended. What it is given is private. If it raises, the table is
            not opened, or the batch not appended. Without it, a `MisreadWarning` names the columns
            of which most is not read, and those whose type follows from one cell.
        blocks: the column by which rows are in blocks, such as "day". Of files it names folders:
            in `source` the block "2026-03-01" is the folder `day=2026-03-01`. For an Ibis table
            it is a column of text, whole numbers or dates, or such a column with the public names
            of the blocks: {"day": ["2026-03-01", "2026-03-02"]}.
        declared: public bounds and keys of columns, for questions in SQL that name none:
            {"age": {"lower": 0, "upper": 100}, "state": {"keys": ["CA", "NY"]}}.
        **options: of DuckDB: memory_limit, threads, temp_directory, max_temp_directory_size, and
            progress=True for a bar during long scans, which only the owner may see; of a CSV file:
            types, separator (or sep), quote, encoding, decimal, thousands, date_format,
            null_values; of an Excel file: types, and sheet, the name of the sheet.
    """

    def __init__(
        self,
        source: Any = None,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        keep: Any = None,
        columns: Any = None,
        seed: int | None = None,
        coins: Coins = SYSTEM,
        engine: Engine | None = None,
        timeout: Any = None,
        on_misread: Callable[[Misread], object] | None = None,
        blocks: Any = None,
        declared: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._given = source if engine is None else None
        self._opened_with = {"timeout": timeout, **options}
        self._unit = unit_of(privacy_unit, max_rows, max_groups, max_rows_per_group)
        limit = None if timeout is None else seconds(timeout)
        opened = source
        if blocks is not None and isinstance(source, str | Path):
            opened, blocks = found_blocks(source, blocks)
        if engine is None:
            engine = engine_of(opened, columns, options)
        elif source is not None or columns is not None or options:
            raise TypeError("give either an engine or a source; the engine has its own source")
        if limit is not None:
            if not engine.can_be_interrupted:
                raise TypeError("leave timeout out: this engine cannot be interrupted")
            engine.timeout = limit
        self._engine: Engine = engine
        self._declared = declared_of({} if declared is None else declared, engine.kinds)
        self._source = source if isinstance(source, str | Path) else None
        self._reading = {name: each for name, each in options.items() if name not in RESOURCES}
        self._public: tuple[Any, ...] = ()  # what was joined, and how
        self._forget()
        self._joined: tuple[Table, ...] = ()
        self._joins: tuple[NamedJoin, ...] = ()
        given = coins.draw(UniformBelow(2**63)) if seed is None else natural(seed, "seed")
        if not given < 2**63:
            raise ValueError("seed is too large; it should be below 2**63")
        self._choice = Choice(given, None if keep is None else column_name(keep))
        if self._choice.column is not None and self._unit is None:
            raise ValueError("give a privacy_unit, or leave keep out: it chooses a unit's rows")
        for column in (self._unit.column if self._unit else None, self._choice.column):
            if column is not None and column not in engine.kinds:
                raise ValueError(no_column(column, engine.kinds))
        self._on_misread = on_misread
        try:
            if not isinstance(opened, Sources):
                self._require_units(self.misread)
                self._tell(self.misread)
            self._begin(blocks)
        except BaseException:
            self.close()
            raise

    def _forget(self) -> None:
        """Forget what was remembered about other rows."""
        self._remembered = Remembered()
        self._checked: tuple[Key | None, Any] = None, None

    @property
    def unit(self) -> PrivacyUnit | None:
        """The privacy unit and its bounds, for `per=`; None if each row is a unit. Public."""
        return self._unit

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The bounds and keys of columns that the owner states, by name. Public."""
        return self._declared

    @property
    def outline(self) -> Outline:
        """What makes its statistics without its rows. Public."""
        return Outline(self.columns, self._unit, declared=self._declared, joins=self._joins)

    @property
    def protects(self) -> Protected:
        """Who is protected, in words: one row, or one value of the privacy unit's column."""
        return ROW if self._unit is None else protected_unit(self._unit)

    @property
    def made_of(self) -> tuple["Table", ...]:
        """The private tables that were joined; none if the table was opened. Public."""
        return self._joined

    @property
    def joins(self) -> tuple[NamedJoin, ...]:
        """The joins that queries in SQL may write, in the order in which they were made. Public."""
        return self._joins

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The kind (type) of each column. Public."""
        return self._engine.kinds

    @property
    def layout(self) -> str:
        """The columns with their types, in words, sorted by name. Public."""
        columns = sorted(self.columns.items())
        return ", ".join(f"{name}: {kind.declared or kind.name}" for name, kind in columns)

    def kind(self, column: Any) -> Kind:
        """The kind (type) of a column, or of an expression such as `column("day").month()`. Public.

        Raises:
            ValueError, TypeError: there is no such column, or the expression does not fit.
        """
        operand = operand_of(column)
        require_column(operand, self.columns)
        return self._engine.kind(operand)

    @property
    def misread(self) -> Misread | None:
        """What could not be read in a file, in Python objects or on SQLite; None elsewhere.

        Private, because it depends on rows. It is for the data's owner, who decides whether to mend
        the file or to give another option; no launch, error or display shows it. `print` shows it.
        """
        misread: Misread | None = self._engine.misread
        return misread

    def join(
        self,
        other: "Table | None" = None,
        *,
        public: Any = None,
        on: Any,
        columns: Any = None,
        how: str = "left",
        max_matches: int | None = None,
        max_rows: int | None = None,
        name: str | None = None,
        implied: Any = (),
    ) -> "Table":
        """Add the columns of a public table, or of a private table of the same privacy unit.

        The result is a table over the joined rows, with its own `unit`. It uses the rows of this
        table, so this table has to stay open.

        With `public=` the rows with equal keys are added to each row: none, so that the added cells
        are missing, or one, or with `max_matches=k` up to k. Without a privacy unit each row before
        the join stays the unit; with `max_matches` the result's `unit` says how many joined rows it
        becomes. With a privacy unit at most `max_rows` joined rows of a unit are counted.

        With another private table the rows of equal keys are added, and the unit's column has to be
        one of the keys. Of each side the unit's `max_rows` rows are joined, and of the result at
        most `max_rows` are counted, by default as many as there can be. Both sides are copied now.

        Keys are compared exactly: text, whole numbers, dates or truth values with the same. A
        missing key matches nothing.

        Privacy:
            Claim: a joined row belongs to one unit, and statistics that are declared
                `per=joined.unit` move by at most their sensitivities when a unit is added or
                removed, on both sides of the join.
            Theorem: docs/tables/units.md, joined rows.
            Assumes: the public table contains nothing that depends on private rows. Two private
                tables name the same person by the same value.
            Checked by: tests/unit/mechanisms/tables/test_joins.py

        Args:
            other: a private table with the same privacy unit.
            public: a public table: a frame, a dict of columns, an Arrow table, a path of a file, an
                Ibis table, or a `Table` opened without a privacy unit.
            on: the key column, a list of them, or a mapping of this table's names to the other's.
            columns: the columns that are added; by default all but the keys. A mapping gives them
                other names here: {"name": "clinic_name"}.
            how: "left", or "inner" to leave rows without a match out.
            max_matches: how many public rows one row is joined with at most. They are the first in
                the order of all their columns. By default public keys have to be different.
            max_rows: how many joined rows of a privacy unit are counted.
            name: what queries in SQL call the other table. They write the join, with that table's
                own names: `FROM visits v JOIN clinics c ON v.clinic = c.id`. See docs/sql.md.
            implied: columns of this table in `on` whose equality follows from the other keys, which
                SQL may leave out: of an order that has one customer, the customer.

        Raises:
            TypeError, ValueError: the tables do not fit; this depends on public facts alone.
        """
        join = Join(on, columns, how, max_matches, max_rows, name, implied)
        if (other is None) == (public is None):
            raise TypeError("give either another table with a privacy unit, or public=..")
        if is_private(public) or (isinstance(public, Table) and public.unit is not None):
            raise TypeError(
                "leave public= out: the table has a privacy unit or a queryable, so it is private"
            )
        given = public
        public = public._engine if isinstance(public, Table) else public
        if other is None:
            engine, unit, added = with_public(self._engine, self._unit, public, join)
        elif isinstance(other, Table):
            engine, unit, added = with_private(
                (self._engine, other._engine),
                (self._unit, other._unit),
                (self._choice, other._choice),
                join,
            )
        else:
            raise TypeError(f"write join(public=.., on=..) for a {type(other).__name__}")
        joined = copy(self)
        joined._joins = join.after(self._joins, added, private=other is not None)
        require_joins(joined._joins, engine.kinds)
        theirs_ = given if other is None else other
        stated = theirs_._declared if isinstance(theirs_, Table) else {}
        joined._declared = self._declared | {
            mine: stated[theirs] for theirs, mine in added.items() if theirs in stated
        }
        joined._engine, joined._unit, joined._parts = engine, unit, None
        joined._forget()
        joined._joined = (self,) if other is None else (self, other)
        joined._public = (join, given)
        return joined

    def with_declared(self, declared: Mapping[str, Any]) -> Self:
        """The same table with further public bounds and keys of columns, as `declared=` has them.

        After a join, also those of the columns that were added.

        Raises:
            TypeError, ValueError: they are not like that, or of a column that is not there.
        """
        other = copy(self)
        other._declared = self._declared | declared_of(declared, self.columns)
        other._forget()
        return other

    @property
    def seed(self) -> int:
        """The seed of the random choice of a unit's rows. Public."""
        return self._choice.seed

    def with_seed(self, seed: int) -> Self:
        """The same table with another random choice of rows, such as that of an earlier process."""
        other = copy(self)
        other._choice = attrs.evolve(self._choice, seed=natural(seed, "seed"))
        other._forget()
        return other

    def step(self, column: str) -> Fraction | None:
        """What every number of a column is a multiple of, by its public type; None if unknown."""
        kind = self.columns.get(column)
        return kind.step if kind is not None and kind.family == "number" else None

    def check(self, statistic: Checked) -> None:
        """Check whether a statistic fits the table. Reads no rows and costs nothing.

        Raises:
            KeyError, TypeError, ValueError: as a launch would raise, which costs nothing either.
        """
        discovery = getattr(statistic, "discovery", None)
        if isinstance(discovery, Discovery):
            self._plan_find(discovery)
            return
        request = getattr(statistic, "request", None)
        if not isinstance(request, Request):
            raise TypeError(
                f"give a statistic of a table, such as Count() or Sum(..); not a "
                f"{type(statistic).__name__}"
            )
        self._checked = key_of(request), self._plan(request)
        for by in request.parts:
            if isinstance(by, Categories):
                require_keys(self._engine.kind(by.column), operand_name(by.column), by.values)

    def totals(self, request: Request) -> Array:
        """The exact sums: Python integers of the request's shape.

        Equal requests are evaluated once: the totals are remembered until the table is closed.
        """
        key = key_of(request)
        total = self._remembered.find(key)
        if total is not None:
            self._engine.require_unchanged()
            return total
        checked, plan = self._checked  # a launch has just checked the statistic that it evaluates
        if key is None or checked != key:
            plan = self._plan(request)
        total = placed_sums(request, self._engine.run(plan))
        self._remembered.keep(key, total, weight(request, key))
        return total

    def found(self, asked: Discovery) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each. They are not remembered."""
        return self._engine.find(self._plan_find(asked))

    def choose_rows(self) -> None:
        """Choose the rows of each unit that count, and keep them. For the data's owner.

        By default the first question that reads them does this. It takes longer the more rows are
        left out, so its time would show a person who has many. Totals are the same. There has to
        be room for a copy of these rows; without it, each question chooses. `CountUnits` and
        `UnitSizes` read all rows anyway.

        Raises:
            TimeoutError: it took longer than `timeout`, on a database; questions choose then.
        """
        self._chooses = True
        if self._unit is not None and not self._unit.joined:
            self._engine.choose_rows(self._unit, self._choice)

    def prepare(self, statistics: Iterable[IntegerStatistic]) -> None:
        """Evaluate statistics that have been paid for together, in as few scans as possible.

        Their totals are remembered. A statistic that fails is not remembered, and is evaluated by
        itself when a mechanism asks for it.
        """
        asked: dict[Key, tuple[Request, Any, int]] = {}
        room = ROOM
        for statistic in statistics:
            try:
                request = statistic.request  # type: ignore[attr-defined]
                key = key_of(request)
                if key is None or key in asked or key in self._remembered:
                    continue
                if room < (size := weight(request, key)):
                    break
                asked[key] = request, self._plan(request), size
            except Exception:  # its own launch fails of the same
                continue
            room -= size
        if len(asked) < 2:
            return
        try:
            found = self._engine.run_together([plan for _, plan, _ in asked.values()])
            totals = [
                placed_sums(request, rows)
                for (request, _, _), rows in zip(asked.values(), found, strict=True)
            ]
        except Exception:  # one of them fails; the others do not
            return
        for (key, (_, _, size)), total in zip(asked.items(), totals, strict=True):
            self._remembered.keep(key, total, size)

    def _require_unit(self, theirs: PrivacyUnit | None) -> None:
        if _who(self._unit) != _who(theirs):
            raise TypeError(
                "ask with a method of the Table, such as visits.count(), or give per=visits.unit, "
                f"where visits is the Table: what is asked is declared per {_who(theirs)[0]}, and "
                f"the table's privacy unit is the {_who(self._unit)[0]}"
            )

    def _plan_find(self, asked: Discovery) -> Any:
        self._require_unit(asked.per)
        if self._unit is not None and self._unit.joined:
            raise TypeError("find keys in the table before the join: a row of it is the unit")
        return self._engine.plan_find(asked, self._choice)

    def _plan(self, request: Request) -> Any:
        mine, theirs = self._unit, request.per
        self._require_unit(theirs)
        if mine is not None and theirs is not None and mine.joined:
            if theirs.max_rows < mine.max_rows:
                raise TypeError(f"give max_rows={mine.max_rows} or more: a row has so many matches")
            if request.units is not None:
                raise TypeError("ask of the table before the join: a row is the unit")
            request = attrs.evolve(request, per=None)
        return self._engine.plan(request, self._choice)

    def neighbouring(self, batch: Any = None) -> Any:
        """The form of its rows, or of a batch that may be appended: `queryable.audit.rows`."""
        from mechanisms.tables.neighbours.of_table import form_of_batch, form_of_table

        return form_of_table(self) if batch is None else form_of_batch(self, batch)

    def close(self) -> None:
        """Close the source, forget its totals, and delete what was written to disk."""
        self._remembered.close()
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return table_in_short("Table", self.columns, self.unit)


def _who(unit: PrivacyUnit | None) -> tuple[str, bool | None]:
    """Who is protected: the name of the column, and what sort of unit it is."""
    return ("row", None) if unit is None else (unit.column, unit.joined)
