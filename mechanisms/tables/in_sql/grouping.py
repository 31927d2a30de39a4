"""GROUP BY as public keys, or keys that are found in the data.

Keys come from the owner, from a WHERE that names them, or from the expression itself: the values of
a CASE, a truth value, the months of a date. Other texts, numbers and dates are found, for a delta.
"""

from datetime import datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any

import attrs

from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import DatePart, Operand, Truncated, When
from mechanisms.tables.expressions.operands import Literal as Constant
from mechanisms.tables.in_sql.conditions import RowReader
from mechanisms.tables.in_sql.functions import PARTS
from mechanisms.tables.in_sql.parsing import conjuncts
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.sources import Valued, plain
from mechanisms.tables.requests.keys import Keys, intervals
from mechanisms.tables.requests.request import Groups

MOST_KEYS = 10_000
"""How many keys bounds may stand for; more are written or found."""
_FOUND = ("text", "integer", "date", "boolean", "written", "any")


@attrs.frozen(eq=False)
class Key:
    """One expression of a GROUP BY.

    Attributes:
        operand: what the keys are values of.
        groups: the public keys; None if they have to be found.
        labels: how the keys are shown, if not as themselves.
        text: the expression as it is written, if its keys have to be found.
    """

    operand: Operand
    groups: Groups | None
    labels: tuple[Any, ...] | None = None
    text: str = ""


def key_of(node: Any, reader: RowReader, where: Any) -> Key:
    """An expression of GROUP BY.

    Args:
        where: the condition of WHERE, whose constants are public keys; None if there is none.

    Raises:
        SqlError: it is not answered.
    """
    binned = _binned(node, reader)
    if binned is not None:
        return binned
    value = reader.value(node)
    if value.column is None:
        raise refusal(f"GROUP BY {shown(node)} is by a constant", "name a column")
    operand = value.column.operand
    known = _known(node, value, operand, reader, where)
    if known is not None:
        try:
            return Key(operand, Keys(value.column, known))
        except (TypeError, ValueError) as error:
            raise refusal(f"GROUP BY {shown(node)} is not answered", str(error)) from None
    kind = reader.kind(value)
    assert kind is not None
    if kind.name not in _FOUND:
        raise refusal(
            f"GROUP BY {shown(node)} is by numbers or times that hardly any two rows share",
            f"group intervals: FLOOR({shown(node)} / 10) * 10, or DATE_TRUNC('month', ..)",
        )
    return Key(operand, None, text=shown(node))


def _known(
    node: Any, value: Valued, operand: Operand, reader: RowReader, where: Any
) -> list[Any] | None:
    """The public keys of an expression, if there are some."""
    named = _named_in(where, node, reader) if where is not None else None
    if named is not None:
        return named
    if value.declared.keys:
        return list(value.declared.keys)
    if isinstance(operand, When) and (cases := _of_cases(operand)) is not None:
        return cases
    kind = reader.kind(value)
    assert kind is not None
    if kind.name == "boolean":
        return [False, True]
    if isinstance(operand, Truncated):
        return _of_dates(operand, reader)
    if isinstance(operand, DatePart):
        ends = PARTS.get(operand.part.upper())
        if ends is not None:
            return list(range(ends[0], ends[1] + 1))
    if kind.name == "integer" and value.bounds is not None:
        low, high = value.bounds
        if high - low < MOST_KEYS:
            return list(range(ceil(low), floor(high) + 1))
    return None


def _of_cases(operand: When) -> list[Any] | None:
    values = [each for each in operand.values if each is not None]
    if not all(isinstance(each, Constant) for each in values):
        return None
    return list(dict.fromkeys(each.value for each in values if isinstance(each, Constant)))


def _of_dates(operand: Truncated, reader: RowReader) -> list[Any] | None:
    """The first days of months and so on between the bounds of a date."""
    of = operand.operand
    if not isinstance(of, str):
        return None
    columns = ((each.column, each.declared) for each in reader.source.named.values())
    found = (stated for column, stated in columns if column is not None and column.operand == of)
    stated = next(found, None)
    if stated is None or not hasattr(stated.lower, "year"):
        return None
    first, last = (
        each.date() if isinstance(each, datetime) else each for each in (stated.lower, stated.upper)
    )
    match operand.unit:
        case "year":
            years = range(first.year, last.year + 1)
            return [first.replace(year=each, month=1, day=1) for each in years]
        case "month":
            return list(Keys.months(of, first, last).values)
        case "quarter":
            begins = first.replace(month=first.month - (first.month - 1) % 3, day=1)
            return list(Keys.months(of, begins, last).values[::3])
        case "week":
            return list(Keys.weeks(of, first, last).values)
        case "day":
            return list(Keys.days(of, first, last).values)
    return None


def _named_in(where: Any, node: Any, reader: RowReader) -> list[Any] | None:
    """The constants that a part of WHERE, which every row satisfies, lets an expression equal."""
    same = reader.source.canonical(node)
    for part in conjuncts(where):
        kind = type(part).__name__
        if kind not in ("In", "EQ", "Between") or reader.source.canonical(part.this) != same:
            continue
        if kind == "In" and part.expressions:
            constants = [reader.like(each, node) for each in part.expressions]
        elif kind == "EQ":
            constants = [reader.like(part.expression, node)]
        elif kind == "Between":
            found = _between(part, node, reader)
            if found is None:
                continue
            return found
        else:
            continue
        if all(each.column is None and not each.is_null for each in constants):
            return list(dict.fromkeys(plain(each.constant) for each in constants))
    return None


def _between(part: Any, node: Any, reader: RowReader) -> list[Any] | None:
    ends = [reader.value(part.args[name]).number for name in ("low", "high")]
    kind = reader.kind(reader.value(node))
    if kind is None or kind.name != "integer" or ends[0] is None or ends[1] is None:
        return None
    low, high = ceil(ends[0]), floor(ends[1])
    return list(range(low, high + 1)) if 0 <= high - low < MOST_KEYS else None


def _binned(node: Any, reader: RowReader) -> Key | None:
    """FLOOR(x / w) * w: intervals of one width, shown by their lower ends."""
    if type(node).__name__ != "Mul" or type(node.this).__name__ != "Floor":
        return None
    divided, times = node.this.this, reader.value(node.expression).number
    while type(divided).__name__ == "Paren":
        divided = divided.this
    if type(divided).__name__ != "Div":
        return None
    width = reader.value(divided.expression).number
    if width is None or width != times or not width > 0:
        return None
    value = reader.value(divided.this)
    if value.column is None or value.bounds is None:
        raise refusal(
            f"GROUP BY {shown(node)} needs public bounds",
            f"write FLOOR(CLAMP({shown(divided.this)}, 0, 100) / {width}) * {width}",
        )
    low, high = (floor(each / width) for each in value.bounds)
    if not high - low < MOST_KEYS:
        raise refusal(f"GROUP BY {shown(node)} has {high - low + 1} groups", f"at most {MOST_KEYS}")
    edges = [_number(place * width) for place in range(low, high + 2)]
    return Key(value.column.operand, intervals(value.column, edges), tuple(edges[:-1]))


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def discovered(keys: list[Key]) -> list[Column]:
    """The columns whose keys have to be found."""
    return [Column(each.operand) for each in keys if each.groups is None]
