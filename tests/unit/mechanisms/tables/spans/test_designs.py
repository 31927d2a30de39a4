"""Designs: cells are found exactly, norms hold for all that a unit may add, ranges are accurate."""

from fractions import Fraction
from itertools import product
from math import sqrt
from operator import mul
from random import Random
from typing import Any

import numpy as np
import pytest

from mechanisms.tables.spans.designs import (
    DESIGNS,
    MOST_CELLS,
    Design,
    RootDesign,
    design_of,
)

SIZES = (1, 2, 3, 49, 50, 101, 365)
SMALL = [design_of(name, cells) for name in DESIGNS for cells in (1, 2, 4)]


def same(one: Design) -> str:
    return f"{type(one).__name__}-{one.cells}"


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("cells", SIZES)
def test_cells_are_found_exactly(name: str, cells: int) -> None:
    """Also where integers are far beyond floats, so nothing is rounded on the way."""
    design = design_of(name, cells)
    values = [Random(cells).randrange(-(10**30), 10**30) for _ in range(cells)]
    entries = design.applied(np.array(values, dtype=object)).tolist()
    assert design.solved(entries) == values


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("cells", SIZES)
def test_weights_are_those_of_the_exact_solution(name: str, cells: int) -> None:
    design = design_of(name, cells)
    entries = len(design.matrix)
    for place in {0, 1, entries // 2, entries - 1} & set(range(entries)):
        unit = [int(each == place) for each in range(entries)]
        exact = design.solved(unit)
        for found, right in zip(design.inverse[:, place].tolist(), exact, strict=True):
            assert abs(Fraction(found) - right) <= abs(right) / 2**51


@pytest.mark.parametrize("design", SMALL, ids=same)
@pytest.mark.parametrize(("most", "each"), [(1, 1), (2, 1), (2, 2), (3, 2), (5, 2), (5, 9)])
def test_norms_hold_for_all_that_a_unit_may_add(design: Design, most: int, each: int) -> None:
    """Every c of at most `most` in all and `each` at most in a cell, also with negative numbers."""
    sizes = range(-min(each, most), min(each, most) + 1)
    widest = 0
    for some in product(sizes, repeat=design.cells):
        if sum(map(abs, some)) <= most:
            moved = design.matrix @ np.array(some)
            widest = max(widest, int((moved**2).sum()))
            assert abs(moved).sum() <= most * design.l1
    assert widest <= design.l2_squared(most, min(each, most))
    if most == 1 or each >= most:
        assert widest == design.l2_squared(most, min(each, most))


class Shuffled(RootDesign):
    """The cells in another order, so that large products are not beside each other."""

    @property
    def matrix(self) -> Any:
        order = np.random.default_rng(1).permutation(self.cells)
        return RootDesign(self.cells).matrix[:, order]


@pytest.mark.parametrize("design", [Shuffled(120), design_of("blocks", 120)], ids=same)
@pytest.mark.parametrize(("most", "each"), [(7, 2), (120, 1), (1000, 3)])
def test_the_norm_is_that_of_theorem_1(design: Design, most: int, each: int) -> None:
    """With the products of columns as Python integers."""
    columns = [[int(entry) for entry in column] for column in design.matrix.T]
    rows = [[sum(map(mul, one, other)) for other in columns] for one in columns]
    caps = [min(each, max(most - each * place, 0)) for place in range(len(rows))]
    largest = max(sum(map(mul, caps, sorted(row, reverse=True))) for row in rows)
    assert design.l2_squared(most, each) == most * largest


@pytest.mark.parametrize("each", [1, 4, 30])
def test_what_is_spread_over_cells_moves_less(each: int) -> None:
    """Of 30 rows in neighbouring days the bound is tight within a part in ten."""
    design = design_of("root", 365)
    days, rest = divmod(30, each)
    norms = [
        int(((design.matrix[:, at : at + days].sum(axis=1) * each) ** 2).sum())
        for at in range(365 - days)
    ]
    assert rest in (0, 2)
    assert max(norms) <= design.l2_squared(30, each)
    assert design.l2_squared(30, each) <= 1.3 * max(norms)


def ranges_error(design: Design, norm: float) -> float:
    """The root of the mean variance of all ranges, if cells with that norm have variance 1."""
    sums = np.concatenate([np.zeros((1, len(design.matrix))), design.inverse.cumsum(axis=0)])
    products = sums @ sums.T
    squares = products.diagonal()
    apart = squares[:, None] + squares - 2 * products
    return norm * float(np.sqrt(apart[np.triu_indices(len(sums), 1)].mean()))


@pytest.mark.parametrize(
    ("cells", "most", "bound"), [(30, 2.1, 1.966), (365, 3.19, 3.033), (MOST_CELLS, 3.67, 3.48)]
)
def test_ranges_are_nearly_as_accurate_as_can_be(cells: int, most: float, bound: float) -> None:
    """Against the spectral lower bound of all strategies; cells by themselves have 11 at 365."""
    design = design_of("root", cells)
    assert bound < ranges_error(design, sqrt(design.l2_squared(1, 1))) < most


@pytest.mark.parametrize(("cells", "alone"), [(49, 4.13), (50, 4.17), (365, 11.07), (1024, 18.5)])
def test_blocks_halve_laplace_noise(cells: int, alone: float) -> None:
    """In standard deviations of the cells alone, whose L1 norm is 1."""
    design = design_of("blocks", cells)
    found = ranges_error(design, design.l1)
    assert found < alone * (1.01 if cells < 50 else 0.97 if cells == 50 else 0.63)
