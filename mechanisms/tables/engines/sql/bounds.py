"""In which groups the rows of a unit count, and how many in each, as SQL."""

from collections.abc import Callable, Sequence

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql
from mechanisms.tables.engines.sql.kept import order_in_unit
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import Kind, integer
from mechanisms.tables.requests.request import Request

ByKey = Callable[[str], str]
"""Adds the places of groups to rows, and leaves out rows in no group; as SQL after FROM."""


def is_capped(request: Request) -> bool:
    """Whether a unit's rows are bounded by groups."""
    per = request.per
    if per is None or not request.bounded:
        return False
    return per.groups < per.max_rows or per.rows_per_group < per.max_rows


def bounded(rows: str, ranks: Sequence[tuple[str, int]]) -> str:
    """The rows whose ranks are at most these, as SQL after FROM."""
    named = ", ".join(f"{rank} AS rank_{i}" for i, (rank, _) in enumerate(ranks))
    within = " AND ".join(f"rank_{i} <= {most}" for i, (_, most) in enumerate(ranks))
    return f"(SELECT * FROM (SELECT s.*, {named} FROM {rows} AS s) AS s WHERE {within})"


def by_hash(
    dialect: SqlDialect, unit: Kind, keys: Sequence[str], kinds: Sequence[Kind], choice: Choice
) -> str:
    """A hash of a unit and its keys, by which these are ordered."""
    cells = [("unit", unit), *zip(keys, kinds, strict=True)]
    return dialect.group_hash(cells, choice.seed)


def capped(
    compiler: Compiler,
    request: Request,
    choice: Choice,
    columns: ViewColumns,
    where: Sql,
    selected: Sequence[str],
    by_key: ByKey,
    data: str,
) -> str:
    """The selected ones of the kept rows, with bounds on groups, as SQL after FROM."""
    per, d, ranks = request.per, columns.dialect(), list[tuple[str, int]]()
    assert per is not None
    keys = [f"key_{i}" for i in range(len(request.parts))]
    bound = [keys[i] for i in request.bounded]
    group, cells = ", ".join(bound), [*selected, f"{d.named(columns.unit)} AS unit"]
    if per.groups < per.max_rows:
        kind = compiler.kind(per.column)
        hashed = by_hash(d, kind, bound, [integer(64)] * len(bound), choice)
        rank = f"dense_rank() OVER (PARTITION BY unit ORDER BY {hashed}, {group})"
        ranks.append((rank, per.groups))
    if per.rows_per_group < per.max_rows:
        first = order_in_unit(choice, columns)
        cells += [f"{each} AS keep_{i}" for i, each in enumerate(first)]
        order = [f"keep_{i} ASC NULLS LAST" for i in range(len(first))]
        order += [*keys, *(f"term_{i}" for i in range(len(request.terms)))]
        row = f"row_number() OVER (PARTITION BY unit, {group} ORDER BY {', '.join(order)})"
        ranks.append((row, per.rows_per_group))
    rows = by_key(f"(SELECT {', '.join(cells)} FROM {data} AS d WHERE {where.bare})")
    return bounded(rows, ranks)
