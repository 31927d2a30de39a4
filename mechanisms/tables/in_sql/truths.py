"""Conditions of SQL, which are true, false or unknown, as predicates, which hold or do not.

A condition is two predicates: where it is true, and where it is false. It is unknown elsewhere, as
where a cell is NULL. `NOT` swaps the two, so that it keeps what is unknown (SQL:2016, 8.1).
"""

from fractions import Fraction
from math import floor
from typing import Any, NamedTuple, TypeAlias

from mechanisms.tables.expressions.column_types import Kind, placed
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.expressions.predicates import And, IsIn, IsNull, Not, Or, Predicate
from mechanisms.tables.expressions.scalars import scalar
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.sources import Valued, plain

Holds: TypeAlias = Predicate | bool
"""A predicate, or what holds for all rows or for none."""

SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Truth(NamedTuple):
    """Where a condition is true, and where it is false."""

    yes: Holds
    no: Holds

    def negated(self) -> "Truth":
        """NOT."""
        return Truth(self.no, self.yes)

    def also(self, other: "Truth") -> "Truth":
        """AND."""
        return Truth(both(self.yes, other.yes), either(self.no, other.no))

    def otherwise(self, other: "Truth") -> "Truth":
        """OR."""
        return Truth(either(self.yes, other.yes), both(self.no, other.no))


UNKNOWN = Truth(False, False)


def both(one: Holds, other: Holds) -> Holds:
    """Where both hold."""
    if isinstance(one, bool) or isinstance(other, bool):
        if one is False or other is False:
            return False
        return other if one is True else one
    return And(one, other)


def either(one: Holds, other: Holds) -> Holds:
    """Where one of them holds."""
    if isinstance(one, bool) or isinstance(other, bool):
        if one is True or other is True:
            return True
        return other if one is False else one
    return Or(one, other)


def opposite(one: Holds) -> Holds:
    """Where it does not hold."""
    return not one if isinstance(one, bool) else Not(one)


def where_of(condition: Holds, column: Any) -> Predicate | None:
    """A predicate for `where=`: None for all rows.

    Args:
        column: any column, of which a predicate for no row is made.
    """
    if condition is True:
        return None
    if condition is False:
        return And(IsNull(column), Not(IsNull(column)))
    return condition


def is_null(value: Valued) -> Truth:
    """IS NULL, which is never unknown."""
    if value.column is None:
        return Truth(value.is_null, not value.is_null)
    missing = IsNull(value.column.operand)
    return Truth(missing, Not(missing))


def compared(left: Valued, operator: str, right: Valued, kind: Kind | None, node: Any) -> Truth:
    """A comparison.

    Args:
        kind: that of the side which is a column, if the other one is a constant.
        node: what is quoted in a refusal.

    Raises:
        SqlError: they do not compare.
    """
    if left.is_null or right.is_null:
        return UNKNOWN
    if left.column is None and right.column is None:
        return _of_constants(left, operator, right, node)
    if left.column is None:
        return compared(right, SWAPPED[operator], left, kind, node)
    try:
        if right.column is not None:
            return Truth(
                left.column._compared(operator, right.column),
                left.column._compared(_OPPOSITE[operator], right.column),
            )
        yes = _with_constant(left.column, operator, right, kind)
        no = _with_constant(left.column, _OPPOSITE[operator], right, kind)
        present = is_null(left).no
        return Truth(
            present if yes is True else yes,
            present if no is True else no,
        )
    except (TypeError, ValueError) as error:
        raise refusal(f"{shown(node)} does not compare", str(error)) from None


def _with_constant(column: Column, operator: str, value: Valued, kind: Kind | None) -> Holds:
    number = value.number
    if kind is not None and kind.name == "decimal" and number is not None:
        assert kind.step is not None
        return _on_decimals(column, operator, number, kind.step)
    if kind is not None and kind.name not in ("written", "any"):
        placed(kind, operator, plain(value.constant))  # raises if they are of different types
    return column._compared(operator, plain(value.constant))


def _on_decimals(column: Column, operator: str, value: Fraction, step: Fraction) -> Holds:
    """A comparison of multiples of a step with an exact number, by the multiple below it."""
    below = floor(value / step) * step
    if below != value:
        if operator in ("==", "!="):
            return operator == "!="
        operator = {">=": ">", "<": "<="}.get(operator, operator)
    try:
        return column._compared(operator, scalar(below, "the number"))
    except ValueError:
        raise ValueError("the number has too many digits for this column") from None


def _of_constants(left: Valued, operator: str, right: Valued, node: Any) -> Truth:
    one, other = left.constant, right.constant
    numbers = left.number is not None and right.number is not None
    if not numbers and type(one) is not type(other):
        raise refusal(f"{shown(node)} compares different types", "write both of one type")
    a: Any = one
    holds = {
        "<": lambda: a < other,
        "<=": lambda: a <= other,
        ">": lambda: a > other,
        ">=": lambda: a >= other,
        "==": lambda: a == other,
        "!=": lambda: a != other,
    }[operator]()
    return Truth(bool(holds), not holds)


def is_in(left: Valued, values: list[Valued], kind: Kind | None, node: Any) -> Truth:
    """IN a list of constants."""
    known = [each for each in values if not each.is_null]
    if left.is_null:
        return UNKNOWN
    exact = kind is not None and kind.name == "decimal"
    if left.column is None or exact or any(each.column is not None for each in known):
        found = Truth(False, True)
        for each in known:
            found = found.otherwise(compared(left, "==", each, kind, node))
    else:
        try:
            for each in known:
                _with_constant(left.column, "==", each, kind)
            yes = IsIn(left.column.operand, [plain(each.constant) for each in known])
        except (TypeError, ValueError) as error:
            raise refusal(f"{shown(node)} does not compare", str(error)) from None
        found = Truth(yes, both(Not(yes), is_null(left).no))
    return found if len(known) == len(values) else Truth(found.yes, False)


def text_of(value: Valued) -> str:
    """The public text of an expression."""
    return "" if value.column is None else operand_name(value.column.operand)
