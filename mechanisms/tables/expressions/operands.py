"""Operands: what a predicate, a group or a sum reads of one record.

An operand is the name of a column, or a tree of frozen values that says how to compute a cell from
cells of the same record: `column("amount") * 2`, `column("day").month()`. This module describes
operands. `computed` evaluates them on arrays and frames, and engines compile them.

A cell that is missing (None, NaN, NaT, null) makes the computed cell missing, except in `When` and
in the predicate `IsNull`. A computed cell is missing, never an error, where it has no value.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.scalars import alike, scalar
from queryable.wording.quoting import one_of, quoted

MOST_NESTED = 100
"""The largest depth of a predicate or an operand; every engine compiles this many levels."""
MOST_PARTS = 100_000
"""The largest number of parts of a predicate."""
MOST_COMPUTED = 1_000
"""The largest number of parts of a computed operand."""


class ExpressionPart(ABC):
    """A part of an expression: an operand that is computed, or a predicate."""

    depth: int
    """The depth of nesting."""
    size: int
    """The number of parts it is made of, itself included."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """The operands and predicates it is made of."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The public text, such as `amount * 2`."""


class ExpressionNode(ExpressionPart):
    """An operand that is computed from cells of one record."""


class Expressed(ABC):
    """The base of `Column`: something that stands for an operand."""

    operand: "Operand"


Operand: TypeAlias = str | ExpressionNode
"""The name of a column, or how its cells are computed."""


def operand_of(value: Any) -> Operand:
    """The operand that is given as a name, as `column(name)` or as an expression made of columns.

    Raises:
        TypeError: it is none of these.
    """
    given = value.operand if isinstance(value, Expressed) else value
    if isinstance(given, str):
        return str.__str__(given)
    if type(given) not in NODES:
        raise TypeError(f"column is {quoted(value)}; it should be a name, or column(name)")
    node: ExpressionNode = given
    return node


def column_name(value: Any) -> str:
    """The name of a column, given as a string or as `column(name)`.

    Raises:
        TypeError: it is neither.
    """
    name = operand_of(value)
    if not isinstance(name, str):
        raise TypeError(f"column is {quoted(name.text)}; it should be a column of the table itself")
    return name


def operand_name(operand: Operand) -> str:
    """The public text of an operand: the column's name, or how it is computed."""
    return operand if isinstance(operand, str) else operand.text


def columns_of(*parts: Any) -> Iterator[str]:
    """The names of the columns that operands and predicates read."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, ExpressionPart):
            yield from columns_of(*part.parts)


def _depth(self: Any) -> int:
    """The depth of an expression, from its parts.

    Raises:
        ValueError: it nests too deep to be evaluated.
    """
    depth: int = 1 + max(
        (part.depth for part in self.parts if isinstance(part, ExpressionPart)), default=0
    )
    if not depth <= MOST_NESTED and isinstance(self, ExpressionNode):
        raise ValueError(
            f"write fewer operations: {depth} are nested in each other, {MOST_NESTED} is the most"
        )
    if not depth <= MOST_NESTED:
        raise ValueError(
            "write column(..).is_in([..]), or combine predicates in pairs, then the pairs: the "
            f"predicate nests {depth} deep, and {MOST_NESTED} is the most"
        )
    return depth


def _size(self: Any) -> int:
    """The size of an expression, from its parts.

    Raises:
        ValueError: it is too large to be evaluated.
    """
    size: int = 1 + sum(part.size for part in self.parts if isinstance(part, ExpressionPart))
    most = MOST_COMPUTED if isinstance(self, ExpressionNode) else MOST_PARTS
    if not size <= most:
        raise ValueError(f"write fewer parts: the expression has {size}, and {most} is the most")
    return size


def depth_field() -> Any:
    """The field `depth` of a part."""
    depth = attrs.Factory(_depth, takes_self=True)
    return attrs.field(init=False, eq=False, repr=False, default=depth)


def size_field() -> Any:
    """The field `size` of a part."""
    size = attrs.Factory(_size, takes_self=True)
    return attrs.field(init=False, eq=False, repr=False, default=size)


def _constant(value: Any) -> Any:
    """Check a constant: a boolean, an integer, a float, a text, a date or a time."""
    taken = scalar(value, "a constant")
    if isinstance(taken, np.datetime64):
        taken = _python_time(taken)
    if not isinstance(taken, bool | int | float | str | date):
        raise TypeError(
            f"a constant is {quoted(value)}; it should be a boolean, a number, a text, a date or a "
            "time"
        )
    if isinstance(taken, str) and any("\ud800" <= each <= "\udfff" for each in taken):
        raise ValueError("leave lone surrogates (half characters) out of a constant of text")
    if isinstance(taken, int) and not -(2**63) < taken < 2**63:
        raise ValueError(f"a constant is {quoted(value)}; an integer should be within 64 bits")
    return taken


def _python_time(value: Any) -> Any:
    python = value.astype(f"M8[{'D' if np.datetime_data(value.dtype)[0] in 'YMWD' else 'us'}]")
    taken = python.item()
    if not (python == value and isinstance(taken, date)):
        raise ValueError(f"a constant is {quoted(value)}; give whole microseconds, years 1 to 9999")
    return taken


@attrs.frozen
class Literal(ExpressionNode):
    """A constant."""

    value: Any = attrs.field(converter=_constant, eq=alike)
    depth: int = depth_field()
    size: int = size_field()

    @property
    def parts(self) -> tuple[Any, ...]:
        """None."""
        return ()

    @property
    def text(self) -> str:
        """The constant."""
        return constant_text(self.value)


def constant_text(value: Any) -> str:
    """The public text of a constant: dates and times by ISO 8601, others as in Python."""
    return (
        value.isoformat(*[" "] * isinstance(value, datetime))
        if isinstance(value, date)
        else quoted(value)
    )


def _wrapped(operand: Operand) -> str:
    """The text of an operand within another one: arithmetic in brackets."""
    text = operand_name(operand)
    return f"({text})" if isinstance(operand, Arithmetic | Cast | When | Truncated) else text


@attrs.frozen
class Arithmetic(ExpressionNode):
    """`+`, `-`, `*` or `/` of two numbers as 64-bit floats, or the days between two dates."""

    operator: str = attrs.field(validator=one_of("+", "-", "*", "/"))
    left: Operand = attrs.field(converter=operand_of)
    right: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    @property
    def parts(self) -> tuple[Any, ...]:
        """The two operands."""
        return self.left, self.right

    @property
    def text(self) -> str:
        """`left operator right`."""
        if self.operator == "*" and self.left == Literal(-1):
            return f"-{_wrapped(self.right)}"
        return f"{_wrapped(self.left)} {self.operator} {_wrapped(self.right)}"


class _OfOne(ExpressionNode):
    """An operand that is computed from one other."""

    operand: Operand

    @property
    def parts(self) -> tuple[Any, ...]:
        """The operand."""
        return (self.operand,)


@attrs.frozen
class TextFunction(_OfOne):
    """A text in lower or upper case, or without white space at its ends."""

    function: str = attrs.field(validator=one_of("lower", "upper", "strip"))
    operand: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    @property
    def text(self) -> str:
        """`function(operand)`."""
        return f"{self.function}({operand_name(self.operand)})"


@attrs.frozen
class DatePart(_OfOne):
    """A part of a date or a time, as an integer. Monday is weekday 0."""

    part: str = attrs.field(validator=one_of("year", "quarter", "month", "day", "weekday", "hour"))
    operand: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    @property
    def text(self) -> str:
        """`part of operand`."""
        return f"{self.part} of {_wrapped(self.operand)}"


@attrs.frozen
class Truncated(_OfOne):
    """The first day of a date's year, quarter, month or week, its day, or the start of its hour."""

    unit: str = attrs.field(validator=one_of("year", "quarter", "month", "week", "day", "hour"))
    operand: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    @property
    def text(self) -> str:
        """`operand truncated to unit`."""
        return f"{_wrapped(self.operand)} truncated to {self.unit}"


@attrs.frozen
class Cast(_OfOne):
    """A cell read as another type; a cell that does not fit is missing."""

    operand: Operand = attrs.field(converter=operand_of)
    to: str = attrs.field(
        validator=one_of("integer", "number", "text", "date", "timestamp", "boolean")
    )
    depth: int = depth_field()
    size: int = size_field()

    @property
    def text(self) -> str:
        """`operand as type`."""
        return f"{_wrapped(self.operand)} as {self.to}"


def _result(value: Any) -> Operand | None:
    return None if value is None else operand_of(value)


def _cases(cases: Any) -> tuple[tuple[Any, Operand | None], ...]:
    taken = tuple((predicate, _result(value)) for predicate, value in cases)
    for predicate, _ in taken:
        if not isinstance(predicate, ExpressionPart) or isinstance(predicate, ExpressionNode):
            raise TypeError(f"a condition is {quoted(predicate)}; it should be a predicate")
    return taken


@attrs.frozen
class When(ExpressionNode):
    """The value of the first predicate that holds, or another one; None is a missing cell."""

    cases: tuple[tuple[Any, Operand | None], ...] = attrs.field(converter=_cases)
    otherwise: Operand | None = attrs.field(converter=_result)
    depth: int = depth_field()
    size: int = size_field()

    def __attrs_post_init__(self) -> None:
        """Reject values that are all missing."""
        if all(value is None for value in self.values):
            raise TypeError("give a value to then or to otherwise: all of them are None")

    @property
    def values(self) -> tuple[Operand | None, ...]:
        """The value of each case, and the other one."""
        return (*(value for _, value in self.cases), self.otherwise)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The predicates and the values."""
        return (*(predicate for predicate, _ in self.cases), *self.values)

    @property
    def text(self) -> str:
        """`when predicate then value ... otherwise value`."""
        cases = " ".join(f"when {p.text} then {_or_missing(v)}" for p, v in self.cases)
        return f"{cases} otherwise {_or_missing(self.otherwise)}"


def _or_missing(operand: Operand | None) -> str:
    return "missing" if operand is None else _wrapped(operand)


NODES = (Literal, Arithmetic, TextFunction, DatePart, Truncated, Cast, When)
"""Every class of computed operands."""
