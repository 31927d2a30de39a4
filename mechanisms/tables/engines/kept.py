"""The rows of each privacy unit that count, as SQL of DuckDB.

The rows of a unit are chosen by windows over truth values, keys and terms, so that no long text is
held while rows are sorted.
"""

from collections.abc import Mapping
from math import prod

import attrs

from mechanisms.tables.column_types import Kind, integer
from mechanisms.tables.engines.asked import Readings
from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql import Sql, identifier
from mechanisms.tables.request import Request


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


def chosen(
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


def sized(
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
