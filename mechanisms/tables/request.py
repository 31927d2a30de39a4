"""The sums that a statistic asks of a table: integers added up over rows, in public groups.

Every engine evaluates a `Request`, and every statistic of a table is computed from one, so a launch
is one pass over the data. A request holds public values only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import prod
from typing import Any

import attrs

from mechanisms.tables.expressions import Operand, columns_of, operand_of
from mechanisms.tables.lattice import Lattice
from mechanisms.tables.predicates import Where
from mechanisms.tables.privacy_unit import Contribution, PrivacyUnit, contribution
from mechanisms.tables.scalars import Scalar, scalars
from queryable.data.cells import Array


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
    return scalars(values, "values")


@attrs.frozen
class Categories:
    """Groups by the category that a cell equals; other rows are in no group."""

    column: Operand = attrs.field(converter=operand_of)
    values: tuple[Scalar, ...] = attrs.field(converter=_values)

    bounded = True

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.values)


@attrs.frozen
class Bins:
    """Groups by the number of steps that a cell has reached; rows without a cell are in no group.

    A step is `(">=", value)` or `(">", value)`. Steps are in ascending order, so a cell that has
    reached one has reached all before it.

    Args:
        bounded: whether these are groups that a privacy unit's bounds on groups are about.
    """

    column: Operand = attrs.field(converter=operand_of)
    steps: tuple[tuple[str, Scalar], ...]
    bounded: bool = attrs.field(default=True, kw_only=True)

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.steps) + 1


@attrs.frozen
class Request:
    """Sums of terms over the rows of a table.

    Args:
        terms: what is added up.
        where: which rows are selected.
        by: the groups; a row without a group in one of them is not counted.
        per: the privacy unit whose contributions are bounded; None if each row is a unit.
        sizes: if given, units are counted instead of rows, by how many selected rows they have in
            the group: entry i counts those with at least `sizes[i]` and fewer than `sizes[i + 1]`.
            All rows of a unit are looked at, and its groups are bounded, but not its rows.
    """

    terms: tuple[Term, ...]
    where: Where | None = None
    by: tuple[Categories | Bins, ...] = ()
    per: PrivacyUnit | None = None
    sizes: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """One number per group, number of rows of a unit if units are counted, and term."""
        sizes = (len(self.sizes),) if self.sizes else ()
        return (*(each.size for each in self.by), *sizes, len(self.terms))

    @property
    def size_steps(self) -> tuple[tuple[str, Scalar], ...]:
        """The steps that place a unit's number of rows among the sizes, as those of `Bins`."""
        return tuple((">=", size) for size in self.sizes[1:])

    @property
    def bounded(self) -> tuple[int, ...]:
        """The positions in `by` of the groups that a unit's bounds on groups are about."""
        return tuple(i for i, by in enumerate(self.by) if by.bounded)

    @property
    def contribution(self) -> Contribution:
        """What one unit contributes at most: rows, or itself in each of its groups."""
        groups = prod(self.by[i].size for i in self.bounded) if self.bounded else None
        if not self.sizes:
            return contribution(self.per, groups)
        assert self.per is not None
        most = 1 if groups is None else min(self.per.groups, groups)
        return Contribution(most, most, 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, sorted by name; without the privacy unit's."""
        terms = (factor for term in self.terms for factor in term.factors)
        operands = (each.column for each in (*terms, *self.by))
        return tuple(sorted(set(columns_of(*operands, self.where))))


class Tabular(ABC):
    """A dataset that evaluates requests itself, such as a `Table`."""

    @abstractmethod
    def totals(self, request: Request) -> Array:
        """The sums: Python integers of the request's shape.

        Reads the data, so it runs inside the fault boundary.
        """
