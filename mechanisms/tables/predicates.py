"""Predicates about one record: `(column("age") >= 30) & ~column("state").is_in(["NY"])`.

A predicate is a tree of frozen values. `holds` evaluates it on arrays and frames; engines compile
it to their own expressions.

A record whose cell is missing (None, NaN, NaT, null) satisfies no comparison and no `is_in`. There
is no third truth value: `~` is plain negation, so `~(column("age") >= 30)` holds where the age is
missing and `column("age") < 30` does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Never, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.comparisons import OPERATORS, compared
from mechanisms.tables.scalars import Scalar, scalar, scalars
from queryable.data.cells import Array, Mask, cells, count_records, read
from queryable.quoting import quoted

MOST_NESTED = 100
"""The largest depth of a predicate; every engine compiles this many levels."""


class Predicate(ABC):
    """A yes-or-no question about one record. Combine with `&`, `|` and `~`."""

    depth: int = 1
    """The depth of nesting of the predicate."""

    @abstractmethod
    def holds(self, dataset: Any) -> Mask:
        """Whether it holds: one boolean per record."""

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


def _column(value: Any) -> str:
    return column_name(value)


def _value(value: Any) -> Scalar:
    return scalar(value, "value")


def _values(values: Any) -> tuple[Scalar, ...]:
    return scalars(values, "values")


@attrs.frozen
class Comparison(Predicate):
    """A comparison of the cell in a column with a constant."""

    column: str = attrs.field(converter=_column)
    operator: str = attrs.field(converter=_operator)
    value: Scalar = attrs.field(converter=_value)

    def holds(self, dataset: Any) -> Mask:
        """True where the cell is present and compares."""
        present, values = cells(dataset, self.column)
        return _scattered(present, compared(values, self.operator, self.value))


@attrs.frozen
class IsIn(Predicate):
    """Whether the cell in a column equals one of some constants."""

    column: str = attrs.field(converter=_column)
    values: tuple[Scalar, ...] = attrs.field(converter=_values)

    def holds(self, dataset: Any) -> Mask:
        """True where the cell is present and equals one of them."""
        present, values = cells(dataset, self.column)
        found = np.zeros(len(values), dtype=bool)
        for value in self.values:
            found |= compared(values, "==", value)
        return _scattered(present, found)


def _depth(*parts: Any) -> int:
    """The depth of a predicate made of these parts.

    Raises:
        TypeError: a part is not a predicate.
        ValueError: the predicate nests too deep to be evaluated.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise TypeError(f"a part of the predicate is {quoted(part)}; it should be a predicate")
    depth: int = 1 + max(part.depth for part in parts)
    if not depth <= MOST_NESTED:
        raise ValueError(
            "write column(..).is_in([..]), or combine predicates in pairs, then the pairs: the "
            f"predicate nests {depth} deep, and {MOST_NESTED} is the most"
        )
    return depth


def _depth_field(*names: str) -> Any:
    depth = attrs.Factory(lambda self: _depth(*(getattr(self, name) for name in names)), True)
    return attrs.field(init=False, eq=False, repr=False, default=depth)


@attrs.frozen
class And(Predicate):
    """Both predicates hold."""

    left: Predicate
    right: Predicate
    depth: int = _depth_field("left", "right")

    def holds(self, dataset: Any) -> Mask:
        """Where both hold."""
        return self.left.holds(dataset) & self.right.holds(dataset)


@attrs.frozen
class Or(Predicate):
    """At least one of two predicates holds."""

    left: Predicate
    right: Predicate
    depth: int = _depth_field("left", "right")

    def holds(self, dataset: Any) -> Mask:
        """Where at least one holds."""
        return self.left.holds(dataset) | self.right.holds(dataset)


@attrs.frozen
class Not(Predicate):
    """The negation. It holds where a comparison inside fails because a cell is missing."""

    predicate: Predicate
    depth: int = _depth_field("predicate")

    def holds(self, dataset: Any) -> Mask:
        """Where the inner predicate does not hold."""
        return ~self.predicate.holds(dataset)


def column_name(value: Any) -> str:
    """The name of a column, given as a string or as `column(name)`.

    Raises:
        TypeError: it is neither.
    """
    name = value.name if isinstance(value, Column) else value
    if not isinstance(name, str):
        raise TypeError(f"column is {quoted(value)}; it should be a name, or column(name)")
    return str.__str__(name)


@attrs.frozen(eq=False)
class Column:
    """A column by name. Comparisons with `==` and `!=` make predicates too, so it has no hash."""

    name: str = attrs.field(converter=column_name)

    def __eq__(self, value: object) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "==", value)

    def __ne__(self, value: object) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "!=", value)

    def __lt__(self, value: Any) -> Comparison:
        return Comparison(self.name, "<", value)

    def __le__(self, value: Any) -> Comparison:
        return Comparison(self.name, "<=", value)

    def __gt__(self, value: Any) -> Comparison:
        return Comparison(self.name, ">", value)

    def __ge__(self, value: Any) -> Comparison:
        return Comparison(self.name, ">=", value)

    def is_in(self, values: Iterable[Scalar]) -> IsIn:
        """Whether the cell equals one of these constants."""
        return IsIn(self.name, values)

    __hash__ = None  # type: ignore[assignment]


def column(name: str) -> Column:
    """A column, from which predicates are made: `column("age") >= 30`."""
    return Column(name)


def where_field(value: Any) -> Where | None:
    """Check a `where`: a predicate, a function, or None for every record.

    Raises:
        TypeError: it is anything else, for example a column without a comparison.
    """
    if isinstance(value, Column):
        raise TypeError(f"where is a column; write a comparison: column({value.name!r}) == True")
    if value is not None and not isinstance(value, Predicate) and not callable(value):
        raise TypeError(
            f'where is {quoted(value)}; it should be a predicate such as column("age") >= 30, or a '
            "function from the data to one boolean per record"
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
    result = where.holds(dataset) if isinstance(where, Predicate) else where(dataset)
    given, entries = read(result)
    if given.shape != (records,) or entries.ndim != 1:
        raise ValueError(f"where gave shape {given.shape}; it should return one boolean per record")
    return _scattered(given, _true(entries))


def _true(entries: Array) -> Mask:
    if entries.dtype == np.bool_:
        return np.asarray(entries)
    if entries.dtype != object:
        return np.zeros(entries.shape, dtype=bool)
    truths = (each is True or (type(each) is np.bool_ and bool(each)) for each in entries)
    return np.fromiter(truths, dtype=bool, count=len(entries))


def _scattered(present: Mask, outcomes: Mask) -> Mask:
    everywhere = np.zeros(len(present), dtype=bool)
    everywhere[present] = outcomes
    return everywhere
