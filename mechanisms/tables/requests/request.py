"""The sums that a statistic asks of a table: integers added up over rows, in public groups.

Every engine evaluates a `Request`, and every statistic of a table is computed from one, so a launch
is one pass over the data. A request holds public values only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, prod
from operator import eq, gt, itemgetter, le, lt
from typing import Any, Self, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import constant
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import (
    Operand,
    PerUnit,
    columns_of,
    of_values,
    operand_name,
    operand_of,
    per_units,
)
from mechanisms.tables.expressions.predicates import Where
from mechanisms.tables.expressions.scalars import EQUAL, WRITTEN, Scalar, alike, scalars
from mechanisms.tables.requests.privacy_unit import Contribution, PrivacyUnit, contribution
from queryable.answers.estimates import Axis, Bin
from queryable.data.cells import Array
from queryable.streams.contributions import Contributions
from queryable.wording.quoting import an_instance, quoted


def _operand(value: Any) -> Operand | None:
    return None if value is None else operand_of(value)


@attrs.frozen
class Term:
    """An integer that each row adds: `(units - center) ** power`, 0 where the cell is missing.

    Power 0 adds 1 where the cell is present, and without a column adds 1 for every row.

    Args:
        times: further factors, which are terms with a column. So a row with a missing cell in any
            of the columns adds 0.
    """

    column: Operand | None = attrs.field(default=None, converter=_operand)
    lattice: Lattice | None = None
    center: int = 0
    power: int = 0
    times: "tuple[Term, ...]" = ()

    @property
    def largest(self) -> int:
        """The largest absolute value that a row adds."""
        return prod(factor._most for factor in self.factors)

    @property
    def _most(self) -> int:
        if self.lattice is None or not self.power:
            return 1
        ends = self.lattice.low, self.lattice.high
        return int(max(abs(end - self.center) for end in ends) ** self.power)

    @property
    def factors(self) -> "tuple[Term, ...]":
        """This term without its further factors, and these."""
        return (attrs.evolve(self, times=()), *self.times) if self.times else (self,)

    def reading(self, column: Callable[[Operand | None], Operand | None]) -> "Term":
        """The same term of other columns."""
        times = tuple(factor.reading(column) for factor in self.times)
        return attrs.evolve(self, column=column(self.column), times=times)


def _values(values: Any) -> tuple[Scalar, ...]:
    """Constants that differ from each other, so that a cell equals at most one of them."""
    taken = scalars(values, "values")
    if len(set(taken)) < len(taken):
        raise ValueError(f"values is {quoted(taken)}; they should differ from each other")
    return taken


def _steps(steps: Any) -> tuple[tuple[str, Scalar], ...]:
    """Steps in ascending order; there may be many, and a request is made often.

    Raises:
        TypeError, ValueError: they are not.
    """
    if type(steps) is not tuple or set(map(type, steps)) != {tuple} or set(map(len, steps)) != {2}:
        raise TypeError(f'steps is {quoted(steps)}; they should be like ((">=", 0), (">=", 10))')
    operators, values = list(map(itemgetter(0), steps)), list(map(itemgetter(1), steps))
    if set(map(type, operators)) != {str} or not set(operators) <= {">=", ">"}:
        raise ValueError(f'steps is {quoted(steps)}; each should be (">=", value) or (">", value)')
    taken = values if set(map(type, values)) <= EQUAL | WRITTEN else scalars(values, "steps")
    try:
        if any(isinstance(each, np.datetime64) for each in taken):
            raise TypeError("numpy compares times of different units wrongly")
        ascending = _ascending(operators, taken)
    except TypeError:  # of dates and times, which Python does not compare
        ascending = _ascending(operators, [constant(each).value for each in taken])
    if not ascending:
        raise ValueError(f"steps is {quoted(steps)}; they should be in ascending order")
    return steps if taken is values else tuple(zip(operators, taken, strict=True))


def _ascending(operators: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether each step is above the one before it: of equal values, ">=" is before ">"."""
    equal = map(eq, values, values[1:])
    follows = map(gt, operators, operators[1:])
    return all(map(le, values, values[1:])) and all(map(le, equal, follows))


class _OfColumn:
    """Groups of one column."""

    __slots__ = ()
    column: Operand

    @property
    def parts(self) -> tuple[Self]:
        """Itself."""
        return (self,)

    @property
    def names(self) -> tuple[str]:
        """The text of the column."""
        return (operand_name(self.column),)

    def reading(self, column: Callable[[Operand | None], Operand | None]) -> Self:
        """The same groups of another column."""
        groups: Any = self
        read: Self = attrs.evolve(groups, column=column(self.column))
        return read


@attrs.frozen
class Categories(_OfColumn):
    """Groups by the category that a cell equals; other rows are in no group."""

    column: Operand = attrs.field(converter=operand_of)
    values: tuple[Scalar, ...] = attrs.field(converter=_values, eq=alike)

    bounded = True

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.values)

    @property
    def axis(self) -> Axis:
        """The labels of the groups."""
        return Axis(self.names, tuple((value,) for value in self.values))


@attrs.frozen
class Bins(_OfColumn):
    """Groups by the number of steps that a cell has reached; rows without a cell are in no group.

    A step is `(">=", value)` or `(">", value)`. Steps are in ascending order, so a cell that has
    reached one has reached all before it.

    Args:
        bounded: whether the intervals between two steps are the groups, and a privacy unit's bounds
            on groups are about them. Otherwise cells before the first step and after the last are
            in groups too, and no bound is about them.
    """

    column: Operand = attrs.field(converter=operand_of)
    steps: tuple[tuple[str, Scalar], ...] = attrs.field(converter=_steps, eq=alike)
    bounded: bool = attrs.field(default=True, kw_only=True, validator=an_instance(bool))

    def __attrs_post_init__(self) -> None:
        """Check that there is a group.

        Raises:
            ValueError: there is no interval between steps.
        """
        if len(self.steps) < 1 + self.bounded:
            raise ValueError("steps should be at least two: the intervals between them are groups")

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.between) + 1

    @property
    def between(self) -> tuple[tuple[str, Scalar], ...]:
        """The steps that are between two groups."""
        return self.steps[1:-1] if self.bounded else self.steps

    @property
    def axis(self) -> Axis:
        """The labels of the groups: intervals."""
        edges = [value for _, value in self.steps]
        inner = [(Bin(*each),) for each in pairwise(edges)]
        if not self.bounded:
            inner = [(Bin(-inf, edges[0]),), *inner, (Bin(edges[-1], inf),)]
        return Axis(self.names, tuple(inner))


def _parts(parts: Any) -> tuple[Categories, ...]:
    if type(parts) is not tuple or not parts or not all(isinstance(e, Categories) for e in parts):
        raise TypeError(f"parts is {quoted(parts)}; it should be a tuple of Categories")
    return parts


def _places(places: Any) -> tuple[tuple[int, ...], ...]:
    if (
        type(places) is not tuple
        or not places
        or not all(
            type(each) is tuple and all(type(index) is int and index >= 0 for index in each)
            for each in places
        )
    ):
        raise TypeError(f"places is {quoted(places)}; it should be a tuple of indices for a group")
    return places


@attrs.frozen
class Combinations:
    """Groups by the combination of categories that the cells of several columns equal.

    Args:
        parts: the categories of each column.
        places: for each group the index of its category in each part.
    """

    parts: tuple[Categories, ...] = attrs.field(converter=_parts)
    places: tuple[tuple[int, ...], ...] = attrs.field(converter=_places)
    bounded = True

    def __attrs_post_init__(self) -> None:
        """Check that a row is in one group at most, and that each group has its labels.

        Raises:
            ValueError: a group is there twice, or has no place among the categories; or there are
                too many combinations of the categories.
        """
        sizes = [part.size for part in self.parts]
        if len(set(self.places)) < len(self.places):
            raise ValueError("places should differ from each other: each is a group")
        for place in self.places:
            if len(place) != len(sizes) or not all(map(lt, place, sizes)):
                raise ValueError(
                    f"places has {quoted(place)}; it should have an index of each part, of {sizes}"
                )
        if not prod(part.size for part in self.parts) < 2**62:
            raise ValueError("give keys of fewer columns, or with fewer values: they are too many")

    index: Mapping[tuple[int, ...], int] = attrs.field(init=False, eq=False, repr=False)

    @index.default
    def _index(self) -> Mapping[tuple[int, ...], int]:
        return {place: index for index, place in enumerate(self.places)}

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.places)

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the columns."""
        return tuple(name for part in self.parts for name in part.names)

    @property
    def axis(self) -> Axis:
        """The labels of the groups: a value of each column."""
        values = (
            tuple(part.values[i] for part, i in zip(self.parts, place, strict=True))
            for place in self.places
        )
        return Axis(self.names, tuple(values))

    def reading(self, column: Callable[[Operand | None], Operand | None]) -> "Combinations":
        """The same groups of other columns."""
        return attrs.evolve(self, parts=tuple(part.reading(column) for part in self.parts))

    def code(self, place: Sequence[Any]) -> Any:
        """One number for the indices of one category of each part; it is below 2**62."""
        code = place[0]
        for part, index in zip(self.parts[1:], place[1:], strict=True):
            code = code * part.size + index
        return code


Groups: TypeAlias = Categories | Bins | Combinations
"""One dimension of groups."""


def _reads_units(by: Groups) -> bool:
    """Whether groups are of values of privacy units; others are of rows."""
    return next(per_units(*(part.column for part in by.parts)), None) is not None


@attrs.frozen
class Request:
    """Sums of terms over the rows of a table, or over its privacy units.

    It is over units if a term, a group or `where` reads a value of a unit, `PerUnit`. Then there is
    one row for each unit that has a row, or one for each unit and group of rows if there are groups
    of rows. `where` selects among them, and at most `per.groups` groups of rows of a unit count.

    Args:
        terms: what is added up.
        where: which rows are selected.
        by: the groups; a row without a group in one of them is not counted.
        per: the privacy unit whose contributions are bounded; None if each row is a unit.
    """

    terms: tuple[Term, ...]
    where: Where | None = None
    by: tuple[Groups, ...] = ()
    per: PrivacyUnit | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """One number per group and term."""
        return (*(each.size for each in self.by), len(self.terms))

    @property
    def units(self) -> PerUnit | None:
        """What is computed of each privacy unit; None if the request is over rows."""
        factors = (factor.column for term in self.terms for factor in term.factors)
        parts = (part.column for part in self.parts)
        return next(per_units(*factors, *parts, self.where), None) if self.per else None

    @property
    def of_rows(self) -> tuple[Groups, ...]:
        """The groups of rows; the others are of values of privacy units."""
        if self.units is None:
            return self.by
        return tuple(by for by in self.by if not _reads_units(by))

    def over_units(self, name: str) -> "Request":
        """The request over the rows of units, with the value of a unit as a column of this name.

        Groups of rows, in which these rows are already, are left out.

        Raises:
            TypeError: there are two such values, a column of rows is read beside them, or rows
                are in groups of which a unit's rows may have any number.
        """
        if not all(part.bounded for each in self.of_rows for part in each.parts):
            raise TypeError("ask for a quantile of per_unit(..), or of rows without per_unit(..)")
        factors = [factor.column for term in self.terms for factor in term.factors]
        by = self.by[len(self.of_rows) :]
        if not all(map(_reads_units, by)):
            raise TypeError("give the groups of rows first, before those of per_unit(..)")
        parts = [part.column for each in by for part in each.parts]
        if len(set(map(repr, per_units(*factors, *parts, self.where)))) > 1:
            raise TypeError(
                "ask about one per_unit(..) at a time: a question has one value a unit. In groups "
                "of it ask for count(), which counts units"
            )
        if any(isinstance(each, str) for each in (*factors, *parts)) or callable(self.where):
            raise TypeError("write conditions on rows as per_unit(.., where=..)")

        def value(column: Operand | None) -> Operand | None:
            found: Operand | None = of_values(column, name)
            return found

        return Request(
            tuple(term.reading(value) for term in self.terms),
            of_values(self.where, name),
            tuple(each.reading(value) for each in by),
        )

    @property
    def bounded(self) -> tuple[int, ...]:
        """The positions in `parts` of the groups that a unit's bounds on groups are about."""
        if self.units is not None:
            return tuple(range(sum(len(by.parts) for by in self.of_rows)))
        return tuple(i for i, part in enumerate(self.parts) if part.bounded)

    @property
    def contribution(self) -> Contribution:
        """What one unit contributes at most: rows, or itself in each of its groups of rows."""
        if self.units is None:
            groups = prod(by.size for by in self.by if by.bounded) if self.bounded else None
            return contribution(self.per, groups)
        assert self.per is not None
        most = min(self.per.groups, prod(by.size for by in self.of_rows)) if self.of_rows else 1
        apart = all(part.bounded for by in self.of_rows for part in by.parts)
        return Contribution(most, most if apart else most**2, 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, sorted by name; without the privacy unit's."""
        terms = (factor for term in self.terms for factor in term.factors)
        operands = (each.column for each in (*terms, *self.parts))
        return tuple(sorted(set(columns_of(*operands, self.where))))

    @property
    def parts(self) -> tuple[Categories | Bins, ...]:
        """The groups of single columns; engines give one index for each of them."""
        return tuple(part for by in self.by for part in by.parts)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The labels of each dimension of groups."""
        return tuple(by.axis for by in self.by)

    def place(self, indices: Sequence[int]) -> tuple[int, ...]:
        """Where the sums are for which an engine gave these indices, of parts."""
        rest, place = list(indices), []
        for by in self.by:
            mine, rest = tuple(rest[: len(by.parts)]), rest[len(by.parts) :]
            place.append(by.index[mine] if isinstance(by, Combinations) else mine[0])
        return tuple(place)


class Tabular(ABC):
    """A dataset that evaluates requests itself, such as a `Table`."""

    @abstractmethod
    def totals(self, request: Request) -> Array:
        """The sums: Python integers of the request's shape.

        Reads the data, so it runs inside the fault boundary.
        """

    def found(self, asked: Any) -> Iterator[Any]:
        """The keys that occur, of a `Discovery`. Reads the data, inside the fault boundary."""
        raise TypeError(f"name the keys: a {type(self).__name__} finds none for {asked}")

    def step(self, column: str) -> Fraction | None:
        """What every number of a column is a multiple of, by its public type; None if unknown."""
        return None

    def contributions(self, request: Request) -> Contributions:
        """What each record adds to the sums of a request with one term. Reads the data.

        Raises:
            TypeError: the data do not tell records apart.
        """
        raise TypeError(f"{type(self).__name__} does not say what a record adds")


def placed_sums(request: Request, rows: Iterable[tuple[int, ...]] | Array) -> Array:
    """The sums that an engine returned, each in its place."""
    result = np.zeros(request.shape, dtype=object)
    dimensions = len(request.parts)
    given = rows if isinstance(rows, np.ndarray) else np.array(list(rows), dtype=object)
    if not given.size:
        return result
    places, sums = given[:, :dimensions].astype(np.int64), given[:, dimensions:].astype(object)
    if (places < 0).any():  # numpy counts from the end
        raise IndexError("the engine returned a negative group index")
    if not dimensions:
        result += sums.sum(axis=0)
        return result
    if len(request.parts) > len(request.by):
        places = np.array(list(map(request.place, places.tolist())), dtype=np.int64)
    np.add.at(result, tuple(places.T), sums)
    return result
