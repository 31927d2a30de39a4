"""Whole numbers in SQL, on an engine that fails at every number beyond 64 bits.

Its expressions are trees. They are computed, and multiplied out as an engine may do.
"""

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import digits_of
from mechanisms.tables.engines.sql.on_duckdb import DuckDBDialect
from mechanisms.tables.engines.whole import MOST, Whole, in_64_bits, in_domain
from mechanisms.tables.expressions import column_types


def fits(number: int) -> int:
    """A number of 64 bits."""
    assert -MOST - 1 <= number <= MOST
    return number


@attrs.frozen(eq=False)
class Tree:
    """An expression of one cell.

    Args:
        value: computes it from the cell.
        terms: the largest absolute values of the factors of each term, multiplied out.
    """

    value: Callable[[int], int]
    terms: list[list[int]]

    def __sub__(self, other: "Tree") -> "Tree":
        value = lambda cell: fits(self.value(cell) - other.value(cell))  # noqa: E731
        return Tree(value, self.terms + other.terms)

    def __mul__(self, other: "Tree") -> "Tree":
        terms = [one + two for one in self.terms for two in other.terms]
        product = Tree(lambda cell: fits(self.value(cell) * other.value(cell)), terms)
        assert product.reach <= MOST
        return product

    @property
    def reach(self) -> int:
        """The largest sum of terms, or of parts of them, in any order."""
        return sum(prod(max(factor, 1) for factor in term) for term in self.terms)

    def __lt__(self, other: "Tree") -> Callable[[int], bool]:
        return lambda cell: self.value(cell) < other.value(cell)


@attrs.frozen
class Trees:
    """A dialect of trees; a cell is between two ends."""

    low: int
    high: int
    largest_dividend: int = MOST

    def _atom(self, value: Callable[[int], int]) -> Tree:
        """What no engine multiplies out; it grows with the cell on both sides of 0."""
        cells = self.low, self.high, min(max(0, self.low), self.high)
        return Tree(value, [[max(abs(value(cell)) for cell in cells)]])

    def cell(self) -> Tree:
        return self._atom(fits)

    def whole(self, value: int) -> Tree:
        in_64_bits(value)  # as every dialect does
        return Tree(lambda _: value, [[abs(value)]])

    def clipped(self, value: Tree, low: Tree, high: Tree) -> Tree:
        return self._atom(lambda cell: max(low.value(0), min(value.value(cell), high.value(0))))

    def quotient(self, dividend: Tree, divisor: int) -> Tree:
        fits(divisor)

        def divided(cell: int) -> int:
            assert 0 <= dividend.value(cell) <= self.largest_dividend
            return dividend.value(cell) // divisor

        return self._atom(divided)

    def when(self, condition: Callable[[int], bool], yes: Tree, no: Tree) -> Tree:
        value = lambda cell: yes.value(cell) if condition(cell) else no.value(cell)  # noqa: E731
        return Tree(value, [[max(abs(value(cell)) for cell in (self.low, self.high))]])


SIZES = [0, 1, 2, 3, 7, 10**18, 10**19, 10**330]
SIZES += [2**power + more for power in (20, 31, 32, 53, 62, 63, 64) for more in (-1, 0, 1)]
sizes = st.sampled_from(SIZES) | st.integers(0, 2**64)
signed = st.builds(lambda size, sign: size * sign, sizes, st.sampled_from([1, -1]))
pairs = st.tuples(signed, signed).map(sorted)
steps = st.one_of(
    st.tuples(st.sampled_from(["times", "quotient"]), sizes.filter(bool)),
    st.tuples(st.just("minus"), signed),
    st.tuples(st.just("within"), pairs),
    st.tuples(st.sampled_from(["by", "where"]), st.none()),
)


def applied(number: int, step: str, by: Any, *, even: bool) -> int:
    """What a step gives, in Python."""
    match step:
        case "where":
            return number if even else 0
        case "times":
            return int(number * by)
        case "quotient":
            return int(number // by if number >= 0 else -(-number // by))
        case "minus":
            return int(number - by)
        case "within":
            return int(max(by[0], min(number, by[1])))
        case "by":
            return number * number
    return number


@given(
    pairs,
    st.lists(steps, max_size=5),
    st.lists(st.integers(-MOST - 1, MOST), max_size=3),
    st.sampled_from([MOST, 2**53]),
)
def test_what_is_written_is_computed(
    ends: list[int], given_steps: list[tuple[str, Any]], cells: list[int], dividend: int
) -> None:
    """Of every cell, and multiplied out; the rest is refused when it is written."""
    low, high = ends
    trees = Trees(max(low, -MOST - 1), min(high, MOST), dividend)
    d: Any = trees
    try:
        whole = Whole.between(d, low, high, trees.cell)
        for step, by in given_steps:
            match step:
                case "within":
                    whole = whole.within(*by)
                case "by":
                    whole = whole.by(whole)
                case "where":
                    whole = whole.where(lambda cell: cell % 2 == 0)
                case _:
                    whole = getattr(whole, step)(by)
    except TypeError:
        return
    tree: Tree = whole.expression
    assert tree.reach <= whole.reach
    for cell in {low, high, *(min(max(cell, low), high) for cell in [0, *cells])}:
        expected = cell
        for step, by in given_steps:
            expected = applied(expected, step, by, even=cell % 2 == 0)
        assert tree.value(cell) == expected
        assert whole.low <= expected <= whole.high


def between(low: int, high: int) -> Whole:
    trees: Any = Trees(low, high)
    return Whole.between(trees, low, high, trees.cell)


def test_what_no_cell_reaches_is_a_constant() -> None:
    """So no constant beyond 64 bits is written, and none beside another one."""
    nothing: Any = None
    assert Whole.between(Trees(0, 0), 0, 0, nothing).times(10**330).fixed  # type: ignore[arg-type]
    assert between(-5, 5).quotient(10**330).fixed
    assert between(0, 9).within(10, 10**330).low == 10
    assert between(0, 9).times(10**18).within(0, 0).by(between(0, 9).times(10**18)).fixed


def test_squares_of_long_differences() -> None:
    """They are cut off at their ends first: x^2, 2 c x and c^2 are long, and (x - c)^2 is not."""
    square = between(0, 2**32).minus(2**31)
    square = square.by(square)
    assert (square.low, square.high) == (-(2**62), 2**62)
    assert [square.expression.value(cell) for cell in (0, 2**31, 2**32)] == [2**62, 0, 2**62]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**330])
def test_literals_are_of_64_bits(value: int) -> None:
    for dialect in (DuckDBDialect(), SqlDialect()):
        with pytest.raises(TypeError, match="beyond 64-bit"):
            dialect.whole(value)
    with pytest.raises(TypeError, match="beyond 64-bit"):
        in_64_bits(value)


def test_constants_are_cells() -> None:
    """Of the type that a column declares."""
    assert in_domain(column_types.integer(8), -128) == -128
    assert in_domain(column_types.TEXT, "a") == "a"
    for dialect in (DuckDBDialect(), SqlDialect()):
        with pytest.raises(TypeError, match="beyond what a column of integer holds"):
            dialect.literal(column_types.integer(8), 128)


@pytest.mark.parametrize("digits", [10**37 + 1, -(10**38) + 1, 0])
def test_decimals_keep_their_digits(digits: int) -> None:
    """Python's decimals of 28 digits would round them, as they did at 1b177ec."""
    kind = attrs.evolve(column_types.decimal(38, 2), declared="decimal(38, 2)")
    assert Fraction(digits_of(kind, digits)) * 100 == digits
    for dialect in (DuckDBDialect(), SqlDialect()):
        assert f"'{digits_of(kind, digits)}'" in dialect.literal(kind, digits).text
