"""Random statistics of a table, each as the product's value and as a function in plain Python.

A `Case` holds both. `Maker` draws them for columns of given kinds.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import attrs

from mechanisms import (
    Correlation,
    Count,
    CountUnits,
    Covariance,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Regression,
    Sum,
    UnitSizes,
    Variance,
)
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Comparison, IsNull
from mechanisms.tables.statistics.aggregates import Aggregate
from tests import brute_force as plain
from tests.messy_tables import INF, Row, Types, some_cell
from tests.random_expressions import Expressions, Operand

Rows = Sequence[Row]


@attrs.frozen
class Groups:
    """Public keys of groups, and which rows are in each."""

    product: Any
    holds: list[Callable[[Row], bool]]


@attrs.frozen
class Case:
    """A statistic, perhaps in groups by columns.

    Args:
        inner: the statistic of one group.
        value: the same in plain Python.
        by: the keys that rows are grouped by.
    """

    inner: Aggregate
    value: Callable[[Rows], Any]
    by: list[Groups] = attrs.field(factory=list)

    def statistic(self, parts: int = 1) -> Aggregate:
        """The product's statistic; of several tables in one, told apart by the column `part`."""
        by = [{"part": list(range(parts))}] if parts > 1 else []
        by += [groups.product for groups in self.by]
        if by and isinstance(self.inner, Quantiles):
            return attrs.evolve(self.inner, by=by)
        return GroupBy(by, self.inner) if by else self.inner

    @property
    def in_groups(self) -> bool:
        """Whether the statistic can be asked for in groups."""
        return self.inner.groupable or isinstance(self.inner, Quantiles)

    def expected(self, rows: Rows) -> list[int]:
        """The integers of one table."""

        def within(rows: Rows, by: list[Groups]) -> list[int]:
            if not by:
                return plain.flat(self.value(rows))
            groups, *rest = by
            parts = [[row for row in rows if holds(row)] for holds in groups.holds]
            return [number for part in parts for number in within(part, rest)]

        return within(rows, self.by)


def _equal_to(operand: Operand, key: Any) -> Callable[[Row], bool]:
    """Whether a cell equals a key as Python values do; a date is not equal to a datetime."""
    return lambda row: operand.value(row) is not None and bool(operand.value(row) == key)


def _between(operand: Operand, low: Any, high: Any) -> Callable[[Row], bool]:
    """Whether a cell is in a half-open interval."""
    return lambda row: plain.in_bin(operand.value(row), low, high)


def abs_(value: Any) -> Any:
    """The absolute value of a number, other values as they are."""
    return abs(value) if isinstance(value, int | float) else value


DISCRETE = ["integer", "text", "boolean", "date", "written"]
BOUNDS = [(0, 10), (-3, 2), (5, 8), ("-0.5", "0.5"), (-1000, 1000), (3, 3)]
UNITS: dict[str, list[Any]] = {
    "boolean": [1, "1/4"],
    "integer": [1, 3, "1/4", 10],
    "float": [1, "1/4", "0.01", 10, "0.3"],
    "money": ["0.01", "0.1", 1, "1/4"],
}


class _UnitCases:
    """Draws statistics of a value of each unit, as of rows with the one cell `value`."""

    def __init__(self, random: Random, made: PerUnit, per: PrivacyUnit) -> None:
        self.random, self.made, self.per = random, made, per

    def case(self) -> Case:
        """A statistic of rows of units."""
        choose, made, per = self.random.choice, self.made, self.per
        where, holds = choose([self.every, self.compared, self.compared])()
        operand, grid = Column(made), self.grid()
        lattice = plain.Lattice(made.lower, made.upper, made.unit)
        bounds = {"lower": made.lower, "upper": made.upper, "where": where, "unit": made.unit}

        def value(row: Row) -> Any:
            return row["value"]

        def over(statistic: Any, in_plain: Any, *given: Any) -> Case:
            return Case(statistic, lambda rows: in_plain(rows, *given, holds))

        levels = ["1/4", "1/2"]
        return choose(
            [
                over(
                    Count(IsNull(made) | ~IsNull(made) if where is None else where, per=per),
                    plain.count,
                ),
                over(Sum(operand, **bounds, per=per), plain.total, value, lattice),
                over(Mean(operand, **bounds, per=per), plain.mean, value, lattice),
                over(Variance(operand, **bounds, per=per), plain.variance, value, lattice),
                over(
                    Histogram(operand, bins=grid, where=where, per=per), plain.binned, value, grid
                ),
                over(Quantiles(operand, levels, grid, where, per=per), plain.around, value, grid),
                over(
                    Quantile(operand, "1/3", grid, where, per=per),
                    *(plain.quantile, value, Fraction(1, 3), grid),
                ),
            ]
        )

    def every(self) -> tuple[Any, Callable[[Row], bool]]:
        return None, lambda row: True

    def compared(self) -> tuple[Any, Callable[[Row], bool]]:
        """The value compared with a constant, or whether there is none."""
        symbol, constant = self.random.choice([*plain.COMPARE]), self.constant()
        if self.random.random() < 0.2:
            return IsNull(self.made), lambda row: row["value"] is None
        return (
            Comparison(self.made, symbol, constant),
            lambda row: plain.compared(symbol, row["value"], constant),
        )

    def constant(self) -> Any:
        """A constant near the bounds, on the lattice or beside it."""
        near = self.random.choice([self.made.lower, self.made.upper, Fraction(1)])
        near += self.made.unit * self.random.choice([-2, -1, 0, 1, 2, Fraction(1, 2)])
        return self.random.choice([int(near), float(near), 0.1, INF])

    def grid(self) -> list[Any]:
        """Ascending constants."""
        every = [0, 2, *(self.constant() for _ in range(5))]
        found = {Fraction(each): each for each in every if each < INF}
        return [found[each] for each in sorted(found)]


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
            self.products,
            *([self.count_units, self.unit_sizes, *[self.of_units] * 3] if self.per else []),
        ]
        found = self.random.choice(makers)()
        if found.in_groups and self.random.random() < 0.4:
            return attrs.evolve(found, by=self.keys())
        return found

    def keys(self) -> list[Groups]:
        """One axis of groups, or two."""
        found = [self.groups() for _ in range(self.random.randint(1, 2))]
        return [groups for groups in found if groups is not None]

    def groups(self) -> Groups | None:
        """Values of a column, of an expression or of two columns, or intervals."""
        choice = self.random.random()
        if choice < 0.3 and (found := self.binned()):
            operand, edges = found
            holds = [_between(operand, low, high) for low, high in pairwise(edges)]
            return Groups(Keys.bins(operand.product, edges), holds)
        if choice < 0.4 and (found := self.moment(1, ["date", "timestamp", "instant"])):
            return self.months(found)
        operand = self.discrete()
        if operand is None:
            return None
        keys = self.some_keys(operand.kind)
        holds = [_equal_to(operand, key) for key in keys]
        if not isinstance(operand.product, str):
            return Groups(Keys(operand.product, keys), holds)
        names = [name for name in self.names(DISCRETE) if name != operand.product]
        if choice < 0.7 or not names:
            return Groups({operand.product: keys}, holds)
        name = self.random.choice(names)
        keys = self.some_keys(operand.kind)
        pairs = [(key, self.some_keys(self.types[name])[0]) for key in keys]
        public = [{operand.product: a, name: b} for a, b in pairs]
        other = Operand(name, self.types[name], lambda row: plain.present(row[name]))
        both = [
            lambda row, a=a, b=b: _equal_to(operand, a)(row) and _equal_to(other, b)(row)
            for a, b in pairs
        ]
        return Groups(Keys.of(public, operand.product, name), both)

    def months(self, found: Operand) -> Groups:
        """Three calendar months."""
        year = self.random.choice([4, 1969, 2020, 2021])
        month = Operand(None, "date", lambda row: plain.truncated("month", found.value(row)))
        holds = [_equal_to(month, dt.date(year, number, 1)) for number in (1, 2, 3)]
        return Groups(Keys.months(found.product, f"{year:04}-01", f"{year:04}-03"), holds)

    def discrete(self) -> Operand | None:
        """What rows are grouped by: text, whole numbers, dates or truth values."""
        if self.random.random() < 0.5:
            return self.plain_column(DISCRETE)
        makers = [self.date_part, self.text, lambda depth: self.moment(depth, ["date"])]
        return self.random.choice([*makers, self.boolean])(1)

    def binned(self) -> tuple[Operand, list[Any]] | None:
        """A number, date or time, and edges."""
        every = ["date", "timestamp", "instant"]
        makers = [self.number, lambda depth: self.moment(depth, every)]
        found = self.random.choice(makers)(1)
        if found is None or found.kind == "boolean":
            return None
        edges = self.grid(found.kind)
        edges = [edge for edge in edges if not isinstance(edge, bool) and abs_(edge) != INF]
        return (found, edges) if len(edges) > 1 else None

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

    def of_units(self) -> Case:
        """A statistic of a value of each unit, which is computed of its rows."""
        assert self.per is not None
        how = self.random.choice(["count", "sum", "mean", "min", "max"])
        found, lower, upper, unit = self.bounded()
        operand: Operand | None = found
        if how == "count":
            operand, unit = None, 1
            lower, upper = self.random.choice([(0, 2), (1, 3), (0, 10), (2, 2)])
        where, name = self.where(), self.per.column
        ends = (Fraction(each) for each in (lower, upper, unit))
        try:
            made = PerUnit(how, operand and operand.product, *ends, where=where.product)
        except ValueError:  # beyond the units that a sum or a mean may have
            return self.count_units()
        inner = _UnitCases(self.random, made, self.per).case()
        lattice = plain.Lattice(made.lower, made.upper, made.unit)
        value = operand and operand.as_kind("float").value

        def rows_of_units(rows: Rows) -> Any:
            of = plain.unit_values(rows, lambda row: row[name], how, value, lattice, where.holds)
            return inner.value(of)

        return Case(inner.inner, rows_of_units)

    def bounded(self) -> tuple[Operand, Any, Any, Any]:
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
        where = self.where()
        if self.random.random() < 0.5 and (found := self.binned()):
            operand, edges = found
            return Case(
                Histogram(operand.product, bins=edges, where=where.product, per=self.per),
                lambda rows: plain.binned(rows, operand.value, edges, where.holds),
            )
        column = self.discrete()
        if column is None:
            return self.count()
        keys = self.some_keys(column.kind)
        return Case(
            Histogram(column.product, keys, where.product, per=self.per),
            lambda rows: plain.histogram(rows, column.value, keys, where.holds),
        )

    def products(self) -> Case:
        """A covariance, a correlation or a regression."""
        count = self.random.randint(2, 3)
        found = [self.number() for _ in range(count)]
        names = [operand_name(operand_of(each.product)) for each in found]
        if len(set(names)) < count or any(each.kind == "boolean" for each in found):
            return self.mean()
        bounds = {name: self.random.choice([(0, 10), (-3, 2), (-5, 7.5)]) for name in names}
        where, columns = self.where(), [each.product for each in found]
        if count == 2:
            one_of_two = self.random.choice([Covariance, Correlation])
            made = one_of_two(*columns, bounds, where.product, per=self.per)
        else:
            made = Regression(columns[0], columns[1:], bounds, where.product, per=self.per)
        scaled = [(each.name, each.lattice, each.factor) for each in made.scaled]
        places = [names.index(name) for name, *_ in scaled]
        lattices = [plain.Lattice(it.lower, it.upper, it.unit) for _, it, _ in scaled]
        assert all(2**19 <= it.high - it.low <= 2**21 for it in lattices)
        return Case(
            made,
            lambda rows: plain.products(
                rows,
                [found[place].value for place in places],
                lattices,
                [factor for *_, factor in scaled],
                made.pairs,
                where.holds,
            ),
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
