"""HAVING: conditions on what was answered, which cost nothing."""

from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from mechanisms.sql.expressions import only
from mechanisms.sql.refusals import refuse, shown

Row: TypeAlias = Callable[[Any], Any]
"""Gives the value of an output in one row."""
Condition: TypeAlias = Callable[[Row], bool | None]
"""Whether a row is shown; None is unknown."""

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQ": eq,
    "NEQ": ne,
    "LT": lt,
    "LTE": le,
    "GT": gt,
    "GTE": ge,
}


def condition_of(node: Any, output: Callable[[Any], Any]) -> Condition:
    """A condition of HAVING.

    Args:
        output: reads a number or a key.

    Raises:
        SqlError: it is not answered.
    """
    kind = type(node).__name__
    if kind == "Paren":
        return condition_of(node.this, output)
    if kind == "Not":
        inner = condition_of(node.this, output)
        return lambda row: None if (found := inner(row)) is None else not found
    if kind in ("And", "Or"):
        parts = [condition_of(each, output) for each in node.flatten()]
        decides = kind == "Or"
        return lambda row: _joined([each(row) for each in parts], decides)
    if kind == "Between":
        only(node, "this", "low", "high")
        value, low, high = (_term(node.args[name], output) for name in ("this", "low", "high"))
        ends = ((ge, low), (le, high))
        return lambda row: _joined([_compare(op, value(row), end(row)) for op, end in ends], False)
    if kind in _COMPARED:
        only(node, "this", "expression")
        compare = _COMPARED[kind]
        left, right = _term(node.this, output), _term(node.expression, output)
        return lambda row: _compare(compare, left(row), right(row))
    refuse(f"HAVING {shown(node)} is not answered", "compare answers with numbers")


def _term(node: Any, output: Callable[[Any], Any]) -> Callable[[Row], Any]:
    if type(node).__name__ == "Literal" and node.is_string:
        text = str(node.this)
        return lambda row: text
    found = output(node)
    return lambda row: row(found)


def _joined(found: list[bool | None], decides: bool) -> bool | None:
    if decides in found:
        return decides
    return None if None in found else not decides


def _compare(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    try:
        return bool(compare(one, other))
    except TypeError:  # a key of another type
        return None
