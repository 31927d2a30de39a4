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
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import Kind, are_dates, multiples
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.scalars import alike, scalar
from queryable.losses.numbers import shown
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
        if _is_predicate(value):
            raise TypeError(
                f"column is the condition {value.text}; write it as a column of numbers, "
                f"when({value.text}).then(1).otherwise(0), whose values are 1 and 0"
            )
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
    python = value.astype(f"M8[{'D' if are_dates(value.dtype) else 'us'}]")
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


def _is_predicate(value: Any) -> bool:
    return isinstance(value, ExpressionPart) and not isinstance(value, ExpressionNode)


def _cases(cases: Any) -> tuple[tuple[Any, Operand | None], ...]:
    taken = tuple((predicate, _result(value)) for predicate, value in cases)
    for predicate, _ in taken:
        if not _is_predicate(predicate):
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
        """Reject a choice without a case, and values that are all missing."""
        if not self.cases:
            raise ValueError("cases is empty; it should have at least one predicate with its value")
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
    def condition(self) -> Any | None:
        """The predicate, if the value is 1 where it holds and 0 elsewhere; None otherwise."""
        predicates = [predicate for predicate, _ in self.cases]
        shares = self.values == (Literal(1), Literal(0))
        return predicates[0] if shares else None

    @property
    def text(self) -> str:
        """`when predicate then value ... otherwise value`."""
        cases = " ".join(f"when {p.text} then {_or_missing(v)}" for p, v in self.cases)
        return f"{cases} otherwise {_or_missing(self.otherwise)}"


MOST_UNITS = 2**22
"""A sum or mean of a privacy unit's cells has less than that many steps between its bounds, so that
64 bits hold the sum of 2**41 cells, and engines divide it exactly below 2**31 cells."""


def _selects(where: Any) -> Any:
    """Check which rows are read: a predicate, or None for all.

    Raises:
        TypeError: it is something else, such as a function.
    """
    if where is not None and not _is_predicate(where):
        raise TypeError(
            f'write where as a predicate, such as column("age") >= 65: it is {quoted(where)}'
        )
    return where


def require_column(how: str, column: Any) -> None:
    """Check that there is a column, or none for a count.

    Raises:
        TypeError: there is a column too many or too few.
    """
    if (how == "count") != (column is None):
        raise TypeError('name a column, except for a "count": that is of rows')


@attrs.frozen
class PerUnit(ExpressionNode):
    """One number of each privacy unit, such as the number of a patient's visits.

    It is a value of a unit, and no cell of a row: the rows of a question that reads it are units.
    All rows of a unit that satisfy `where` are read, not only `max_rows` of them. A unit without
    such a row is not there.

    - "count": how many rows, clipped to the bounds. Its unit is 1.
    - "sum": of the cells, each clipped to the larger absolute value of the bounds, of either sign,
      and truncated to units toward zero. The sum is then clipped to the bounds. If no two cells
      have different signs, this is the sum of the cells as they are, clipped. A missing cell
      adds 0.
    - "mean", "min", "max": of the cells that are there, each clipped to the bounds and truncated.
      A mean is rounded down to units. The value is missing if all cells are.

    Args:
        how: "count", "sum", "mean", "min" or "max".
        column: what is added up or compared; None for a count.
        lower, upper: the public bounds of the value.
        unit: public: the value is a whole multiple of it.
        where: which rows are read, a predicate; None for all.
    """

    how: str = attrs.field(validator=one_of("count", "sum", "mean", "min", "max"))
    column: Operand | None = attrs.field(converter=_result)
    lower: Fraction = attrs.field()
    upper: Fraction = attrs.field()
    unit: Fraction = attrs.field(default=Fraction(1))
    where: Any = attrs.field(default=None, converter=_selects)
    depth: int = depth_field()
    size: int = size_field()

    def __attrs_post_init__(self) -> None:
        """Check that engines compute it exactly, of rows.

        Raises:
            ValueError, TypeError: there is a column too many or too few, bounds are out of order
                or too far apart, or it reads a value of a unit.
        """
        require_column(self.how, self.column)
        if self.how == "count" and self.unit != 1:
            raise ValueError(f"leave unit out of a count: it is {quoted(self.unit)}")
        if next(per_units(*self.parts), None) is not None:
            raise TypeError("leave per_unit(..) out of per_unit(..): a unit's value is of its rows")
        lattice = self.lattice
        steps = lattice.high - lattice.low if self.how == "mean" else lattice.largest
        if self.how in ("sum", "mean") and not steps < MOST_UNITS:
            raise ValueError(
                f"give a coarser unit, or bounds that are closer: the {self.how} has {steps} units "
                f"between its bounds, and {MOST_UNITS - 1} is the most"
            )

    @property
    def lattice(self) -> Lattice:
        """The bounds and the unit of the value."""
        return Lattice(self.lower, self.upper, self.unit)

    @property
    def kind(self) -> Kind:
        """What the value is: whole units within the bounds."""
        return multiples(self.unit, self.lattice.low, self.lattice.high)

    @property
    def may_be_missing(self) -> bool:
        """Whether a unit that is there may have no value: a count or a sum is never missing."""
        return self.how not in ("count", "sum")

    @property
    def parts(self) -> tuple[Any, ...]:
        """The column and the predicate."""
        return self.column, self.where

    @property
    def text(self) -> str:
        """`sum of column per unit`, without the predicate; a count says how it is clipped."""
        if self.column is None:
            least = f"at least {shown(self.lower)} and " if self.lower > 0 else ""
            return f"number of rows ({least}at most {shown(self.upper)}) per unit"
        return f"{self.how} of {_wrapped(self.column)} per unit"


def per_units(*parts: Any) -> Iterator[PerUnit]:
    """The values of privacy units that operands and predicates read."""
    for part in parts:
        if isinstance(part, PerUnit):
            yield part
        elif isinstance(part, ExpressionPart):
            yield from per_units(*part.parts)


def of_values(part: Any, name: str) -> Any:
    """An operand or a predicate, with each value of a privacy unit as the column of this name.

    Raises:
        TypeError: it also reads a column of the rows.
    """
    if isinstance(part, PerUnit):
        return name
    if isinstance(part, tuple):
        return tuple(of_values(each, name) for each in part)
    if not isinstance(part, ExpressionPart) or not attrs.has(type(part)):
        return part
    if any(isinstance(each, str) for each in part.parts):
        raise TypeError(
            f"write conditions on rows as per_unit(.., where=..): {part.text!r} reads a column of "
            "rows beside a value of each privacy unit"
        )
    node: Any = part
    fields = (each.name for each in attrs.fields(type(node)) if each.init)
    changed = {each: of_values(getattr(node, each), name) for each in fields}
    return attrs.evolve(node, **changed)


def _or_missing(operand: Operand | None) -> str:
    return "missing" if operand is None else _wrapped(operand)


NODES = (Literal, Arithmetic, TextFunction, DatePart, Truncated, Cast, When, PerUnit)
"""Every class of computed operands."""
