"""Steps at equal distances, such as the candidates of a quantile: a cell's group by arithmetic.

The nearest value is found by one division, and the cell is compared with this value only. This
module knows the steps of one column, which are public, and no rows.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import add
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.tables.engines.dialect import Dialect, Expression
from mechanisms.tables.expressions.column_types import Kind, placed
from mechanisms.tables.expressions.comparisons import OPERATORS
from mechanisms.tables.expressions.scalars import Scalar

_EXACT = 2**53
_FEWEST = 4
"""Of fewer values nested comparisons are as fast."""
_MOST, _FEW = 2**40, 1000
_LEAST, _LARGEST = 1e-300, 1e300


@attrs.frozen
class Even:
    """The steps `operators` at each value (first + i * step) / divisor, for i below `count`.

    Whole cells have reached as many values as there are steps from the first value to the cell,
    which is cut off beside the ends. Of a float, the index of the nearest value is (cell - first
    value) / distance + 1/2, rounded down, of a cell that is cut off at the ends. The roundings of
    this quotient are less than 1/16 together, and each value is less than distance / 16 beside its
    multiple of the distance. So the cell is above the value before and below the value after the
    one that is found, and is compared with this one only. No cell makes a number beyond the ends,
    or one that underflows: half a distance is added before the division.

    Args:
        operators: ">=" and ">", or one of them.
        first, step, divisor: floats for floats; else integers, and the divisor is 1.
    """

    operators: tuple[str, ...]
    count: int
    first: Any
    step: Any
    divisor: Any

    @classmethod
    def of(cls, kind: Kind, steps: Sequence[tuple[str, Scalar]]) -> Self | None:
        """The steps within the domain of a kind; None if they are not at equal distances."""
        if kind.name not in ("float", "integer", "multiple", "decimal"):
            return None
        operators = tuple(dict.fromkeys(operator for operator, _ in steps))
        every = len(operators)
        if not steps or not _FEWEST * every <= len(steps) < _MOST or len(steps) % every:
            return None
        found = [placed(kind, operator, value) for operator, value in steps]
        if any(isinstance(each, bool) for each in found):
            return None
        values = [each[1] for each in found[::every]]  # type: ignore[index]
        if found != [(operator, value) for value in values for operator in operators]:
            return None
        ways = _of_floats(values) if kind.name == "float" else _of_integers(values, kind)
        return next((cls(operators, len(values), *way) for way in ways), None)

    def value(self, index: Any) -> Any:
        """The value with an index, or the values of an array of indices."""
        return (self.first + index * self.step) / self.divisor

    @property
    def few(self) -> bool:
        """Whether cells are whole, and about as few from the first value to the last as values."""
        most = max(_FEW, 4 * self.count)
        return type(self.step) is int and self.step * (self.count - 1) < most

    def near(self, d: Dialect, cell: Expression, kind: Kind) -> Expression:
        """Whole cells, cut off beside the ends: 1 at the first value, and at least 0."""
        return self._within(d, cell, kind, -1, 1) - d.whole(self.first - 1)

    def _within(self, d: Dialect, cell: Expression, kind: Kind, down: int, up: int) -> Expression:
        """Whole cells, cut off at the ends or so far beside them."""
        last = self.first + self.step * (self.count - 1)
        return d.multiples(cell, kind, max(self.first + down, kind.low), min(last + up, kind.high))

    def reached(self, d: Dialect, cell: Expression, kind: Kind) -> Expression:
        """How many steps a cell has reached; any value if it is missing."""
        of_float = kind.name == "float"
        return (self._reached_by_float if of_float else self._reached_by_whole)(d, cell, kind)

    def _reached_by_whole(self, d: Dialect, cell: Expression, kind: Kind) -> Expression:
        counts = []
        for operator in self.operators:
            at = operator == ">="
            inside = self._within(d, cell, kind, -at, not at)
            above = inside - d.whole(self.first - self.step + (not at))
            counts.append(above if self.step == 1 else d.quotient(above, self.step))
        return reduce(add, counts)

    def _reached_by_float(self, d: Dialect, cell: Expression, kind: Kind) -> Expression:
        cell, least, most = d.as_double(cell), *map(self.value, (0.0, self.count - 1.0))
        inside = d.clipped(cell, d.double(least), d.double(most)) - d.double(least)
        distance = self.step / self.divisor
        index = d.floor((inside + d.double(distance / 2)) / d.double(distance))
        value = index * d.double(self.step) + d.double(self.first)
        value = value if self.divisor == 1 else value / d.double(self.divisor)
        count = d.as_whole(index * d.double(float(len(self.operators))))
        for operator in self.operators:
            count = count + d.as_bit(OPERATORS[operator](cell, value))
        return count


def _of_integers(values: Sequence[int], kind: Kind) -> Iterator[tuple[int, int, int]]:
    """Numbers that `multiples` gives, and whose distances are divided, on every engine."""
    first, step, largest = values[0], values[1] - values[0], max(abs(values[0]), abs(values[-1]))
    fits = largest < (2**49 - 1 if kind.name == "decimal" else 2**62)
    fits = fits and 0 < step * (len(values) + 1) < _EXACT
    if fits and values == [first + step * i for i in range(len(values))]:
        yield first, step, 1


def _of_floats(values: Sequence[float]) -> Iterator[tuple[float, float, float]]:
    """The ways in which floats give these values: as sums, or as quotients of whole numbers."""
    first, second, last = values[0], values[1], values[-1]
    if not max(abs(first), abs(last)) < _LARGEST or not last > first:
        return
    exact, index = np.array(values), np.arange(len(values), dtype=float)
    ways = [(first, second - first, 1.0), (first, (last - first) / (len(values) - 1), 1.0)]
    written = [Fraction(repr(each)) for each in (first, second)]
    divisor = lcm(*(each.denominator for each in written))
    whole = [int(each * divisor) for each in written]
    if max(divisor, *map(abs, whole)) < _EXACT:
        ways.append((float(whole[0]), float(whole[1] - whole[0]), float(divisor)))
    for way in ways:
        start, step, over = way
        distance = step / over
        if not distance > _LEAST:
            continue
        near = np.abs(exact - first - index * distance) < distance / 16
        if near.all() and np.array_equal(exact, (start + index * step) / over):
            yield way
