"""What a statistic asks, in words, for trees, ledgers and explanations. Public facts only."""

from collections.abc import Collection, Iterator
from typing import Any

from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.expressions.predicates import And, IsNull, Not, describe
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.answers.notes import of_some_rows
from queryable.checks.protection import Protected

_SHOWN = 12
"""How many columns a `repr` names."""


def in_full(name: str, request: Request) -> str:
    """The name of a statistic with its rows: `Count where age >= 65, at most 4 rows per id`."""
    units = request.units
    rows = request.where if units is None else units.where
    where = "" if rows is None else f" where {describe(rows)}"
    if units is not None and (among := _telling(request.where)) is not None:
        where += f", units with {describe(among)}"
    return "".join((name, where, *(f", {bound}" for bound in bounds(request))))


def _telling(where: Any) -> Any:
    """The conditions on units, without those that all values satisfy."""
    match where:
        case Not(IsNull(PerUnit(may_be_missing=False))):
            return None
        case And(left, right):
            one, other = _telling(left), _telling(right)
            if one is None or other is None:
                return other if one is None else one
            return And(one, other)
        case _:
            return where


def bounds(request: Request) -> Iterator[str]:
    """What is counted of one privacy unit at most; nothing where each row is a unit."""
    per, units = request.per, request.units is not None
    if per is None:
        return
    if not units:
        rows = number(per.max_rows, "joined row" if per.joined else "row")
        yield f"at most {rows} per {per.column}"
    if request.bounded and (units or per.max_groups is not None) and per.groups < per.max_rows:
        yield f"in at most {number(per.groups, 'group')}"
    if request.bounded and not units and per.rows_per_group < per.max_rows:
        yield f"at most {number(per.rows_per_group, 'row')} in each group"


def notes_on_rows(request: Request) -> Iterator[str]:
    """That a mean or a quantile is not of all rows, where a unit may have more than are counted."""
    if request.per is not None and request.units is None:
        yield of_some_rows(request.per.max_rows, request.per.column)


def protected_unit(per: PrivacyUnit) -> Protected:
    """Who is protected by a table with a privacy unit."""
    if per.joined:
        rows = number(per.max_rows, "joined row")
        return Protected(per.column, f"at most {rows} of each; each on its own", None)
    groups = f" in at most {number(per.max_groups, 'group')}" if per.max_groups else ""
    extent = f"at most {per.max_rows:,} of their rows are counted{groups}"
    return Protected(per.column, extent, per.column)


def table_in_short(kind: str, columns: Collection[str], per: PrivacyUnit | None) -> str:
    """A table's `repr`: its first columns, and its privacy unit."""
    shown = ", ".join([*columns][:_SHOWN])
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    unit = "each row is protected" if per is None else ", ".join(bounds(Request((), per=per)))
    return f"<{kind} of {shown}{more}; {unit}>"


def number(count: int, noun: str) -> str:
    """A count with its noun: `1 row`, `4 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
