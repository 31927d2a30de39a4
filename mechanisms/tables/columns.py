"""Predicates about one record, as data: `(column("age") >= 30) & ~column("state").is_in(["NY"])`.

Responsible for the expression tree and for evaluating it on arrays and frames. Every node is a
frozen value, so that an engine can compile what is evaluated here. Knows no statistic.

A record whose cell is missing (None, NaN, NaT, null) satisfies no comparison and no `is_in`. There
is no third truth value: `~` is plain negation, so `~(column("age") >= 30)` holds where the age is
missing and `column("age") < 30` does not.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Never, TypeAlias

import attrs
import numpy as np

from queryable.data.cells import Array, Mask, cells, count_records, read
from queryable.data.constants import plain
from queryable.losses.numbers import several
from queryable.quoting import quoted

if TYPE_CHECKING:
    from mechanisms.tables.kinds import Kind

Scalar: TypeAlias = bool | int | float | str | bytes | date | timedelta | np.generic
"""What a cell can be compared with: one value, never a missing one."""

OPERATORS: MappingProxyType[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
"""What a `Comparison` may say."""


_MOST_DIGITS = 400  # as of every parameter

MOST_NESTED = 100
"""How deep predicates nest at most: every engine compiles so many levels."""


class Predicate(ABC):
    """A yes-or-no question about one record. Combine with `&`, `|` and `~`."""

    depth: int = 1
    """How deep predicates nest in it."""

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
        raise TypeError("a predicate is true or false of a record; use & | ~ for and, or, not")


Where: TypeAlias = Predicate | Callable[[Any], Any]
"""A predicate, or a function from the data to one boolean per record.

Nobody can check that such a function decides about each record by that record alone; sensitivities
that use one assume it.
"""


def _operator(value: Any) -> str:
    name = str.__str__(value) if isinstance(value, str) else ""
    if name not in OPERATORS:
        raise ValueError(f"operator is {quoted(value)}; it should be one of {' '.join(OPERATORS)}")
    return name


def _column(value: Any) -> str:
    return column_name(value)


def scalar(value: Any, name: str) -> Scalar:
    """Take a value that a cell can be compared with, as one of exactly Python's own types.

    A subclass's `__eq__` would be handed the cells.

    Raises:
        TypeError: no scalar, or a column or predicate.
        ValueError: a missing value, which compares with nothing, or one that Python's types round.
    """
    if value is None or (isinstance(value, Scalar) and value != value):  # noqa: PLR0124
        raise ValueError(f"{name} is {quoted(value)}, a missing value, which no cell compares with")
    try:
        taken: Scalar = plain(value)
    except TypeError:
        raise TypeError(
            f"{name} is {quoted(value)}; it should be a number, a string or a date"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name} is {quoted(value)}; {error}") from None
    if isinstance(taken, int) and not -(10**_MOST_DIGITS) <= taken <= 10**_MOST_DIGITS:
        raise ValueError(f"{name} is an integer of more than {_MOST_DIGITS} digits")
    return taken


def _value(value: Any) -> Scalar:
    return scalar(value, "value")


def _values(values: Any) -> tuple[Scalar, ...]:
    return scalars(values, "values")


def scalars(values: Any, name: str) -> tuple[Scalar, ...]:
    """Check a collection of scalars.

    Raises: as `scalar`, and TypeError for a string, whose letters nobody means.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {quoted(values)}; it should be a list")
    return tuple(scalar(value, f"a member of {name}") for value in several(values, name))


@attrs.frozen
class Comparison(Predicate):
    """The cell in a column, compared with a constant."""

    column: str = attrs.field(converter=_column)
    operator: str = attrs.field(converter=_operator)
    value: Scalar = attrs.field(converter=_value)

    def holds(self, dataset: Any) -> Mask:
        """Where the cell is there and compares."""
        present, values = cells(dataset, self.column)
        return _scattered(present, compared(values, self.operator, self.value))


@attrs.frozen
class IsIn(Predicate):
    """The cell in a column equals one of some constants."""

    column: str = attrs.field(converter=_column)
    values: tuple[Scalar, ...] = attrs.field(converter=_values)

    def holds(self, dataset: Any) -> Mask:
        """Where the cell is there and equals one of them."""
        present, values = cells(dataset, self.column)
        found = np.zeros(len(values), dtype=bool)
        for value in self.values:
            found |= compared(values, "==", value)
        return _scattered(present, found)


def _depth(*parts: Any) -> int:
    """How deep a predicate of these parts nests.

    Raises:
        TypeError: a part is no predicate.
        ValueError: it nests too deep to be evaluated.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise TypeError(f"a part of the predicate is {quoted(part)}; it should be a predicate")
    depth: int = 1 + max(part.depth for part in parts)
    if not depth <= MOST_NESTED:
        raise ValueError(
            f"the predicate nests {depth} deep, and {MOST_NESTED} is the most; write "
            "column(..).is_in([..]), or combine predicates in pairs, then the pairs"
        )
    return depth


def _depth_field(*names: str) -> Any:
    depth = attrs.Factory(lambda self: _depth(*(getattr(self, name) for name in names)), True)
    return attrs.field(init=False, eq=False, repr=False, default=depth)


@attrs.frozen
class And(Predicate):
    """Both."""

    left: Predicate
    right: Predicate
    depth: int = _depth_field("left", "right")

    def holds(self, dataset: Any) -> Mask:
        """Where both hold."""
        return self.left.holds(dataset) & self.right.holds(dataset)


@attrs.frozen
class Or(Predicate):
    """At least one."""

    left: Predicate
    right: Predicate
    depth: int = _depth_field("left", "right")

    def holds(self, dataset: Any) -> Mask:
        """Where at least one holds."""
        return self.left.holds(dataset) | self.right.holds(dataset)


@attrs.frozen
class Not(Predicate):
    """The negation; it holds where a comparison inside fails because a cell is missing."""

    predicate: Predicate
    depth: int = _depth_field("predicate")

    def holds(self, dataset: Any) -> Mask:
        """Where the other does not hold."""
        return ~self.predicate.holds(dataset)


def column_name(value: Any) -> str:
    """The name of a column, given by name or as `column(name)`.

    Raises:
        TypeError: neither.
    """
    name = value.name if isinstance(value, Column) else value
    if not isinstance(name, str):
        raise TypeError(f"column is {quoted(value)}; it should be a name, or column(name)")
    return str.__str__(name)


@attrs.frozen(eq=False)
class Column:
    """A column by name. Comparing it makes a predicate, `==` and `!=` too, so it has no hash."""

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
        """The cell equals one of these constants."""
        return IsIn(self.name, values)

    __hash__ = None  # type: ignore[assignment]


def column(name: str) -> Column:
    """A column, to make predicates of: `column("age") >= 30`."""
    return Column(name)


def where_field(value: Any) -> Where | None:
    """Check a `where`: a predicate, a function, or None for every record.

    Raises:
        TypeError: something else; a bare column is told to compare itself.
    """
    if isinstance(value, Column):
        raise TypeError(f"where is a column; compare it, as in column({value.name!r}) == True")
    if value is not None and not isinstance(value, Predicate) and not callable(value):
        raise TypeError(
            f'where is {quoted(value)}; it should be a predicate such as column("age") >= 30, or a '
            "function from the data to one boolean per record"
        )
    checked: Where | None = value
    return checked


def selected(where: Where | None, dataset: Any) -> Mask:
    """The records that a `where` selects: one boolean each.

    Of a function's result only the length is checked. A record is selected where the entry is True
    itself, Python's or numpy's: not where it is None, NaN, a null, or a number. So no entry decides
    about another one, or whether there is a result.

    Raises:
        TypeError, ValueError: a function gave no sequence, or one of another length.
    """
    records = count_records(dataset)
    if where is None:
        return np.ones(records, dtype=bool)
    result = where.holds(dataset) if isinstance(where, Predicate) else where(dataset)
    given, entries = read(result)
    if given.shape != (records,) or entries.ndim != 1:
        raise ValueError(f"where gave shape {given.shape}; it should give one boolean per record")
    return _scattered(given, _true(entries))


def _true(entries: Array) -> Mask:
    if entries.dtype == np.bool_:
        return np.asarray(entries)
    if entries.dtype != object:
        return np.zeros(entries.shape, dtype=bool)
    truths = (each is True or (type(each) is np.bool_ and bool(each)) for each in entries)
    return np.fromiter(truths, dtype=bool, count=len(entries))


def compared(values: Array, operator: str, constant: Scalar) -> Mask:
    """Cells, none of them missing, compared one by one.

    In an object array a cell of a kind that does not compare is False, so that one odd record
    cannot make the evaluation fail; in a typed array that is an error, about the type alone.
    """
    compare = OPERATORS[operator]
    if values.dtype == object:
        outcomes = (_compares(compare, cell, constant) for cell in values)
        return np.fromiter(outcomes, dtype=bool, count=len(values))
    kind = _kind(values.dtype)
    if kind is not None:
        return _compared_exactly(values, kind, operator, constant)
    if values.dtype.kind in "mM":  # in years or months
        constant = _as_numpy(constant)
    of_zero = np.asarray(compare(np.zeros(1, dtype=values.dtype), constant))  # fails by type alone
    if of_zero.dtype != np.bool_ or of_zero.shape != (1,):
        raise TypeError(f"{values.dtype} does not compare with {type(constant).__name__}")
    return np.asarray(compare(values, constant))


def _kind(dtype: Any) -> "Kind | None":
    """The kind of a column whose comparisons numpy would round, or do modulo 2**64."""
    from mechanisms.tables.kinds import (  # which import Scalar from here
        integer,
        moments,
        real,
        resolution,
    )

    if dtype.kind in "mM":
        step, name = resolution(dtype), "timestamp" if dtype.kind == "M" else "duration"
        return None if step is None else moments(name, step)
    if dtype.kind in "iu":
        return integer(8 * dtype.itemsize, signed=dtype.kind == "i")
    return real(64) if dtype == np.float64 else None


def _compared_exactly(values: Array, kind: "Kind", operator: str, constant: Scalar) -> Mask:
    """As Python compares integers with floats, and moments of any resolution."""
    from mechanisms.tables.kinds import placed

    if isinstance(constant, datetime) and constant.tzinfo is not None and kind.name == "timestamp":
        constant = constant.astimezone(UTC).replace(tzinfo=None)  # arrays hold no zone
    outcome = placed(kind, operator, constant)
    if isinstance(outcome, bool):
        return np.full(values.shape, outcome)
    numbers = values.astype(np.int64) if values.dtype.kind in "mM" else values
    return np.asarray(OPERATORS[outcome[0]](numbers, outcome[1]))


def _as_numpy(constant: Scalar) -> Scalar:
    """The same moment or duration: numpy does not compare its nanoseconds with Python's."""
    if isinstance(constant, date):
        return np.datetime64(constant)
    return np.timedelta64(constant) if isinstance(constant, timedelta) else constant


def _compares(compare: Callable[[Any, Any], Any], cell: Any, constant: Scalar) -> bool:
    try:
        return bool(compare(cell, constant))
    except Exception:
        return False


def _scattered(present: Mask, outcomes: Mask) -> Mask:
    everywhere = np.zeros(len(present), dtype=bool)
    everywhere[present] = outcomes
    return everywhere
