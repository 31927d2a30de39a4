"""Expressions of one row: conditions, and so all expressions of the grammar."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from mechanisms.tables.in_sql.functions import moment
from mechanisms.tables.in_sql.refusals import SqlError, refusal, shown
from mechanisms.tables.in_sql.sources import Valued
from mechanisms.tables.in_sql.truths import UNKNOWN, Truth, both, compared, is_in, is_null, where_of
from mechanisms.tables.in_sql.values import Values, only

_OPERATORS = {"EQ": "==", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_MATCHES = {"StartsWith": "starts_with", "EndsWith": "ends_with", "Contains": "contains"}


@attrs.frozen(eq=False)
class RowReader(Values):
    """Reads the expressions of a query over some rows."""

    def is_truth(self, node: Any) -> bool:
        """Whether a part of a query is a condition."""
        return type(node).__name__ in _TRUTHS

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
                raise refusal(f"{shown(node)} is not answered", str(error)) from None
        value = self.value(node)
        if value.is_null:
            return UNKNOWN
        if value.column is None and isinstance(value.constant, bool):
            return Truth(value.constant, not value.constant)
        kind = self.kind(value)
        if kind is None or kind.name != "boolean":
            raise refusal(f"{shown(node)} is no condition", "compare it, as in x > 0")
        return compared(value, "==", Valued(constant=True), kind, node)

    def _comparison(self, node: Any) -> Truth:
        only(node, "this", "expression")
        return self.compared(node.this, _OPERATORS[type(node).__name__], node.expression, node)

    def compared(self, left: Any, operator: str, right: Any, node: Any) -> Truth:
        """A comparison of two parts of a query."""
        one, other = self.value(left), self.value(right)
        one, other = self._alike(one, other), self._alike(other, one)
        return compared(one, operator, other, self.kind(one) or self.kind(other), node)

    def like(self, node: Any, other: Any) -> Valued:
        """An expression; a text as a date if the other one is a date."""
        return self._alike(self.value(node), self.value(other))

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
        above = self.compared(node.this, ">=", node.args["low"], node)
        return above.also(self.compared(node.this, "<=", node.args["high"], node))

    def _in(self, node: Any) -> Truth:
        only(node, "this", "expressions")
        left = self.value(node.this)
        values = [self._alike(self.value(each), left) for each in node.expressions]
        return is_in(left, values, self.kind(left), node)

    def _is(self, node: Any) -> Truth:
        only(node, "this", "expression")
        self.source.require_no_null_of(node)
        if type(node.expression).__name__ == "Null":
            return is_null(self.value(node.this))
        if type(node.expression).__name__ == "Boolean":
            found = self.truth(node.this)
            asked = found.yes if node.expression.this else found.no
            return Truth(asked, not asked if isinstance(asked, bool) else ~asked)
        raise refusal(f"{shown(node)} is not answered", "write IS NULL, IS TRUE or IS FALSE")

    def _like(self, node: Any) -> Truth:
        only(node, "this", "expression", "negate")
        pattern, value = self.value(node.expression).constant, self.value(node.this)
        if value.is_null:
            return UNKNOWN
        column = self._as_column(value, node)
        if not isinstance(pattern, str):
            raise refusal(f"{shown(node)} is not answered", "write the pattern as a text")
        if type(node).__name__ == "ILike":
            column, pattern = column.lower(), pattern.lower()
        found = self._matched(value, column.like(pattern))
        return found.negated() if node.args.get("negate") else found

    def _contains(self, node: Any) -> Truth:
        only(node, "this", "expression")
        value, part = self.value(node.this), self.value(node.expression).constant
        column = self._as_column(value, node)
        if not isinstance(part, str):
            raise refusal(f"{shown(node)} is not answered", "write the part as a text")
        return self._matched(value, getattr(column, _MATCHES[type(node).__name__])(part))

    def _matched(self, value: Valued, yes: Any) -> Truth:
        return Truth(yes, both(~yes, is_null(value).no))

    def _boolean(self, node: Any) -> Truth:
        return Truth(bool(node.this), not node.this)

    def where(self, node: Any, column: Any) -> Any:
        """A condition as a predicate of the rows that it selects; None for all."""
        return where_of(self.truth(node).yes, column)


_TRUTHS: Mapping[str, Callable[[RowReader, Any], Truth]] = {
    **dict.fromkeys(_OPERATORS, RowReader._comparison),
    "And": RowReader._and,
    "Or": RowReader._or,
    "Not": RowReader._not,
    "Paren": RowReader._nested,
    "Between": RowReader._between,
    "In": RowReader._in,
    "Is": RowReader._is,
    "Like": RowReader._like,
    "ILike": RowReader._like,
    **dict.fromkeys(_MATCHES, RowReader._contains),
    "Boolean": RowReader._boolean,
}
