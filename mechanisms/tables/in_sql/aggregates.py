"""SqlAggregates as statistics: COUNT, SUM, AVG, VAR_POP, MEDIAN, CORR and others."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

import attrs

from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.in_sql.conditions import RowReader
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.sources import ROWS, Bounds, Valued
from mechanisms.tables.in_sql.truths import both, is_null, where_of
from mechanisms.tables.in_sql.values import only

MOST_CANDIDATES = 1_000
"""How many values between public bounds a median is one of, unless integers are fewer."""

SAMPLE = {
    "Variance": "sample",
    "VarianceSamp": "sample",
    "Stddev": "sample root",
    "StddevSamp": "sample root",
    "CovarSamp": "sample",
}
"""What divides by one row less than there are: the function of it and of the number of rows."""


@attrs.frozen(eq=False)
class SqlAggregate:
    """A statistic that a query asks.

    Attributes:
        of: makes it from the table or its groups.
        key: the part of its answer that is meant, such as a slope; None for the whole.
        by: what makes two of them the same question, beside the groups.
        chooses: whether it is a quantile, whose intervals have a price.
    """

    of: Callable[[FromTable], Any]
    by: tuple[Any, ...]
    key: str | None = None
    chooses: bool = False


@attrs.frozen(eq=False)
class SqlAggregates:
    """Reads the aggregates of a query over some rows.

    Attributes:
        reader: of expressions.
        where: which rows, besides the source's own.
        number: the number of each unit that groups are made of; None if they are not.
    """

    reader: RowReader
    where: Predicate | None
    number: Column | None = None

    def is_one(self, node: Any) -> bool:
        """Whether a part of a query is an aggregate."""
        return type(node).__name__ in _READ or type(node).__name__ in ("Filter", "WithinGroup")

    def read(self, node: Any) -> SqlAggregate:
        """An aggregate as a statistic.

        Raises:
            SqlError: it is not answered.
        """
        return self._read(node, self.where)

    def _read(self, node: Any, where: Predicate | None) -> SqlAggregate:
        name = type(node).__name__
        if name == "Filter":
            only(node, "this", "expression")
            condition = self.reader.truth(node.expression.this).yes
            return self._read(node.this, _and(where, condition, self._any_column()))
        if name == "WithinGroup":
            return self._within(node, where)
        return _READ[name](self, node, where)

    def _any_column(self) -> Any:
        return next(
            each.column.operand for each in self.reader.source.named.values() if each.column
        )

    # Counts.

    def _count(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this", "big_int")
        of = node.this
        if of is None or type(of).__name__ == "Star":
            return self._rows(where)
        if type(of).__name__ == "Distinct":
            return self._units(of, node, where)
        value = self.reader.value(of)
        return self._rows(_and(where, is_null(value).no, self._any_column()))

    def _rows(self, where: Predicate | None) -> SqlAggregate:
        source = self.reader.source
        if not source.per_unit:
            return SqlAggregate(lambda table: table.count(where), ("count", where))
        number = self.number or source.named[ROWS].column
        assert number is not None
        # A condition on a number of each unit makes the rows of the question units.
        units: Any = number.is_not_null() if where is None else where
        return SqlAggregate(lambda table: table.count(units), ("count", units))

    def _units(self, of: Any, node: Any, where: Predicate | None) -> SqlAggregate:
        source = self.reader.source
        only(of, "expressions")
        of_units = [
            type(each).__name__ == "Column" and source.is_unit(each.name, each.table)
            for each in of.expressions
        ]
        if of_units != [True]:
            unit = source.table.unit
            whom = "the privacy unit" if unit is None else unit.column
            raise refusal(
                f"{shown(node)} is not answered",
                f"COUNT(DISTINCT {whom}) counts units; GROUP BY shows which values there are",
            )
        if source.per_unit:
            return self._rows(where)
        return SqlAggregate(lambda table: table.count_units(where), ("count units", where))

    def _count_if(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this")
        return self._rows(_and(where, self.reader.truth(node.this).yes, self._any_column()))

    def rows_of(self, node: Any) -> SqlAggregate:
        """The number of rows that an aggregate of one or two columns counts."""
        return self._rows_of(node, self.where)

    def _rows_of(self, node: Any, where: Predicate | None) -> SqlAggregate:
        if type(node).__name__ == "Filter":
            condition = self.reader.truth(node.expression.this).yes
            return self._rows_of(node.this, _and(where, condition, self._any_column()))
        for part in (node.this, node.args.get("expression")):
            if part is not None:
                value, _ = self._number(part, node)
                where = _and(where, is_null(value).no, self._any_column())
        return self._rows(where)

    # Sums and moments.

    def _moment(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this")
        method = _MOMENTS[type(node).__name__]
        value, (low, high) = self._number(node.this, node)
        column = self._column(value, node)
        return SqlAggregate(
            lambda table: getattr(table, method)(column, low, high, where),
            (method, column.operand, low, high, where),
        )

    def _number(self, of: Any, node: Any) -> tuple[Valued, Bounds]:
        """The number that is added up, without a CLAMP around it, and its bounds."""
        if type(of).__name__ == "Distinct":
            raise refusal(
                f"{shown(node)} is not answered", "DISTINCT is for COUNT of the privacy unit"
            )
        clamped = self.reader.clamp(of)
        if clamped is not None:
            return clamped
        value = self.reader.value(of)
        kind = self.reader.kind(value)
        if kind is not None and kind.family not in ("number", "written", "any"):
            raise refusal(f"{shown(node)} is of {kind.name}", "only numbers are added up")
        if value.bounds is not None:
            return value, value.bounds
        if kind is not None and kind.name == "boolean":
            return value, (Fraction(0), Fraction(1))
        number = value.number
        if number is not None:
            ends = (min(number, Fraction(0)), max(number, Fraction(0)) or Fraction(1))
            return Valued(Column(value.as_operand())), ends
        raise refusal(
            f"{shown(node)} needs public bounds",
            f"write CLAMP({shown(of)}, 0, 100) with bounds that fit, or let the owner state them",
        )

    def _column(self, value: Valued, node: Any) -> Column:
        if value.column is None:
            raise refusal(f"{shown(node)} is of a constant", "name a column")
        return value.column

    # Quantiles.

    def _median(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this")
        return self._quantile(node.this, Fraction(1, 2), node, where)

    def _continuous(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this", "expression", "quantile")
        level = node.args.get("quantile") or node.expression
        if level is None:
            raise refusal(
                f"{shown(node)} has no order",
                "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
            )
        return self._quantile(node.this, self._level(level, node), node, where)

    def _within(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this", "expression")
        name = type(node.this).__name__
        ordered = node.expression.expressions
        if name not in ("PercentileCont", "PercentileDisc") or len(ordered) != 1:
            raise refusal(f"{shown(node)} is not answered", "there are PERCENTILE_CONT and _DISC")
        only(node.this, "this")
        level = self._level(node.this.this, node)
        if ordered[0].args.get("desc"):
            level = 1 - level
        return self._quantile(ordered[0].this, level, node, where)

    def _level(self, given: Any, node: Any) -> Fraction:
        level = self.reader.value(given).number
        if level is None or not 0 <= level <= 1:
            raise refusal(f"{shown(node)} is not answered", "write one number from 0 to 1")
        return level

    def _extreme(self, node: Any, where: Predicate | None) -> SqlAggregate:
        name = type(node).__name__.upper()
        level = "0.01" if name == "MIN" else "0.99"
        raise refusal(
            f"{name} shows a single row",
            f"PERCENTILE_CONT({level}) WITHIN GROUP (ORDER BY {shown(node.this)}) shows one of "
            "many, on a grid of public bounds",
        )

    def _quantile(
        self, of: Any, level: Fraction, node: Any, where: Predicate | None
    ) -> SqlAggregate:
        value, bounds = self._number(of, node)
        column = self._column(value, node)
        kind = self.reader.kind(value)
        assert kind is not None
        grid = _grid(kind, bounds)
        return SqlAggregate(
            lambda table: table.quantile(column, level, grid, where),
            ("quantile", column.operand, level, bounds, where),
            chooses=True,
        )

    # Two columns.

    def _pair(self, node: Any, where: Predicate | None) -> SqlAggregate:
        only(node, "this", "expression")
        method, key = _PAIRS[type(node).__name__]
        (y, of_y), (x, of_x) = (self._number(each, node) for each in (node.this, node.expression))
        one, other = self._column(y, node), self._column(x, node)
        bounds = {one.operand: of_y, other.operand: of_x}
        by = (method, one.operand, other.operand, of_y, of_x, where)
        if len(bounds) < 2:
            raise refusal(f"{shown(node)} is of one column with itself", "name two columns")
        if method == "regress":
            name = operand_name(other.operand) if key == "slope" else "intercept"
            return SqlAggregate(
                lambda table: table.regress(one, other, bounds=bounds, where=where), by, name
            )
        return SqlAggregate(lambda table: getattr(table, method)(one, other, bounds, where), by)


def _and(where: Predicate | None, more: Any, column: Any) -> Predicate | None:
    return where_of(both(True if where is None else where, more), column)


def _grid(kind: Kind, bounds: Bounds) -> tuple[Any, ...]:
    """The values that a quantile is one of: integers, or equal steps between the bounds."""
    low, high = bounds
    if kind.name in ("integer", "boolean") and high - low <= MOST_CANDIDATES:
        return tuple(range(ceil(low), floor(high) + 1))
    steps = {
        low + (high - low) * place / MOST_CANDIDATES: None for place in range(MOST_CANDIDATES + 1)
    }
    if kind.name == "integer":
        return tuple(dict.fromkeys(floor(each) for each in steps))
    return tuple(int(each) if each.denominator == 1 else float(each) for each in steps)


_MOMENTS = {
    "Sum": "sum",
    "Avg": "mean",
    "VariancePop": "variance",
    "StddevPop": "std",
    "Variance": "variance",
    "VarianceSamp": "variance",
    "Stddev": "std",
    "StddevSamp": "std",
}
_PAIRS = {
    "Corr": ("correlation", ""),
    "CovarPop": ("covariance", ""),
    "CovarSamp": ("covariance", ""),
    "RegrSlope": ("regress", "slope"),
    "RegrIntercept": ("regress", "intercept"),
}
_Read = Callable[[SqlAggregates, Any, Predicate | None], SqlAggregate]
_READ: Mapping[str, _Read] = {
    "Count": SqlAggregates._count,
    "CountIf": SqlAggregates._count_if,
    **dict.fromkeys(_MOMENTS, SqlAggregates._moment),
    "Median": SqlAggregates._median,
    "PercentileCont": SqlAggregates._continuous,
    "PercentileDisc": SqlAggregates._continuous,
    "Quantile": SqlAggregates._continuous,
    "Min": SqlAggregates._extreme,
    "Max": SqlAggregates._extreme,
    **dict.fromkeys(_PAIRS, SqlAggregates._pair),
}
