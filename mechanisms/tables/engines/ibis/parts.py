"""The parts of an Ibis table that grows: rows of one database, added up together."""

from collections.abc import Hashable, Sequence
from typing import Any

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.duckdb.parts import require_same
from mechanisms.tables.engines.ibis.engine import Ibis
from mechanisms.tables.engines.ibis.rowwise import require_row_wise
from mechanisms.tables.engines.ibis.statements import SourceRows, source_of
from mechanisms.tables.expressions.predicates import IsIn


def parts_of(root: Ibis, records: Any) -> list[SourceRows]:
    """The part of a batch: a table of the same connection, or a filter of one.

    Raises:
        TypeError, ValueError: it is something else, or has other columns or types.
    """
    import ibis

    if not isinstance(records, ibis.Table) or records.get_backend() is not root.backend:
        raise TypeError("give an Ibis table of the same connection, such as con.table('march')")
    require_row_wise(records, casts_fail=root.database.casts_fail)
    require_same(root, root.kinds_of(records))
    rows = root.database.readable(root.backend, records.select(*root.kinds))
    return [source_of(root.backend, rows)]


def several(root: Ibis, parts: Sequence[SourceRows]) -> Ibis:
    """An engine over parts."""
    rows = parts or [
        SourceRows(f"SELECT * FROM ({root.rows.sql}) AS d WHERE FALSE", root.rows.holds)
    ]
    whole = " UNION ALL ".join(each.sql for each in rows)
    return root.over(SourceRows(whole, tuple(it for each in rows for it in each.holds)), root.kinds)


def among(root: Ibis, name: str, values: Sequence[Hashable]) -> SourceRows:
    """The rows of a database with one of these values in a column.

    Raises:
        TypeError, ValueError: the values do not fit the column.
    """
    compiler = Compiler(root.columns.dialect(), root.kinds)
    where = compiler.selected(IsIn(name, tuple(values))).bare
    return SourceRows(f"SELECT * FROM ({root.rows.sql}) AS d WHERE {where}", root.rows.holds)
