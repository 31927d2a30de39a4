"""`column("age")` and what is computed from it: predicates, and columns that are computed.

`Column` writes down expressions; nothing here reads data.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Never

import attrs

from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Expressed,
    ExpressionNode,
    Literal,
    Operand,
    TextFunction,
    Truncated,
    When,
    operand_of,
)
from mechanisms.tables.expressions.predicates import (
    Compared,
    Comparison,
    IsIn,
    IsNull,
    Matches,
    Not,
    Predicate,
)
from mechanisms.tables.expressions.scalars import Scalar
from queryable.wording.quoting import quoted

_PARENTHESES = (
    'put each comparison in parentheses, (column("age") >= 18) & (column("age") < 65): & and | '
    "combine comparisons, not columns"
)
_OF_PANDAS = {
    "isna": ".is_null()",
    "isnull": ".is_null()",
    "notna": ".is_not_null()",
    "notnull": ".is_not_null()",
    "isin": ".is_in([..])",
    "between": "(column(..) >= low) & (column(..) <= high)",
    "str": ".contains(..), .lower() and so on without .str",
    "dt": ".month(), .year() and so on without .dt",
    "astype": '.cast("number")',
    "startswith": ".starts_with(..)",
    "endswith": ".ends_with(..)",
    "mean": "table.mean(..): a question is asked of the table",
    "sum": "table.sum(..): a question is asked of the table",
    "count": "table.count(..): a question is asked of the table",
}
"""What pandas and others call it, and what to write here."""


@attrs.frozen(eq=False)
class Column(Expressed):
    """A column by name, or a column that is computed from others, row by row.

    Comparisons with `==` and `!=` make predicates, so a column has no hash. A missing cell makes
    what is computed from it missing. Nothing that a cell holds is an error: a cell for which an
    operation has no value becomes missing.
    """

    operand: Operand = attrs.field(converter=operand_of)

    def _compared(self, operator: str, value: Any) -> Comparison | Compared:
        if isinstance(value, Expressed | ExpressionNode):
            return Compared(self.operand, operator, value)
        return Comparison(self.operand, operator, value)

    def __eq__(self, value: object) -> Comparison | Compared:  # type: ignore[override]
        return self._compared("==", value)

    def __ne__(self, value: object) -> Comparison | Compared:  # type: ignore[override]
        return self._compared("!=", value)

    def __lt__(self, value: Any) -> Comparison | Compared:
        return self._compared("<", value)

    def __le__(self, value: Any) -> Comparison | Compared:
        return self._compared("<=", value)

    def __gt__(self, value: Any) -> Comparison | Compared:
        return self._compared(">", value)

    def __ge__(self, value: Any) -> Comparison | Compared:
        return self._compared(">=", value)

    def __rand__(self, value: object) -> Never:
        raise TypeError(_PARENTHESES)

    __and__ = __or__ = __ror__ = __rand__

    if not TYPE_CHECKING:  # a checker of types should go on reporting unknown names

        def __getattr__(self, name: str) -> Never:
            fix = f"; write {_OF_PANDAS[name]}" if name in _OF_PANDAS else ""
            raise AttributeError(f"a column has no {name!r}{fix}", name=name, obj=self)

    def is_in(self, values: Iterable[Scalar]) -> IsIn:
        """Whether the cell equals one of these constants."""
        return IsIn(self.operand, values)

    def is_null(self) -> IsNull:
        """Whether the cell is missing."""
        return IsNull(self.operand)

    def is_not_null(self) -> Not:
        """Whether there is a cell."""
        return Not(IsNull(self.operand))

    def contains(self, text: str) -> Matches:
        """Whether the text contains this text."""
        return Matches(self.operand, "contains", text)

    def starts_with(self, text: str) -> Matches:
        """Whether the text starts with this text."""
        return Matches(self.operand, "starts with", text)

    def ends_with(self, text: str) -> Matches:
        """Whether the text ends with this text."""
        return Matches(self.operand, "ends with", text)

    def like(self, pattern: str) -> Matches:
        """Whether the whole text is like a pattern.

        In a pattern, `%` stands for any characters or none, and `_` for one character. Every other
        character stands for itself, upper and lower case differ, and there is no escape character.
        """
        return Matches(self.operand, "like", pattern)

    def lower(self) -> "Column":
        """The text in lower case: each upper case letter becomes its lower case letter.

        The letters are those of Latin (up to U+017F), Greek and Cyrillic that have exactly one
        other case, such as A, Ä, Š, Ω and Я. Other characters stay, for example ß, İ and ς.
        """
        return Column(TextFunction("lower", self.operand))

    def upper(self) -> "Column":
        """The text in upper case, for the same letters as `lower`."""
        return Column(TextFunction("upper", self.operand))

    def strip(self) -> "Column":
        r"""The text without spaces and `\t \n \v \f \r` at its beginning and its end."""
        return Column(TextFunction("strip", self.operand))

    def year(self) -> "Column":
        """The year, 1 to 9999; of an instant, as of all its parts, in UTC."""
        return Column(DatePart("year", self.operand))

    def quarter(self) -> "Column":
        """The quarter of the year, 1 to 4."""
        return Column(DatePart("quarter", self.operand))

    def month(self) -> "Column":
        """The month, 1 to 12."""
        return Column(DatePart("month", self.operand))

    def day(self) -> "Column":
        """The day of the month, 1 to 31."""
        return Column(DatePart("day", self.operand))

    def weekday(self) -> "Column":
        """The day of the week: Monday is 0 and Sunday is 6, as in Python."""
        return Column(DatePart("weekday", self.operand))

    def hour(self) -> "Column":
        """The hour of a timestamp or an instant, 0 to 23."""
        return Column(DatePart("hour", self.operand))

    def truncate(self, unit: str) -> "Column":
        """The first day of the "year", "quarter", "month" or "week", or the "day", as a date.

        A week begins on Monday. With "hour", the start of the hour, as a timestamp.
        """
        return Column(Truncated(unit, self.operand))

    def cast(self, to: str) -> "Column":
        """The cell read as another type; a cell that does not fit becomes missing.

        - "integer": numbers are truncated toward zero. Text is digits with an optional sign, and
          may end in a point and zeros. True is 1, false is 0. Beyond 64 bits is missing.
        - "number": the nearest 64-bit float. Text is a decimal number with a point, with an
          exponent if need be.
        - "text": of integers, booleans (true, false), dates (ISO 8601) and text.
        - "date": the day of a timestamp, of an instant in UTC, or text such as 2024-02-29.
        - "timestamp": the midnight of a date, an instant in UTC, or text such as 2024-02-29 12:30.
        - "boolean": text (true, false, t, f, 1, 0, in any case), and the integers 1 and 0.
        """
        return Column(Cast(self.operand, to))

    def __add__(self, other: Any) -> "Column":
        return Column(Arithmetic("+", self.operand, _operand(other)))

    def __radd__(self, other: Any) -> "Column":
        return Column(Arithmetic("+", _operand(other), self.operand))

    def __sub__(self, other: Any) -> "Column":
        return Column(Arithmetic("-", self.operand, _operand(other)))

    def __rsub__(self, other: Any) -> "Column":
        return Column(Arithmetic("-", _operand(other), self.operand))

    def __mul__(self, other: Any) -> "Column":
        return Column(Arithmetic("*", self.operand, _operand(other)))

    def __rmul__(self, other: Any) -> "Column":
        return Column(Arithmetic("*", _operand(other), self.operand))

    def __truediv__(self, other: Any) -> "Column":
        return Column(Arithmetic("/", self.operand, _operand(other)))

    def __rtruediv__(self, other: Any) -> "Column":
        return Column(Arithmetic("/", _operand(other), self.operand))

    def __neg__(self) -> "Column":
        return Column(Arithmetic("*", Literal(-1), self.operand))

    __hash__ = None  # type: ignore[assignment]


def column(name: str) -> Column:
    """A column, from which predicates are made: `column("age") >= 30`."""
    return Column(name)


def _operand(value: Any) -> Operand:
    """A column, or a constant as an operand."""
    return operand_of(value) if isinstance(value, Expressed | ExpressionNode) else Literal(value)


def _value(value: Any) -> Operand | None:
    return None if value is None else _operand(value)


Cases = tuple[tuple[Predicate, Operand | None], ...]


@attrs.frozen(eq=False)
class CaseCondition:
    """A predicate that waits for the value of the rows for which it holds."""

    _predicate: Predicate
    _cases: Cases = ()

    def then(self, value: Any) -> "ChosenCases":
        """The value where the predicate holds: a column, a constant, or None for missing."""
        return ChosenCases((*self._cases, (self._predicate, _value(value))))


@attrs.frozen(eq=False)
class ChosenCases:
    """Values chosen by predicates; `otherwise` completes them."""

    _cases: Cases

    def when(self, predicate: Predicate) -> CaseCondition:
        """A further predicate, for the rows for which none before holds."""
        return attrs.evolve(when(predicate), cases=self._cases)

    def otherwise(self, value: Any) -> Column:
        """The value of all other rows: a column, a constant, or None for missing."""
        return Column(When(self._cases, _value(value)))


def when(predicate: Predicate) -> CaseCondition:
    """A column that is chosen by predicates.

    `when(column("age") >= 65).then("old").otherwise("young")`; a row takes the value of the first
    predicate that holds. The values are of one type: integers and other numbers make floats.
    """
    if not isinstance(predicate, Predicate):
        raise TypeError(
            f'predicate is {quoted(predicate)}; it should be one such as column("age") >= 65'
        )
    return CaseCondition(predicate)
