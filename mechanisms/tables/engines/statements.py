"""The SQL statement of a request, for DuckDB."""

from collections.abc import Mapping
from typing import Any

import attrs

from mechanisms.tables.column_types import Kind
from mechanisms.tables.engines.asked import as_asked
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.kept import Columns, Kept, capped, kept_by, sized
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql import DuckDBDialect, Sql, identifier
from mechanisms.tables.expressions import Operand
from mechanisms.tables.request import Bins, Categories, Combinations, Request


@attrs.frozen
class Plan:
    """A statement and its parameters, which are public constants.

    Args:
        kept: the rows that it reads as `kept`, if it does.
        view: the name of the view that it reads as `data`.
    """

    statement: str
    parameters: tuple[Any, ...]
    kept: Kept | None = None
    view: str = "data"


def kind_of_operand(operand: Operand, kinds: Mapping[str, Kind], columns: Columns) -> Kind:
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


def statement_of(request: Request, choice: Choice, columns: Columns) -> Plan:
    """The statement that evaluates a request on the rows `data`, or on the rows `kept` of them."""
    dialect = DuckDBDialect()
    asked = as_asked(request, columns.written, columns.kinds)
    request, nodes = lifted(asked, columns.kinds)
    compiler = Compiler(dialect, columns.kinds)
    rows = data = "data" if request.per is None or request.sizes else "kept"
    if nodes:
        added = {name: compiler.operand(node) for name, node in nodes.items()}
        written = (f"{each.cell.text} AS {identifier(name)}" for name, each in added.items())
        data = f"(SELECT *, {', '.join(written)} FROM {rows})"
        kinds = {name: each.kind for name, each in added.items()}
        compiler = Compiler(dialect, {**columns.kinds, **kinds})
    terms = [compiler.term(term) for term in request.terms]
    where = compiler.selected(request.where)
    for part in request.parts:
        where = where & _among(compiler, part)
    for by in request.by:
        if isinstance(by, Combinations):
            where = where & _combined(compiler, by)
    keys = [_key(compiler, part) for part in request.parts]
    named = [f"key_{i}" for i in range(len(keys))]
    selected = ", ".join(
        [f"{key.text} AS key_{i}" for i, key in enumerate(keys)]
        + [f"{term.text} AS term_{i}" for i, term in enumerate(terms)]
    )
    if request.sizes:
        source = sized(compiler, request, choice, where, selected, named, data)
    elif request.per is None:
        source = f"(SELECT {selected} FROM {data} WHERE {where.text})"
    else:
        source = capped(compiler, request, choice, columns, where, selected, data)
    sums = [
        f"coalesce(sum(term_{i}), 0)" if term.column is not None else "count(*)"
        for i, term in enumerate(request.terms)
    ]
    totals = [f"{each} AS total_{i}" for i, each in enumerate(sums)]
    indices = [_index(compiler, by, key) for by, key in zip(request.parts, named, strict=True)]
    if request.sizes:
        named, indices = [*named, "size"], [*indices, "size"]
    statement = f"SELECT {', '.join(named + totals)} FROM {source}"
    if named:
        statement += f" GROUP BY {', '.join(named)}"
        names = [f"total_{i}" for i in range(len(sums))]
        statement = f"SELECT {', '.join(indices + names)} FROM ({statement})"
    kept = kept_by(asked, choice, columns) if rows == "kept" else None
    return Plan(statement, tuple(dialect.parameters), kept)


def _key(compiler: Compiler, by: Categories | Bins) -> Sql:
    """The value that rows are grouped by: the cell itself if possible, as this is fastest.

    Cells that equal one category must have one key, because a unit's rows are bounded per key.
    Intervals, such as a month and thirty days, are grouped by the category's index.
    """
    if _by_index(compiler, by):
        key: Sql = compiler.group(by)
        return key
    found = compiler.operand(by.column)
    cell: Sql = found.cell
    return Sql(f"({cell.text} + 0)") if found.kind.name == "float" else cell  # -0.0 is 0.0


def _by_index(compiler: Compiler, by: Categories | Bins) -> bool:
    return isinstance(by, Bins) or compiler.operand(by.column).kind.name == "duration"


def _among(compiler: Compiler, by: Categories | Bins) -> Sql:
    if isinstance(by, Bins):
        inside: Sql = compiler.among(by)
        return inside
    members = [literal.text for _, literal in compiler.members(by)]
    if not members:
        return Sql("FALSE")
    cell = compiler.operand(by.column).cell
    return Sql(f"({compiler.present(by.column).text} AND {cell.text} IN ({', '.join(members)}))")


def _combined(compiler: Compiler, by: Combinations) -> Sql:
    """Whether the cells are one of the combinations, where each is among its own categories."""
    members = [dict(compiler.members(part)) for part in by.parts]
    rows = [
        f"({', '.join(literals[i].text for literals, i in zip(members, place, strict=True))})"
        for place in by.places
        if all(i in literals for literals, i in zip(members, place, strict=True))
    ]
    cells = ", ".join(compiler.operand(part.column).cell.text for part in by.parts)
    return Sql(f"(({cells}) IN ({', '.join(rows)}))" if rows else "FALSE")


def _index(compiler: Compiler, by: Categories | Bins, key: str) -> str:
    if isinstance(by, Bins) or _by_index(compiler, by):
        return key
    cases = [f"WHEN {literal.text} THEN {index}" for index, literal in compiler.members(by)]
    return f"CASE {key} {' '.join(cases)} END" if cases else "NULL"
