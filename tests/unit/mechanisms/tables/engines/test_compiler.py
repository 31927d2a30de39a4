"""Expressions on an engine stricter than those that are installed."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.expressions.column_types import real
from mechanisms.tables.expressions.lattice import Lattice


class Number(float):
    """A float of an engine that fails on underflow and overflow, as Postgres does."""

    def _checked(self, result: float, other: float) -> "Number":
        if abs(result) == float("inf") or (result == 0 and self != 0 and other != 0):
            raise ArithmeticError("out of range")
        return Number(result)

    def __truediv__(self, other: float) -> "Number":
        return self._checked(float(self) / float(other), 1.0)

    def __mul__(self, other: float) -> "Number":
        return self._checked(float(self) * float(other), other)

    def __add__(self, other: float) -> "Number":
        return self._checked(float(self) + float(other), 0.0)

    def __sub__(self, other: float) -> "Number":
        return self._checked(float(self) - float(other), 0.0)


class OneCell:
    """A dialect whose expressions are the numbers themselves, of one cell."""

    def __init__(self, cell: float) -> None:
        self.only = Number(cell)

    def cell(self, column: str, kind: Any) -> Number:
        return self.only

    def when(self, condition: bool, yes: Any, no: Any) -> Any:
        return yes if condition else no

    def clipped(self, value: Any, low: Any, high: Any) -> Any:
        return max(low, min(value, high))

    def magnitude(self, value: float) -> Number:
        return Number(abs(value))

    def floor(self, value: float) -> Number:
        return Number(value // 1)

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        return {"double": Number, "as_double": Number, "whole": int, "as_whole": int}[name]


@pytest.mark.parametrize("unit", ["1/8", 1, 8, "0.01", "0.3", 10])
@pytest.mark.parametrize(
    "cell", [5e-324, -5e-324, 0.0, -0.0, 1e300, -float("inf"), 0.29, 7.99, -8.0, 1e-310]
)
def test_no_float_is_out_of_range(cell: float, unit: Any) -> None:
    """A cell that is too small to be divided has no units, one that is too large all of them."""
    lattice = Lattice(Fraction(-80), Fraction(80), Fraction(unit))
    units = Compiler(OneCell(cell), {"x": real(64)}).units("x", lattice)  # type: ignore[arg-type]
    exact = Fraction(str(cell)) if abs(cell) < 1e9 else Fraction(80 if cell > 0 else -80)
    assert units.expression == max(lattice.low, min(int(exact / lattice.unit), lattice.high))
