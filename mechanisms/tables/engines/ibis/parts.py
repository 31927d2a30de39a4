"""The parts of an Ibis table that grows: table expressions of one database, added up together."""

from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any

from mechanisms.tables.engines.duckdb.parts import require_same
from mechanisms.tables.engines.ibis.engine import Ibis
from mechanisms.tables.engines.ibis.rowwise import require_row_wise
from mechanisms.tables.expressions.predicates import IsIn


def parts_of(root: Ibis, records: Any) -> list[Any]:
    """The part of a batch: a table of the same connection, or a filter of one.

    Raises:
        TypeError, ValueError: it is something else, or has other columns or types.
    """
    import ibis

    if not isinstance(records, ibis.Table) or records.get_backend() is not root.backend:
        raise TypeError("give an Ibis table of the same connection, such as con.table('march')")
    require_row_wise(records, casts_fail=root.database.casts_fail)
    require_same(root, root.kinds_of(records))
    return [root.database.readable(root.backend, records.select(*root.kinds))]


def several(root: Ibis, parts: Sequence[Any]) -> Ibis:
    """An engine over parts."""
    import ibis

    one = copy(root)
    if len(parts) > 1:
        one.ask(ibis.union(*parts, distinct=False), root.kinds)
    else:
        one.ask(parts[0] if parts else root.source.filter(ibis.literal(False)), root.kinds)
    return one


def among(root: Ibis, name: str, values: Sequence[Hashable]) -> Any:
    """The rows of a database with one of these values in a column.

    Raises:
        TypeError, ValueError: the values do not fit the column.
    """
    compiler = root.rows.compiler(root.source)
    return root.source.filter(compiler.selected(IsIn(name, tuple(values))))
