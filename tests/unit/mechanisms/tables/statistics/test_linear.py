"""The interval of the solution of one equation, against the formula of the proof by itself."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.tables.statistics.linear import MatrixEntry, solved
from mechanisms.tables.statistics.ratios import BOX, Sums
from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width

LAW = DiscreteGaussian(400)
MISSED = Fraction(1, 20)
ONE = Fraction(1)
ENTRIES = [(MatrixEntry(0, 0, ONE),), (MatrixEntry(0, None, ONE),)]


def interval(rows: int, total: int, moved: Fraction = Fraction(0)) -> Any:
    """The ends of b with M b = v, of a noisy M and v."""
    noisy = np.array([rows, total], dtype=object)
    return solved(
        Sums(noisy, LAW, 1, (Fraction(0), moved)), ENTRIES, [(Fraction(0), [ONE])], MISSED
    )[:, 0]


def settled(bound: Any) -> float:
    """The number that equals a bound of itself."""
    value = 0.0
    for _ in range(100):
        value = bound(value)
    return value


@pytest.mark.parametrize("moved", [Fraction(0), Fraction(1, 20), Fraction(1, 2)])
def test_it_is_that_of_the_proof(moved: Fraction) -> None:
    """c(b' - b) = w r - w E(b' - b), where r is v' - M' b' of the exact b, and w = M^-1 c."""
    rows, total = 2000, 3000
    value, inverse = total / rows, 1 / rows
    most = rows + float(half_width(LAW, 1 - MISSED * BOX / 2, 2))

    def noise(weights: Sequence[float], missed: Fraction) -> float:
        return float(weighted_half_width([LAW] * 2, weights, missed)) + weights[1] * most * moved

    each = MISSED * BOX / 4
    apart = settled(lambda x: inverse * noise([value + x, 1], each))
    largest = settled(lambda x: inverse + inverse * noise([x, 0], each))
    of_row = noise([largest, 0], each)
    weight = inverse * (1 + of_row)
    far = noise([weight * (value + apart), weight], MISSED * (1 - BOX)) + of_row * apart
    low, high = interval(rows, total, moved)
    assert (low + high) / 2 == pytest.approx(value)
    assert far <= (high - low) / 2 <= far * (1 + 1e-4)


def of_two(square: int) -> Any:
    """The ends of both coefficients on a constant and one column, whose sum is 2000."""
    noisy = np.array([2000, 2000, square, 3000, 3000], dtype=object)
    entries = [
        (MatrixEntry(0, 0, ONE),),
        (MatrixEntry(0, 1, ONE), MatrixEntry(1, 0, ONE)),
        (MatrixEntry(1, 1, ONE),),
        (MatrixEntry(0, None, ONE),),
        (MatrixEntry(1, None, ONE),),
    ]
    wanted = [(Fraction(0), [ONE, 0 * ONE]), (Fraction(0), [0 * ONE, ONE])]
    return solved(Sums(noisy, LAW, 1, (Fraction(0),) * 5), entries, wanted, MISSED)


def test_a_column_that_may_be_constant_has_no_bound() -> None:
    """Its square exceeds that of a constant by 2000 or by 50, and noise is beyond 50 at times."""
    assert np.isfinite(of_two(4000)).all()
    assert np.isinf(of_two(2050)).all()


@pytest.mark.parametrize(("rows", "total"), [(0, 0), (-2000, 300), (60, 10)])
def test_few_rows_have_no_bound(rows: int, total: int) -> None:
    """So few that there may be none, or that noise may be more than all of them."""
    assert interval(rows, total).tolist() == [-np.inf, np.inf]
