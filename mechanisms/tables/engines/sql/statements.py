"""The SQL statement of a request, for DuckDB."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.asked import as_asked
from mechanisms.tables.engines.sql.dialect import DuckDBDialect, Sql, identifier
from mechanisms.tables.engines.sql.kept import (
    CountedRows,
    ViewColumns,
    capped,
    is_capped,
    kept_by,
    sized,
)
from mechanisms.tables.engines.sql.keyed import Placing, placings
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.request import Categories, Request, Term


@attrs.frozen
class Plan:
    """A statement, its parameters and the keys that it joins. These are public.

    Args:
        kept: the rows that it reads as `kept`, if it does.
        view: the name of the view that it reads as `data`.
        tables: Arrow tables of keys by the names that the statement has for them.
        question: what is asked, if others can be answered by the same scan.
        many: whether there may be a group for each record.
    """

    statement: str
    parameters: tuple[Any, ...]
    kept: CountedRows | None = None
    view: str = "data"
    tables: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)
    question: "TypedRequest | None" = attrs.field(default=None, eq=False, repr=False)
    many: bool = False


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
    return Compiler(DuckDBDialect(), columns.kinds).operand(by.column).kind


def statement_of(request: Request, choice: Choice, columns: ViewColumns) -> Plan:
    """The statement that evaluates a request on the rows `data`, or on the rows `kept` of them."""
    asked = as_asked(request, columns.written, columns.kinds, columns.filed)
    if not asked.sizes and not is_capped(asked):
        question = TypedRequest(asked, choice, columns)
        return attrs.evolve(joint([asked], choice, columns), question=question)
    compiled = Compiled.of([asked], columns)
    [where], [terms] = compiled.selected, compiled.terms
    if compiled.grouped is not None:
        where = where & compiled.grouped
    added = [f"{term} AS term_{i}" for i, term in enumerate(terms)]
    selected = ", ".join(compiled.cells + added + columns.recorded)
    arguments = compiled.compiler, asked, choice
    further = ["record"] if columns.recorded else []
    if asked.sizes:
        source = sized(*arguments, where, selected, compiled.by_key, compiled.data, further)
    else:
        source = capped(*arguments, columns, where, selected, compiled.by_key, compiled.data)
    names = [f"term_{i}" for i in range(len(asked.terms))]
    kept = None if asked.sizes else kept_by(asked, choice, columns)
    further = ["size", *further] if asked.sizes else further
    if columns.recorded:
        return compiled.plan(source, _of_rows(asked, names), further, kept, grouped=False)
    totals = [_total(*each) for each in zip(asked.terms, names, strict=True)]
    return compiled.plan(source, totals, further, kept)


def joint(requests: Sequence[Request], choice: Choice, columns: ViewColumns) -> Plan:
    """The statement that evaluates requests over the same rows, in the same groups.

    Its results have the indices of a group, and then the sums of every request. None of the
    requests counts units, or bounds a unit's rows by groups. For many requests, counting truth
    values is several times as fast as an aggregate with a filter.
    """
    compiled = Compiled.of(requests, columns)
    counted = all(term.column is None for asked in requests for term in asked.terms)
    alone = bool(requests[0].by) or not counted or bool(columns.recorded)
    filtered = len(requests) == 1 and alone
    names: dict[str, str] = {}
    totals = []

    def named(text: str) -> str:
        return names.setdefault(text, f"asked_{len(names)}")

    for asked, where, terms in zip(requests, compiled.selected, compiled.terms, strict=True):
        for term, text in zip(asked.terms, terms, strict=True):
            if filtered:
                totals.append(_total(term, "" if term.column is None else named(text)))
            elif term.column is None:
                totals.append(f"coalesce(count_if({named(where.text)}), 0)")
            else:
                added = f"CASE WHEN {named(where.text)} THEN {named(text)} ELSE 0 END"
                totals.append(f"coalesce(sum({added}), 0)")
    selected = compiled.cells + [f"{text} AS {name}" for text, name in names.items()]
    selected += columns.recorded
    conditions = [compiled.grouped, compiled.selected[0] if filtered else None]
    among = " AND ".join(each.text for each in conditions if each is not None) or "TRUE"
    source = f"(SELECT {', '.join(selected) or '1'} FROM {compiled.data} WHERE {among})"
    kept = [kept_by(asked, choice, columns) for asked in requests if asked.per is not None]
    rows = with_columns_of(kept)
    if columns.recorded:
        further = _of_rows(requests[0], list(names.values()))
        return compiled.plan(compiled.by_key(source), further, ["record"], rows, grouped=False)
    if compiled.by_cell:
        return compiled.plan_by_cell(source, totals, rows)
    return compiled.plan(compiled.by_key(source), totals, [], rows)


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


def _total(term: Term, name: str) -> str:
    return "count(*)" if term.column is None else f"coalesce(sum({name}), 0)"


@attrs.frozen
class Compiled:
    """Requests in the same groups, as expressions over the same rows.

    Args:
        data: the rows, as SQL after FROM, with computed columns.
        selected: which rows each request selects.
        terms: what a row adds to the sums of each request.
        placed: how rows are placed in groups.
    """

    dialect: DuckDBDialect
    compiler: Compiler
    data: str
    selected: list[Sql]
    terms: list[list[str]]
    placed: list[Placing]

    @classmethod
    def of(cls, requests: Sequence[Request], columns: ViewColumns) -> "Compiled":
        """Compile requests as they are asked of the columns."""
        dialect, first = DuckDBDialect(), requests[0]
        every = attrs.evolve(first, terms=tuple(term for it in requests for term in it.terms))
        every, nodes = lifted(every, columns.kinds)
        compiler = Compiler(dialect, columns.kinds)
        data = "data" if first.per is None or first.sizes else "kept"
        if nodes:
            added = {name: compiler.operand(node) for name, node in nodes.items()}
            written = (f"{each.cell.text} AS {identifier(name)}" for name, each in added.items())
            data = f"(SELECT *, {', '.join(written)} FROM {data})"
            kinds = {name: each.kind for name, each in added.items()}
            compiler = Compiler(dialect, {**columns.kinds, **kinds})
        rest = iter(every.terms)
        terms = [[compiler.term(next(rest)).text for _ in asked.terms] for asked in requests]
        selected = [compiler.selected(asked.where) for asked in requests]
        return cls(dialect, compiler, data, selected, terms, placings(compiler, every.by))

    @property
    def cells(self) -> list[str]:
        """What rows are placed by, as columns of a select."""
        cells = (cell.text for each in self.placed for cell in each.cells)
        return [f"{cell} AS cell_{i}" for i, cell in enumerate(cells)]

    @property
    def grouped(self) -> Sql | None:
        """Which rows can be in a group; None if this excludes no row."""
        holds = [each.holds for each in self.placed if each.holds is not None]
        return reduce(and_, holds) if holds else None

    @property
    def keys(self) -> list[str]:
        """The names of the places in each part of the groups."""
        return [f"key_{i}" for i in range(sum(len(each.places) for each in self.placed))]

    def by_key(self, rows: str) -> str:
        """The rows, as SQL after FROM, with their places; those in no group are left out."""
        if not self.placed:
            return rows
        places = (place for each in self.placed for place in each.places)
        named = (f"{place} AS {key}" for place, key in zip(places, self.keys, strict=True))
        joins = "".join(each.join for each in self.placed)
        return f"(SELECT r.*, {', '.join(named)} FROM {rows} AS r{joins})"

    @property
    def by_cell(self) -> bool:
        """Whether it is faster to add up rows by their cells, and then to place the sums."""
        return len(self.placed) == 1 and self.placed[0].few

    def plan_by_cell(self, rows: str, totals: list[str], kept: CountedRows | None) -> Plan:
        """The plan that adds up rows by their cells, which equal one key each at most."""
        sums = [f"sum_{i}" for i in range(len(totals))]
        named = (f"{total} AS {name}" for total, name in zip(totals, sums, strict=True))
        added = f"(SELECT cell_0, {', '.join(named)} FROM {rows} GROUP BY cell_0)"
        statement = f"SELECT {', '.join(self.keys + sums)} FROM {self.by_key(added)}"
        return Plan(statement, tuple(self.dialect.parameters), kept, tables=self.placed[0].tables)

    def plan(
        self,
        rows: str,
        totals: list[str],
        further: list[str],
        kept: CountedRows | None,
        *,
        grouped: bool = True,
    ) -> Plan:
        """The plan that adds up rows by their places, and by further columns, if need be.

        Args:
            grouped: whether rows are added up at all.
        """
        by = [*self.keys, *further]
        statement = f"SELECT {', '.join(by + totals)} FROM {rows}"
        if by and grouped:
            statement += f" GROUP BY {', '.join(by)}"
        tables = {name: table for each in self.placed for name, table in each.tables.items()}
        many = "record" in further
        return Plan(statement, tuple(self.dialect.parameters), kept, tables=tables, many=many)
