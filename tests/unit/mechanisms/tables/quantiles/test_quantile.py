"""Quantiles, and the brackets around them."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import ExponentialMechanism, PrivacyUnit, Quantile, Table, column
from mechanisms.sampling.choices import Softmax
from mechanisms.tables.quantiles.brackets import Brackets, distances, least_shift
from queryable import PureDP, Queryable, Statistic

levels = st.fractions(0, 1, max_denominator=10)
numbers = st.lists(st.one_of(st.none(), st.integers(-9, 9), st.floats()), max_size=9)
grids = st.lists(st.integers(-9, 9), min_size=1, max_size=6, unique=True).map(sorted)


@given(numbers, levels, grids)
def test_scores_match_their_definition(values: list[Any], level: Fraction, grid: list[int]) -> None:
    """Beside the definition, counted cell by cell."""
    there = [value for value in values if value is not None and value == value]  # noqa: PLR0124
    a, b = level.as_integer_ratio()
    expected = [
        -abs((b - a) * sum(x < t for x in there) - a * sum(x > t for x in there)) for t in grid
    ]
    assert Quantile("x", level, grid)({"x": values}).tolist() == expected


@given(numbers, st.one_of(st.integers(-9, 9), st.floats()), levels, grids)
def test_a_record_moves_scores_by_at_most_the_sensitivity(
    values: list[Any], more: Any, level: Fraction, grid: list[int]
) -> None:
    quantile = Quantile("x", level, grid)
    change = quantile({"x": [*values, more]}) - quantile({"x": values})
    assert abs(change).max() <= quantile.linf
    assert abs(change).sum() <= quantile.l1
    assert (change**2).sum() <= quantile.l2**2


def test_sensitivities() -> None:
    """Every score moves by as much; bounds on groups do not help."""
    quantile = Quantile("x", "1/4", [1, 2, 3])
    assert (quantile.linf, quantile.l1) == (3, 9)
    per = PrivacyUnit("id", max_rows=2, max_groups=1, max_rows_per_group=1)
    assert Quantile("x", "1/4", [1, 2, 3], per=per).linf == 6
    assert ExponentialMechanism(quantile, 1).sensitivity == 3

    # An linf between integers, or above another norm, does not refuse its own default.
    class Known(Statistic):
        linf = Fraction(5, 2)

    scores = Known(lambda data: np.zeros(3, dtype=int), l1=6, l2="9/4", shape=(3,))
    assert ExponentialMechanism(scores, 1).sensitivity == 2
    with pytest.raises(ValueError, match="may move by 2"):
        ExponentialMechanism(scores, 1, sensitivity=1)


def test_persons_move_scores_by_at_most_the_sensitivity() -> None:
    """Each person of three rows, two of which count, is left out once."""
    rows = [(person, 3 * person + visit) for person in range(6) for visit in range(3)]

    def scores(without: int | None) -> Any:
        kept = [row for row in rows if row[0] != without]
        data = {"id": [p for p, _ in kept], "x": [x for _, x in kept]}
        table = Table(data, privacy_unit="id", max_rows=2, seed=1)
        return Quantile("x", "1/2", range(0, 18, 3), per=table.unit).value(table)

    moves = [abs(scores(None) - scores(person)).max() for person in range(6)]
    assert max(moves) == 2


def test_a_private_median() -> None:
    """Of 10,001 numbers with epsilon 1, within 100: candidates further off have e^-50 each."""
    data = {"x": np.arange(10_001), "y": np.arange(10_001) % 2}
    grid = range(0, 10_001, 50)
    queryable = Queryable(FiltCon(PureDP(1)), Table(data))
    quantile = Quantile("x", "1/2", grid, column("y") == 0)
    chosen = grid[queryable.launch(ExponentialMechanism(quantile, epsilon=1))]
    assert abs(chosen - 5000) <= 200


@pytest.mark.parametrize("wrong", [{"monotone": True}, {"sensitivity": "9/10"}])
def test_a_known_sensitivity_cannot_be_declared_smaller(wrong: dict[str, Any]) -> None:
    """Scores move both ways, and by linf: a choice that says less would cost more than it says."""
    quantile = Quantile("x", "1/2", [1, 2, 3])
    with pytest.raises(ValueError, match=r"both ways|may move by"):
        ExponentialMechanism(quantile, 1, **wrong)


Cells = tuple[float, ...]
Grid = tuple[float, ...]

RATE = Fraction(1, 2)
LEVELS = [Fraction(level) for level in ("1/2", "1/3", "3/4", "9/10", "0", "1")]
GRIDS: list[Grid] = [(0,), (0, 2), (0, 1, 2, 3)]
CELLS = (-1, 0, 0.5, 1, 2, 3, 4)


def counted(cells: Cells, grid: Grid) -> Any:
    """The counts at the grid's values and between them, cell by cell."""
    counts = np.zeros(2 * len(grid) + 1, dtype=np.int64)
    for cell in cells:
        counts[sum((cell >= value) + (cell > value) for value in grid)] += 1
    return counts


def is_quantile(value: float, cells: Cells, level: Fraction) -> bool:
    """The definition."""
    below, above = sum(x < value for x in cells), sum(x > value for x in cells)
    return below <= level * len(cells) and above <= (1 - level) * len(cells)


def quantiles(cells: Cells, level: Fraction) -> tuple[float, float]:
    """The least and the largest quantile; there is always one among the cells and infinities."""
    found = [v for v in (-inf, *cells, inf) if is_quantile(v, cells, level)]
    return min(found), max(found)


def chances(law: Softmax) -> list[float]:
    """The probability of every outcome."""
    return _chances(tuple(law.gaps.tolist()), law.rate)


@cache
def _chances(gaps: tuple[int, ...], rate: Fraction) -> list[float]:
    scores = -np.array(gaps, dtype=object)
    return [float(chance.high) for _, chance in Softmax(scores, rate).outcomes()]


def low_is_wrong(law: Softmax, grid: Grid, cells: Cells, level: Fraction) -> float:
    """The probability of a lower end above the least quantile."""
    least, _ = quantiles(cells, level)
    ends = (-inf, *grid)
    return sum(p for end, p in zip(ends, chances(law), strict=True) if not end <= least)


def high_is_wrong(law: Softmax, grid: Grid, cells: Cells, level: Fraction) -> float:
    """The probability of an upper end below the largest quantile."""
    _, largest = quantiles(cells, level)
    ends = (*grid, inf)
    return sum(p for end, p in zip(ends, chances(law), strict=True) if not end >= largest)


def every_data(most: int) -> Iterator[Cells]:
    """All multisets of a few cells: with ties, beyond the grid, and none."""
    for size in range(most + 1):
        yield from combinations_with_replacement(CELLS, size)


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_ends_are_wrong_as_rarely_as_they_should_be(level: Fraction, grid: Grid) -> None:
    """For all data of up to three cells; and some data come close to the stated probability."""
    missed, worst = Fraction(1, 10), 0.0
    brackets, shift = Brackets(level, len(grid)), least_shift(len(grid), RATE, missed)
    for cells in every_data(3):
        counts = counted(cells, grid)
        low = low_is_wrong(brackets.lower(counts, shift, RATE), grid, cells, level)
        high = high_is_wrong(brackets.upper(counts, shift, RATE), grid, cells, level)
        worst = max(worst, low, high)
    assert worst <= missed
    weight = len(grid) * np.exp(-float(RATE) * shift)
    assert worst == pytest.approx(weight / (1 + weight))


@pytest.mark.parametrize("candidates", [1, 7, 1000])
@pytest.mark.parametrize("missed", ["1/40", "1/1000", "49/100"])
def test_the_shift_is_the_least(candidates: int, missed: str) -> None:
    """One less, and wrong ends may be chosen too often."""
    rate, allowed = Fraction(1, 3), float(Fraction(missed))
    shift = least_shift(candidates, rate, Fraction(missed))

    def most(by: int) -> float:
        weight = candidates * np.exp(-float(rate) * by)
        return float(weight / (1 + weight))

    assert most(shift) <= allowed < most(shift - 1)


def test_a_shift_of_one_less_misses_too_often() -> None:
    """The data that attain the bound: none."""
    grid, missed = (0, 1, 2, 3), Fraction(1, 10)
    brackets, shift = Brackets(Fraction(1, 2), 4), least_shift(4, RATE, missed)
    for less, holds in ((0, True), (1, False)):
        law = brackets.lower(counted((), grid), shift - less, RATE)
        assert (low_is_wrong(law, grid, (), Fraction(1, 2)) <= missed) is holds
    # Of 79 cells at 0 and 78 at 9 the median is 0, but 1 to 8 are nearer to the target.
    grid, level, missed = tuple(range(10)), Fraction(1, 2), Fraction(1, 40)
    cells = (0.0,) * 79 + (9.0,) * 78
    shift = least_shift(len(grid), RATE, missed)
    at = np.array([sum(x < v for x in cells) - sum(x > v for x in cells) for v in grid])
    naive = Softmax(-abs(np.array([-157, *at]) + shift), RATE)
    assert low_is_wrong(naive, grid, cells, level) > 0.99
    ours = Brackets(level, len(grid)).lower(counted(cells, grid), shift, RATE)
    assert low_is_wrong(ours, grid, cells, level) <= missed


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_the_estimate_is_a_quantile_where_the_grid_has_one(level: Fraction) -> None:
    """At a high rate, for all data of up to four cells. `Quantile` prefers the gaps at ties."""
    grid = (-1, 0, 0.5, 1, 2, 3, 4)
    for cells in every_data(4):
        law = Brackets(level, len(grid)).middle(counted(cells, grid), Fraction(100))
        right = (is_quantile(value, cells, level) for value in grid)
        assert sum(p for p, ok in zip(chances(law), right, strict=True) if ok) > 1 - 1e-9


def test_the_estimate_is_the_neighbour_that_is_nearer_in_rank() -> None:
    """Ten cells between 0 and 1: up to half of them are rounded down."""
    cells = tuple(each / 16 for each in range(1, 11))
    brackets = {q: Brackets(Fraction(q, 20), 2) for q in (9, 11)}
    nearer = {
        q: int(np.argmax(chances(each.middle(counted(cells, (0, 1)), Fraction(9)))))
        for q, each in brackets.items()
    }
    assert nearer == {9: 0, 11: 1}
    # A level of many digits and counts near 2**63.
    counts = np.array([2**62, 1, 2**62], dtype=np.int64)
    brackets = Brackets(Fraction(10**30 - 1, 2 * 10**30), 1)
    assert chances(brackets.lower(counts, 5, Fraction(1)))[1] > 0.99
    assert chances(brackets.upper(counts, 5, Fraction(1)))[0] > 0.99


integers = st.lists(st.integers(-2, 6), max_size=12)
shares = st.fractions(0, 1, max_denominator=7)


@given(integers, st.integers(-2, 6), shares, st.integers(0, 9))
def test_a_row_moves_scores_by_at_most_the_sensitivity(
    cells: list[int], more: int, level: Fraction, shift: int
) -> None:
    """Twice that for the estimate, whose rate is half of what is given."""
    grid = (0, 1, 3)
    brackets = Brackets(level, len(grid))
    here, there = counted(tuple(cells), grid), counted((*cells, more), grid)
    for law, factor in (
        (lambda counts: brackets.lower(counts, shift, RATE), 1),
        (lambda counts: brackets.upper(counts, shift, RATE), 1),
        (lambda counts: brackets.middle(counts, RATE), 2),
    ):
        one, other = law(here), law(there)
        assert one.rate == RATE / factor
        # gaps are measured from the best score, and the best score is 0
        assert min(one.gaps) == min(other.gaps) == 0
        assert max(abs(one.gaps - other.gaps)) <= factor * brackets.sensitivity


@given(st.lists(st.integers(-9, 9), max_size=6), st.integers(-9, 9))
def test_distances(values: list[int], target: int) -> None:
    """Beside the definition, number by number."""
    cuts = [-inf, *sorted(values), inf]
    expected = [
        min(abs(target - each) for each in range(-30, 31) if low <= each <= high)
        for low, high in pairwise(cuts)
    ]
    assert distances(np.array(sorted(values), dtype=object), target).tolist() == expected
