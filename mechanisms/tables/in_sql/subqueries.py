"""FROM: a table, a query over its rows, or a query with a number of each privacy unit."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.columns import Column, when
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.in_sql.conditions import RowReader
from mechanisms.tables.in_sql.functions import clamped
from mechanisms.tables.in_sql.joins.matching import matched
from mechanisms.tables.in_sql.joins.written import require_no_columns, written_tables
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.sources import ROWS, Bounds, SqlSource, Valued, of_table
from mechanisms.tables.in_sql.truths import both, is_null, where_of
from mechanisms.tables.in_sql.values import only

MOST_ROWS = Fraction(10**6)
"""Up to how many rows of a unit are told apart where no CLAMP says it."""

_HOW = {"Sum": "sum", "Avg": "mean", "Min": "min", "Max": "max"}
_PER_UNIT = "SELECT AVG(CLAMP(n, 0, 20)) FROM (SELECT unit, COUNT(*) AS n FROM t GROUP BY unit)"


def source_of(select: Any, table: Any, name: str | None) -> tuple[SqlSource, Any]:
    """What a query reads, and its WHERE.

    Args:
        table: an `Outline` or a `Table`.
        name: that of the table; None if any will do.

    Raises:
        SqlError: it is not answered.
    """
    return _Sources(table, name).read(select, {})


@attrs.frozen
class _Sources:
    table: Any
    name: str | None

    def read(self, select: Any, known: Mapping[str, Any]) -> tuple[SqlSource, Any]:
        named = dict(known)
        with_ = select.args.get("with_")
        if with_ is not None:
            only(with_, "expressions")
            for each in with_.expressions:
                only(each, "this", "alias")
                require_no_columns(each)
                named[each.alias.lower()] = (each.this, dict(named))
        if select.args.get("laterals"):
            raise refusal("LATERAL is not answered", "write JOIN")
        from_ = select.args.get("from_")
        if from_ is None:
            raise refusal("there is no FROM", "name the table")
        only(from_, "this")
        where = select.args.get("where")
        condition = None if where is None else where.this
        joins = select.args.get("joins")
        is_table = type(from_.this).__name__ == "Table" and from_.this.name.lower() not in named
        if joins or (self.table.joins and is_table):
            tables = written_tables(select)
            for each in tables:
                if each.name.lower() in named:
                    raise refusal(
                        f"{each.name} of WITH is not joined", "write the JOIN in that query"
                    )
            return matched(tables, self.table, self.name, condition)
        return self._from(from_.this, named), condition

    def _from(self, of: Any, known: Mapping[str, Any]) -> SqlSource:
        kind = type(of).__name__
        alias = of.alias if kind in ("Table", "Subquery") else ""
        require_no_columns(of)
        if kind == "Subquery":
            only(of, "this", "alias")
            return self._query(of.this, known, alias or "the sub-query")
        if kind != "Table" or type(of.this).__name__ != "Identifier":
            raise refusal(f"FROM {shown(of)} is not answered", "name the table")
        only(of, "this", "alias")
        name = of.name
        if name.lower() in known:
            inner, seen = known[name.lower()]
            return self._query(inner, seen, alias or name)
        if self.name is not None and name.lower() != self.name.lower():
            raise refusal(f"there is no table {name} here", f"the table is {self.name}")
        return of_table(self.table, self.table.columns, self.table.declared, alias or name)

    def _query(self, select: Any, known: Mapping[str, Any], alias: str) -> SqlSource:
        if type(select).__name__ != "Select":
            raise refusal(f"{shown(select)} is not answered in FROM", "write a SELECT")
        only(select, "expressions", "from_", "joins", "where", "group", "having", "with_")
        source, where = self.read(select, known)
        if source.per_unit:
            raise refusal("a query over units stands outermost", _PER_UNIT)
        reader = RowReader(source)
        rows = _rows(reader, where)
        if select.args.get("group") is None:
            return _of_rows(select, reader, rows, alias)
        return _of_units(select, reader, rows, alias)


def _rows(reader: RowReader, where: Any) -> Predicate | None:
    own = reader.source.where
    holds: Any = True if own is None else own
    if where is not None:
        holds = both(holds, reader.truth(where).yes)
    return where_of(holds, _any_column(reader.source))


def _any_column(source: SqlSource) -> Any:
    return next(each.column.operand for each in source.named.values() if each.column is not None)


def _of_rows(select: Any, reader: RowReader, where: Predicate | None, alias: str) -> SqlSource:
    """A query that computes columns of rows, or leaves rows out."""
    source, named, whole = reader.source, dict[str, Valued](), set[str]()
    if select.args.get("having") is not None:
        raise refusal("HAVING without GROUP BY is not answered", "write WHERE")
    for each in select.expressions:
        if type(each).__name__ == "Star":
            only(each)
            for name, value, is_unit in source.everything():
                _require_new(name, named)
                named[name] = value
                whole |= {name} if is_unit else set()
            continue
        of = each.this if each.alias else each
        name = each.alias_or_name
        if not name:
            raise refusal(f"{shown(each)} has no name", "name it with AS")
        _require_new(name, named)
        named[name] = reader.value(of)
        if type(of).__name__ == "Column" and source.is_unit(of.name, of.table):
            whole.add(name)
    return attrs.evolve(
        source,
        named=named,
        alias=alias,
        where=where,
        whole=frozenset(whole),
        tables={},
        merged=frozenset(),
    )


def _require_new(name: str, named: Mapping[str, Valued]) -> None:
    if any(name.lower() == known.lower() for known in named):
        raise refusal(f"{name} is there twice", "name each column with AS")


def _of_units(select: Any, reader: RowReader, where: Predicate | None, alias: str) -> SqlSource:
    """A query that has a number of each privacy unit."""
    source = reader.source
    only(select.args["group"], "expressions")
    keys = select.args["group"].expressions
    unit = source.table.unit
    if unit is None:
        raise refusal("GROUP BY in a sub-query is by the privacy unit", "the table has none")
    is_unit = [
        type(each).__name__ == "Column" and source.is_unit(each.name, each.table) for each in keys
    ]
    if is_unit != [True]:
        raise refusal(f"GROUP BY in a sub-query is by {unit.column} alone", _PER_UNIT)
    rows = Valued(Column(PerUnit("count", None, Fraction(0), MOST_ROWS, where=where)))
    named, whole, lacking = dict[str, Valued](), set[str](), set[str]()
    for each in select.expressions:
        of = each.this if each.alias else each
        name = each.alias_or_name
        if type(of).__name__ == "Column" and source.is_unit(of.name, of.table):
            whole.add(name)
            continue
        if not name:
            raise refusal(f"{shown(each)} has no name", "name it with AS")
        named[name] = _number(of, reader, where)
        if not any(type(part).__name__ == "Count" for part in of.walk()):
            lacking.add(name)
    per_unit = SqlSource(
        source.table,
        {ROWS: rows, **named},
        alias,
        per_unit=True,
        whole=frozenset(whole),
        lacking=frozenset(lacking),
    )
    having = select.args.get("having")
    if having is None:
        return per_unit
    known = _of_aggregates(having, reader, where, named)
    lacking |= {name for name in known if name not in named and not name.startswith("COUNT(")}
    inner = attrs.evolve(per_unit, named={ROWS: rows, **known}, lacking=frozenset(lacking))
    return attrs.evolve(per_unit, where=RowReader(inner).where(having.this, rows.column))


def _of_aggregates(
    having: Any, reader: RowReader, where: Predicate | None, named: Mapping[str, Valued]
) -> Mapping[str, Valued]:
    """The names that HAVING may use, with each aggregate in it under its text."""
    found = dict(named)
    for each in list(having.find_all(*_aggregates())):
        name = str(each.sql(dialect="duckdb"))
        found[name] = _number(each, reader, where)
        each.replace(_column(name))
    return found


def _aggregates() -> tuple[type, ...]:
    from sqlglot import exp

    return exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max


def _column(name: str) -> Any:
    from sqlglot import exp

    return exp.column(name, quoted=True)


def _number(node: Any, reader: RowReader, where: Predicate | None) -> Valued:
    """A number of each unit."""
    if (
        type(node).__name__ == "Anonymous"
        and str(node.this).upper() == "CLAMP"
        and node.expressions
    ):
        found = _number(node.expressions[0], reader, where)
        within = reader.clamp(_around(node))
        assert found.clipped is not None
        assert within is not None
        bounded = found.clipped(*within[1])
        return bounded if found.column is None else clamped(bounded, *within[1])
    kind = type(node).__name__
    if kind == "Count":
        return _count(node, reader, where)
    if kind in _HOW:
        return _of_column(_HOW[kind], node, reader, where)
    raise refusal(
        f"{shown(node)} is not answered in a sub-query", "there are COUNT, SUM, AVG, MIN, MAX"
    )


def _around(node: Any) -> Any:
    """A CLAMP with its bounds, around a number."""
    clamp = node.copy()
    clamp.set("expressions", [clamp.expressions[-1].copy(), *clamp.expressions[1:]])
    return clamp


def _count(node: Any, reader: RowReader, where: Predicate | None) -> Valued:
    only(node, "this", "big_int")
    of = node.this
    if type(of).__name__ == "Distinct":
        raise refusal(f"{shown(node)} is not answered here", "COUNT(*) counts a unit's rows")
    if of is None or type(of).__name__ == "Star":
        return _fixed(Column(PerUnit("count", None, Fraction(0), MOST_ROWS, where=where)))
    there = where_of(is_null(reader.value(of)).no, _any_column(reader.source))
    if there is None:
        return _fixed(Column(PerUnit("count", None, Fraction(0), MOST_ROWS, where=where)))
    # A unit whose cells are all NULL has the number 0, and is there.
    cells = when(there).then(1).otherwise(0)
    return _fixed(Column(PerUnit("sum", cells, Fraction(0), MOST_ROWS, where=where)))


def _fixed(number: Column, bounds: Bounds | None = None) -> Valued:
    """A number of each unit, which a CLAMP around it does not change: it is clipped afterwards."""
    return Valued(
        number, bounds=bounds, clipped=lambda low, high: Valued(number, bounds=(low, high))
    )


def _of_column(how: str, node: Any, reader: RowReader, where: Predicate | None) -> Valued:
    only(node, "this")
    value = reader.value(node.this)
    if value.column is None:
        raise refusal(f"{shown(node)} is of a constant", "name a column")
    column, cells = value.column, value.bounds
    table = reader.source.table
    # In SQL the sum of no cell is NULL: a unit without a cell is left out.
    there = is_null(value).no
    rows = where_of(both(True if where is None else where, there), column)

    def clipped(low: Fraction, high: Fraction) -> Valued:
        if how == "sum":
            _require_exact(node, cells, max(abs(low), abs(high)))
        numbers = table.per_unit(how, column, low, high, rows)
        return _fixed(Column(numbers.operand), (low, high))

    if how == "mean" and cells is None:
        raise refusal(
            f"{shown(node)} needs public bounds", f"AVG(CLAMP({shown(node.this)}, 0, 100))"
        )
    return Valued(clipped=clipped) if how == "sum" or cells is None else clipped(*cells)


def _require_exact(node: Any, cells: Bounds | None, most: Fraction) -> None:
    """Check that cells need no clipping before they are added up, or are of one sign.

    Raises:
        SqlError: the sum of clipped cells could differ from the clipped sum.
    """
    of_one_sign = cells is not None and (cells[0] >= 0 or cells[1] <= 0)
    if of_one_sign or (cells is not None and max(map(abs, cells)) <= most):
        return
    of = shown(node.this)
    raise refusal(
        f"{shown(node)} may add up numbers of either sign that are larger than its own bounds",
        f"write the bounds of each, SUM(CLAMP({of}, 0, 10)), and wider ones around it",
    )
