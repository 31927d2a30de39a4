"""The SQL statement of a request."""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from operator import and_
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.asked import as_asked
from mechanisms.tables.engines.sql.bounds import bounded, capped, is_capped
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql, identifier
from mechanisms.tables.engines.sql.kept import CountedRows, kept_by
from mechanisms.tables.engines.sql.keyed import Codes, Placing
from mechanisms.tables.engines.sql.units import VALUE, rows_of, unit_rows
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand, PerUnit, of_values, per_units
from mechanisms.tables.requests.request import Categories, Request, Term


@attrs.frozen
class Plan:
    """A statement, its parameters and the keys that it joins. These are public.

    Args:
        kept: the rows that it reads as `kept`, if it does.
        view: the name of the view that it reads as `data`.
        tables: tables of keys by the names that the statement has for them.
        question: what is asked, if others can be answered by the same scan.
        many: whether there may be a group for each record.
        names: of the columns of its results.
        groups: how many of them are indices, in front of the sums.
        limbs: how many columns each sum has.
        limb: the bits of all but the last column of a sum.
        coded: the same over kept rows that have a column of codes, if there may be one.
    """

    statement: str
    parameters: tuple[Any, ...]
    kept: CountedRows | None = None
    view: str = "data"
    tables: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)
    question: "TypedRequest | None" = attrs.field(default=None, eq=False, repr=False)
    many: bool = False
    names: tuple[str, ...] = ()
    groups: int = 0
    limbs: tuple[int, ...] = ()
    limb: int = 0
    coded: "Coded | None" = attrs.field(default=None, eq=False, repr=False)

    def read(self, row: Sequence[Any]) -> tuple[int, ...]:
        """The indices and sums of a group, put together of their parts."""
        numbers = list(map(int, row))
        rest = iter(numbers[self.groups :])
        sums = (sum(next(rest) << (self.limb * i) for i in range(n)) for n in self.limbs)
        return (*numbers[: self.groups], *sums)


@attrs.frozen
class Coded:
    """A statement that places rows by a column of kept rows, and the name that it has for it."""

    statement: str
    codes: Codes
    name: str


@attrs.frozen
class TypedRequest:
    """A request that reads undeclared columns as it is asked to, of these columns."""

    request: Request
    choice: Choice
    columns: ViewColumns


def kind_of_operand(operand: Operand, kinds: Mapping[str, Kind], columns: ViewColumns) -> Kind:
    """The kind of an operand; that of a column is among `kinds`.

    Raises:
        KeyError, TypeError: the operand does not fit the columns.
    """
    if isinstance(operand, str) and operand in kinds:
        return kinds[operand]
    [by] = as_asked(
        Request((), by=(Categories(operand, ()),)), columns.written, columns.kinds
    ).parts
    units = next(per_units(by.column), None)
    if units is not None:
        compiler = Compiler(columns.dialect(), {VALUE: units.kind})
        return compiler.operand(of_values(by.column, VALUE)).kind
    return Compiler(columns.dialect(), columns.kinds).operand(by.column).kind


def statement_of(request: Request, choice: Choice, columns: ViewColumns) -> Plan:
    """The statement that evaluates a request on the rows `data`, or on the rows `kept` of them."""
    asked = as_asked(request, columns.written, columns.kinds, columns.filed)
    if asked.units is not None:
        return _over_units(asked, asked.units, choice, columns)
    if not is_capped(asked):
        question = TypedRequest(asked, choice, columns)
        return attrs.evolve(joint([asked], choice, columns), question=question)
    compiled = Compiled.of([asked], columns)
    where, selected = compiled.chosen(columns)
    source = capped(
        *(compiled.compiler, asked, choice, columns, where),
        *(selected, compiled.by_key, compiled.data),
    )
    return compiled.added(asked, columns, source, kept_by(asked, choice, columns))


def _over_units(request: Request, units: PerUnit, choice: Choice, columns: ViewColumns) -> Plan:
    """The statement of a request over units: the rows of units are a table of one column."""
    dialect, per = columns.dialect(), request.per
    assert per is not None
    columns = attrs.evolve(columns, dialect=lambda: dialect)  # both share the parameters
    of_rows = Compiled.of([rows_of(request, units)], columns)
    data, bounds = unit_rows(of_rows, request, units, choice, columns)
    columns = attrs.evolve(
        columns,
        source=(),
        kinds={VALUE: units.kind},
        written={},
        record=None if columns.record is None else "record",
        placed=partial(columns.placed, before=len(of_rows.placed)),
        data=data,
    )
    asked = request.over_units(VALUE)
    compiled = attrs.evolve(Compiled.of([asked], columns), before=of_rows)
    where, selected = compiled.chosen(columns)
    cells = ", ".join([*selected, *of_rows.keys, *bounds])
    source = compiled.by_key(f"(SELECT {cells} FROM {compiled.data} AS d WHERE {where.bare})")
    if bounds:
        order = ", ".join(["group_hash", *of_rows.keys])
        rank = f"row_number() OVER (PARTITION BY unit ORDER BY {order})"
        source = bounded(source, [(rank, per.groups)])
    return compiled.added(asked, columns, source, None)


def joint(requests: Sequence[Request], choice: Choice, columns: ViewColumns) -> Plan:
    """The statement that evaluates requests over the same rows, in the same groups.

    Its results have the indices of a group, and then the sums of every request. None of the
    requests counts units, or bounds a unit's rows by groups. For many requests, counting truth
    values is several times as fast as an aggregate with a filter.
    """
    compiled = Compiled.of(requests, columns)
    counted = all(term.column is None for asked in requests for term in asked.terms)
    alone = bool(requests[0].by) or not counted or bool(columns.recorded)
    alone = alone or compiled.dialect.selects
    filtered = len(requests) == 1 and alone
    names: dict[str, str] = {}
    totals = []

    def named(text: str) -> str:
        return names.setdefault(text, f"asked_{len(names)}")

    for asked, where, terms in zip(requests, compiled.selected, compiled.terms, strict=True):
        for term, added in zip(asked.terms, terms, strict=True):
            if filtered:
                name = "" if term.column is None else named(added.text)
                totals.append(compiled.total(term, name))
            elif term.column is None:
                totals.append([compiled.dialect.count_of(named(where.text))])
            else:
                some = f"CASE WHEN {named(where.text)} THEN {named(added.text)} ELSE 0 END"
                totals.append(compiled.total(term, some))
    kept = [kept_by(asked, choice, columns) for asked in requests if asked.per is not None]
    rows = with_columns_of(kept)

    def planned(compiled: Compiled) -> Plan:
        selected = compiled.cells + [f"{text} AS {name}" for text, name in names.items()]
        selected += columns.recorded
        conditions = [compiled.grouped, compiled.selected[0] if filtered else None]
        among = " AND ".join(each.text for each in conditions if each is not None) or "TRUE"
        cells = ", ".join(selected) or "1 AS one"
        source = f"(SELECT {cells} FROM {compiled.data} AS d WHERE {among})"
        if columns.recorded:
            further = [_of_rows(requests[0], list(names.values()))]
            return compiled.plan(compiled.by_key(source), further, ["record"], rows, grouped=False)
        if compiled.by_cell:
            return compiled.plan_by_cell(source, totals, rows)
        return compiled.plan(compiled.by_key(source), totals, [], rows)

    plan, codes = planned(compiled), compiled.codes(columns)
    if rows is None or codes is None:
        return plan
    name = identifier(columns.own("code"))
    placed = [compiled.placed[0].by_codes(name)]
    coded = planned(attrs.evolve(compiled, placed=placed)).statement
    return attrs.evolve(plan, coded=Coded(coded, codes, name))


def with_columns_of(several: Sequence[CountedRows]) -> CountedRows | None:
    """The same rows with all columns that one of several needs."""
    if not several:
        return None
    return attrs.evolve(several[0], names=frozenset[str]().union(*(it.names for it in several)))


def _of_rows(request: Request, names: Sequence[str]) -> list[str]:
    """What each row adds, as an integer of 64 bits if it fits; nothing for a count, where it is 1.

    Args:
        names: of the columns with what a row adds.
    """
    if all(term.column is None for term in request.terms):
        return []
    largest = max(term.largest for term in request.terms)
    added = [f"coalesce({name}, 0)" for name in names]
    return [f"CAST({each} AS BIGINT)" for each in added] if largest < 2**62 else added


@attrs.frozen
class Compiled:
    """Requests in the same groups, as expressions over the same rows.

    Args:
        data: the rows, as SQL after FROM, with computed columns.
        selected: which rows each request selects.
        terms: what a row adds to the sums of each request.
        placed: how rows are placed in groups.
        before: what has placed the rows in other groups before.
    """

    dialect: SqlDialect
    compiler: Compiler
    data: str
    selected: list[Sql]
    terms: list[list[Sql]]
    placed: list[Placing]
    before: "Compiled | None" = None

    @classmethod
    def of(cls, requests: Sequence[Request], columns: ViewColumns) -> "Compiled":
        """Compile requests as they are asked of the columns."""
        dialect, first = columns.dialect(), requests[0]
        every = attrs.evolve(first, terms=tuple(term for it in requests for term in it.terms))
        every, nodes = lifted(every, columns.kinds)
        compiler = Compiler(dialect, columns.kinds)
        data = columns.data if first.per is None else columns.kept
        if nodes:
            added = {name: compiler.operand(node) for name, node in nodes.items()}
            cells = (f"{each.cell.bare} AS {dialect.named(it)}" for it, each in added.items())
            data = f"(SELECT d.*, {', '.join(cells)} FROM {data} AS d)"
            kinds = {name: each.kind for name, each in added.items()}
            compiler = Compiler(dialect, {**columns.kinds, **kinds})
        rest = iter(every.terms)
        terms = [[compiler.term(next(rest)) for _ in asked.terms] for asked in requests]
        selected = [compiler.selected(asked.where) for asked in requests]
        return cls(dialect, compiler, data, selected, terms, columns.placed(compiler, every.by))

    @property
    def cells(self) -> list[str]:
        """What rows are placed by, as columns of a select."""
        cells = (cell.bare for each in self.placed for cell in each.cells)
        return [f"{cell} AS cell_{i}" for i, cell in enumerate(cells)]

    @property
    def grouped(self) -> Sql | None:
        """Which rows can be in a group; None if this excludes no row."""
        holds = [each.holds for each in self.placed if each.holds is not None]
        return reduce(and_, holds) if holds else None

    def codes(self, columns: ViewColumns) -> Codes | None:
        """The codes of the only groups, if these are of a column that kept rows have."""
        codes = self.placed[0].codes if len(self.placed) == 1 and not columns.recorded else None
        return codes if codes is not None and codes.column in columns.kinds else None

    @property
    def keys(self) -> list[str]:
        """The names of the places in each part of the groups."""
        first = 0 if self.before is None else len(self.before.keys)
        return [f"key_{first + i}" for i in range(sum(len(each.places) for each in self.placed))]

    def chosen(self, columns: ViewColumns) -> tuple[Sql, list[str]]:
        """Which rows are selected by the one request, and the columns of a select that it needs."""
        [where], [terms] = self.selected, self.terms
        if self.grouped is not None:
            where = where & self.grouped
        added = [f"{term.text} AS term_{i}" for i, term in enumerate(terms)]
        return where, self.cells + added + columns.recorded

    def added(
        self, asked: Request, columns: ViewColumns, rows: str, kept: CountedRows | None
    ) -> Plan:
        """The plan that adds up these rows, which have the `chosen` columns and places."""
        names = [f"term_{i}" for i in range(len(asked.terms))]
        if columns.recorded:
            return self.plan(rows, [_of_rows(asked, names)], ["record"], kept, grouped=False)
        totals = [self.total(*each) for each in zip(asked.terms, names, strict=True)]
        return self.plan(rows, totals, [], kept)

    def by_key(self, rows: str) -> str:
        """The rows, as SQL after FROM, with their places; those in no group are left out."""
        if not self.placed:
            return rows
        places = (place for each in self.placed for place in each.places)
        named = (f"{place} AS {key}" for place, key in zip(places, self.keys, strict=True))
        joins = "".join(each.join for each in self.placed)
        within = " AND ".join(each.within for each in self.placed if each.within)
        only = f" WHERE {within}" if within else ""
        return f"(SELECT r.*, {', '.join(named)} FROM {rows} AS r{joins}{only})"

    def total(self, term: Term, name: str) -> list[str]:
        """The sum of what rows add, or its parts; of nothing, their number."""
        if term.column is None:
            return ["count(*)"]
        limbs = self.dialect.limbs(Sql(name), term.largest)
        return [f"coalesce(sum({limb.bare}), 0)" for limb in limbs]

    @property
    def by_cell(self) -> bool:
        """Whether it is faster to add up rows by their cells, and then to place the sums."""
        return len(self.placed) == 1 and self.placed[0].few

    def plan_by_cell(self, rows: str, totals: list[list[str]], kept: CountedRows | None) -> Plan:
        """The plan that adds up rows by their cells, each of which is in one group at most.

        A group may have several rows of results.
        """
        sums = list(chain(*totals))
        names = [f"sum_{i}" for i in range(len(sums))]
        named = (f"{total} AS {name}" for total, name in zip(sums, names, strict=True))
        added = f"(SELECT cell_0, {', '.join(named)} FROM {rows} AS s GROUP BY cell_0)"
        statement = f"SELECT {', '.join(self.keys + names)} FROM {self.by_key(added)} AS s"
        return self._plan(statement, kept, self.keys, names, totals)

    def plan(
        self,
        rows: str,
        totals: list[list[str]],
        further: list[str],
        kept: CountedRows | None,
        *,
        grouped: bool = True,
    ) -> Plan:
        """The plan that adds up rows by their places, and by further columns, if need be.

        Args:
            grouped: whether rows are added up at all.
        """
        before = [] if self.before is None else self.before.keys
        by = [*before, *self.keys, *further]
        names = [f"total_{i}" for i, _ in enumerate(chain(*totals))]
        sums = [f"{total} AS {it}" for total, it in zip(chain(*totals), names, strict=True)]
        statement = f"SELECT {', '.join(by + sums)} FROM {rows} AS s"
        if by and grouped:
            statement += f" GROUP BY {', '.join(by)}"
        plan = self._plan(statement, kept, by, names, totals)
        return attrs.evolve(plan, many="record" in further)

    def _plan(
        self,
        statement: str,
        kept: CountedRows | None,
        by: list[str],
        sums: list[str],
        totals: list[list[str]],
    ) -> Plan:
        placed = [*([] if self.before is None else self.before.placed), *self.placed]
        return Plan(
            *(statement, tuple(self.dialect.parameters), kept),
            tables={name: table for each in placed for name, table in each.tables.items()},
            names=(*by, *sums),
            groups=len(by),
            limbs=tuple(map(len, totals)),
            limb=self.dialect.limb or 0,
        )
