"""Expressions on an engine stricter than those that are installed."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import inf, isnan, nan, nextafter
from random import Random
from typing import Any

import numpy as np
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

    def cases(self, values: Any, otherwise: Any) -> Any:
        return next((value for condition, value in values if condition), otherwise)

    def present(self, cell: Number, kind: Any) -> bool:
        return not isnan(cell)

    def clipped(self, value: Any, low: Any, high: Any) -> Any:
        return max(low, min(value, high))

    def magnitude(self, value: float) -> Number:
        return Number(abs(value))

    def as_single(self, value: float) -> Number:
        return Number(np.float32(value))

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
    units = Compiler(OneCell(cell), {"x": real(64)}).units("x", lattice, 0)  # type: ignore[arg-type]
    exact = Fraction(str(cell)) if abs(cell) < 1e9 else Fraction(80 if cell > 0 else -80)
    assert units.expression == max(lattice.low, min(int(exact / lattice.unit), lattice.high))


def near_multiples(random: Random, lattice: Lattice, *, single: bool) -> Iterator[float]:
    """Floats that stand for multiples of the unit, their neighbours, and floats in between."""
    for count in (lattice.low, lattice.high, *(random.randint(-9, 9) for _ in range(5))):
        yield from _around(count * lattice.unit, single=single)
    for _ in range(25):
        count = random.randint(lattice.low, lattice.high)
        yield from _around(count * lattice.unit, single=single)
        yield float(count * lattice.unit) * random.random()


def _around(number: Fraction, *, single: bool) -> Iterator[float]:
    one = np.float32(number) if single else float(number)
    for end in (-inf, inf):
        yield float(np.nextafter(one, np.float32(end)) if single else nextafter(one, end))
    yield float(one)


BOUNDS = [
    ("0.01", 0, 90), ("0.01", -50, 20), ("0.01", 3, "7.25"), ("0.03", -8, "-0.5"), ("0.007", 0, 6),
    ("1/8", -80, 80), ("1/8", 2, 3), (8, -100, 3), (1, 0, 1000), (70, 0, 7000), (70, -700, 7000),
]  # fmt: skip
LONG = [
    ("0.01", 0, 9 * 10**12), ("0.0001", -9 * 10**10, 10), (1, -(10**15) // 4, 10**14 * 9),
    (30, 0, 9 * 10**14), ("1/1024", 0, 2**43), ("0.3", 9 * 10**13, 9 * 10**13 + 9),
]  # fmt: skip


@pytest.mark.parametrize("missing", [0, 3])
@pytest.mark.parametrize(
    ("unit", "lower", "upper", "single"),
    [
        *((*each, single) for each in BOUNDS for single in (False, True)),
        *((*e, False) for e in LONG),
    ],
)
def test_floats_near_multiples(
    unit: Any, lower: Any, upper: Any, single: bool, missing: int
) -> None:
    """The units are those of the float's shortest decimal, also one float beside a multiple."""
    lattice = Lattice(Fraction(lower), Fraction(upper), Fraction(unit))
    kinds, random = {"x": real(32 if single else 64)}, Random(f"{unit} {lower} {single}")
    cells = [*near_multiples(random, lattice, single=single), nan, inf, -inf, 5e-324, -5e-324]
    if single:
        cells = [float(np.float32(cell)) for cell in cells]
    for cell in cells:
        dialect: Any = OneCell(cell)
        found = Compiler(dialect, kinds).units("x", lattice, missing)
        given = np.array([cell], np.float32 if single else np.float64)
        expected = missing if isnan(cell) and not found.fixed else lattice.units(given)[0]
        assert found.low <= found.expression <= found.high
        assert found.expression == expected, cell
