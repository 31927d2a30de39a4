"""The rows of a DuckDB table with a number for each record.

A record is a row, or all rows of a privacy unit. The rows are copied once into a table of the
database. Touches data.
"""

from collections.abc import Sequence

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.duckdb.in_order import InOrder
from mechanisms.tables.engines.duckdb.joins import ViewRows
from mechanisms.tables.engines.duckdb.parts import Part, every, several, stored
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.kept import identity_of
from mechanisms.tables.engines.sql.views import ViewColumns


@attrs.frozen(eq=False)
class Recorded:
    """Rows with numbers of records.

    Args:
        rows: an engine whose statements give the record of each row.
        copied: the same rows, of which some can be taken.
        count: how many records there are.
        parts: what the rows were copied from.
    """

    rows: ViewRows
    copied: InOrder
    count: int
    parts: tuple[Part, ...] = attrs.field(repr=False)


def recorded(
    root: DuckDB, parts: Sequence[Part], unit: str | None, earlier: Recorded | None = None
) -> Recorded:
    """Copy the rows of some parts. Rows without a unit belong to no record and are left out.

    Args:
        earlier: the rows of the first parts. Their records keep their numbers.

    Raises:
        ValueError: the parts do not begin with those of `earlier`.
    """
    known = () if earlier is None else earlier.parts
    if len(known) > len(parts) or any(a is not b for a, b in zip(known, parts, strict=False)):
        raise ValueError("the table does not go on from these records")
    engine = several(root, lambda: parts[len(known) :])
    columns, name = engine.columns, f"part {next(root.numbers)}"
    record = columns.own("record")
    if unit is None:
        numbered = _rows(engine.ready(), identifier(record), earlier)
    else:
        there = Compiler(columns.dialect(), columns.kinds).present(unit).text
        rows = f"{identifier(engine.ready())} WHERE {there}"
        numbered = _units(rows, columns, identity_of(unit, columns.kinds[unit]), earlier)
    number = f"CAST({identifier(record)} AS {_type_of(root, engine.ready(), earlier)})"
    root.fetch(
        f"CREATE TABLE {identifier(name)} AS "
        f"SELECT * REPLACE ({number} AS {identifier(record)}) FROM ({numbered})"
    )
    [(count,)] = root.fetch(
        f"SELECT coalesce(max({identifier(record)}) + 1, 0) FROM {identifier(name)}"
    )
    return Recorded(
        ViewRows(root, name, engine.kinds, attrs.evolve(columns, record=record), engine.formats),
        InOrder(root, stored(root, name, every(root)), identifier(record)),
        count,
        tuple(parts),
    )


def _type_of(root: DuckDB, view: str, earlier: Recorded | None) -> str:
    """The shorter of two types that holds the numbers: it is read faster."""
    [(rows,)] = root.fetch(f"SELECT count(*) FROM {identifier(view)}")
    return "INTEGER" if rows + (earlier.count if earlier else 0) < 2**31 else "BIGINT"


def _rows(view: str, record: str, earlier: Recorded | None) -> str:
    """Rows with numbers in some order, after those of earlier rows."""
    if earlier is None:
        return f"SELECT *, row_number() OVER () - 1 AS {record} FROM {identifier(view)}"
    number = f"{earlier.count} + row_number() OVER () - 1"
    return (
        f"SELECT * FROM {identifier(earlier.rows.view)} UNION ALL "
        f"SELECT *, {number} AS {record} FROM {identifier(view)}"
    )


def _units(rows: str, columns: ViewColumns, identity: str, earlier: Recorded | None) -> str:
    """Rows with the numbers of their units: known ones, and then those of units that are new."""
    record, unit = identifier(columns.own("record")), identifier(columns.own("place"))
    if earlier is None:
        return f"SELECT *, dense_rank() OVER (ORDER BY {identity}) - 1 AS {record} FROM {rows}"
    old = identifier(earlier.rows.view)
    known = f"SELECT {identity} AS {unit}, any_value({record}) AS {record} FROM {old} GROUP BY 1"
    number = f"{earlier.count} + row_number() OVER () - 1"
    return (
        f"WITH known AS MATERIALIZED ({known}), "
        f"fresh AS (SELECT *, {identity} AS {unit} FROM {rows}), "
        f"further AS (SELECT {unit}, {number} AS {record} "
        f"FROM (SELECT DISTINCT {unit} FROM fresh) ANTI JOIN known USING ({unit})), "
        "units AS (SELECT * FROM known UNION ALL SELECT * FROM further) "
        f"SELECT * FROM {old} UNION ALL "
        f"SELECT fresh.* EXCLUDE ({unit}), units.{record} FROM fresh JOIN units USING ({unit})"
    )
