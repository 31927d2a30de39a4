"""Random statistics of a table, each as the product's value and as a function in plain Python.

A `Case` holds both. `Maker` draws them for columns of given kinds.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import attrs

from mechanisms import (
    Count,
    CountUnits,
    GroupBy,
    Histogram,
    Mean,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Sum,
    UnitSizes,
    Variance,
)
from mechanisms.tables.aggregates import Aggregate
from tests import brute_force as plain
from tests.messy_tables import Row, Types, some_cell
from tests.random_expressions import Expressions, Operand

Rows = Sequence[Row]


@attrs.frozen
class Case:
    """A statistic, perhaps in groups by columns.

    Args:
        inner: the statistic of one group.
        value: the same in plain Python.
        by: the keys of each column that rows are grouped by.
    """

    inner: Aggregate
    value: Callable[[Rows], Any]
    by: dict[str, Sequence[Any]] = attrs.field(factory=dict)

    def statistic(self, parts: int = 1) -> Aggregate:
        """The product's statistic; of several tables in one, told apart by the column `part`."""
        by = ({"part": list(range(parts))} if parts > 1 else {}) | self.by
        if by and isinstance(self.inner, Quantiles):
            return attrs.evolve(self.inner, by=by)
        return GroupBy(by, self.inner) if by else self.inner

    @property
    def in_groups(self) -> bool:
        """Whether the statistic can be asked for in groups."""
        return self.inner.groupable or isinstance(self.inner, Quantiles)

    def expected(self, rows: Rows) -> list[int]:
        """The integers of one table."""

        def within(rows: Rows, by: list[tuple[str, Sequence[Any]]]) -> list[int]:
            if not by:
                return plain.flat(self.value(rows))
            (name, keys), *rest = by
            equal = [[row for row in rows if _equals(row[name], key)] for key in keys]
            return [number for group in equal for number in within(group, rest)]

        return within(rows, list(self.by.items()))


def _equals(cell: Any, key: Any) -> bool:
    """Whether Python values are equal; a date is not equal to a datetime."""
    return plain.present(cell) is not None and bool(cell == key)


BOUNDS = [(0, 10), (-3, 2), (5, 8), ("-0.5", "0.5"), (-1000, 1000), (3, 3)]
UNITS: dict[str, list[Any]] = {
    "boolean": [1, "1/4"],
    "integer": [1, 3, "1/4", 10],
    "float": [1, "1/4", "0.01", 10, "0.3"],
    "money": ["0.01", "0.1", 1, "1/4"],
}


class Maker(Expressions):
    """Draws statistics."""

    def __init__(self, random: Random, types: Types, per: PrivacyUnit | None = None) -> None:
        super().__init__(random, types)
        self.per = per

    def case(self) -> Case:
        """A statistic, perhaps in groups."""
        makers = [
            self.count,
            self.sum,
            self.mean,
            self.variance,
            self.histogram,
            self.quantile,
            self.quantiles,
            *([self.count_units, self.unit_sizes] if self.per else []),
        ]
        found = self.random.choice(makers)()
        if found.in_groups and self.random.random() < 0.4:
            return attrs.evolve(found, by=self.keys())
        return found

    def keys(self) -> dict[str, Sequence[Any]]:
        """Keys of one column or two."""
        names = self.names(["integer", "text", "boolean", "date", "written"])
        chosen = self.random.sample(names, min(len(names), self.random.randint(1, 2)))
        return {name: self.some_keys(self.types[name]) for name in chosen}

    def some_keys(self, kind: str) -> list[Any]:
        keys = (some_cell(self.random, kind) for _ in range(self.random.randint(1, 5)))
        return list(dict.fromkeys(keys))

    def count(self) -> Case:
        where = self.where()
        return Case(Count(where.product, per=self.per), lambda rows: plain.count(rows, where.holds))

    def count_units(self) -> Case:
        assert self.per is not None
        where, name = self.where(), self.per.column
        return Case(
            CountUnits(where.product, per=self.per),
            lambda rows: plain.count_units(rows, lambda row: row[name], where.holds),
        )

    def unit_sizes(self) -> Case:
        assert self.per is not None
        where, name = self.where(), self.per.column
        limits = sorted(self.random.sample(range(1, 10), self.random.randint(1, 4)))
        return Case(
            UnitSizes(limits, where.product, per=self.per),
            lambda rows: plain.unit_sizes(rows, lambda row: row[name], limits, where.holds),
        )

    def bounded(self) -> tuple[Operand, Any, Any, Any]:
        """An operand with bounds and a unit."""
        found = self.number()
        unit = self.random.choice(UNITS[found.kind])
        lower, upper = self.random.choice(BOUNDS)
        if found.kind == "integer" and unit == 1 and self.random.random() < 0.3:
            lower, upper = self.random.choice([(-(2**63), 2**63 - 1), (0, 2**62), (-(2**40), 7)])
        return found, lower, upper, unit

    def sum(self) -> Case:
        return self._moment(Sum, plain.total)

    def mean(self) -> Case:
        return self._moment(Mean, plain.mean)

    def variance(self) -> Case:
        return self._moment(Variance, plain.variance)

    def _moment(self, statistic: Any, in_plain: Callable[..., Any]) -> Case:
        found, lower, upper, unit = self.bounded()
        where = self.where()
        lattice = plain.Lattice(lower, upper, unit)
        return Case(
            statistic(found.product, lower, upper, where.product, unit=unit, per=self.per),
            lambda rows: in_plain(rows, found.value, lattice, where.holds),
        )

    def histogram(self) -> Case:
        found = self.plain_column(["integer", "text", "boolean", "date", "money", "written"])
        if found is None:
            return self.count()
        keys, where = self.some_keys(found.kind), self.where()
        if found.kind == "money":
            keys = list(dict.fromkeys(float(key) for key in keys))
        return Case(
            Histogram(found.product, keys, where.product, per=self.per),
            lambda rows: plain.histogram(rows, found.value, keys, where.holds),
        )

    def grid(self, kind: str) -> list[Any]:
        """Ascending constants."""
        values = [self.constant(kind) for _ in range(self.random.randint(2, 6))]
        by_size = sorted(values, key=plain.ordered)
        return [value for i, value in enumerate(by_size) if not i or by_size[i - 1] != value]

    def quantiles(self) -> Case:
        found = self.operand()
        if found is None:
            return self.count()
        found = found.as_kind("float")
        grid, where = self.grid(found.kind), self.where()
        return Case(
            Quantiles(found.product, ["1/4", "1/2"], grid, where.product, per=self.per),
            lambda rows: plain.around(rows, found.value, grid, where.holds),
        )

    def quantile(self) -> Case:
        found = self.operand()
        if found is None:
            return self.count()
        found = found.as_kind("float")
        level = self.random.choice(["0", "1/2", "1/3", "0.9", "1"])
        grid, where = self.grid(found.kind), self.where()
        return Case(
            Quantile(found.product, level, grid, where.product, per=self.per),
            lambda rows: plain.quantile(rows, found.value, Fraction(level), grid, where.holds),
        )
