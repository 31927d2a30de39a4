"""Predicates, groups and terms compiled to an engine's expressions.

Their meaning is defined here, once for all engines: null and NaN are missing, every expression has
a value for every row and raises for none, and sums are of exact integers. An engine provides its
expressions as a `Dialect`.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.engines.dialect import Dialect, Expression
from mechanisms.tables.engines.even import Even
from mechanisms.tables.engines.operands import CompiledOperand, Operands
from mechanisms.tables.engines.whole import Whole
from mechanisms.tables.expressions.column_types import Kind, Placed, member, placed
from mechanisms.tables.expressions.comparisons import OPERATORS
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import Operand, operand_name
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
    Where,
)
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.request import Bins, Categories, Term

Kinds: TypeAlias = Mapping[str, Kind]

_EXACT = 2**53
_MOST_DIGITS = 10**15
_MOST_SINGLE_DIGITS = 10**6


@attrs.frozen
class Compiler:
    """Compiles requests for one engine and one table's columns.

    Raises (every method): KeyError, TypeError: the request does not fit the columns. This depends
    on public values alone.
    """

    dialect: Dialect
    kinds: Kinds

    def kind(self, column: str) -> Kind:
        """The kind (type) of a column."""
        if column not in self.kinds:
            raise KeyError(no_column(column, self.kinds))
        return self.kinds[column]

    def operand(self, operand: Operand) -> CompiledOperand:
        """The cell of a column, or a cell that is computed."""
        return Operands(self.dialect, self.kinds, self.selected).compiled(operand)

    def present(self, operand: Operand) -> Expression:
        """Whether a row has a cell in the column."""
        found = self.operand(operand)
        return self.dialect.present(found.cell, found.kind)

    def selected(self, where: Where | None) -> Expression:
        """Which rows a `where` selects: true or false, never null."""
        match where:
            case None:
                return self.dialect.truth(True)
            case Comparison(column, operator, value):
                return self._compared(column, operator, value)
            case IsIn(column, values):
                return self._is_in(column, values)
            case Compared(left, operator, right):
                operands = Operands(self.dialect, self.kinds, self.selected)
                return operands.compared(left, operator, right)
            case Matches(column, how, pattern):
                return self._matches(column, how, pattern)
            case IsNull(column):
                return ~self.present(column)
            case And(left, right):
                return self.selected(left) & self.selected(right)
            case Or(left, right):
                return self.selected(left) | self.selected(right)
            case Not(predicate):
                return ~self.selected(predicate)
        return self.own(where)

    def own(self, where: Where) -> Expression:
        """A predicate of a class of the user's own, or a function: no engine evaluates it."""
        if isinstance(where, Predicate):
            raise TypeError(
                "write the predicate with comparisons, is_in, &, | and ~: a table cannot "
                f"evaluate {type(where).__name__}"
            )
        raise TypeError(
            "write where as an expression such as column('age') >= 30: a table cannot evaluate a "
            "function"
        )

    def placed(self, kind: Kind, operator: str, value: Scalar) -> Placed | bool:
        """A comparison with a constant within the column's domain, as `column_types.placed`."""
        return placed(kind, operator, value)

    def _compared(self, column: Operand, operator: str, value: Scalar) -> Expression:
        found = self.operand(column)
        outcome = self.placed(found.kind, operator, value)
        if isinstance(outcome, bool):
            return self._every(found, outcome)
        return self._where_present(found, self._outcome(found.cell, found.kind, outcome))

    def _every(self, found: CompiledOperand, outcome: bool) -> Expression:
        """An outcome that is the same for every cell. Its parameters stay in the statement."""
        there: Expression = self.dialect.present(found.cell, found.kind)
        return there if outcome else there & self.dialect.truth(False)

    def _matches(self, column: Operand, how: str, pattern: str) -> Expression:
        found = self.operand(column)
        if found.kind.name not in ("text", "any"):
            raise TypeError(
                f"give a column of text: {operand_name(column)!r} is one of "
                f"{found.kind.declared or found.kind.name}"
            )
        return self._where_present(found, self.dialect.matched(found.cell, how, pattern))

    def _where_present(self, found: CompiledOperand, condition: Expression) -> Expression:
        """A condition on a cell, false where it is missing. A computed cell is written once."""
        if found.column:
            return self.dialect.present(found.cell, found.kind) & condition
        return self.dialect.surely(condition)

    def _is_in(self, column: Operand, values: Iterable[Scalar]) -> Expression:
        """One list for all values, because databases limit how deep expressions nest."""
        found = self.operand(column)
        equals = [self.placed(found.kind, "==", value) for value in values]
        return self._equals_one(
            found,
            [self._literal(found.kind, it[1]) for it in equals if not isinstance(it, bool)],
        )

    def _equals_one(self, found: CompiledOperand, literals: Sequence[Expression]) -> Expression:
        if not literals:
            return self._every(found, False)
        cell = self._ordered(found.kind, found.cell)
        return self._where_present(found, self.dialect.one_of(cell, literals))

    def _ordered(self, kind: Kind, cell: Expression) -> Expression:
        """A cell in a form that compares as in Python."""
        return self.dialect.ordered(cell) if kind.name == "text" else cell

    def _literal(self, kind: Kind, value: Any) -> Expression:
        return self._ordered(kind, self.dialect.literal(kind, value))

    def among(self, by: Categories | Bins) -> Expression:
        """Whether a row is in one of the groups."""
        found = self.operand(by.column)
        if isinstance(by, Bins):
            there = self.dialect.present(found.cell, found.kind)
            if not by.bounded:
                return there
            first, last = (self._holds(found.cell, found.kind, *by.steps[end]) for end in (0, -1))
            return there & first & ~last
        return self._equals_one(found, [literal for _, literal in self.members(by)])

    def members(self, by: Categories) -> list[tuple[int, Expression]]:
        """The index and the literal of each category that a cell can equal."""
        kind = self.operand(by.column).kind
        values = ((index, member(kind, value)) for index, value in enumerate(by.values))
        return [(i, self._literal(kind, value)) for i, value in values if value is not None]

    def group(self, by: Categories | Bins) -> Expression:
        """The index of a row's group; any value for a row in no group."""
        found = self.operand(by.column)
        if isinstance(by, Bins):
            even = self.even(by)
            if even is not None:
                return even.reached(self.dialect, found.cell, found.kind)
            return self.reached(found.cell, found.kind, by.between)
        return self.dialect.position(self._ordered(found.kind, found.cell), self.members(by))

    def even(self, by: Bins) -> Even | None:
        """The steps between groups, if they are at equal distances and the engine computes."""
        return Even.of(self.operand(by.column).kind, by.between) if self.dialect.computes else None

    def reached(
        self, cell: Expression, kind: Kind, steps: tuple[tuple[str, Scalar], ...], below: int = 0
    ) -> Expression:
        """How many steps a cell has reached, and `below` more.

        A binary search as nested expressions, as deep as the logarithm of the steps.
        """
        if not steps:
            return self.dialect.whole(below)
        middle = len(steps) // 2
        reached = self._holds(cell, kind, *steps[middle])
        return self.dialect.when(
            reached,
            self.reached(cell, kind, steps[middle + 1 :], below + middle + 1),
            self.reached(cell, kind, steps[:middle], below),
        )

    def _holds(self, cell: Expression, kind: Kind, operator: str, value: Scalar) -> Expression:
        """A comparison of a cell that is present."""
        return self._outcome(cell, kind, self.placed(kind, operator, value))

    def _outcome(self, cell: Expression, kind: Kind, outcome: Placed | bool) -> Expression:
        if isinstance(outcome, bool):
            return self.dialect.truth(outcome)
        return OPERATORS[outcome[0]](self._ordered(kind, cell), self._literal(kind, outcome[1]))

    def term(self, term: Term) -> Expression:
        """What a row adds to a sum: a 64-bit integer, never null."""
        return self._term(term).expression

    def _term(self, term: Term) -> Whole:
        if term.times:
            assert term.column is not None
            if not term.largest < 2**63:
                raise TypeError(
                    "products of numbers within these bounds are beyond 64-bit integers"
                )
            product = reduce(Whole.by, map(self._term, term.factors))
            # a constant is 0, and is written as one of each row
            return product.where(self.present(term.column)) if product.fixed else product
        one = Whole.constant(self.dialect, 1)
        if term.column is None:
            return one
        present = self.present(term.column)
        if not term.power:
            return one.where(present)
        assert term.lattice is not None
        _within_64_bits(term, term.lattice)
        moved = self.units(term.column, term.lattice, term.center).minus(term.center)
        added = moved if term.power == 1 else moved.by(moved)
        of_float = self.number(term.column).kind.name == "float"
        return added if of_float and not moved.fixed else added.where(present)

    def units(self, column: Operand, lattice: Lattice, missing: int) -> Whole:
        """The cell in whole units of a lattice, as `Lattice.units`.

        A missing float stands for so many units, and another missing cell for any value.
        """
        found = self.number(column)
        if found.kind.name == "float":
            return self._of_float(found, lattice, missing)
        units = self._of_multiple(found.cell, found.kind, lattice)
        return units.within(lattice.low, lattice.high)

    def number(self, column: Operand) -> CompiledOperand:
        """A cell that is added up."""
        found, name = self.operand(column), operand_name(column)
        kind = found.kind
        if kind.family not in ("number", "any"):
            raise TypeError(
                f"give a column of numbers: {name!r}, a column of {kind.declared or kind.name}, "
                "cannot be added up. If its cells are numbers, convert the column before opening; "
                f"in a CSV file leave {name!r} out of types and ask for column({name!r})"
                ".cast('number'), and if its numbers are written as 12,50, open it by "
                "Table(.., decimal=',')"
            )
        return found

    def _of_multiple(self, cell: Expression, kind: Kind, lattice: Lattice) -> Whole:
        """Multiples of a step, cut off before they are multiplied or divided.

        A unit or bounds that no cell of the column's type reaches make a constant.
        """
        assert kind.step is not None
        low = min(max((lattice.lower / kind.step).__floor__(), kind.low), kind.high)
        high = max(min((lattice.upper / kind.step).__ceil__(), kind.high), kind.low)
        times, divisor = (kind.step / lattice.unit).as_integer_ratio()
        steps = Whole.between(
            self.dialect, low, high, lambda: self.dialect.multiples(cell, kind, low, high)
        )
        return steps.times(times).quotient(divisor)

    def _of_float(self, found: CompiledOperand, lattice: Lattice, missing: int) -> Whole:
        """Floats in units of a power of two are divided exactly; others stand for their decimal.

        A float's shortest decimal is at least t = k * unit, a decimal of at most 15 digits (6 for
        singles), iff the float is at least the one nearest to t: t is that one's own shortest
        decimal, and shortest decimals are in the floats' order. The nearest one is one correctly
        rounded division of integers below 2^53 away. So the quotient rounded to the nearest integer
        is the number of units or one more, and is compared with its own threshold: four roundings,
        of the quotient and of a threshold, are of less than 1/8 each.
        """
        low, high, unit = lattice.low, lattice.high, lattice.unit
        largest = max(lattice.largest, abs(missing), 1)
        thresholds = _dyadic(unit, largest) or _decimal(unit, largest, single=found.kind.single)
        if not thresholds:
            raise TypeError(
                "a column of floats is added up in units of a power of two, or of a decimal "
                f"with bounds of at most {6 if found.kind.single else 15} digits"
            )
        d, (top, bottom) = self.dialect, unit.as_integer_ratio()
        single = found.kind.single and thresholds == "decimal"

        def nearest(count: int) -> Expression:
            number = float(count * unit)
            return d.double(float(np.float32(number)) if single else number)

        def scaled(value: Expression, by: int, over: int) -> Expression:
            value = value if by == 1 else value * d.double(float(by))
            return value if over == 1 else value / d.double(float(over))

        def at(multiple: Expression) -> Expression:
            exact = scaled(multiple, top, bottom)
            return d.as_single(exact) if single else exact

        def count(size: Expression) -> Expression:
            if thresholds == "dyadic":
                return d.floor(size if unit == 1 else size / d.double(float(unit)))
            half, one, zero = map(d.double, (0.5, 1.0, 0.0))
            guess = d.floor(scaled(size, bottom, top) + half)
            return guess - d.when(at(guess) > size, one, zero)

        def units() -> Expression:
            least = d.double(float(unit) / 4)  # Postgres fails where a division underflows
            cell, there = d.as_double(found.cell), d.present(found.cell, found.kind)
            first, last = nearest(low) if low else least, nearest(high)
            # a NaN is below nothing, so that it is found beside large cells, which are few
            inside = d.cases(
                [(cell < last, d.when(cell > first, cell, first)), (there, last)], nearest(missing)
            )
            if low >= 0 <= missing:
                return d.as_whole(count(inside))
            size = d.magnitude(inside)
            if unit > 1:
                size = d.clipped(size, least, nearest(largest))
            sign = d.when(inside < d.double(0.0), d.double(-1.0), d.double(1.0))
            return d.as_whole(count(size) * sign)

        return Whole.between(d, min(low, missing), max(high, missing), units)


def _within_64_bits(term: Term, lattice: Lattice) -> None:
    if not -(2**63) <= lattice.low <= lattice.high < 2**63:
        raise TypeError("the bounds of a sum are beyond 64-bit integers")
    if (term.center or term.power > 1) and not term.largest < 2**63:
        raise TypeError("squares of numbers within these bounds are beyond 64-bit integers")


def _dyadic(unit: Fraction, largest: int) -> str | None:
    top, bottom = unit.numerator, unit.denominator
    exact = top.bit_count() == 1 == bottom.bit_count() and max(top, bottom) <= 2**900
    return "dyadic" if exact and largest <= _EXACT else None


def _decimal(unit: Fraction, largest: int, *, single: bool) -> str | None:
    digits = next((j for j in range(9 if single else 16) if 10**j % unit.denominator == 0), None)
    if digits is None:
        return None
    longest = (largest + 2) * unit.numerator * (10**digits // unit.denominator)
    return "decimal" if longest < (_MOST_SINGLE_DIGITS if single else _MOST_DIGITS) else None
