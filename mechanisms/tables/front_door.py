"""Statistics from the table: `visits.mean("age", 0, 120)`, with the privacy unit filled in.

`FromTable` has the methods of a `Table` and of a group-by of it, `table.group_by(..)`. They give
statistics, and read no rows. `Queryable.release` answers them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor, log
from typing import Any, TypeVar

import attrs

from mechanisms.tables.declared import Declared
from mechanisms.tables.expressions.column_types import Kind, real
from mechanisms.tables.expressions.columns import when
from mechanisms.tables.expressions.operands import (
    MOST_UNITS,
    Operand,
    PerUnit,
    operand_of,
    require_column,
)
from mechanisms.tables.expressions.predicates import Predicate, Where
from mechanisms.tables.quantiles.choices import Quantiles
from mechanisms.tables.quantiles.quantile import Quantile
from mechanisms.tables.requests.keys import equal_edges, groups_of
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Groups
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.spans.ranges import Ranges
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import ColumnStatistic, Count, Histogram, Sum
from mechanisms.tables.statistics.discovered import DiscoveredKeys
from mechanisms.tables.statistics.group_by import GroupBy
from mechanisms.tables.statistics.moments import Mean, Std, Variance
from mechanisms.tables.statistics.regression import Correlation, Covariance, Regression
from mechanisms.tables.statistics.top import Top
from mechanisms.tables.statistics.units import CountUnits, UnitSizes
from mechanisms.tables.unit_values import UnitValues
from queryable.losses.numbers import positive, shown

_EXACT = 10**12
"""The largest number of steps of a decimal column between bounds; beyond it steps are rounded."""
_MOST_DECIMAL, _FINEST = 10**14, Fraction(1, 10**15)
"""Engines read floats as decimals below this bound, in this unit and coarser ones."""

Ranged = TypeVar("Ranged", bound=ColumnStatistic)


class FromTable(ABC):
    """The statistics of a table, or of its groups.

    Every method takes a `where`: a predicate such as `column("age") >= 65`. Bounds are public, and
    never taken from the data.
    """

    @property
    @abstractmethod
    def unit(self) -> PrivacyUnit | None:
        """Who is protected, and how much of them is counted; None if each row is a unit."""

    @abstractmethod
    def kind(self, column: Any) -> Kind:
        """The kind (type) of a column or of an expression. Public.

        Raises:
            ValueError, TypeError: there is no such column, or the expression does not fit.
        """

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The bounds and keys of columns that the owner states, by name. Public."""
        return {}

    @property
    def keys(self) -> tuple[Groups, ...]:
        """The keys of the groups; none for a whole table."""
        return ()

    def _asked(self, statistic: Aggregate) -> Any:
        return GroupBy(self.keys, statistic) if self.keys else statistic

    def count(self, where: Where | None = None) -> Any:
        """The number of rows, at most `max_rows` of each privacy unit. For people: `count_units`.

        Args:
            where: which rows; by default all.
        """
        return self._asked(Count(where, per=self.unit))

    def count_units(self, where: Where | None = None) -> Any:
        """The number of privacy units, such as people, with at least one row among `where`.

        All rows of a unit are looked at, not only `max_rows` of them.

        Raises:
            TypeError: the table has no privacy unit.
        """
        return self._asked(CountUnits(where, per=self._whom()))

    def rows_per_unit(self, limits: Iterable[int], where: Where | None = None) -> Any:
        """How many privacy units have how many rows, to choose `max_rows`; see `UnitSizes`.

        Args:
            limits: [1, 5, 20] gives the units with 1 row, with 2 to 5, with 6 to 20, and with more.
            where: which rows; by default all.

        Raises:
            TypeError: the table has no privacy unit.
        """
        return self._asked(UnitSizes(limits, where, per=self._whom()))

    def per_unit(
        self,
        how: str,
        column: Any = None,
        lower: Any = None,
        upper: Any = None,
        where: Predicate | None = None,
        *,
        unit: Any = None,
    ) -> UnitValues:
        """A number of each privacy unit, such as what a patient's visits cost in all.

        `costs = visits.per_unit("sum", "cost", 0, 5000)` is asked for `costs.mean()`,
        `costs.median(grid)`, `costs.histogram(bins=..)`, `costs.share(costs > 1000)` and so on. All
        rows of a unit are read, not only `max_rows` of them: a unit counts once.

        Args:
            how: "count" (of rows), "sum", "mean", "min" or "max". `PerUnit` says what they are.
            column: of which numbers; none for a count.
            lower, upper: public bounds of a unit's number, which is clipped to them. By default
                those of a count are 0 and `max_rows`.
            where: which rows are read, a predicate. A unit without such a row is not counted. To
                count it as 0, add up `when(column("urgent") == 1).then(1).otherwise(0)`.
            unit: what the number is rounded to; by default a unit of the column, or a power of ten
                of which there are 400,000 to 4 million between the bounds.

        Raises:
            TypeError: the table has no privacy unit.
        """
        most = self._whom().max_rows
        require_column(how, column)
        if how == "count":
            lower, upper = (0 if lower is None else lower), (most if upper is None else upper)
        low, high = _bounds(lower, upper)
        if unit is None:
            known = Fraction(1) if how == "count" else unit_of(how, self.kind(column), low, high)
        else:
            known = positive(unit, "unit")
        return UnitValues(PerUnit(how, column, low, high, known, where), self)

    def sum(
        self, column: Any, lower: Any, upper: Any, where: Where | None = None, *, unit: Any = None
    ) -> Any:
        """The sum of a column, each number clipped to [lower, upper].

        Args:
            column: its name, or an expression.
            lower, upper: public bounds.
            where: which rows; by default all.
            unit: what numbers are rounded to, toward zero. By default 1 for integers, the column's
                own step for decimals, and for floats and undeclared columns a power of ten of which
                there are a million to ten million between the bounds.
        """
        return self._asked(self._ranged(Sum, column, lower, upper, where, unit))

    def mean(
        self, column: Any, lower: Any, upper: Any, where: Where | None = None, *, unit: Any = None
    ) -> Any:
        """The mean of a column, each number clipped to its bounds. The arguments are `sum`'s.

        By default integers between bounds with an odd sum have the unit 1/2: then the middle of the
        bounds is a unit, which costs nothing and makes the noise smaller.
        """
        return self._asked(self._ranged(Mean, column, lower, upper, where, unit))

    def share(self, condition: Predicate, where: Where | None = None) -> Any:
        """The share of rows for which a condition holds, from 0 to 1.

        Args:
            condition: such as `column("age") >= 65`.
            where: among which rows; by default all.
        """
        holds = when(condition).then(1).otherwise(0)
        return self.mean(holds, 0, 1, where)

    def variance(
        self, column: Any, lower: Any, upper: Any, where: Where | None = None, *, unit: Any = None
    ) -> Any:
        """The variance of a column, with numbers clipped to its bounds; arguments as for `sum`."""
        return self._asked(self._ranged(Variance, column, lower, upper, where, unit))

    def std(
        self, column: Any, lower: Any, upper: Any, where: Where | None = None, *, unit: Any = None
    ) -> Any:
        """The standard deviation of a column. The arguments are those of `sum`."""
        return self._asked(self._ranged(Std, column, lower, upper, where, unit))

    def histogram(
        self,
        column: Any,
        categories: Any = None,
        where: Where | None = None,
        *,
        bins: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> Any:
        """The number of rows in each of some intervals or categories; see `Histogram`.

        Args:
            column: its name, or an expression.
            categories: values that cells equal, such as ["CA", "NY"].
            where: which rows; by default all.
            bins: edges of half-open intervals of numbers, dates or times, such as [0, 18, 65]. Or
                the number of intervals of equal width: bins=10, lower=0, upper=100.
            lower, upper: the public range that a number of bins divides. A cell at `upper` is in no
                interval.
        """
        edges = equal_edges(bins, lower, upper)
        return self._asked(Histogram(column, categories, where, bins=edges, per=self.unit))

    def ranges(self, keys: Any, of: Aggregate | None = None) -> Ranges:
        """The number of rows in each of some ordered keys, and in every range of them.

        `visits.ranges(Keys.days("day", "2024-01-01", "2024-12-31"))` answers each day about as a
        histogram does, and months or the year far more accurately, for one loss; see `Ranges`.

        Args:
            keys: of one column: `Keys`, or a mapping such as {"hour": range(24)}.
            of: what is added up; by default `count()`, or a `sum(..)` or `count(where)`.

        Raises:
            TypeError: of groups.
        """
        if self.keys:
            raise TypeError("ask for the ranges of the whole table, or of each group with where=")
        return Ranges(keys, self.count() if of is None else of)

    def quantile(
        self, column: Any, level: Any, grid: Any, where: Where | None = None
    ) -> Quantile | Quantiles:
        """A quantile of a column, such as the median with level "1/2"; see `Quantiles`.

        Args:
            column: its name, or an expression.
            level: 0 to 1, or several levels, which are answered together.
            grid: the public values that the answer is one of, ascending.
            where: which rows; by default all.
        """
        asked = Quantiles(column, level, grid, where, by=self.keys, per=self.unit)
        if asked.by or isinstance(asked.levels, tuple):
            return asked
        return Quantile(column, asked.levels, grid, where, per=self.unit)

    quantiles = quantile

    def median(self, column: Any, grid: Any, where: Where | None = None) -> Quantile | Quantiles:
        """The median of a column. The arguments are those of `quantile`."""
        return self.quantile(column, "1/2", grid, where)

    def top(self, column: Any, k: int, categories: Any, where: Where | None = None) -> Top:
        """The k most frequent of some categories; see `Top`.

        Raises:
            TypeError: of groups.
        """
        if self.keys:
            raise TypeError("ask for the top of the whole table, or for the histogram of groups")
        return Top(column, k, categories, where, per=self.unit)

    def discovered_keys(
        self, *columns: Any, max_keys: int | None = None, where: Where | None = None
    ) -> DiscoveredKeys:
        """The keys that occur often enough, with noisy counts; see `DiscoveredKeys`.

        Args:
            columns: their names, or expressions; several for combinations.
            max_keys: in how many keys a privacy unit is counted.
            where: which rows; by default all.

        Raises:
            TypeError: of groups.
        """
        if self.keys:
            raise TypeError("find keys in the whole table; several columns give combinations")
        named = columns[0] if len(columns) == 1 else columns  # a list of them is taken too
        return DiscoveredKeys(named, max_keys, where, per=self.unit)

    def covariance(
        self, x: Any, y: Any, bounds: Mapping[Any, Any], where: Where | None = None
    ) -> Any:
        """The covariance of two columns; see `Covariance`.

        Args:
            x, y: the columns.
            bounds: the public bounds of each, `{"hours": (0, 80), "wage": (0, 100)}`.
            where: which rows; by default all.
        """
        return self._asked(Covariance(x, y, bounds, where, per=self.unit))

    def correlation(
        self, x: Any, y: Any, bounds: Mapping[Any, Any], where: Where | None = None
    ) -> Any:
        """The correlation of two columns; see `Correlation`. The arguments are `covariance`'s."""
        return self._asked(Correlation(x, y, bounds, where, per=self.unit))

    def regress(
        self,
        y: Any,
        *x: Any,
        bounds: Mapping[Any, Any],
        where: Where | None = None,
        sampling: bool = False,
    ) -> Any:
        """The intercept and slopes of `y` on some columns; see `Regression`.

        Args:
            y: the column that is explained.
            x: the columns that explain it.
            bounds: the public bounds of each.
            where: which rows; by default all.
            sampling: whether the answer has approximate intervals of the population too.
        """
        return self._asked(Regression(y, x, bounds, where, per=self.unit, sampling=sampling))

    def group_by(self, *keys: Any) -> "Grouped":
        """The table in public groups: the same methods, with an answer for each group.

        `visits.group_by({"state": ["CA", "NY"]}, Keys.bins("age", [0, 18, 65])).count()` has 2 x 2
        groups. A row in none of them is not counted.

        Args:
            keys: mappings of columns to values, `Keys`, released keys, and pairs of a column and
                its values, which may be computed: (column("day").weekday(), range(7)).
        """
        return Grouped(self, (*self.keys, *groups_of(keys)))

    def _whom(self) -> PrivacyUnit:
        if self.unit is None:
            raise TypeError(
                "open the table with privacy_unit= and max_rows=, Table(.., privacy_unit='person', "
                "max_rows=5): without them each row is a unit, and count() counts rows"
            )
        return self.unit

    def _ranged(
        self,
        kind: type[Ranged],
        column: Any,
        lower: Any,
        upper: Any,
        where: Where | None,
        unit: Any,
    ) -> Ranged:
        operand: Operand = operand_of(column)
        low, high = _bounds(lower, upper)
        if unit is None:
            known = self.kind(operand)
            unit = unit_between(known, low, high)
            if known.name in ("integer", "boolean") and kind is not Sum and (low + high) % 2:
                unit /= 2
        return kind(operand, lower, upper, where, unit=unit, per=self.unit)


@attrs.frozen(repr=False)
class Grouped(FromTable):
    """A table in public groups, `table.group_by(..)`: statistics with an answer for each group."""

    _of: FromTable
    _keys: tuple[Groups, ...]

    @property
    def unit(self) -> PrivacyUnit | None:
        """As for the table."""
        return self._of.unit

    def kind(self, column: Any) -> Kind:
        """As for the table."""
        return self._of.kind(column)

    @property
    def keys(self) -> tuple[Groups, ...]:
        """The keys of the groups."""
        return self._keys

    def __repr__(self) -> str:
        return f"<{self._of!r} by {', '.join(name for key in self.keys for name in key.names)}>"


def unit_between(kind: Kind, lower: Fraction, upper: Fraction) -> Fraction:
    """The unit in which numbers of a kind within bounds are added up; it is public.

    It is 1 for integers, the step of decimals, and for other numbers a power of ten of which there
    are a million to ten million between the bounds. It is a power of two for floats of 32 bits, and
    where bounds are so large or so close that engines cannot read floats as decimals.
    """
    if kind.family not in ("number", "written") or kind.name in ("integer", "boolean"):
        return Fraction(1)
    ends = max(abs(lower), abs(upper))
    if kind.step is not None and ends / kind.step <= _EXACT:
        return kind.step
    span = upper - lower or ends or Fraction(1)
    unit = _power(10, span, 10**7, ends / _MOST_DECIMAL)
    if not kind.single and unit >= _FINEST and ends < _MOST_DECIMAL:
        return unit
    return _power(2, span, 2**23, ends / 2**52)


def unit_of(how: str, kind: Kind, lower: Fraction, upper: Fraction) -> Fraction:
    """The unit of a number of each privacy unit; it is public.

    It is as for other numbers of the kind, but coarser where a sum or a mean has too many of them
    between its bounds. A mean of whole numbers is no whole number.
    """
    whole = kind.name in ("integer", "boolean")
    unit = unit_between(real(64) if whole and how == "mean" else kind, lower, upper)
    span = upper - lower if how == "mean" else max(abs(lower), abs(upper))
    if how in ("sum", "mean") and span > 0:
        unit = max(unit, _power(2 if kind.single else 10, span, MOST_UNITS, Fraction(0)))
    return unit


def _bounds(lower: Any, upper: Any) -> tuple[Fraction, Fraction]:
    low, high = signed(lower, "lower"), signed(upper, "upper")
    if not low <= high:
        raise ValueError(f"the bounds are {shown(low)} and {shown(high)}; give the lower first")
    return low, high


def _power(base: int, span: Fraction, most: int, least: Fraction) -> Fraction:
    """The finest power above `least` of which there are less than `most` in the span."""
    about = log(span.numerator, base) - log(span.denominator, base) - log(most, base)
    unit = Fraction(base) ** (floor(about) - 1)
    while span / unit >= most or unit <= least:
        unit *= base
    return unit
