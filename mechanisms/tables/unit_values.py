"""`UnitValues`: a number of each privacy unit, `visits.per_unit("count")`, and what is asked of it.

It gives statistics of its table, with the bounds filled in, and reads no rows.
"""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit, per_units
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.requests.keys import edge, equal_edges, is_whole
from queryable.wording.quoting import quoted


@attrs.frozen(eq=False)
class UnitValues(Column):
    """A number of each privacy unit, computed of its rows; see `FromTable.per_unit`.

    It is a column whose rows are units: `costs > 1000` is a condition on units. Each statistic
    moves by what one unit adds, as if the table had one row for each unit. In a group-by a unit has
    a number in each group in which it has rows, and counts in at most `max_groups` of them.

    Every method takes a `where` about units, such as `visits > 1`; by default all units count that
    have a row among those that are read, and a value.

    Privacy:
        Claim: adding or removing a unit moves a statistic as adding or removing a row of such a
            table does; in groups, as at most so many rows in different groups as there are groups
            of a unit.
        Theorem: docs/tables/units.md, contribution bounding, values of units.
        Checked by: tests/attacks/test_table_neighbours.py
    """

    operand: PerUnit = attrs.field()
    _table: Any = attrs.field(repr=False)

    def count(self, where: Predicate | None = None) -> Any:
        """The number of units; of those with more than 1,000: `costs.count(costs > 1000)`."""
        return self._table.count(self._there(where))

    def share(self, condition: Predicate, where: Predicate | None = None) -> Any:
        """The share of units for which a condition holds: `costs.share(costs > 1000)`.

        It is among units that have a value: a count or a sum is never missing.

        Raises:
            TypeError: the condition is not about these values.
        """
        if {repr(each) for each in per_units(condition)} != {repr(self.operand)}:
            raise TypeError(
                f"write a condition on {self.operand.text}, such as costs > 1000 for "
                f"costs.share(..): it is {quoted(condition)}"
            )
        among = self._there(where) if self.operand.may_be_missing else where
        return self._table.share(condition, among)

    def mean(self, where: Predicate | None = None) -> Any:
        """The mean over units."""
        return self._table.mean(*self._bounded, where)

    def sum(self, where: Predicate | None = None) -> Any:
        """The sum over units."""
        return self._table.sum(*self._bounded, where)

    def variance(self, where: Predicate | None = None) -> Any:
        """The variance over units."""
        return self._table.variance(*self._bounded, where)

    def std(self, where: Predicate | None = None) -> Any:
        """The standard deviation over units."""
        return self._table.std(*self._bounded, where)

    def histogram(
        self, categories: Any = None, where: Predicate | None = None, *, bins: Any = None
    ) -> Any:
        """The number of units in each of some intervals, `bins=[0, 10, 100]`, or with values.

        A number of bins divides the range between the known bounds: `bins=10`. The last interval
        also has the units at the upper bound, where what is clipped is, so it is longer by the
        unit of the values.
        """
        if is_whole(bins):
            upper = self.operand.upper
            bins = equal_edges(bins, self.operand.lower, upper)
            bins[-1] = edge(upper + self.operand.unit)
        return self._table.histogram(self, categories, where, bins=bins)

    def quantile(self, level: Any, grid: Any, where: Predicate | None = None) -> Any:
        """A quantile over units, or several; one of the values of a public grid."""
        return self._table.quantile(self, level, grid, where)

    quantiles = quantile

    def median(self, grid: Any, where: Predicate | None = None) -> Any:
        """The median over units; one of the values of a public grid."""
        return self._table.median(self, grid, where)

    @property
    def _bounded(self) -> tuple[Column, Fraction, Fraction]:
        return self, self.operand.lower, self.operand.upper

    def _there(self, where: Predicate | None) -> Predicate:
        there = self.is_not_null()
        return there if where is None else there & where
