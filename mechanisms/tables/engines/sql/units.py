"""The rows of privacy units, as SQL: one for each unit, or for each unit and group of its rows.

A unit's row has the value that `PerUnit` computes of the unit's own rows. All of its rows are read.
"""

from math import prod
from typing import Any

from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.bounds import by_hash
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import integer
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.requests.request import Request, Term

VALUE = "value_per_unit"
"""The column with a unit's value."""


def rows_of(request: Request, units: PerUnit) -> Request:
    """What a request over units reads of rows: those that a unit's value is computed of."""
    return Request(_terms(units), units.where, request.of_rows)


def _terms(units: PerUnit) -> tuple[Term, ...]:
    """What is aggregated of rows: of cells their units and whether they are there, or nothing."""
    lattice = units.lattice
    match units.how:
        case "count":
            return ()
        case "sum":
            most = max(abs(units.lower), abs(units.upper))
            return (Term(units.column, Lattice(-most, most, units.unit), power=1),)
        case "mean":
            moved = Term(units.column, lattice, center=lattice.low, power=1)
            return moved, Term(units.column)
    return Term(units.column, lattice, power=1), Term(units.column)


def _value(d: SqlDialect, units: PerUnit) -> Sql:
    """The value of one unit, from the terms of its rows. It is null if a cell is needed.

    A mean is of the distances to the lower bound, which are not negative.
    """
    low, high = d.whole(units.lattice.low), d.whole(units.lattice.high)
    match units.how:
        case "count":
            return d.as_whole(d.clipped(Sql("count(*)"), low, high))
        case "sum":
            return d.as_whole(d.clipped(Sql("sum(term_0)"), low, high))
        case "mean":
            cells = Sql("nullif(sum(term_1), 0)")
            return d.share(Sql("sum(term_0)"), cells) + low
    return Sql(f"{units.how}(CASE WHEN term_1 > 0 THEN term_0 END)")


def unit_rows(
    compiled: Any, request: Request, units: PerUnit, choice: Choice, columns: ViewColumns
) -> tuple[str, list[str]]:
    """The rows of units as SQL after FROM, and the columns by which a unit's groups are bounded.

    Cells that the database takes for one unit may be written differently; the least of their hashes
    decides which groups count, so that the order of rows does not.

    Args:
        compiled: what `rows_of` the request reads.
        columns: those of the rows.
    """
    per, d = request.per, columns.dialect()
    assert per is not None
    kind, keys = compiled.compiler.kind(per.column), compiled.keys
    [selected], [terms] = compiled.selected, compiled.terms
    there = selected & compiled.compiler.present(per.column)
    if compiled.grouped is not None:
        there = there & compiled.grouped
    cells = [*compiled.cells, *(f"{term.text} AS term_{i}" for i, term in enumerate(terms))]
    cells += [*columns.recorded, f"{d.identity(per.column, kind).text} AS unit"]
    rows = f"(SELECT {', '.join(cells)} FROM {compiled.data} AS d WHERE {there.bare})"
    by = ", ".join(["unit", *(["record"] if columns.recorded else []), *keys])
    found, bounds = [f"{_value(d, units).text} AS {VALUE}"], list[str]()
    if per.groups < prod(each.size for each in request.of_rows):
        hashed = by_hash(d, kind, keys, [integer(64)] * len(keys), choice)
        found.append(f"min({hashed}) AS group_hash")
        bounds = ["unit", "group_hash"]
    grouped = f"FROM {compiled.by_key(rows)} AS s GROUP BY {by}"
    return f"(SELECT {by}, {', '.join(found)} {grouped})", bounds
