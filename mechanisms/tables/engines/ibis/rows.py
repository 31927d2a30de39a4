"""Which rows of each unit count, and in how many groups, as Ibis expressions.

The rows of a unit depend on its bounds and on the table's choice, never on a question. They are
numbered once; whatever a question needs of their order, it reads from these numbers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis.dialect import IbisDialect
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.request import Request

_HASHED = {"boolean", "integer", "decimal", "float", "text", "date", "timestamp", "instant"}
"""Kinds whose cells are hashed as text; rows that differ in other columns only have equal hashes.
"""

_UNORDERED = ("other", "duration")
"""Kinds that not every database orders. Rows are ordered by whether they have a cell."""


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


@attrs.frozen
class Bounded:
    """Which rows count: so many of each unit, in this order. Public."""

    unit: str
    max_rows: int
    choice: Choice


@attrs.frozen
class Rows:
    """The columns of a table, and how its rows are chosen.

    Args:
        dialect: from a relation to its expressions.
        digest: a hash of text.
        row_hash: a hash of a row's text, by which rows are sorted.
    """

    kinds: Mapping[str, Kind]
    dialect: Callable[[Any], IbisDialect]
    digest: Callable[[Expression], Expression]
    row_hash: Callable[[Expression], Expression]

    @property
    def unit(self) -> str:
        """The column of a counted row's unit: one value for each unit."""
        return fresh("counted_unit", self.kinds)

    @property
    def number(self) -> str:
        """The column of a counted row's number in its unit, from 0."""
        return fresh("counted_number", self.kinds)

    def compiler(self, rows: Any, more: Mapping[str, Kind] | None = None) -> Compiler:
        """The compiler of expressions over rows."""
        return Compiler(self.dialect(rows), {**self.kinds, **(more or {})})

    def order(self, rows: Any, first: Sequence[str]) -> list[Any]:
        """These columns, then every cell, so that rows that tie are equal to every question."""
        dialect, order = self.dialect(rows), [rows[name] for name in first]
        for name, kind in self.kinds.items():
            if kind.name == "text":
                order.append(dialect.ordered(rows[name]))
            else:
                order.append(rows[name].isnull() if kind.name in _UNORDERED else rows[name])
        return [each.asc(nulls_first=False) for each in order]

    def counted(self, source: Any, bounded: Bounded, columns: Iterable[str]) -> Any:
        """The counted rows of each unit: some columns, the unit and the number.

        A collation may take several texts for one unit, and a copy of the rows has no collation:
        the first of them names the unit.
        """
        import ibis

        rows = source.filter(self.compiler(source).present(bounded.unit))
        by_hash, choice = fresh("row_hash", self.kinds), bounded.choice
        hashed = self.row_hash(text_of(rows, self.kinds, self.kinds, choice.seed))
        rows = rows.mutate(**{by_hash: hashed})
        unit = rows[bounded.unit]
        first = [by_hash] if choice.column is None else [choice.column, by_hash]
        window = ibis.window(group_by=unit, order_by=self.order(rows, first), rows=(None, 0))
        named = unit.first().over(window) if self.kinds[bounded.unit].name == "text" else unit
        number = ibis.row_number().over(group_by=unit, order_by=self.order(rows, first))
        rows = rows.mutate(**{self.unit: named, self.number: number})
        rows = rows.filter(rows[self.number] < bounded.max_rows)
        return rows.select(*dict.fromkeys(columns), self.unit, self.number)

    def capped(self, rows: Any, request: Request, choice: Choice, names: Sequence[str]) -> Any:
        """The counted rows in the counted groups of each unit, up to the bound in each group."""
        import ibis

        per, conditions = request.per, []
        assert per is not None
        if _caps_groups(request):
            rank, by_group = fresh("group_rank", self.kinds), fresh("group_hash", self.kinds)
            rows = rows.mutate(**{by_group: self._group_hash(rows, self.unit, per, names, choice)})
            keys = [rows[name] for name in names]
            order = [rows[by_group], *keys]
            ranked = ibis.dense_rank().over(group_by=rows[self.unit], order_by=order)
            rows = rows.mutate(**{rank: ranked})
            conditions.append((rank, per.groups))
        if _caps_rows(request):
            number = fresh("in_group", self.kinds)
            keys = [rows[name] for name in names]
            numbered = ibis.row_number().over(
                group_by=[rows[self.unit], *keys], order_by=rows[self.number]
            )
            rows = rows.mutate(**{number: numbered})
            conditions.append((number, per.rows_per_group))
        bounds = [rows[name] < bound for name, bound in conditions]
        return rows.filter(*bounds) if bounds else rows

    def _group_hash(
        self, rows: Any, unit: str, per: Any, names: Iterable[str], choice: Choice
    ) -> Expression:
        """The order in which a unit's groups are counted, up to the bound."""
        known = {unit: self.kinds[per.column], **dict.fromkeys(names, column_types.integer(64))}
        return self.digest(text_of(rows, [unit, *names], known, choice.seed))

    def sized(
        self, rows: Any, request: Request, choice: Choice, names: Sequence[str]
    ) -> tuple[Any, str]:
        """The counted units in each group, and the name of the column of their sizes.

        Cells that the database takes for one unit may be written differently; the least of their
        hashes decides, so that the order of rows does not.
        """
        import ibis

        per = request.per
        assert per is not None
        unit, cells = per.column, prod(by.size for by in request.by)
        rows = rows.filter(self.compiler(rows).present(unit))
        size, by_hash = fresh("size", self.kinds), fresh("group_hash", self.kinds)
        found = {size: rows.count()}
        bound = names and per.groups < cells
        if bound:
            found[by_hash] = self._group_hash(rows, unit, per, names, choice).min()
        rows = rows.group_by([unit, *names]).aggregate(**found)
        if bound:
            order = [rows[by_hash], *(rows[name] for name in names)]
            number = fresh("group_rank", self.kinds)
            ranked = ibis.row_number().over(group_by=rows[unit], order_by=order)
            rows = rows.mutate(**{number: ranked})
            rows = rows.filter(rows[number] < per.groups)
        compiler, count = self.compiler(rows), column_types.integer(64)
        reached = compiler.reached(rows[size], count, request.size_steps)
        return rows.mutate(**{size: reached.cast("int64")}), size


def caps(request: Request) -> bool:
    """Whether a unit's groups, or its rows in one group, have bounds below that on its rows."""
    return _caps_groups(request) or _caps_rows(request)


def _caps_groups(request: Request) -> bool:
    per = request.per
    if per is None or not request.bounded:
        return False
    return per.groups < min(per.max_rows, prod(by.size for by in request.by if by.bounded))


def _caps_rows(request: Request) -> bool:
    per = request.per
    return per is not None and bool(request.bounded) and per.rows_per_group < per.max_rows
