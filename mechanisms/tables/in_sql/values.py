"""Expressions of one row: values.

Responsible for the closed grammar: a part of a query that is not named here is refused, whatever a
parser makes of it. Numbers are those of DuckDB: `/` divides as real numbers, and a constant with a
point is exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import trunc
from typing import Any

import attrs

from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.columns import Column, when
from mechanisms.tables.expressions.operands import When
from mechanisms.tables.in_sql.functions import (
    ALIASES,
    CASTS,
    OF_TEXT,
    PARTS,
    PARTS_OF,
    UNITS,
    arithmetic,
    bounds_of,
    clamped,
    moment,
    part_of,
    shifted,
    united,
)
from mechanisms.tables.in_sql.refusals import SqlError, refusal, shown
from mechanisms.tables.in_sql.sources import Bounds, SqlSource, Valued
from mechanisms.tables.in_sql.truths import (
    Truth,
    is_null,
)
from queryable.losses.numbers import exact

_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_OF_NULL = ("Case", "If", "Coalesce", "Greatest", "Least")
_AGGREGATES = "an aggregate stands in SELECT, HAVING or ORDER BY, and not within another one"


def only(node: Any, *names: str) -> None:
    """Check that a part of the query has nothing beside these.

    Raises:
        SqlError: it has.
    """
    for name, given in node.args.items():
        if given and name not in names:
            word = name.rstrip("_").replace("_", " ").upper()
            raise refusal(f"{shown(node)} has {word}, which is not answered", "leave it out")


@attrs.frozen(eq=False)
class Values(ABC):
    """Reads the values in a query over some rows."""

    source: SqlSource

    def kind(self, value: Valued) -> Kind | None:
        """The kind of a column; None of a constant."""
        if value.column is None:
            return None
        try:
            return self.source.table.kind(value.column)
        except (TypeError, ValueError) as error:
            raise SqlError(str(error)) from None

    def value(self, node: Any) -> Valued:
        """An expression.

        Raises:
            SqlError: it is none, or is not answered.
        """
        name = type(node).__name__
        if name in _OF_NULL:
            self.source.require_no_null_of(node)
        if name in _VALUES:
            try:
                return _VALUES[name](self, node)
            except SqlError:
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                raise refusal(f"{shown(node)} is not answered", str(error)) from None
        if self.is_truth(node):
            found = self.truth(node)
            cases = [(found, Valued(constant=True)), (found.negated(), Valued(constant=False))]
            return self._chosen(cases, Valued(), node)
        if getattr(node, "is_star", False):
            raise refusal("rows are not answered", "ask for COUNT(*), SUM(..), AVG(..) and so on")
        kinds = {each.__name__ for each in type(node).__mro__}
        if "AggFunc" in kinds:
            raise refusal(f"{shown(node)} cannot stand here", _AGGREGATES)
        if "Window" in kinds:
            raise refusal(
                "a window reads other rows", "ask for groups, GROUP BY, or for a sub-query"
            )
        if kinds & {"Subquery", "Select", "Exists"}:
            raise refusal(
                "a sub-query stands in FROM alone",
                "SELECT AVG(n) FROM (SELECT unit, COUNT(*) AS n FROM t GROUP BY unit)",
            )
        raise refusal(f"{shown(node)} is not answered", "docs/sql.md has the functions that are")

    @abstractmethod
    def truth(self, node: Any) -> Truth:
        """A condition."""

    @abstractmethod
    def is_truth(self, node: Any) -> bool:
        """Whether a part of a query is a condition."""

    @abstractmethod
    def compared(self, left: Any, operator: str, right: Any, node: Any) -> Truth:
        """A comparison of two parts of a query."""

    # Values.

    def _column(self, node: Any) -> Valued:
        only(node, "this", "table")
        if type(node.this).__name__ == "Star":
            raise refusal("rows are not answered", "ask for COUNT(*), SUM(..), AVG(..) and so on")
        found = self.source.find(node.name, node.table)
        if found.column is None and found.clipped is not None:
            raise refusal(
                f"{shown(node)} needs public bounds", f"write CLAMP({shown(node)}, 0, 100)"
            )
        return found

    def _null(self, node: Any) -> Valued:
        return Valued()

    def _literal(self, node: Any) -> Valued:
        if node.is_string:
            return Valued(constant=str(node.this))
        number = exact(str(node.this), "a number")
        return Valued(constant=int(number) if number.denominator == 1 else number)

    def _paren(self, node: Any) -> Valued:
        only(node, "this")
        return self.value(node.this)

    def _negative(self, node: Any) -> Valued:
        return arithmetic("*", Valued(constant=-1), self.value(node.this))

    def _arithmetic(self, node: Any) -> Valued:
        only(node, "this", "expression", "typed", "safe")
        operator, other = _ARITHMETIC[type(node).__name__], node.expression
        if type(other).__name__ == "Interval":
            return self._shifted(node, operator, other)
        left, right = self.value(node.this), self.value(other)
        if operator == "-" and (self._is_moment(left) or self._is_moment(right)):
            return Valued(left.as_column() - right.as_column())
        for each, part in ((left, node.this), (right, other)):
            self._require_number(each, part)
        return arithmetic(operator, left, right)

    def _shifted(self, node: Any, operator: str, interval: Any) -> Valued:
        only(interval, "this", "unit")
        day = self.value(node.this)
        amount = Fraction(str(interval.this.this)) if interval.this else Fraction(1)
        if day.column is not None or not hasattr(day.constant, "timetuple"):
            raise refusal(
                "an interval is added to a date that is written", "compare the column with it"
            )
        if amount.denominator != 1 or not abs(amount) < 10**7 or operator not in "+-":
            raise refusal(
                f"{shown(interval)} is not answered", "write whole numbers of days or months"
            )
        sign = 1 if operator == "+" else -1
        unit = str(interval.args["unit"]).upper().removesuffix("S")
        return Valued(constant=shifted(day.constant, sign * int(amount), unit))

    def _is_moment(self, value: Valued) -> bool:
        kind = self.kind(value)
        return kind is not None and kind.family in ("moment", "instant")

    def _require_number(self, value: Valued, node: Any) -> None:
        kind = self.kind(value)
        fits = value.is_null or (
            value.number is not None
            if kind is None
            else kind.family in ("number", "written") and kind.name != "boolean"
        )
        if not fits:
            raise refusal(f"{shown(node)} is no number", "only numbers are computed with")

    def _cast(self, node: Any) -> Valued:
        only(node, "this", "to", "safe")
        to = node.args["to"]
        name = str(getattr(to.this, "name", to.this))
        if name not in CASTS or to.expressions:
            raise refusal(f"{shown(node)} is not answered", f"types are {', '.join(sorted(CASTS))}")
        kind, value = CASTS[name], self.value(node.this)
        if value.is_null:
            return value
        if value.column is None:
            return self._cast_constant(value, kind, node)
        known = self.kind(value)
        assert known is not None
        if kind == "integer" and known.name in ("float", "decimal"):
            raise refusal(f"{shown(node)} rounds", "TRUNC(x) cuts off what is behind the point")
        bounds = value.bounds if kind in ("integer", "number") else None
        return Valued(value.column.cast(kind), bounds=bounds)

    def _cast_constant(self, value: Valued, kind: str, node: Any) -> Valued:
        given = value.constant
        if kind in ("date", "timestamp") and isinstance(given, str):
            return Valued(constant=moment(given, whole=kind == "date"))
        if kind in ("integer", "number"):
            number = exact(given, shown(node))
            if kind == "number" or number.denominator == 1:
                return Valued(constant=int(number) if number.denominator == 1 else number)
        if kind == "text" and isinstance(given, str):
            return value
        if kind == "boolean" and isinstance(given, bool):
            return value
        raise refusal(f"{shown(node)} is not answered", "write the constant in that type")

    def _truncated(self, node: Any) -> Valued:
        only(node, "this")
        value = self.value(node.this)
        self._require_number(value, node.this)
        known = value.bounds
        bounds = None if known is None else (Fraction(trunc(known[0])), Fraction(trunc(known[1])))
        return Valued(self._as_column(value, node).cast("integer"), bounds=bounds)

    def _as_column(self, value: Valued, node: Any) -> Column:
        if value.column is None:
            raise refusal(f"{shown(node)} is of a constant", "write its value")
        return value.column

    def _absolute(self, node: Any) -> Valued:
        value = self.value(node.this)
        self._require_number(value, node.this)
        column = self._as_column(value, node)
        size = when(column < 0).then(-column).otherwise(column)
        known = value.bounds
        if known is None:
            return Valued(size)
        low = Fraction(0) if known[0] <= 0 <= known[1] else min(map(abs, known))
        return Valued(size, bounds=(low, max(map(abs, known))))

    def _text(self, node: Any) -> Valued:
        only(node, "this")
        column = self._as_column(self.value(node.this), node)
        return Valued(OF_TEXT[type(node).__name__](column))

    def _part(self, node: Any) -> Valued:
        return self._part_of(PARTS_OF[type(node).__name__], node.this, node)

    def _extract(self, node: Any) -> Valued:
        only(node, "this", "expression")
        name = node.name.upper()
        return self._part_of(ALIASES.get(name, name), node.expression, node)

    def _part_of(self, name: str, of: Any, node: Any) -> Valued:
        value = self.value(of)
        column = self._as_column(value, node)
        ends = PARTS.get(name)
        if name == "YEAR" and hasattr(value.declared.lower, "year"):
            ends = value.declared.lower.year, value.declared.upper.year
        bounds = None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))
        return Valued(part_of(name, column), bounds=bounds)

    def _start(self, node: Any) -> Valued:
        only(node, "this", "unit")
        value = self.value(node.this)
        unit = str(node.args["unit"]).upper()
        if unit not in UNITS:
            raise refusal(f"DATE_TRUNC of {unit} is not answered", f"there are {', '.join(UNITS)}")
        return Valued(self._as_column(value, node).truncate(unit.lower()))

    def _case(self, node: Any) -> Valued:
        only(node, "this", "ifs", "default")
        cases = []
        for each in node.args["ifs"]:
            if node.this is None:
                condition = self.truth(each.this)
            else:
                condition = self.compared(node.this, "==", each.this, each)
            cases.append((condition, self.value(each.args["true"])))
        default = node.args.get("default")
        return self._chosen(cases, Valued() if default is None else self.value(default), node)

    def _if(self, node: Any) -> Valued:
        only(node, "this", "true", "false")
        other = node.args.get("false")
        chosen = [(self.truth(node.this), self.value(node.args["true"]))]
        return self._chosen(chosen, Valued() if other is None else self.value(other), node)

    def _chosen(self, cases: list[tuple[Truth, Valued]], default: Valued, node: Any) -> Valued:
        """The value of the first condition that is true."""
        kept = list[tuple[Any, Valued]]()
        for condition, value in cases:
            if condition.yes is True:
                default = value
                break
            if condition.yes is not False:
                kept.append((condition.yes, value))
        if not kept:
            return default
        values = [*(value for _, value in kept), default]
        if all(each.is_null for each in values):
            return Valued()
        operands = [None if each.is_null else each.as_operand() for each in values]
        chosen = When(
            tuple((yes, operand) for (yes, _), operand in zip(kept, operands, strict=False)),
            operands[-1],
        )
        bounds = united([bounds_of(each) for each in values if not each.is_null])
        return Valued(Column(chosen), bounds=bounds)

    def _coalesce(self, node: Any) -> Valued:
        only(node, "this", "expressions")
        values = [self.value(each) for each in (node.this, *node.expressions)]
        *first, last = values
        return self._chosen([(is_null(each).negated(), each) for each in first], last, node)

    def _nullif(self, node: Any) -> Valued:
        value = self.value(node.this)
        same = self.compared(node.this, "==", node.expression, node)
        return self._chosen([(same, Valued())], value, node)

    def _extreme(self, node: Any) -> Valued:
        only(node, "this", "expressions", "ignore_nulls")
        values = [self.value(each) for each in (node.this, *node.expressions)]
        columns = [each for each in values if each.column is not None]
        numbers = [each.number for each in values if each.column is None]
        if len(columns) != 1 or any(number is None for number in numbers):
            raise refusal(f"{shown(node)} is not answered", "compare one column with numbers")
        known = [number for number in numbers if number is not None]
        if not known:
            return columns[0]
        greatest = type(node).__name__ == "Greatest"
        end = max(known) if greatest else min(known)
        low, high = (end, None) if greatest else (None, end)
        found = self._clamped(columns[0], low, high, node)
        # NULL is left out, as DuckDB and Postgres have it.
        constant = Valued(constant=int(end) if end.denominator == 1 else end)
        return self._chosen([(is_null(columns[0]), constant)], found, node)

    def _clamped(
        self, value: Valued, low: Fraction | None, high: Fraction | None, node: Any
    ) -> Valued:
        self._require_number(value, node)
        return clamped(value, low, high)

    def _function(self, node: Any) -> Valued:
        name, given = str(node.this).upper(), node.expressions
        within = self.clamp(node)
        if within is not None:
            value, bounds = within
            return value if value.clipped else self._clamped(value, *bounds, node)
        if name in ("DATE_PART", "DATEPART") and len(given) == 2:
            part = str(given[0].this).upper()
            return self._part_of(ALIASES.get(part, part), given[1], node)
        raise refusal(
            f"there is no function {name}", "docs/sql.md has the functions that are answered"
        )

    def clamp(self, node: Any) -> tuple[Valued, Bounds] | None:
        """What is within a CLAMP, and its bounds; None if this is none."""
        if type(node).__name__ != "Anonymous" or str(node.this).upper() != "CLAMP":
            return None
        given = node.expressions
        ends = [self.value(each).number for each in given[1:]]
        if len(ends) != 2 or ends[0] is None or ends[1] is None or not ends[0] <= ends[1]:
            raise refusal(
                f"{shown(node)} is not answered", "write CLAMP(x, lower, upper) in numbers"
            )
        bounds = (ends[0], ends[1])
        of = given[0]
        value = self.source.find(of.name, of.table) if type(of).__name__ == "Column" else None
        if value is None or value.clipped is None:
            return self.value(of), bounds
        return value.clipped(*bounds), bounds


_VALUES: Mapping[str, Callable[[Values, Any], Valued]] = {
    "Column": Values._column,
    "Literal": Values._literal,
    "Null": Values._null,
    "Paren": Values._paren,
    "Neg": Values._negative,
    **dict.fromkeys(_ARITHMETIC, Values._arithmetic),
    "Cast": Values._cast,
    "TryCast": Values._cast,
    "Trunc": Values._truncated,
    "Abs": Values._absolute,
    **dict.fromkeys(OF_TEXT, Values._text),
    **dict.fromkeys(PARTS_OF, Values._part),
    "Extract": Values._extract,
    "TimestampTrunc": Values._start,
    "DateTrunc": Values._start,
    "Case": Values._case,
    "If": Values._if,
    "Coalesce": Values._coalesce,
    "Nullif": Values._nullif,
    "Greatest": Values._extreme,
    "Least": Values._extreme,
    "Anonymous": Values._function,
}
