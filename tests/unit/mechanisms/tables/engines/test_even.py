"""Groups at equal distances, found by arithmetic, beside comparisons with every step."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, nan, nextafter
from random import Random
from typing import Any

import numpy as np
import pytest

from mechanisms.tables.engines.even import Even
from mechanisms.tables.expressions.column_types import Kind, decimal, integer, placed, real
from mechanisms.tables.expressions.comparisons import OPERATORS


class Numbers:
    """A dialect whose expressions are the numbers themselves; it fails where an engine would."""

    def double(self, value: float) -> float:
        return float(value)

    def whole(self, value: int) -> int:
        assert -(2**63) <= value < 2**63
        return value

    def as_double(self, value: Any) -> float:
        return float(self.whole(value) if isinstance(value, int) else value)

    def as_whole(self, value: Any) -> int:
        assert value == int(value)
        return self.whole(int(value))

    def as_bit(self, value: Any) -> int:
        return int(value)

    def floor(self, value: float) -> float:
        assert 1e-9 < value < 2**53
        return value // 1

    def clipped(self, value: Any, low: Any, high: Any) -> Any:
        return min(max(low, value), high) if value == value else high  # noqa: PLR0124

    def quotient(self, dividend: int, divisor: int) -> int:
        assert 0 <= dividend < 2**53
        return dividend // divisor

    def multiples(self, cell: int, kind: Kind, low: int, high: int) -> int:
        assert kind.low <= low <= high <= kind.high
        return self.whole(self.clipped(cell, low, high))


def steps_of(operators: str, values: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(operator, value) for value in values for operator in operators.split()]


def require_the_same(kind: Kind, steps: Sequence[tuple[str, Any]], cells: Sequence[Any]) -> None:
    """Each cell, in the kind's domain, has reached as many steps as comparisons say."""
    even, dialect = Even.of(kind, steps), Numbers()
    assert even is not None
    if kind.name == "float":
        even.reached(dialect, nan, kind)  # type: ignore[arg-type]
    found = [placed(kind, *step) for step in steps]
    for cell in cells:
        expected = sum(OPERATORS[each[0]](cell, each[1]) for each in found)  # type: ignore[index]
        assert even.reached(dialect, cell, kind) == expected, cell  # type: ignore[arg-type]


EVEN = {
    "whole": range(101),
    "fives": range(-50, 101, 5),
    "eighths": [i / 8 for i in range(300)],
    "tenths": [i / 10 for i in range(-40, 77)],
    "hundredths": [Fraction(i, 100) for i in range(29, 400)],
    "sums": [3 + i * 0.1 for i in range(200)],
    "linspace": np.linspace(-1, 7, 31).tolist(),
    "large": [10**15 + 2 * i for i in range(50)],
    "far": [i * 2.0**980 for i in range(-30, 40)],
    "near": [i * 2.0**-970 for i in range(-30, 40)],
}


@pytest.mark.parametrize("operators", [">= >", ">=", ">"])
@pytest.mark.parametrize("name", EVEN)
def test_floats(name: str, operators: str) -> None:
    """At the values, one float beside them, between them and far from them; also of 32 bits."""
    values, random = [float(value) for value in EVEN[name]], Random(name)
    cells = [nextafter(value, end) for value in values for end in (-inf, value, inf)]
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    cells += [nextafter(middle, end) for middle in middles for end in (-inf, middle, inf)]
    cells += [random.uniform(values[0], values[-1]) for _ in range(500)]
    cells += [0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, inf, -inf]
    require_the_same(real(64), steps_of(operators, values), cells)
    if all(abs(value) < 1e30 and float(np.float32(value)) == value for value in values):
        singles = [float(cell) for cell in map(np.float32, cells[: 3 * len(values)])]
        require_the_same(real(32), steps_of(operators, values), singles)


@pytest.mark.parametrize("operators", [">= >", ">=", ">"])
@pytest.mark.parametrize(
    ("kind", "first", "step"),
    [
        (integer(64), 0, 1),
        (integer(64), -(2**61), 2**46),
        (integer(8), -128, 5),
        (integer(8), 28, 1),
        (integer(8, signed=False), 0, 2),
        (integer(128, signed=False), 2**60, 7),
        (decimal(12, 2), -300, 25),
    ],
)
def test_integers(kind: Kind, first: int, step: int, operators: str) -> None:
    """Up to the ends of the kind, and up to 64 bits."""
    assert kind.step is not None
    whole = [first + i * step for i in range(100) if first + i * step <= min(kind.high, 2**62 - 1)]
    values = [each * kind.step for each in whole]
    cells = [each + beside for each in whole for beside in (-step // 2, -1, 0, 1, step // 2)]
    cells = [each for each in cells if kind.low <= each <= kind.high] + [kind.low, kind.high]
    integers = [int(each) if each.denominator == 1 else float(each) for each in values]
    require_the_same(kind, steps_of(operators, integers), cells)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (real(64), [0, 1, 2, 4, 8]),
        (real(64), [0, 1, 2, 3, nextafter(4, 5)]),
        (real(64), [-1.7e308, 0, 1.7e308]),
        (real(64), [0, 1, 2, inf]),
        (real(64), [i * 5e-324 for i in range(9)]),
        (real(32), [i / 10 for i in range(9)]),
        (integer(64), [i / 2 for i in range(9)]),
        (integer(64), [2**63 - 9 + i for i in range(9)]),
        (integer(8), [120 + i for i in range(9)]),
        (integer(64), [i * 2**50 for i in range(9)]),
        (decimal(38, 30), range(9)),
        (decimal(38, 2), [10**15 + i for i in range(9)]),
        (integer(64), range(3)),
        (integer(64), []),
    ],
)
def test_other_steps_are_compared(kind: Kind, values: Sequence[Any]) -> None:
    """Steps at other distances, too few, or beyond what every engine computes."""
    assert Even.of(kind, steps_of(">= >", values)) is None
