"""Operands compiled to an engine's expressions.

A computed expression is null exactly where the cell is missing, raises for no cell, and writes
every operand once, so that its size does not grow with the depth. Cells of kind `any`, objects in
memory, fit everywhere; they are checked here and compiled to nothing.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from math import isnan
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.dialect import Dialect, Expression
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import ANY, Kind, placed, united
from mechanisms.tables.expressions.comparisons import OPERATORS
from mechanisms.tables.expressions.computed import tamed
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Literal,
    Operand,
    PerUnit,
    TextFunction,
    Truncated,
    When,
    operand_name,
)

INTEGER = attrs.evolve(column_types.integer(64), declared="BIGINT")
NUMBER = attrs.evolve(column_types.real(64), declared="DOUBLE")
TEXT = attrs.evolve(column_types.TEXT, declared="VARCHAR")
BOOLEAN = attrs.evolve(column_types.BOOLEAN, declared="BOOLEAN")
_ENDS = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001


def _calendar(kind: Kind, declared: str) -> Kind:
    """A kind of computed moments, which are of the years 1 to 9999."""
    assert kind.step is not None
    low, high = (column_types.constant(end).value // kind.step for end in _ENDS)
    return attrs.evolve(kind, low=int(low), high=int(high), declared=declared)


DATE = _calendar(column_types.DATE, "DATE")
TIMESTAMP = _calendar(column_types.moments("timestamp", 1000), "TIMESTAMP")
INSTANT = _calendar(column_types.moments("instant", 1000), "TIMESTAMP WITH TIME ZONE")
_COMPUTED = {
    kind.name: kind for kind in (INTEGER, NUMBER, TEXT, BOOLEAN, DATE, TIMESTAMP, INSTANT, ANY)
}
_CASTS = _COMPUTED | {"number": NUMBER}
_ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@attrs.frozen
class CompiledOperand:
    """A compiled operand.

    Args:
        kind: its kind.
        cell: the engine's expression.
        name: its public text.
        column: whether it is a column itself. The expression of a computed operand is null exactly
            where the cell is missing; that of a column may also be NaN.
    """

    kind: Kind
    cell: Expression
    name: str = ""
    column: bool = False

    @property
    def family(self) -> str:
        """Operands of the same family compare with each other.

        Raises:
            TypeError: nothing is computed from cells of this type.
        """
        family = self.kind.computed_family
        if family is None:
            raise TypeError(
                f"compare {self.name!r} with constants only: nothing is computed from a column of "
                f"{self.kind.declared or self.kind.name}"
            )
        return family


@attrs.frozen
class Operands:
    """Compiles operands for one engine and one table's columns.

    Args:
        dialect: the engine's expressions.
        kinds: the kinds of the columns.
        selected: compiles a predicate.

    Raises (every method): KeyError, TypeError: the operand does not fit the columns. This depends
    on public values alone.
    """

    dialect: Dialect
    kinds: Mapping[str, Kind]
    selected: Callable[[Any], Expression]

    def compiled(self, operand: Operand) -> CompiledOperand:
        """The cell of a column, or a cell that is computed."""
        if isinstance(operand, str):
            if operand not in self.kinds:
                raise KeyError(no_column(operand, self.kinds))
            kind = self.kinds[operand]
            return CompiledOperand(kind, self.dialect.cell(operand, kind), operand, column=True)
        self._require_computing()
        return attrs.evolve(self._computed(operand), name=operand_name(operand))

    def _require_computing(self) -> None:
        if not self.dialect.computes:
            raise TypeError(
                "compare columns with constants only: on this database nothing is computed. It is "
                "on DuckDB, SQLite, Postgres and Spark"
            )

    def _computed(self, operand: Operand) -> CompiledOperand:
        match operand:
            case Literal(value):
                return self._literal(value)
            case Arithmetic(symbol, left, right):
                return self._arithmetic(symbol, left, right)
            case TextFunction(function, inner):
                text = self._of_family(self.compiled(inner), "text")
                return CompiledOperand(TEXT, self.dialect.changed(function, text))
            case DatePart(part, inner):
                kind, moment = self._moment(self.compiled(inner), hour=part == "hour")
                return CompiledOperand(INTEGER, self.dialect.part(part, moment, kind))
            case Truncated(unit, inner):
                kind, moment = self._moment(self.compiled(inner), hour=unit == "hour")
                result = TIMESTAMP if unit == "hour" else DATE
                return CompiledOperand(result, self.dialect.truncated(unit, moment, kind))
            case Cast(inner, to):
                return CompiledOperand(_CASTS[to], self._cast(self.compiled(inner), to))
            case When():
                return self._when(operand)
            case PerUnit():
                raise TypeError(
                    f"ask about the {operand.text} of a table with a privacy unit, with per=: it "
                    "is a value of a unit, and no cell of a row"
                )
        raise TypeError(f"a {type(operand).__name__} is no operand")

    def _literal(self, value: Any) -> CompiledOperand:
        match value:
            case bool():
                return CompiledOperand(BOOLEAN, self.dialect.truth(value))
            case int():
                return CompiledOperand(INTEGER, self.dialect.whole(value))
            case float():
                return CompiledOperand(NUMBER, self.dialect.double(value))
            case str():
                kind = TEXT
            case datetime(tzinfo=None):
                kind = TIMESTAMP
            case datetime():
                kind = INSTANT
            case _:
                kind = DATE
        outcome = placed(kind, "==", value)
        if isinstance(outcome, bool):
            raise TypeError("give a constant of the years 1 to 9999, in UTC if it has a time zone")
        return CompiledOperand(kind, self.dialect.literal(kind, outcome[1]))

    def _of_family(self, operand: CompiledOperand, family: str) -> Expression:
        if operand.family not in (family, "any"):
            raise TypeError(f"give a {family}: {operand.name!r} is of {operand.family}")
        return operand.cell

    def _arithmetic(self, symbol: str, left: Operand, right: Operand) -> CompiledOperand:
        d = self.dialect
        given = [self.compiled(each) for each in (left, right)]
        if symbol == "-" and "date" in [each.kind.name for each in given]:
            kinds, days = zip(*map(self._moment, given), strict=True)
            if any(kind.name != "date" for kind in kinds):
                raise TypeError("cast times to dates first: their difference is in whole days")
            return CompiledOperand(NUMBER, d.days_between(*days))
        a, b = (self._tamed(*each) for each in zip((left, right), given, strict=True))
        if symbol == "/":
            b = d.unless_zero(b)
        return CompiledOperand(NUMBER, d.tamed(_ARITHMETIC[symbol](a, b)))

    def _tamed(self, operand: Operand, compiled: CompiledOperand) -> Expression:
        """A number as a float that has been tamed. Arithmetic and integers need no more of it."""
        self._of_family(compiled, "number")
        if isinstance(operand, Literal):
            known = float(tamed(np.array(float(operand.value))))
            return self.dialect.nothing(NUMBER) if isnan(known) else self.dialect.double(known)
        number = self.dialect.nearest(compiled.cell, compiled.kind)
        if isinstance(operand, Arithmetic) or compiled.kind.name != "float":
            return number
        return self.dialect.tamed(number)

    def _number(self, operand: CompiledOperand) -> Expression:
        """The nearest float, null where the cell is NaN."""
        number = self.dialect.nearest(operand.cell, operand.kind)
        if not operand.column or operand.kind.name != "float":
            return number
        return self.dialect.where(self.dialect.present(operand.cell, operand.kind), number)

    def _moment(self, operand: CompiledOperand, *, hour: bool = False) -> tuple[Kind, Expression]:
        """A date, or a timestamp in whole microseconds, of the years 1 to 9999; else null."""
        name = operand.kind.name
        if operand.kind == ANY:
            return DATE, operand.cell
        if operand.family not in ("moment", "instant"):
            raise TypeError(f"give dates or times: {operand.name!r} is of {operand.family}")
        if hour and name == "date":
            raise TypeError(f"give times: {operand.name!r} is a column of dates, without hours")
        kind = DATE if name == "date" else TIMESTAMP
        cell = operand.cell
        if name != "date":
            cell = self.dialect.utc(cell, operand.kind)
        elif operand.column:
            cell = self.dialect.calendar_day(cell)
        return kind, self._within_years(operand, cell) if operand.column else cell

    def _within_years(self, operand: CompiledOperand, value: Expression) -> Expression:
        zone = UTC if operand.kind.name == "instant" else None
        first, last = (end.replace(tzinfo=zone) for end in _ENDS)
        return self._between(operand, (">=", first), ("<=", last), value)

    def _between(
        self,
        operand: CompiledOperand,
        low: tuple[str, Any],
        high: tuple[str, Any],
        value: Expression,
    ) -> Expression:
        """The value where the cell is within two bounds, else null. The cell is a column."""
        bounds = []
        if operand.kind.name == "decimal":  # Postgres's may be NaN
            bounds.append(self.dialect.present(operand.cell, operand.kind))
        for symbol, end in (low, high):
            outcome = placed(operand.kind, symbol, end)
            if not isinstance(outcome, bool):
                literal = self.dialect.literal(operand.kind, outcome[1])
                bounds.append(OPERATORS[outcome[0]](operand.cell, literal))
            elif not outcome:
                bounds.append(self.dialect.truth(False))
        return self.dialect.where(reduce(operator.and_, bounds), value) if bounds else value

    def _cast(self, operand: CompiledOperand, to: str) -> Expression:
        d, kind, family = self.dialect, operand.kind, operand.family
        match to:
            case _ if family == "any" or to == family == "text":
                return operand.cell
            case _ if family == "text":
                return d.parsed(to, operand.cell)
            case "integer" if kind.name == "boolean":
                return d.as_bit(operand.cell)
            case "integer" if family == "number":
                return self._whole(operand)
            case "number" if kind.name == "boolean":
                return d.as_double(d.as_bit(operand.cell))
            case "number" if family == "number":
                return self._number(operand)
            case "text" if kind.name in ("integer", "boolean"):
                return d.written(operand.cell, kind)
            case "text" if kind.name == "date":
                return d.written(self._moment(operand)[1], DATE)
            case "date" | "timestamp" if family in ("moment", "instant"):
                return self._as(to, *self._moment(operand))
            case "boolean" if kind.name == "boolean":
                return operand.cell
            case "boolean" if kind.name == "integer":
                return d.as_truth(operand.cell)
        raise TypeError(
            f"a column of {kind.declared or kind.name} has no cast to {to}: {operand.name!r}"
        )

    def _as(self, to: str, kind: Kind, moment: Expression) -> Expression:
        if kind.name == to:
            return moment
        return self.dialect.midnight(moment) if to == "timestamp" else self.dialect.day(moment)

    def _whole(self, operand: CompiledOperand) -> Expression:
        """A number truncated toward zero; null beyond 64 bits."""
        d, kind = self.dialect, operand.kind
        if kind.name == "float":
            return d.truncated_float(operand.cell)
        if kind.name == "integer" and kind.low > -(2**63) and kind.high < 2**63:
            return d.as_whole(operand.cell)
        if operand.column:
            bounds = (">", -(2**63)), ("<", 2**63)
            return self._between(operand, *bounds, d.whole_part(operand.cell, kind))
        return d.narrowed(operand.cell)

    def _when(self, operand: When) -> CompiledOperand:
        values = [None if each is None else self.compiled(each) for each in operand.values]
        given = [each for each in values if each is not None]
        families = sorted({each.family for each in given} - {"any"})
        if len(families) > 1:
            raise TypeError(
                f"give values of one type to then and otherwise: they are of {', '.join(families)}"
            )
        kind = _united([each.kind for each in given])
        if kind == INSTANT and any(each.kind.step != INSTANT.step for each in given):
            raise TypeError("give instants in microseconds to then and otherwise")
        conditions = [self.selected(predicate) for predicate, _ in operand.cases]
        results = [
            self.dialect.nothing(kind) if each is None else self._converted(each, kind)
            for each in values
        ]
        return CompiledOperand(
            kind, self.dialect.cases(list(zip(conditions, results, strict=False)), results[-1])
        )

    def _converted(self, operand: CompiledOperand, kind: Kind) -> Expression:
        match kind.name:
            case "integer" | "boolean":
                cell = self.dialect.typed(operand.cell) if operand.column else operand.cell
                return self.dialect.as_integer(cell, kind) if kind.name == "integer" else cell
            case "float":
                return self._number(operand)
            case "date" | "timestamp":
                return self._as(kind.name, *self._moment(operand))
            case "instant" if operand.column:
                return self._within_years(operand, operand.cell)
        return operand.cell

    def compared(self, left: Operand, symbol: str, right: Operand) -> Expression:
        """Whether two cells are present and compare; never null."""
        self._require_computing()
        a, b = self.compiled(left), self.compiled(right)
        if a.family != b.family and "any" not in (a.family, b.family):
            raise TypeError(
                f"{a.name!r} and {b.name!r} do not compare: they are of {a.family} and {b.family}"
            )
        mine, theirs = self._comparable(a, b)
        outcome = OPERATORS[symbol](mine, theirs)
        if not (a.column and b.column):
            outcome = self.dialect.surely(outcome)
        for each in (a, b):
            if each.column:
                outcome = self.dialect.present(each.cell, each.kind) & outcome
        return outcome

    def _comparable(self, a: CompiledOperand, b: CompiledOperand) -> tuple[Expression, Expression]:
        d, kinds = self.dialect, (a.kind, b.kind)
        match a.family:
            case "number" if not all(kind.name == "integer" for kind in kinds):
                return d.nearest(a.cell, a.kind), d.nearest(b.cell, b.kind)
            case "number" if len({kind.high >= 2**127 for kind in kinds}) > 1:  # no type holds both
                raise TypeError(
                    f"write .cast('integer') of {a.name!r} and {b.name!r}: whole numbers of 128 "
                    "bits without a sign compare with the same only"
                )
            case "text":
                return d.ordered(a.cell), d.ordered(b.cell)
            case "moment" | "instant" if len({(kind.name, kind.step) for kind in kinds}) > 1:
                one, other = (self._as("timestamp", *self._moment(each)) for each in (a, b))
                return one, other
        return a.cell, b.cell


def _united(kinds: Sequence[Kind]) -> Kind:
    """The kind that holds cells of all these kinds, which are of one family."""
    name = united(kind.name for kind in kinds)
    if name != "integer":
        return _COMPUTED[name]
    low, high = min(kind.low for kind in kinds), max(kind.high for kind in kinds)
    high = min(max(high, 2**63 - 1), 2**127 - 1)  # beyond it a cell is missing
    return attrs.evolve(INTEGER, low=min(low, -(2**63)), high=high)
