"""The keys that occur in a view, with a count for each, in the order of the keys.

The database groups and sorts; DuckDB writes to disk what does not fit into memory. Only batches of
what it finds are in memory at a time.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.asked import as_asked
from mechanisms.tables.engines.sql.bounds import bounded, by_hash
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql, identifier
from mechanisms.tables.engines.sql.on_duckdb import is_wide
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.requests.discovery import (
    BATCH,
    Discovery,
    FoundKeys,
    Key,
    require_discoverable,
)
from queryable.data.cells import Array


@attrs.frozen
class FindPlan:
    """A statement and its parameters. These are public.

    Args:
        kinds: of the keys.
        view: the name of the view that it reads as `data`.
    """

    statement: str
    parameters: tuple[Any, ...]
    kinds: tuple[Kind, ...]
    view: str = "data"


def find_statement(asked: Discovery, choice: Choice, columns: ViewColumns) -> FindPlan:
    """The statement that finds the keys.

    Raises:
        KeyError, TypeError: the columns do not fit.
    """
    request = as_asked(asked.request, columns.written, columns.kinds)
    d = columns.dialect()
    compiler = Compiler(d, columns.kinds)
    operands = [compiler.operand(part.column) for part in request.parts]
    for part, operand in zip(asked.columns, operands, strict=True):
        require_discoverable(operand.kind, operand_name(part))
    kinds = tuple(operand.kind for operand in operands)
    selected = [f"{each.cell.bare} AS cell_{i}" for i, each in enumerate(operands)]
    where = compiler.selected(request.where)
    for each in request.parts:
        where = where & compiler.present(each.column)
    if asked.per is not None:
        unit = asked.per.column
        selected.append(f"{d.identity(unit, compiler.kind(unit)).text} AS unit")
        where = where & compiler.present(unit)
    cells = [Sql(f"cell_{i}", column=kind) for i, kind in enumerate(kinds)]
    named = [
        f"{cell.text}, {d.key(cell, kind).bare} AS key_{i}"
        for i, (cell, kind) in enumerate(zip(cells, kinds, strict=True))
    ]
    named += ["unit"] if asked.per is not None else []
    there = " AND ".join(d.is_key(*each).text for each in zip(cells, kinds, strict=True))
    rows = f"(SELECT {', '.join(selected)} FROM {columns.data} AS d WHERE {where.bare})"
    rows = f"(SELECT {', '.join(named)} FROM {rows} AS s WHERE {there})"
    if asked.per is not None:
        rows = _of_units(rows, asked, choice, d, compiler.kind(unit), kinds)
    keys = [f"key_{i}" for i in range(len(kinds))]
    by = ", ".join(keys)
    shown = ", ".join(d.given(*each) for each in zip(keys, kinds, strict=True))
    order = ", ".join(f"{key} ASC" for key in keys)
    counted = f"(SELECT {by}, count(*) AS found FROM {rows} AS s GROUP BY {by})"
    statement = f"SELECT {shown}, found FROM {counted} AS s ORDER BY {order}"
    return FindPlan(statement, tuple(d.parameters), kinds)


def _of_units(
    rows: str,
    asked: Discovery,
    choice: Choice,
    d: SqlDialect,
    unit: Kind,
    kinds: tuple[Kind, ...],
) -> str:
    """Each unit once in each of its keys, at most so many of them, by a hash; as SQL after FROM.

    Which keys these are depends on the unit's own keys and on public values. Cells that the
    database takes for one unit may be written differently; the least of their hashes decides.
    """
    by = ", ".join(f"key_{i}" for i in range(len(kinds)))
    hashed = by_hash(d, unit, [f"cell_{i}" for i in range(len(kinds))], kinds, choice)
    once = f"(SELECT unit, {by}, min({hashed}) AS key_hash FROM {rows} AS s GROUP BY unit, {by})"
    rank = f"row_number() OVER (PARTITION BY unit ORDER BY key_hash, {by})"
    return bounded(once, [(rank, asked.max_keys)])


def found_by(connection: Any, plan: FindPlan) -> Iterator[FoundKeys]:
    """Run the statement, and give what it finds in batches."""
    head = ""
    if plan.view != "data":
        head = f"WITH data AS NOT MATERIALIZED (SELECT * FROM {identifier(plan.view)}) "
    result = connection.sql(f"{head}{plan.statement}", params=list(plan.parameters))
    wide = [is_wide(kind) for kind in plan.kinds]
    read = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
    with read(BATCH) as reader:
        for batch in reader:
            yield _found(batch, wide)


def _found(batch: Any, wide: list[bool]) -> FoundKeys:
    *columns, counts = batch.columns

    def keys(places: Array) -> list[Key]:
        taken = [column.take(places_of(places)).to_pylist() for column in columns]
        values = [
            list(map(int, each)) if is_wide else each
            for each, is_wide in zip(taken, wide, strict=True)
        ]
        return list(zip(*values, strict=True))

    return FoundKeys(counts.to_numpy(zero_copy_only=False).astype(np.int64), keys)


def places_of(places: Array) -> Any:
    """Places as an Arrow array."""
    import pyarrow as pa

    return pa.array(places, pa.int64())


def _day(text: str) -> date | None:
    """The date that is written like this; None of another spelling, which would be a second key."""
    day = date.fromisoformat(text)
    return day if day.isoformat() == text else None


def _value(kind: Kind, raw: Any) -> Any:
    """A value of Python's own types; None if there is none."""
    try:
        match kind.name:
            case "text":
                return bytes(raw).decode()
            case "bytes":
                return bytes(memoryview(raw))
            case "boolean":
                return bool(raw) if raw in (False, True) else None
            case "date":
                return raw if type(raw) is date else _day(bytes(raw).decode())
        return int(raw) if raw == int(raw) else None
    except (TypeError, ValueError, OverflowError):
        return None


def key_of_row(kinds: Sequence[Kind], raw: Sequence[Any]) -> Key | None:
    """A key from the values that a database returns; None of what is no value of Python's."""
    values = [_value(kind, each) for kind, each in zip(kinds, raw, strict=True)]
    return None if None in values else tuple(values)
