"""The families of what expressions compute on arrays, from public types alone.

Cells and constants of one family compare with each other. numpy's types say this of columns, but
texts and instants that are computed are arrays of objects, in which a comparison that cannot hold
is false without a sign. So a question is checked here before it is charged, as engines do. Of a
column of objects nothing is known publicly, and its cells decide one by one.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

from mechanisms.tables.expressions.column_types import TEXT, Kind, constant, moments, require_keys
from mechanisms.tables.expressions.corrections import no_comparison
from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Literal,
    Operand,
    TextFunction,
    Truncated,
    When,
    operand_name,
)
from mechanisms.tables.expressions.predicates import (
    And,
    Compared,
    Comparison,
    IsIn,
    IsNull,
    Matches,
    Not,
    Or,
    Predicate,
)
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.request import Bins, Categories, Request
from queryable.data.cells import Array

Family: TypeAlias = str | None
"""boolean, number, text, bytes, moment, instant, duration; None if the cells may be of any."""

_OF_NUMPY = {"b": "boolean", "U": "text", "S": "bytes", "M": "moment", "m": "duration"}
_OF_NUMPY |= dict.fromkeys("iuf", "number")
_CASTS = {"integer": "number", "number": "number", "date": "moment", "timestamp": "moment"}
_TIMES = ("moment", "instant")
_KINDS: Mapping[Family, Kind] = {"text": TEXT, "instant": moments("instant", 1000)}
"""The kinds of cells of which numpy's type says nothing."""


def require_families(request: Request, columns: Mapping[str, Array]) -> None:
    """Check that what a request compares, adds up and groups is of families that fit.

    Args:
        columns: that it reads, without their cells.

    Raises:
        TypeError: something is not.
    """
    types = _Types({name: _OF_NUMPY.get(each.dtype.kind) for name, each in columns.items()})
    if isinstance(request.where, Predicate):
        types.check(request.where)
    for term in request.terms:
        for factor in term.factors:
            if factor.column is not None:
                family = types.of(factor.column)
                if factor.power:
                    _require(family, ("number", "boolean"), "a column of numbers", factor.column)
    for by in request.parts:
        types.check_groups(by)


class _Types:
    """The families of expressions of some columns."""

    def __init__(self, columns: Mapping[str, Family]) -> None:
        self._columns = columns

    def of(self, operand: Operand) -> Family:
        """The family of an operand.

        Raises:
            TypeError: what it is computed from does not fit.
        """
        match operand:
            case str():
                return self._columns.get(operand)
            case Literal(value):
                return _of_constant(value)
            case Arithmetic(operator, left, right):
                return self._calculated(operator, left, right)
            case TextFunction(_, inner):
                _require(self.of(inner), ("text",), "a text", inner)
                return "text"
            case DatePart(_, inner):
                _require(self.of(inner), _TIMES, "dates or times", inner)
                return "number"
            case Truncated(_, inner):
                _require(self.of(inner), _TIMES, "dates or times", inner)
                return "moment"
            case Cast(inner, to):
                self._require_cast(inner, to)
                return _CASTS.get(to, to)
            case When():
                return self._chosen(operand)
        return None

    def _calculated(self, operator: str, left: Operand, right: Operand) -> Family:
        pair = [(self.of(each), each) for each in (left, right)]
        days = operator == "-" and any(family == "moment" for family, _ in pair)
        for family, each in pair:
            if days:
                _require(family, ("moment",), "dates", each)
            else:
                _require(family, ("number",), "a number", each)
        return "number"

    def _require_cast(self, inner: Operand, to: str) -> None:
        family = self.of(inner)
        if family == "instant" and to not in ("date", "timestamp"):
            raise TypeError(f"an instant has no cast to {to}: {operand_name(inner)!r}")

    def _chosen(self, operand: When) -> Family:
        for predicate, _ in operand.cases:
            self.check(predicate)
        found = {self.of(each) for each in operand.values if each is not None}
        known = sorted(each for each in found if each is not None)
        if len(known) > 1:
            raise TypeError(
                f"give values of one type to then and otherwise: they are of {', '.join(known)}"
            )
        return known[0] if known and None not in found else None

    def check(self, where: Predicate) -> None:
        """Check that what a predicate compares is of one family.

        Raises:
            TypeError: it is not.
        """
        match where:
            case Comparison(column, _, value):
                self._require_alike(column, (value,))
            case IsIn(column, values):
                self._require_alike(column, values)
            case Compared(left, _, right):
                mine, theirs = self.of(left), self.of(right)
                if None not in (mine, theirs) and mine != theirs:
                    raise TypeError(
                        f"{operand_name(left)!r} and {operand_name(right)!r} do not compare: they "
                        f"are of {mine} and {theirs}"
                    )
            case Matches(column, _, _):
                _require(self.of(column), ("text",), "a column of text", column)
            case IsNull(column):
                self.of(column)
            case And(left, right) | Or(left, right):
                self.check(left)
                self.check(right)
            case Not(predicate):
                self.check(predicate)

    def check_groups(self, by: Categories | Bins) -> None:
        """Check that cells compare with the keys or the steps of groups.

        Raises:
            TypeError: they do not.
        """
        if isinstance(by, Bins):
            self._require_alike(by.column, (value for _, value in by.steps))
        else:
            kind = _KINDS.get(self.of(by.column))
            if kind is not None:
                require_keys(kind, operand_name(by.column), by.values)

    def _require_alike(self, column: Operand, values: Iterable[Scalar]) -> None:
        family = self.of(column)
        if family is None:
            return
        mine = "number" if family == "boolean" else family
        for value in values:
            theirs = constant(value).family
            if theirs != mine and (mine, theirs) != ("moment", "instant"):  # arrays hold no zone
                raise TypeError(no_comparison(mine, family, value))


def _of_constant(value: Any) -> Family:
    match value:
        case bool():
            return "boolean"
        case datetime() if value.tzinfo is not None:
            return "instant"
        case date():
            return "moment"
    return "text" if isinstance(value, str) else "number"


def _require(family: Family, wanted: tuple[str, ...], called: str, operand: Operand) -> None:
    if family is not None and family not in wanted:
        raise TypeError(f"give {called}: {operand_name(operand)!r} is of {family}")
