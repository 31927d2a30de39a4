"""What a statistic asks of a table: integers added up over rows, in public groups.

Responsible for the one request that every engine answers. All statistics of a table are made of
it, so a launch is one pass over the data. Knows no engine; a request holds public things only.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import attrs

from mechanisms.tables.lattice import Lattice
from mechanisms.tables.predicates import And, Comparison, IsIn, Not, Or, Where, column_name
from mechanisms.tables.privacy_unit import PrivacyUnit
from mechanisms.tables.scalars import Scalar, scalars
from queryable.data.rows import Array


@attrs.frozen
class Term:
    """An integer that each row adds: `(units - center) ** power`, 0 where the cell is missing.

    Power 0 adds 1 where the cell is present; without a column, for every row.
    """

    column: str | None = None
    lattice: Lattice | None = None
    center: int = 0
    power: int = 0

    @property
    def largest(self) -> int:
        """What a row adds at most, in absolute value."""
        if self.lattice is None or not self.power:
            return 1
        ends = self.lattice.low, self.lattice.high
        return int(max(abs(end - self.center) for end in ends) ** self.power)


def _values(values: Any) -> tuple[Scalar, ...]:
    return scalars(values, "values")


@attrs.frozen
class Categories:
    """Groups by the category that a cell equals; other rows are in no group."""

    column: str = attrs.field(converter=column_name)
    values: tuple[Scalar, ...] = attrs.field(converter=_values)

    @property
    def size(self) -> int:
        """How many groups."""
        return len(self.values)


@attrs.frozen
class Bins:
    """Groups by how many steps a cell has reached; other rows are in no group.

    A step is `(">=", value)` or `(">", value)`; they are in ascending order, so that who has
    reached one has reached those before it.
    """

    column: str = attrs.field(converter=column_name)
    steps: tuple[tuple[str, Scalar], ...]

    @property
    def size(self) -> int:
        """How many groups."""
        return len(self.steps) + 1


@attrs.frozen
class Request:
    """Sums of terms over the rows of a table.

    Args:
        terms: what is added up.
        where: which rows.
        by: groups; a row that one of them has no place for is not counted.
        per: whose contributions are bounded, None for each row by itself.
    """

    terms: tuple[Term, ...]
    where: Where | None = None
    by: tuple[Categories | Bins, ...] = ()
    per: PrivacyUnit | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each group and term."""
        return (*(each.size for each in self.by), len(self.terms))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, in order of their names; not the unit's."""
        terms = {term.column for term in self.terms if term.column is not None}
        return tuple(sorted(terms | {by.column for by in self.by} | set(_columns(self.where))))


def _columns(where: Where | None) -> Iterator[str]:
    match where:
        case Comparison(column=column) | IsIn(column=column):
            yield column
        case And(left, right) | Or(left, right):
            yield from _columns(left)
            yield from _columns(right)
        case Not(predicate):
            yield from _columns(predicate)


class Tabular(ABC):
    """A dataset that adds up for itself, such as a `Table`."""

    @abstractmethod
    def totals(self, request: Request) -> Array:
        """Python integers of the request's shape. Reads the data: inside the fault boundary."""
