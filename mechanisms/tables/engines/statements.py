"""The SQL statement of a request, for DuckDB.

The rows of a unit are chosen by windows over truth values, keys and terms, so that no long text is
held while rows are sorted.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import attrs

from mechanisms.tables.column_types import Kind, integer
from mechanisms.tables.engines.asked import Readings, as_asked
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql import DuckDBDialect, Sql, identifier
from mechanisms.tables.expressions import Operand
from mechanisms.tables.request import Bins, Categories, Combinations, Request


@attrs.frozen
class Columns:
    """The columns of the view `data`.

    Args:
        source: the names of the source's own columns; a row's hash covers all of them.
        kinds: the kind of every column of the view, with the readings of undeclared columns.
        written: the readings of each undeclared column.
    """

    source: tuple[str, ...]
    kinds: Mapping[str, Kind]
    written: Mapping[str, Readings]


@attrs.frozen
class Plan:
    """A statement and its parameters, which are public constants."""

    statement: str
    parameters: tuple[Any, ...]


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
    """The statement that evaluates a request on the view `data`."""
    dialect = DuckDBDialect()
    request, nodes = lifted(as_asked(request, columns.written, columns.kinds), columns.kinds)
    compiler = Compiler(dialect, columns.kinds)
    data = "data"
    if nodes:
        added = {name: compiler.operand(node) for name, node in nodes.items()}
        written = (f"{each.cell.text} AS {identifier(name)}" for name, each in added.items())
        data = f"(SELECT *, {', '.join(written)} FROM data)"
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
        [f"CASE WHEN {where.text} THEN {key.text} END AS key_{i}" for i, key in enumerate(keys)]
        + [f"{term.text} AS term_{i}" for i, term in enumerate(terms)]
    )
    if request.sizes:
        source = _sized(compiler, request, choice, where, selected, named, data)
    elif request.per is None:
        source = f"(SELECT {selected} FROM {data} WHERE {where.text})"
    else:
        inner = f"SELECT {where.text} AS selected, {selected}, "
        source = _chosen(compiler, request, choice, inner, columns, data)
    sums = [
        f"coalesce(sum(term_{i}), 0)" if asked.column is not None else "count(*)"
        for i, asked in enumerate(request.terms)
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
    return Plan(statement, tuple(dialect.parameters))


def _chosen(
    compiler: Compiler, request: Request, choice: Choice, inner: str, columns: Columns, data: str
) -> str:
    """The selected rows among the counted rows of each unit, as SQL after FROM."""
    per = request.per
    assert per is not None
    every = ", ".join(map(identifier, columns.source))
    keys = [f"key_{i}" for i in range(len(request.parts))]
    order = ["row_hash", "selected", *keys, *(f"term_{i}" for i in range(len(request.terms)))]
    if choice.column is not None:
        first = order_of(choice.column, compiler.kind(choice.column), columns.written)
        inner += "".join(f"{each} AS keep_{i}, " for i, each in enumerate(first))
        order = [f"keep_{i} ASC NULLS LAST" for i in range(len(first))] + order
    unit = identity_of(per.column, compiler.kind(per.column))
    rows = (
        f"{inner}{unit} AS unit, hash(xor(hash({every}), {choice.seed}::UBIGINT)) AS row_hash "
        f"FROM {data} WHERE {compiler.present(per.column).text}"
    )
    by_row, group = ", ".join(order), ", ".join(keys[i] for i in request.bounded)
    source = (
        f"(SELECT * FROM (SELECT * FROM ({rows}) "
        f"QUALIFY row_number() OVER (PARTITION BY unit ORDER BY {by_row}) <= {per.max_rows}) "
        "WHERE selected)"
    )
    caps = []
    if group and per.groups < per.max_rows:
        caps.append(f"dense_rank() OVER ({_by_group(group, choice)}) <= {per.groups}")
    if group and per.rows_per_group < per.max_rows:
        row = f"row_number() OVER (PARTITION BY unit, {group} ORDER BY {by_row})"
        caps.append(f"{row} <= {per.rows_per_group}")
    return f"(SELECT * FROM {source} QUALIFY {' AND '.join(caps)})" if caps else source


def _by_group(group: str, choice: Choice) -> str:
    """The window that ranks the groups of each unit, by a hash."""
    hashed = f"hash(xor(hash(unit, {group}), {choice.seed}::UBIGINT))"
    return f"PARTITION BY unit ORDER BY {hashed}, {group}"


def _sized(
    compiler: Compiler,
    request: Request,
    choice: Choice,
    where: Sql,
    selected: str,
    keys: list[str],
    data: str,
) -> str:
    """The counted units in each group and their sizes, as SQL after FROM."""
    per = request.per
    assert per is not None
    unit = identity_of(per.column, compiler.kind(per.column))
    rows = f"SELECT {selected}, {unit} AS unit FROM {data} WHERE {where.text}"
    named = ", ".join(["unit", *keys])
    there = compiler.present(per.column).text
    units = f"SELECT {named}, count(*) AS row_count FROM ({rows} AND {there}) GROUP BY {named}"
    if keys and per.groups < prod(by.size for by in request.by):
        rank = f"row_number() OVER ({_by_group(', '.join(keys), choice)})"
        units = f"SELECT * FROM ({units}) QUALIFY {rank} <= {per.groups}"
    size = compiler.reached(Sql("row_count"), integer(64), request.size_steps)
    return f"(SELECT *, {size.text} AS size FROM ({units}))"


def identity_of(column: str, kind: Kind) -> str:
    """The value that identifies a row's unit: the cell, or the digest of a long one.

    A digest has 64 characters, and only cells of fewer than 64 are used directly.
    """
    name, digest = identifier(column), f"sha256({identifier(column)})"
    if kind.name == "bytes":
        return f"CASE WHEN octet_length({name}) < 64 THEN {name} ELSE CAST({digest} AS BLOB) END"
    if kind.name == "text" and kind.declared == "VARCHAR":
        return f"CASE WHEN strlen({name}) < 64 THEN {name} ELSE {digest} END"
    return name


def order_of(column: str, kind: Kind, written: Mapping[str, Readings]) -> list[str]:
    """The order of a unit's rows: by number first, then by the beginning of the text."""
    name = identifier(column)
    if column in written:
        return [identifier(written[column]["number"]), f"left({name}, 100)"]
    return [f"left({name}, 100)" if kind.declared == "VARCHAR" else name]


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
