"""Predicates about one record: `(column("age") >= 30) & ~column("state").is_in(["NY"])`.

A predicate is a tree of frozen values. `holds` evaluates it on arrays and frames; engines compile
it to their own expressions.

A record whose cell is missing (None, NaN, NaT, null) satisfies no comparison and no `is_in`. There
is no third truth value: `~` is plain negation, so `~(column("age") >= 30)` holds where the age is
missing and `column("age") < 30` does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import MethodType
from typing import Any, Never, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.comparisons import OPERATORS, compared, compared_columns
from mechanisms.tables.expressions.computed import operand_cells
from mechanisms.tables.expressions.operands import (
    Expressed,
    ExpressionPart,
    Operand,
    constant_text,
    depth_field,
    operand_name,
    operand_of,
    size_field,
)
from mechanisms.tables.expressions.scalars import Scalar, alike, scalar, scalars
from mechanisms.tables.expressions.texts import matches, pattern_of
from queryable.data.cells import Array, Mask, count_records, read
from queryable.wording.quoting import one_of, quoted

_MOST_SHOWN = 5


class Predicate(ExpressionPart, ABC):
    """A yes-or-no question about one record. Combine with `&`, `|` and `~`."""

    depth: int = 1
    size: int = 1

    @abstractmethod
    def holds(self, dataset: Any) -> Mask:
        """Whether it holds: one boolean per record."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The operands and predicates it is made of."""
        return ()

    @property
    def text(self) -> str:
        """The public text, such as `age >= 65`."""
        return type(self).__name__

    def __and__(self, other: object) -> "Predicate":
        return And(self, other) if isinstance(other, Predicate) else NotImplemented

    def __or__(self, other: object) -> "Predicate":
        return Or(self, other) if isinstance(other, Predicate) else NotImplemented

    def __invert__(self) -> "Predicate":
        return Not(self)

    def __bool__(self) -> Never:
        raise TypeError("use & | ~ for and, or, not: a predicate has no truth value of its own")


Where: TypeAlias = Predicate | Callable[[Any], Any]
"""A predicate, or a function from the data to one boolean per record.

Sensitivities assume that such a function decides about each record by that record alone. This
cannot be checked.
"""


def _operator(value: Any) -> str:
    name = str.__str__(value) if isinstance(value, str) else ""
    if name not in OPERATORS:
        raise ValueError(f"operator is {quoted(value)}; it should be one of {' '.join(OPERATORS)}")
    return name


def _value(value: Any) -> Scalar:
    return scalar(value, "value")


def _values(values: Any) -> tuple[Scalar, ...]:
    return scalars(values, "values")


class _OfCell(Predicate):
    """A predicate about one cell."""

    column: Operand

    @property
    def parts(self) -> tuple[Any, ...]:
        """The column."""
        return (self.column,)


@attrs.frozen
class Comparison(_OfCell):
    """A comparison of the cell in a column with a constant."""

    column: Operand = attrs.field(converter=operand_of)
    operator: str = attrs.field(converter=_operator)
    value: Scalar = attrs.field(converter=_value, eq=alike)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """True where the cell is present and compares."""
        present, values = operand_cells(dataset, self.column)
        return _scattered(present, compared(values, self.operator, self.value))

    @property
    def text(self) -> str:
        """`column operator value`."""
        return f"{operand_name(self.column)} {self.operator} {constant_text(self.value)}"


@attrs.frozen
class Compared(Predicate):
    """A comparison of two cells of the same record."""

    left: Operand = attrs.field(converter=operand_of)
    operator: str = attrs.field(converter=_operator)
    right: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """True where both cells are present and compare."""
        left, right = (operand_cells(dataset, each) for each in (self.left, self.right))
        both = left.present & right.present
        cells = left.values[both[left.present]], right.values[both[right.present]]
        return _scattered(both, compared_columns(*cells, self.operator))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The two operands."""
        return self.left, self.right

    @property
    def text(self) -> str:
        """`left operator right`."""
        return f"{operand_name(self.left)} {self.operator} {operand_name(self.right)}"


@attrs.frozen
class IsIn(_OfCell):
    """Whether the cell in a column equals one of some constants."""

    column: Operand = attrs.field(converter=operand_of)
    values: tuple[Scalar, ...] = attrs.field(converter=_values, eq=alike)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """True where the cell is present and equals one of them."""
        present, values = operand_cells(dataset, self.column)
        found = np.zeros(len(values), dtype=bool)
        for value in self.values:
            found |= compared(values, "==", value)
        return _scattered(present, found)

    @property
    def text(self) -> str:
        """`column in [values]`, at most five of them."""
        more = len(self.values) - _MOST_SHOWN
        some = [*map(constant_text, self.values[:_MOST_SHOWN]), *[f"{more:,} more"] * (more > 0)]
        return f"{operand_name(self.column)} in [{', '.join(some)}]"


@attrs.frozen
class IsNull(_OfCell):
    """Whether the cell is missing."""

    column: Operand = attrs.field(converter=operand_of)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """True where there is no cell."""
        return ~operand_cells(dataset, self.column).present

    @property
    def text(self) -> str:
        """`column is missing`."""
        return f"{operand_name(self.column)} is missing"


@attrs.frozen
class Matches(_OfCell):
    """Whether a text contains, starts with, ends with or is like a constant."""

    column: Operand = attrs.field(converter=operand_of)
    how: str = attrs.field(validator=one_of("contains", "starts with", "ends with", "like"))
    pattern: str = attrs.field(converter=pattern_of)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """True where the cell is a text that matches."""
        present, values = operand_cells(dataset, self.column)
        return _scattered(present, matches(values, self.how, self.pattern))

    @property
    def text(self) -> str:
        """`column how pattern`."""
        return f"{operand_name(self.column)} {self.how} {constant_text(self.pattern)}"


def _predicate(value: Any) -> Predicate:
    if not isinstance(value, Predicate):
        raise TypeError(f"a part of the predicate is {quoted(value)}; it should be a predicate")
    return value


@attrs.frozen
class And(Predicate):
    """Both predicates hold."""

    left: Predicate = attrs.field(converter=_predicate)
    right: Predicate = attrs.field(converter=_predicate)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """Where both hold."""
        return self.left.holds(dataset) & self.right.holds(dataset)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The two predicates."""
        return self.left, self.right

    @property
    def text(self) -> str:
        """`left and right`."""
        return " and ".join(map(_in_brackets, self.parts))


@attrs.frozen
class Or(Predicate):
    """At least one of two predicates holds."""

    left: Predicate = attrs.field(converter=_predicate)
    right: Predicate = attrs.field(converter=_predicate)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """Where at least one holds."""
        return self.left.holds(dataset) | self.right.holds(dataset)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The two predicates."""
        return self.left, self.right

    @property
    def text(self) -> str:
        """`left or right`."""
        return " or ".join(map(_in_brackets, self.parts))


@attrs.frozen
class Not(Predicate):
    """The negation. It holds where a comparison inside fails because a cell is missing."""

    predicate: Predicate = attrs.field(converter=_predicate)
    depth: int = depth_field()
    size: int = size_field()

    def holds(self, dataset: Any) -> Mask:
        """Where the inner predicate does not hold."""
        return ~self.predicate.holds(dataset)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The predicate."""
        return (self.predicate,)

    @property
    def text(self) -> str:
        """`not (predicate)`; `column is not missing`."""
        if isinstance(self.predicate, IsNull):
            return f"{operand_name(self.predicate.column)} is not missing"
        return f"not ({self.predicate.text})"


def _in_brackets(predicate: Predicate) -> str:
    return f"({predicate.text})" if isinstance(predicate, And | Or) else predicate.text


def describe(where: Where | None) -> str:
    """The public text of a `where`: `age >= 65 and state == 'CA'`."""
    if where is None:
        return "every row"
    if isinstance(where, Predicate):
        return where.text
    return f"{getattr(where, '__name__', type(where).__name__)}(data)"


def where_field(value: Any) -> Where | None:
    """Check a `where`: a predicate, a function, or None for every record.

    Raises:
        TypeError: it is anything else, for example a column without a comparison.
    """
    if isinstance(value, MethodType) and isinstance(value.__self__, Expressed):
        raise TypeError(f"write .{value.__name__}(), with parentheses: where is a column's method")
    if isinstance(value, Expressed):
        name = operand_name(value.operand)
        raise TypeError(f"where is a column; write a comparison: column({name!r}) == True")
    if value is not None and not isinstance(value, Predicate) and not callable(value):
        raise TypeError(
            f'write a condition such as column("age") >= 30: where is {quoted(value)}; it should '
            "be a predicate, or a function from the data to one boolean per record"
        )
    checked: Where | None = value
    return checked


def selected(where: Where | None, dataset: Any) -> Mask:
    """The records that a `where` selects: one boolean each.

    Only the length of a function's result is checked. A record is selected if its entry is True,
    Python's or numpy's, and not if it is None, NaN, a null, or a number. So no entry affects
    another one, or whether there is a result.

    Raises:
        TypeError, ValueError: the function returned no sequence, or one of another length.
    """
    records = count_records(dataset)
    if where is None:
        return np.ones(records, dtype=bool)
    if isinstance(where, Predicate):
        result = where.holds(dataset)
        if result.shape == (records,):
            return result  # new, and of booleans
    else:
        result = where(dataset)
    given, entries = read(result)
    if given.shape != (records,) or entries.ndim != 1:
        raise ValueError(f"where gave shape {given.shape}; it should return one boolean per record")
    return _scattered(given, _true(entries).copy())  # which may be the data's own


def _true(entries: Array) -> Mask:
    if entries.dtype == np.bool_:
        return np.asarray(entries)
    if entries.dtype != object:
        return np.zeros(entries.shape, dtype=bool)
    truths = (each is True or (type(each) is np.bool_ and bool(each)) for each in entries)
    return np.fromiter(truths, dtype=bool, count=len(entries))


def _scattered(present: Mask, outcomes: Mask) -> Mask:
    if len(outcomes) == len(present):
        return outcomes
    everywhere = np.zeros(len(present), dtype=bool)
    everywhere[present] = outcomes
    return everywhere
