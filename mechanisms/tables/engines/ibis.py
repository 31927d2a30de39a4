"""Ibis: requests evaluated on Spark, BigQuery, Postgres, SQLite and other databases.

A request is compiled to one Ibis expression.
"""

import warnings
from collections.abc import Iterable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import attrs

from mechanisms.tables import column_types
from mechanisms.tables.column_types import Kind
from mechanisms.tables.corrections import no_column
from mechanisms.tables.engines.backends import (
    as_view,
    digest_of,
    instants_of_spark,
    require_session,
    rows_of,
    statement_of,
)
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.databases import dialect_of
from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice, interrupts
from mechanisms.tables.engines.rowwise import require_row_wise
from mechanisms.tables.expressions import Operand
from mechanisms.tables.request import Combinations, Request, Term

_LIMB = 22
"""Bits of the parts that numbers are added up in: sums of 2**41 parts fit in 64 bits."""

_HASHED = {"boolean", "integer", "decimal", "float", "text", "date", "timestamp", "instant"}
"""Kinds whose cells are hashed as text; rows that differ in other columns only have equal hashes.
"""


def kind_of(declared: Any) -> Kind:
    """The kind of a column of an Ibis type."""
    kind = column_types.OTHER
    if declared.is_boolean():
        kind = column_types.BOOLEAN
    elif declared.is_integer():
        kind = column_types.integer(8 * declared.nbytes, signed=declared.is_signed_integer())
    elif declared.is_floating() and declared.nbytes >= 4:
        kind = column_types.real(8 * declared.nbytes)
    elif declared.is_decimal():
        if declared.precision is not None and declared.scale is not None:  # else of any scale
            kind = column_types.decimal(declared.precision, declared.scale)
    elif declared.is_string():
        kind = column_types.TEXT
    elif declared.is_binary():
        kind = column_types.BYTES
    elif declared.is_date():
        kind = column_types.DATE
    elif declared.is_timestamp():
        name = "timestamp" if declared.timezone is None else "instant"
        kind = column_types.moments(name, 1 if (declared.scale or 6) > 6 else 1000)
    return attrs.evolve(kind, declared=str(declared))


@attrs.frozen
class Plan:
    """An expression, its SQL, and its columns: indices of groups, and parts of sums."""

    expression: Any
    statement: str
    groups: int
    parts: tuple[int, ...]


class Ibis:
    """A source opened with Ibis.

    Args:
        source: an Ibis table, connected to a database.
        columns: the columns to use; by default all.
    """

    def __init__(self, source: Any, *, columns: Iterable[str] | None = None) -> None:
        import ibis

        if not isinstance(source, ibis.Table):
            raise TypeError(f"give an Ibis table; source is a {type(source).__name__} of Ibis")
        self.backend = source.get_backend()
        require_row_wise(source, self.backend.name)
        require_session(self.backend)
        schema = source.schema()
        wanted = list(schema) if columns is None else list(columns)
        for name in wanted:
            if name not in schema:
                raise ValueError(no_column(name, schema))
        self.source = source.select(*wanted)
        self.kinds: Mapping[str, Kind] = {
            name: kind_of(schema[name]) for name in wanted
        } | instants_of_spark(self.backend, self.source)
        self.digest = digest_of(self.backend)
        self._dialect = dialect_of(self.backend)
        self._last: tuple[str, Plan] | None = None

    def upload(self, table: Any) -> None:
        """Upload the tables in memory that an expression refers to."""
        self.backend._run_pre_execute_hooks(table)

    def ask(self, source: Any, kinds: Mapping[str, Kind]) -> None:
        """Read other rows from now on."""
        self._read = source  # an uploaded table is dropped when nothing refers to it
        self.source, self.kinds, self._last = as_view(self.backend, source), kinds, None

    def present(self, rows: Any, column: str) -> Expression:
        """Whether a row has a cell in a column."""
        return self._compiler(rows).present(column)

    def kind(self, operand: Operand) -> Kind:
        """The kind of an operand."""
        return self._compiler(self.source).operand(operand).kind

    def plan(self, request: Request, choice: Choice) -> Plan:
        """Compile the request to one expression. A launch asks twice, so the last plan is cached.

        Raises:
            ValueError: the database does not accept so large a statement.
        """
        key, last = repr((request, choice)), self._last
        if last is not None and last[0] == key:
            return last[1]
        plan = self._planned(request, choice)
        self._last = key, plan
        return plan

    def _compiler(self, rows: Any, computed: Mapping[str, Kind] = MappingProxyType({})) -> Compiler:
        return Compiler(self._dialect(rows), {**self.kinds, **computed})

    def _planned(self, request: Request, choice: Choice) -> Plan:
        if request.per is None or request.sizes:
            rows = self.source
        else:
            rows = self._within_max_rows(request, choice)
        computed, nodes = lifted(request, self.kinds)
        found = {name: self._compiler(rows).operand(node) for name, node in nodes.items()}
        kinds = {name: each.kind for name, each in found.items()}
        rows = rows.mutate(**{name: each.cell for name, each in found.items()}) if found else rows
        compiler = self._compiler(rows, kinds)
        where = compiler.selected(request.where)
        for part in computed.parts:
            where &= compiler.among(part)
        names = [fresh(f"key_{i}", self.kinds) for i in range(len(request.parts))]
        rows = rows.filter(where)
        compiler = self._compiler(rows, kinds)
        grouped = {
            name: compiler.group(part).cast("int64")
            for name, part in zip(names, computed.parts, strict=True)
        }
        rows = self._combined(rows.mutate(**grouped), request, names) if grouped else rows
        if request.sizes:
            rows, size = self._sized(rows, request, choice, names)
            names = [*names, size]
        elif request.per is not None and request.bounded:
            rows = self._capped(rows, request, choice, [names[i] for i in request.bounded])
        compiler = self._compiler(rows, kinds)
        sums, parts = {}, []
        for position, term in enumerate(computed.terms):
            limbs = _limbs(term, compiler.term(term))
            parts.append(len(limbs))
            for each, limb in enumerate(limbs):
                name = fresh(f"total_{position}_{each}", self.kinds)
                sums[name] = rows.count() if term.column is None else limb.sum().coalesce(0)
        totals = rows.group_by(names).aggregate(**sums) if names else rows.aggregate(**sums)
        totals = totals.select(*names, *sums)
        return Plan(totals, statement_of(self.backend, totals), len(names), tuple(parts))

    def run(self, plan: Plan) -> Iterable[tuple[int, ...]]:
        """The indices and sums of every group, with sums put together from their parts."""
        total = "_ibis_" not in plan.statement  # Ibis's functions on SQLite may fail on a cell
        with warnings.catch_warnings(), interrupts(total=total):
            warnings.simplefilter("ignore")  # a warning of the database could depend on the data
            rows = rows_of(self.backend, plan.expression, plan.statement)
        return [_joined(row, plan) for row in rows]

    def close(self) -> None:
        """Do nothing: the connection belongs to the curator."""

    @staticmethod
    def _combined(rows: Any, request: Request, names: list[str]) -> Any:
        """The rows whose categories are one of the combinations."""
        rest = iter(names)
        for by in request.by:
            mine = [next(rest) for _ in by.parts]
            if isinstance(by, Combinations):
                code = by.code([rows[name] for name in mine])
                rows = rows.filter(code.isin([by.code(place) for place in by.places]))
        return rows

    def _within_max_rows(self, request: Request, choice: Choice) -> Any:
        """The counted rows of each unit."""
        import ibis

        assert request.per is not None
        per, rows = request.per, self.source
        unit = per.column
        compiler = self._compiler(rows)
        rows = rows.filter(compiler.present(unit))
        by_hash, number = fresh("row_hash", self.kinds), fresh("row_number", self.kinds)
        kept = dict.fromkeys([unit, *request.columns, *filter(None, [choice.column])])
        hashed = self.digest(text_of(rows, self.kinds, self.kinds, choice.seed))
        rows = rows.mutate(**{by_hash: hashed}).select(*kept, by_hash)
        order = self._order(rows, request, choice, by_hash)
        numbered = ibis.row_number().over(group_by=rows[unit], order_by=order)
        rows = rows.mutate(**{number: numbered})
        return rows.filter(rows[number] < per.max_rows)

    def _order(self, rows: Any, request: Request, choice: Choice, by_hash: str) -> list[Any]:
        names = [by_hash, *request.columns]
        if choice.column is not None:
            names.insert(0, choice.column)
        return [rows[name].asc(nulls_first=False) for name in names]

    def _capped(self, rows: Any, request: Request, choice: Choice, names: list[str]) -> Any:
        """The rows in the counted groups of each unit, up to the bound in each group."""
        import ibis

        per = request.per
        assert per is not None
        rank, number = fresh("group_rank", self.kinds), fresh("in_group", self.kinds)
        by_group, by_hash = fresh("group_hash", self.kinds), fresh("row_hash", self.kinds)
        rows = rows.mutate(**{by_group: self._group_hash(rows, per.column, names, choice)})
        keys = [rows[name] for name in names]
        ranked = ibis.dense_rank().over(group_by=rows[per.column], order_by=[rows[by_group], *keys])
        order = self._order(rows, request, choice, by_hash)
        numbered = ibis.row_number().over(group_by=[rows[per.column], *keys], order_by=order)
        rows = rows.mutate(**{rank: ranked, number: numbered})
        return rows.filter((rows[rank] < per.groups) & (rows[number] < per.rows_per_group))

    def _group_hash(self, rows: Any, unit: str, names: list[str], choice: Choice) -> Expression:
        """The order in which a unit's groups are counted, up to the bound."""
        known = {**self.kinds, **dict.fromkeys(names, column_types.integer(64))}
        return self.digest(text_of(rows, [unit, *names], known, choice.seed))

    def _sized(
        self, rows: Any, request: Request, choice: Choice, names: list[str]
    ) -> tuple[Any, str]:
        """The counted units in each group, and the name of the column of their sizes.

        Cells that the database takes for one unit may be written differently; the least of their
        hashes decides, so that the order of rows does not.
        """
        import ibis

        assert request.per is not None
        unit, cells = request.per.column, prod(by.size for by in request.by)
        rows = rows.filter(self._compiler(rows).present(unit))
        size, by_hash = fresh("size", self.kinds), fresh("group_hash", self.kinds)
        found = {size: rows.count()}
        capped = names and request.per.groups < cells
        if capped:
            found[by_hash] = self._group_hash(rows, unit, names, choice).min()
        rows = rows.group_by([unit, *names]).aggregate(**found)
        if capped:
            order = [rows[by_hash], *(rows[name] for name in names)]
            number = fresh("group_rank", self.kinds)
            ranked = ibis.row_number().over(group_by=rows[unit], order_by=order)
            rows = rows.mutate(**{number: ranked})
            rows = rows.filter(rows[number] < request.per.groups)
        compiler, count = self._compiler(rows), column_types.integer(64)
        reached = compiler.reached(rows[size], count, request.size_steps)
        return rows.mutate(**{size: reached.cast("int64")}), size


def _joined(row: Iterable[Any], plan: Plan) -> tuple[int, ...]:
    numbers = list(map(int, row))
    keys, parts = numbers[: plan.groups], iter(numbers[plan.groups :])
    sums = (
        sum(next(parts) << (_LIMB * position) for position in range(count)) for count in plan.parts
    )
    return (*keys, *sums)


def fresh(name: str, columns: Iterable[str]) -> str:
    """A name that is not the beginning of any column's name."""
    while any(column.lower().startswith(name) for column in columns):
        name += "_"
    return name


def text_of(rows: Any, names: Iterable[str], known: Mapping[str, Kind], seed: int) -> Expression:
    """A row's cells as one text."""
    import ibis

    text = ibis.literal(str(seed))
    for name in names:
        if known[name].name in _HASHED:
            cell = (ibis.literal("|=") + rows[name].cast("string")).coalesce("|-")
            text = text + cell
    return text


def _limbs(term: Term, value: Expression) -> list[Expression]:
    """A number in parts of 22 bits, the last one signed, so that no sum of parts overflows."""
    limbs, largest = [], term.largest
    while largest >= 1 << _LIMB:
        low = value & ((1 << _LIMB) - 1)
        limbs.append(low)
        value = ((value - low) / (1 << _LIMB)).cast("int64")  # exact: at most 41 bits are set
        largest >>= _LIMB
    return [*limbs, value]
