"""What an engine provides: how its expressions are written."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from mechanisms.tables.column_types import Kind

Expression: TypeAlias = Any
"""An engine's expression; it supports + - * / & | ~ and comparisons."""


class Dialect(Protocol):
    """How an engine's expressions are written."""

    largest_dividend: int
    """The largest integer that `quotient` divides exactly."""

    def cell(self, column: str, kind: Kind) -> Expression:
        """The cell in a column, in a form that compares with `literal`."""

    def literal(self, kind: Kind, value: Any) -> Expression:
        """A value of a column's domain, as `column_types.placed` returns it."""

    def whole(self, value: int) -> Expression:
        """A 64-bit integer."""

    def double(self, value: float) -> Expression:
        """A float."""

    def truth(self, value: bool) -> Expression:
        """True or false."""

    def present(self, cell: Expression, kind: Kind) -> Expression:
        """Whether the cell is neither null nor NaN; never null itself."""

    def one_of(self, cell: Expression, values: Sequence[Expression]) -> Expression:
        """Whether a cell that is present equals one of some values, at least one."""

    def position(self, cell: Expression, values: Sequence[tuple[int, Expression]]) -> Expression:
        """The number of the first value that the cell equals, -1 if none."""

    def when(self, condition: Expression, yes: Expression, no: Expression) -> Expression:
        """`yes` where the condition holds, else `no`."""

    def where(self, condition: Expression, value: Expression) -> Expression:
        """The value where the condition holds, else null."""

    def surely(self, condition: Expression) -> Expression:
        """Whether the condition holds; false where it is null."""

    def once(self, value: Expression, use: Callable[[Expression], Expression]) -> Expression:
        """An expression that uses a value several times, with the value written once."""

    def unless_zero(self, value: Expression) -> Expression:
        """A float, or null where it is zero."""

    def clipped(self, value: Expression, low: Expression, high: Expression) -> Expression:
        """The value clipped to the bounds."""

    def magnitude(self, value: Expression) -> Expression:
        """The absolute value of a float."""

    def floor(self, value: Expression) -> Expression:
        """The largest whole float at or below the value."""

    def as_double(self, value: Expression) -> Expression:
        """A float of any width as a 64-bit float. `clipped` makes it finite, also if it is NaN."""

    def as_single(self, value: Expression) -> Expression:
        """A float rounded to 32 bits, as a 64-bit float."""

    def as_whole(self, value: Expression) -> Expression:
        """A whole float within 64 bits, or an integer, as a 64-bit integer."""

    def multiples(self, cell: Expression, kind: Kind, low: int, high: int) -> Expression:
        """A number as a multiple of its column's step, clipped, as a 64-bit integer."""

    def quotient(self, dividend: Expression, divisor: int) -> Expression:
        """The quotient of integers, rounded down; the dividend is not negative."""
