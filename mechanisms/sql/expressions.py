"""Expressions of one row: values and conditions.

Responsible for the closed grammar: a part of a query that is not named here is refused, whatever a
parser makes of it. Numbers are those of DuckDB: `/` divides as real numbers, and a constant with a
point is exact.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.sql.functions import (
    ALIASES,
    PARTS,
    UNITS,
    arithmetic,
    bounds_of,
    clamped,
    moment,
    part_of,
    shifted,
    united,
)
from mechanisms.sql.refusals import SqlError, refuse, shown
from mechanisms.sql.sources import Bounds, Source, Valued
from mechanisms.sql.truths import (
    UNKNOWN,
    Truth,
    both,
    compared,
    is_in,
    is_null,
    where_of,
)
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.columns import Column, when
from mechanisms.tables.expressions.operands import When
from queryable.losses.numbers import exact

_CAST = {
    "INT": "integer",
    "BIGINT": "integer",
    "SMALLINT": "integer",
    "TINYINT": "integer",
    "DOUBLE": "number",
    "FLOAT": "number",
    "VARCHAR": "text",
    "TEXT": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPNTZ": "timestamp",
    "BOOLEAN": "boolean",
}
_OPERATORS = {"EQ": "==", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_OF_TEXT = {"Lower": Column.lower, "Upper": Column.upper, "Trim": Column.strip}
_PARTS = {
    "Year": "YEAR",
    "Quarter": "QUARTER",
    "Month": "MONTH",
    "Day": "DAY",
    "DayOfMonth": "DAY",
    "Hour": "HOUR",
    "DayOfWeekIso": "ISODOW",
    "DayOfWeek": "DOW",
}
_MATCHES = {"StartsWith": "starts_with", "EndsWith": "ends_with", "Contains": "contains"}
_AGGREGATES = "an aggregate stands in SELECT, HAVING or ORDER BY, and not within another one"


def only(node: Any, *names: str) -> None:
    """Check that a part of the query has nothing beside these.

    Raises:
        SqlError: it has.
    """
    for name, given in node.args.items():
        if given and name not in names:
            word = name.rstrip("_").replace("_", " ").upper()
            refuse(f"{shown(node)} has {word}, which is not answered", "leave it out")


@attrs.frozen(eq=False)
class Reader:
    """Reads the expressions of a query over some rows."""

    source: Source

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
        if name in _VALUES:
            try:
                return _VALUES[name](self, node)
            except SqlError:
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                refuse(f"{shown(node)} is not answered", str(error))
        if name in _TRUTHS:
            return self._chosen([(self.truth(node), Valued(constant=True))], Valued(), node)
        if getattr(node, "is_star", False):
            refuse("rows are not answered", "ask for COUNT(*), SUM(..), AVG(..) and so on")
        kinds = {each.__name__ for each in type(node).__mro__}
        if "AggFunc" in kinds:
            refuse(f"{shown(node)} cannot stand here", _AGGREGATES)
        if "Window" in kinds:
            refuse("a window reads other rows", "ask for groups, GROUP BY, or for a sub-query")
        if kinds & {"Subquery", "Select", "Exists"}:
            refuse(
                "a sub-query stands in FROM alone",
                "SELECT AVG(n) FROM (SELECT unit, COUNT(*) AS n FROM t GROUP BY unit)",
            )
        refuse(f"{shown(node)} is not answered", "docs/sql.md has the functions that are")

    def truth(self, node: Any) -> Truth:
        """A condition.

        Raises:
            SqlError: it is none, or is not answered.
        """
        name = type(node).__name__
        if name in _TRUTHS:
            try:
                return _TRUTHS[name](self, node)
            except SqlError:
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                refuse(f"{shown(node)} is not answered", str(error))
        value = self.value(node)
        if value.is_null:
            return UNKNOWN
        if value.column is None and isinstance(value.constant, bool):
            return Truth(value.constant, not value.constant)
        kind = self.kind(value)
        if kind is None or kind.name != "boolean":
            refuse(f"{shown(node)} is no condition", "compare it, as in x > 0")
        return compared(value, "==", Valued(constant=True), kind, node)

    # Values.

    def _column(self, node: Any) -> Valued:
        only(node, "this", "table")
        if type(node.this).__name__ == "Star":
            refuse("rows are not answered", "ask for COUNT(*), SUM(..), AVG(..) and so on")
        found = self.source.find(node.name, node.table)
        if found.column is None and found.clipped is not None:
            refuse(f"{shown(node)} needs public bounds", f"write CLAMP({shown(node)}, 0, 100)")
        return found

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
            refuse("an interval is added to a date that is written", "compare the column with it")
        if amount.denominator != 1 or not abs(amount) < 10**7 or operator not in "+-":
            refuse(f"{shown(interval)} is not answered", "write whole numbers of days or months")
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
            refuse(f"{shown(node)} is no number", "only numbers are computed with")

    def _cast(self, node: Any) -> Valued:
        only(node, "this", "to", "safe")
        to = node.args["to"]
        name = str(getattr(to.this, "name", to.this))
        if name not in _CAST or to.expressions:
            refuse(f"{shown(node)} is not answered", f"types are {', '.join(sorted(_CAST))}")
        kind, value = _CAST[name], self.value(node.this)
        if value.is_null:
            return value
        if value.column is None:
            return self._cast_constant(value, kind, node)
        known = self.kind(value)
        assert known is not None
        if kind == "integer" and known.name in ("float", "decimal"):
            refuse(f"{shown(node)} rounds", "TRUNC(x) cuts off what is behind the point")
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
        refuse(f"{shown(node)} is not answered", "write the constant in that type")

    def _truncated(self, node: Any) -> Valued:
        only(node, "this")
        value = self.value(node.this)
        self._require_number(value, node.this)
        return Valued(self._as_column(value, node).cast("integer"), bounds=value.bounds)

    def _as_column(self, value: Valued, node: Any) -> Column:
        if value.column is None:
            refuse(f"{shown(node)} is of a constant", "write its value")
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
        return Valued(_OF_TEXT[type(node).__name__](column))

    def _part(self, node: Any) -> Valued:
        return self._part_of(_PARTS[type(node).__name__], node.this, node)

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
            refuse(f"DATE_TRUNC of {unit} is not answered", f"there are {', '.join(UNITS)}")
        return Valued(self._as_column(value, node).truncate(unit.lower()))

    def _case(self, node: Any) -> Valued:
        only(node, "this", "ifs", "default")
        cases = []
        for each in node.args["ifs"]:
            if node.this is None:
                condition = self.truth(each.this)
            else:
                condition = self._compared(node.this, "==", each.this, each)
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
        same = self._compared(node.this, "==", node.expression, node)
        return self._chosen([(same, Valued())], value, node)

    def _extreme(self, node: Any) -> Valued:
        only(node, "this", "expressions", "ignore_nulls")
        values = [self.value(each) for each in (node.this, *node.expressions)]
        columns = [each for each in values if each.column is not None]
        numbers = [each.number for each in values if each.column is None]
        if len(columns) != 1 or any(number is None for number in numbers):
            refuse(f"{shown(node)} is not answered", "compare one column with numbers")
        known = [number for number in numbers if number is not None]
        if type(node).__name__ == "Greatest":
            return self._clamped(columns[0], max(known, default=None), None, node)
        return self._clamped(columns[0], None, min(known, default=None), node)

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
        refuse(f"there is no function {name}", "docs/sql.md has the functions that are answered")

    def clamp(self, node: Any) -> tuple[Valued, Bounds] | None:
        """What is within a CLAMP, and its bounds; None if this is none."""
        if type(node).__name__ != "Anonymous" or str(node.this).upper() != "CLAMP":
            return None
        given = node.expressions
        ends = [self.value(each).number for each in given[1:]]
        if len(ends) != 2 or ends[0] is None or ends[1] is None or not ends[0] <= ends[1]:
            refuse(f"{shown(node)} is not answered", "write CLAMP(x, lower, upper) in numbers")
        bounds = (ends[0], ends[1])
        of = given[0]
        value = self.source.find(of.name, of.table) if type(of).__name__ == "Column" else None
        if value is None or value.clipped is None:
            return self.value(of), bounds
        return value.clipped(*bounds), bounds

    # Conditions.

    def _comparison(self, node: Any) -> Truth:
        only(node, "this", "expression")
        return self._compared(node.this, _OPERATORS[type(node).__name__], node.expression, node)

    def _compared(self, left: Any, operator: str, right: Any, node: Any) -> Truth:
        one, other = self.value(left), self.value(right)
        one, other = self._alike(one, other), self._alike(other, one)
        return compared(one, operator, other, self.kind(one) or self.kind(other), node)

    def _alike(self, value: Valued, other: Valued) -> Valued:
        """A text that is compared with a date, as a date."""
        kind = self.kind(other)
        if not isinstance(value.constant, str) or kind is None:
            return value
        if kind.family in ("moment", "instant"):
            whole = len(value.constant) == len("2024-02-29")
            return Valued(constant=moment(value.constant, whole=whole))
        return value

    def _and(self, node: Any) -> Truth:
        return self._joined(node, Truth.also)

    def _or(self, node: Any) -> Truth:
        return self._joined(node, Truth.otherwise)

    def _joined(self, node: Any, join: Callable[[Truth, Truth], Truth]) -> Truth:
        """A chain of AND or of OR, in pairs, so that it nests little."""
        truths = [self.truth(each) for each in node.flatten()]
        while len(truths) > 1:
            pairs = zip(truths[::2], truths[1::2], strict=False)
            truths = [join(*pair) for pair in pairs] + truths[len(truths) // 2 * 2 :]
        return truths[0]

    def _not(self, node: Any) -> Truth:
        return self.truth(node.this).negated()

    def _nested(self, node: Any) -> Truth:
        only(node, "this")
        return self.truth(node.this)

    def _between(self, node: Any) -> Truth:
        only(node, "this", "low", "high")
        above = self._compared(node.this, ">=", node.args["low"], node)
        return above.also(self._compared(node.this, "<=", node.args["high"], node))

    def _in(self, node: Any) -> Truth:
        only(node, "this", "expressions")
        left = self.value(node.this)
        values = [self._alike(self.value(each), left) for each in node.expressions]
        return is_in(left, values, self.kind(left), node)

    def _is(self, node: Any) -> Truth:
        only(node, "this", "expression")
        if type(node.expression).__name__ == "Null":
            return is_null(self.value(node.this))
        if type(node.expression).__name__ == "Boolean":
            found = self.truth(node.this)
            asked = found.yes if node.expression.this else found.no
            return Truth(asked, not asked if isinstance(asked, bool) else ~asked)
        refuse(f"{shown(node)} is not answered", "write IS NULL, IS TRUE or IS FALSE")

    def _like(self, node: Any) -> Truth:
        only(node, "this", "expression")
        pattern, value = self.value(node.expression).constant, self.value(node.this)
        if value.is_null:
            return UNKNOWN
        column = self._as_column(value, node)
        if not isinstance(pattern, str):
            refuse(f"{shown(node)} is not answered", "write the pattern as a text")
        if type(node).__name__ == "ILike":
            column, pattern = column.lower(), pattern.lower()
        return self._matched(value, column.like(pattern))

    def _contains(self, node: Any) -> Truth:
        only(node, "this", "expression")
        value, part = self.value(node.this), self.value(node.expression).constant
        column = self._as_column(value, node)
        if not isinstance(part, str):
            refuse(f"{shown(node)} is not answered", "write the part as a text")
        return self._matched(value, getattr(column, _MATCHES[type(node).__name__])(part))

    def _matched(self, value: Valued, yes: Any) -> Truth:
        return Truth(yes, both(~yes, is_null(value).no))

    def _boolean(self, node: Any) -> Truth:
        return Truth(bool(node.this), not node.this)

    def where(self, node: Any, column: Any) -> Any:
        """A condition as a predicate of the rows that it selects; None for all."""
        return where_of(self.truth(node).yes, column)


_VALUES: Mapping[str, Callable[[Reader, Any], Valued]] = {
    "Column": Reader._column,
    "Literal": Reader._literal,
    "Null": lambda reader, node: Valued(),
    "Paren": Reader._paren,
    "Neg": Reader._negative,
    **dict.fromkeys(_ARITHMETIC, Reader._arithmetic),
    "Cast": Reader._cast,
    "TryCast": Reader._cast,
    "Trunc": Reader._truncated,
    "Abs": Reader._absolute,
    **dict.fromkeys(_OF_TEXT, Reader._text),
    **dict.fromkeys(_PARTS, Reader._part),
    "Extract": Reader._extract,
    "TimestampTrunc": Reader._start,
    "DateTrunc": Reader._start,
    "Case": Reader._case,
    "If": Reader._if,
    "Coalesce": Reader._coalesce,
    "Nullif": Reader._nullif,
    "Greatest": Reader._extreme,
    "Least": Reader._extreme,
    "Anonymous": Reader._function,
}
_TRUTHS: Mapping[str, Callable[[Reader, Any], Truth]] = {
    **dict.fromkeys(_OPERATORS, Reader._comparison),
    "And": Reader._and,
    "Or": Reader._or,
    "Not": Reader._not,
    "Paren": Reader._nested,
    "Between": Reader._between,
    "In": Reader._in,
    "Is": Reader._is,
    "Like": Reader._like,
    "ILike": Reader._like,
    **dict.fromkeys(_MATCHES, Reader._contains),
    "Boolean": Reader._boolean,
}
