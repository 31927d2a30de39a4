"""FROM and JOIN as they are written: tables with their aliases, and the conditions of each."""

from typing import Any

import attrs

from mechanisms.tables.in_sql.parsing import conjuncts
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.values import only

MOST_TABLES = 50
_ANSWERED = "there are JOIN and LEFT JOIN, ON the columns by which the owner joined"


@attrs.frozen(eq=False)
class WrittenTable:
    """A table in FROM.

    Attributes:
        name, alias: the table's name, and the name before a point.
        left: whether it is the right side of a LEFT JOIN.
        on: the conditions of ON that all have to hold.
        using: the columns of USING.
    """

    name: str
    alias: str
    left: bool = False
    on: tuple[Any, ...] = ()
    using: tuple[str, ...] = ()


def written_tables(select: Any) -> list[WrittenTable]:
    """The tables of a FROM, in their order.

    Raises:
        SqlError: they are joined in another way than is answered.
    """
    found = [_table(select.args["from_"].this), *map(_joined, select.args.get("joins") or ())]
    if len(found) > MOST_TABLES:
        raise refusal(f"FROM names {len(found)} tables", f"{MOST_TABLES} at most are answered")
    aliases = [each.alias.lower() for each in found]
    for place, alias in enumerate(aliases):
        if alias in aliases[:place]:
            raise refusal(f"two tables are called {alias}", "give each an alias of its own")
    return found


def _joined(join: Any) -> WrittenTable:
    side, kind, method = (str(join.args.get(each) or "") for each in ("side", "kind", "method"))
    allowed = {"": ("", "INNER", "CROSS"), "LEFT": ("", "OUTER")}
    if method or kind not in allowed.get(side, ()):
        raise refusal(
            f"{' '.join(filter(None, (method, side, kind)))} JOIN is not answered", _ANSWERED
        )
    only(join, "this", "on", "using", "side", "kind")
    on, using = join.args.get("on"), join.args.get("using") or ()
    if side and on is None and not using:
        raise refusal(f"LEFT JOIN {shown(join.this)} has no ON", _ANSWERED)
    for each in using:
        if type(each).__name__ not in ("Identifier", "Column"):
            raise refusal(f"USING ({shown(each)}) is not answered", "name columns")
    return attrs.evolve(
        _table(join.this),
        left=bool(side),
        on=() if on is None else tuple(conjuncts(on)),
        using=tuple(each.name for each in using),
    )


def _table(of: Any) -> WrittenTable:
    if type(of).__name__ == "Subquery":
        raise refusal(
            "a sub-query is not joined", "write the JOIN in it: FROM (SELECT .. FROM a JOIN b ..)"
        )
    if type(of).__name__ != "Table" or type(of.this).__name__ != "Identifier":
        raise refusal(f"FROM {shown(of)} is not answered", "name the table")
    only(of, "this", "alias")
    require_no_columns(of)
    return WrittenTable(of.name, of.alias or of.name)


def require_no_columns(of: Any) -> None:
    """Check that an alias names a table and not its columns, in another order.

    Raises:
        SqlError: it does.
    """
    alias = of.args.get("alias")
    if alias is not None and getattr(alias, "columns", None):
        raise refusal(f"{shown(of)} names columns", "name each with AS")
