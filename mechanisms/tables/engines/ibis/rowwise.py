"""The Ibis expressions that are accepted as a source: those with one row per row of one table.

Every other expression is rejected when a table is opened. Behind a limit, a join or a window one
unit's rows decide about another's, and no bound on contributions holds. Accepted operations are
listed; an operation that is not on the list is rejected.
"""

from typing import Any

_RELATIONS = {
    "DatabaseTable",
    "DropColumns",
    "DropNull",
    "FillNull",
    "Filter",
    "InMemoryTable",
    "Project",
}
"""Relations that keep, leave out or compute each row of their parent independently."""

_MODULES = {"logical", "numeric", "strings", "structs", "temporal"}
"""Ibis's modules of scalar operations: functions of one row's values."""

_VALUES = {
    "Alias",
    "ArrayContains",
    "ArrayIndex",
    "ArrayLength",
    "Bucket",
    "Cast",
    "Coalesce",
    "E",
    "Field",
    "Greatest",
    "HexDigest",
    "IsNull",
    "Least",
    "Literal",
    "NotNull",
    "NullIf",
    "Pi",
    "SearchedCase",
    "SimpleCase",
    "TryCast",
}
"""Accepted scalar operations of its other modules."""

_OBJECTIONS = (
    ("Limit", "a limit", "leave it out; a statistic's where= chooses rows"),
    ("Sample", "a sample", "leave it out; a statistic's where= chooses rows"),
    ("Sort", "an order", "leave it out; the order of rows makes no difference"),
    ("Distinct", "distinct rows", "count units with max_rows=1 and a privacy_unit instead"),
    ("JoinChain", "a join", "give one table, and use Table.join"),
    ("Set", "a union, an intersection or a difference", "write its rows to a table, and give that"),
    ("Aggregate", "an aggregate", "give the rows, and ask for Count, Sum or GroupBy of them"),
    ("Reduction", "an aggregate", "give the rows, and ask for Count, Sum or GroupBy of them"),
    ("WindowFunction", "a window", "leave it out; privacy_unit, max_rows and keep bound rows"),
    ("Analytic", "a window", "leave it out; privacy_unit, max_rows and keep bound rows"),
    ("Subquery", "a subquery", "compare the row's own columns with constants"),
    ("Unnest", "an unnested array", "write the unnested rows to a table, and give that"),
    ("TableUnnest", "an unnested array", "write the unnested rows to a table, and give that"),
    ("SQLQueryResult", "SQL", "give the table itself, or a view that takes rows one by one"),
    ("SQLStringView", "SQL", "give the table itself, or a view that takes rows one by one"),
    ("ScalarUDF", "a function of your own", "compute the column in the database beforehand"),
    ("Impure", "a random number or the time", "give a constant, or compute the column beforehand"),
)
"""Operations by class, their names in messages, and what to write instead."""


def require_row_wise(source: Any, *, casts_fail: bool) -> None:
    """Check that every row of an expression is computed from one row of one table.

    The expression is public.

    Args:
        casts_fail: whether a text that does not parse makes its cast fail on this database.

    Raises:
        ValueError: it is not, or it casts text in a way that one cell can make fail.
    """
    tables, waiting, seen = 0, [source.op()], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting.extend(node.__children__)
        _require_accepted(node)
        if casts_fail:
            _require_total(node)
        tables += type(node).__name__ in ("DatabaseTable", "InMemoryTable")
    if tables != 1:
        raise ValueError(f"give a source that reads one table, row by row; it reads {tables}")


def _require_accepted(node: Any) -> None:
    import ibis.expr.operations as ops

    if isinstance(node, ops.Relation):
        accepted = type(node).__name__ in _RELATIONS
    else:
        unfit = (ops.Reduction, ops.Analytic, ops.WindowFunction, ops.Subquery, ops.Impure)
        package, _, module = type(node).__module__.rpartition(".")
        listed = type(node).__name__ in _VALUES or module in _MODULES
        accepted = listed and package == ops.__name__ and not isinstance(node, unfit)
    if accepted:
        return
    known = ((what, do) for name, what, do in _OBJECTIONS if isinstance(node, getattr(ops, name)))
    fallback = type(node).__name__, "give a table, with filters and computed columns"
    what, instead = next(known, fallback)
    raise ValueError(
        f"source has {what}; {instead}. With it, no bound on what one unit contributes is known to "
        "hold"
    )


def _require_total(node: Any) -> None:
    """Reject casts of text: a cell that does not parse makes them fail."""
    import ibis.expr.operations as ops

    if isinstance(node, ops.Cast) and node.arg.dtype.is_string():
        if node.to.is_string() or node.to.is_binary():
            return
    elif not isinstance(node, ops.StringToTimestamp | ops.StringToDate | ops.StringToTime):
        return
    raise ValueError(
        f"write .try_cast({str(node.dtype)!r}), by which a cell that does not parse becomes "
        f"missing: source reads text as {node.dtype}, which one cell can make fail"
    )
