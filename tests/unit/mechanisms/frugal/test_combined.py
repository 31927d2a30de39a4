"""Integer combinations of counts in groups: values, sensitivities and wrong parameters."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np

from mechanisms import Count, Gaussian, GroupBy, Sum
from mechanisms.frugal.combined import Combined

GROUPS = GroupBy({"city": ["a", "b"], "sex": ["m", "f", "x"]}, Count())
FACTORS = [[[1, -1], [2, 5]], [[3, 0, -4], [1, 1, 1], [0, 7, 2]]]


def rows(*cities_and_sexes: str) -> dict[str, list[str]]:
    """A table of rows such as "am": city a, sex m."""
    return {
        "city": [each[0] for each in cities_and_sexes],
        "sex": [each[1] for each in cities_and_sexes],
    }


def test_the_value_is_the_kronecker_product_times_the_counts() -> None:
    data = rows("am", "am", "bf", "bx", "ax")
    counts = np.array([[2, 0, 1], [0, 1, 1]])
    expected = np.kron(*map(np.array, FACTORS)) @ counts.reshape(-1)
    assert Combined(GROUPS, FACTORS)(data).reshape(-1).tolist() == expected.tolist()


def test_one_row_moves_it_by_l2_and_l1_at_most_and_that_is_reached() -> None:
    """The exact change of every possible row; the bound is the largest, rounded up."""
    combined = Combined(GROUPS, FACTORS)
    nothing = combined(rows())
    squares, sums = set(), set()
    for city, sex in product("ab", "mfx"):
        change = combined(rows(city + sex)) - nothing
        squares.add(int((change.astype(object) ** 2).sum()))
        sums.add(int(abs(change).sum()))
    root = isqrt(max(squares))
    assert combined.l2 == root + (root * root < max(squares))
    assert combined.l1 == max(sums)


def test_a_sum_moves_by_its_largest_value() -> None:
    combined = Combined(Sum("age", -3, 90), [[[1], [2]]])
    assert combined.l1 == 270
    assert combined.l2 == 202  # 90 sqrt(5), rounded up
    assert Gaussian(combined, variance=202**2).loss(1).rho == Fraction(1, 2)
