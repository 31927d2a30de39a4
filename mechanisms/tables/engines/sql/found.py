"""The keys that occur in a view of DuckDB, with a count for each, in the order of the keys.

DuckDB groups and sorts, and writes to disk what does not fit into memory. Only batches of what it
finds are in memory at a time.
"""

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.asked import as_asked
from mechanisms.tables.engines.sql.dialect import DuckDBDialect, identifier
from mechanisms.tables.engines.sql.kept import ViewColumns, identity_of
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.requests.discovery import (
    BATCH,
    MOST_BYTES,
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
    """The statement that finds the keys, of the rows `data`.

    Raises:
        KeyError, TypeError: the columns do not fit.
    """
    request = as_asked(asked.request, columns.written, columns.kinds)
    dialect = DuckDBDialect()
    compiler = Compiler(dialect, columns.kinds)
    operands = [compiler.operand(part.column) for part in request.parts]
    for part, operand in zip(asked.columns, operands, strict=True):
        require_discoverable(operand.kind, operand_name(part))
    kinds = tuple(operand.kind for operand in operands)
    keys = [f"key_{i}" for i in range(len(kinds))]
    cells = [f"{each.cell.text} AS {key}" for each, key in zip(operands, keys, strict=True)]
    conditions = [compiler.selected(request.where).text]
    if asked.per is not None:
        unit = asked.per.column
        cells.append(f"{identity_of(unit, compiler.kind(unit))} AS unit")
        conditions.append(compiler.present(unit).text)
    there = " AND ".join(map(_there, keys, kinds))
    rows = f"(SELECT {', '.join(cells)} FROM data WHERE {' AND '.join(conditions)})"
    rows = f"(SELECT * FROM {rows} WHERE {there})"
    by = ", ".join(keys)
    if asked.per is not None:
        rows = _of_units(rows, by, asked.max_keys, choice)
    counted = f"SELECT {by}, count(*) AS found FROM {rows} GROUP BY {by}"
    shown = ", ".join(map(_given, keys, kinds))
    order = ", ".join(f"{key} ASC" for key in keys)
    return FindPlan(
        f"SELECT {shown}, found FROM ({counted}) ORDER BY {order}",
        tuple(dialect.parameters),
        kinds,
    )


def _of_units(rows: str, by: str, most: int, choice: Choice) -> str:
    """Each unit once in each of its keys, at most so many of them, by a hash; as SQL after FROM.

    Which keys these are depends on the unit's own keys and on public values.
    """
    once = f"(SELECT DISTINCT unit, {by} FROM {rows})"
    hashed = f"hash(xor(hash(unit, {by}), {choice.seed}::UBIGINT))"
    number = f"row_number() OVER (PARTITION BY unit ORDER BY {hashed}, {by})"
    return f"(SELECT {by} FROM {once} QUALIFY {number} <= {most})"


def _there(key: str, kind: Kind) -> str:
    """Whether there is a key that Python can represent, and that is not too long."""
    if kind.name == "bytes":
        return f"octet_length({key}) <= {MOST_BYTES}"
    if kind.name == "text" and kind.declared in ("VARCHAR", ""):
        return f"strlen({key}) <= {MOST_BYTES}"
    if kind.name == "date":
        return f"{key} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return f"{key} IS NOT NULL"


def _is_wide(kind: Kind) -> bool:
    return kind.name == "decimal" or (
        kind.name == "integer" and not -(2**63) <= kind.low <= kind.high < 2**63
    )


def _given(key: str, kind: Kind) -> str:
    """A key as it is fetched: Arrow has no integers of 128 bits."""
    return f"CAST({key} AS VARCHAR)" if _is_wide(kind) else key


def found_by(connection: Any, plan: FindPlan) -> Iterator[FoundKeys]:
    """Run the statement, and give what it finds in batches."""
    head = ""
    if plan.view != "data":
        head = f"WITH data AS NOT MATERIALIZED (SELECT * FROM {identifier(plan.view)}) "
    result = connection.sql(f"{head}{plan.statement}", params=list(plan.parameters))
    wide = [_is_wide(kind) for kind in plan.kinds]
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
