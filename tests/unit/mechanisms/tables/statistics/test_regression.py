"""Covariances, correlations and regressions: exact vectors, estimates, and intervals that hold."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import Correlation, Covariance, GroupBy, Regression, Table, column
from mechanisms.tables.statistics.products import RADIUS, Products, Scaled
from queryable import ZCDP, Queryable, SeededCoins
from queryable.answers.released import Released

RNG = np.random.default_rng(3)
X = RNG.uniform(0, 100, 2000)
Z = RNG.normal(5, 1, 2000)
Y = 3 + 0.5 * X + 2 * Z + RNG.normal(0, 5, 2000)
DATA = {"x": X, "y": Y, "z": Z, "g": np.arange(2000) % 2}
BOUNDS = {"x": (0, 100), "y": (-50, 150), "z": (0, 10)}
XY = {name: BOUNDS[name] for name in "xy"}
FIT = np.linalg.lstsq(np.c_[np.ones(2000), X, Z], Y, rcond=None)[0]


def opened(data: Any = DATA, seed: int = 5) -> Queryable:
    return Queryable(FiltCon(ZCDP(10**9)), data, coins=SeededCoins(seed), allow_seeded=True)


def released(statistic: Products | GroupBy, rho: Any = 10**6, data: Any = DATA) -> Released:
    return opened(data).release(statistic, loss=ZCDP(rho))


@pytest.mark.parametrize(
    ("statistic", "exact"),
    [
        (Covariance("x", "y", XY), np.cov(X, Y, bias=True)[0, 1]),
        (Correlation("x", "y", XY), np.corrcoef(X, Y)[0, 1]),
        (Regression("y", "x", XY), np.polyfit(X, Y, 1)[::-1]),
        (Regression("y", ["x", "z"], BOUNDS), FIT),
    ],
)
def test_estimates_agree_with_numpy(statistic: Products, exact: Any) -> None:
    """With almost no noise; numbers are truncated by a millionth of their range or so."""
    answer = released(statistic)
    assert answer.estimate == pytest.approx(exact, rel=2e-3, abs=2e-3)
    low, high = answer.interval()
    assert np.all(low <= exact)
    assert np.all(exact <= high)


def test_coefficients_are_labelled() -> None:
    frame = released(Regression("y", ["x", "z"], BOUNDS)).to_pandas()
    assert frame["coefficient"].tolist() == ["intercept", "x", "z"]
    groups = released(GroupBy({"g": [0, 1, 2]}, Regression("y", "x", XY))).to_pandas()
    assert groups[["g", "coefficient"]].to_numpy().tolist() == [
        [g, name] for g in (0, 1, 2) for name in ("intercept", "x")
    ]
    assert groups["estimate"][:4].tolist() == pytest.approx([13, 0.5, 13, 0.5], rel=0.1)
    assert groups["estimate"][4:].isna().all()
    assert groups["high"][4:].tolist() == [np.inf, np.inf]
    assert "Regression of y on x" in str(released(Regression("y", "x", XY)))


def test_groups_have_covariances() -> None:
    by = {"g": [0, 1, 2]}
    answer = released(GroupBy(by, Covariance("x", "y", XY)))
    exact = [np.cov(X[g::2], Y[g::2], bias=True)[0, 1] for g in (0, 1)]
    assert answer.estimate[:2] == pytest.approx(exact, rel=1e-3)
    assert answer.interval()[1][2] == 50 * 100  # all that the bounds allow
    assert released(GroupBy(by, Correlation("x", "y", XY))).interval()[0][2] == -1


def test_a_row_with_a_missing_cell_adds_nothing() -> None:
    rows = {"x": [1, 2, None, 9], "y": [2.0, None, 3.0, 4.0]}
    whole = {"x": [1, 9], "y": [2.0, 4.0]}
    statistic = Correlation("x", "y", {"x": (0, 10), "y": (0, 10)})
    assert np.array_equal(statistic(rows), statistic(whole))
    with Table(rows, types={"x": "BIGINT", "y": "DOUBLE"}) as table:
        assert np.array_equal(statistic(table), statistic(whole))


def test_rows_are_chosen_and_columns_are_computed() -> None:
    chosen = Covariance("x", "y", XY, column("x") >= 50)
    part = {name: values[X >= 50] for name, values in DATA.items()}
    assert np.array_equal(chosen(DATA), Covariance("x", "y", XY)(part))
    double = Covariance(column("x") * 2, "y", {"x * 2": (0, 200), "y": (-50, 150)})
    answer = released(double)
    assert answer.estimate == pytest.approx(2 * np.cov(X, Y, bias=True)[0, 1], rel=1e-3)


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), max_size=6),
    st.tuples(st.floats(), st.floats()),
    st.sampled_from([Covariance, Correlation, lambda x, y, bounds: Regression(y, x, bounds)]),
)
def test_sensitivity(rows: Any, another: Any, kind: Any) -> None:
    """One row more moves every entry by RADIUS^2 at most."""
    statistic = kind("x", "y", {"x": (-7, 11), "y": ("0.1", 3)})

    def value(some: Any) -> Any:
        x, y = ([row[i] for row in some] for i in (0, 1))
        return np.array(statistic({"x": np.array(x, float), "y": np.array(y, float)}), object)

    assert (abs(value([*rows, another]) - value(rows)) <= RADIUS**2).all()


# Intervals contain the exact value of the clipped numbers if the box contains the exact integers.

numbers = st.fractions(-12, 12, max_denominator=50)


def solution(rows: list[tuple[Fraction, ...]]) -> list[Fraction] | None:
    """The exact least squares coefficients: normal equations by elimination of fractions."""
    design = [(Fraction(1), *row[:-1]) for row in rows]
    size = len(design[0])
    system = [
        [sum((a[i] * a[j] for a in design), Fraction(0)) for j in range(size)]
        + [sum((a[i] * row[-1] for a, row in zip(design, rows, strict=True)), Fraction(0))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next((r for r in range(i, size) if system[r][i]), None)
        if pivot is None:
            return None
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [entry / system[i][i] for entry in system[i]]
        for r in range(size):
            if r != i:
                system[r] = [
                    a - system[r][i] * b for a, b in zip(system[r], system[i], strict=True)
                ]
    return [row[-1] for row in system]


@st.composite
def cases(draw: st.DrawFn, columns: int) -> tuple[Any, Any, Any]:
    """Clipped rows, their bounds, and a function that puts a box around the exact integers."""
    ends = [sorted(draw(st.tuples(numbers, numbers))) for _ in range(columns)]
    rows = draw(st.lists(st.tuples(*[numbers] * columns), min_size=1, max_size=30))
    width = draw(st.integers(0, RADIUS**2) | st.integers(0, RADIUS))
    seed = draw(st.integers(0, 2**30))
    names = "abc"[:columns]
    data = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    clipped = [
        tuple(min(max(cell, low), high) for cell, (low, high) in zip(row, ends, strict=True))
        for row in rows
    ]

    def box(statistic: Products) -> tuple[Any, Any]:
        exact = np.array(statistic(data), dtype=object)
        moves = np.random.default_rng(seed).uniform(-1, 1, len(exact))
        moved = exact + np.array([int(move * width) for move in moves], dtype=object)
        return statistic.bounds(moved - width, moved + width)

    return clipped, dict(zip(names, ends, strict=True)), box


def covariance(rows: Any) -> tuple[Fraction, Fraction, Fraction]:
    """The exact covariance and both variances."""

    def mean(values: Any) -> Fraction:
        return sum(values, Fraction(0)) / len(rows)

    a, b = (mean([row[i] for row in rows]) for i in (0, 1))
    return (
        mean([(x - a) * (y - b) for x, y in rows]),
        mean([(x - a) ** 2 for x, _ in rows]),
        mean([(y - b) ** 2 for _, y in rows]),
    )


@settings(max_examples=12)
@given(cases(2))
def test_the_covariance_is_in_its_interval(case: Any) -> None:
    rows, bounds, box = case
    low, high = box(Covariance("a", "b", bounds))
    assert Fraction(low) <= covariance(rows)[0] <= Fraction(high)


@settings(max_examples=12)
@given(cases(2))
def test_the_correlation_is_in_its_interval(case: Any) -> None:
    rows, bounds, box = case
    low, high = box(Correlation("a", "b", bounds))
    both, one, other = covariance(rows)
    assume(one * other)
    square = both * abs(both) / (one * other)  # of the correlation, with its sign
    assert Fraction(low) * abs(Fraction(low)) <= square <= Fraction(high) * abs(Fraction(high))


@pytest.mark.parametrize("columns", [2, 3])
@settings(max_examples=10)
@given(data=st.data())
def test_the_coefficients_are_in_their_intervals(columns: int, data: st.DataObject) -> None:
    rows, bounds, box = data.draw(cases(columns))
    *x, y = bounds
    exact = solution(rows)
    assume(exact is not None)
    assert exact is not None
    for value, low, high in zip(exact, *box(Regression(y, x, bounds)), strict=True):
        assert low <= value <= high  # Python compares fractions with floats exactly


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "given_it"),
    [
        (test_the_covariance_is_in_its_interval, lambda data: [data.draw(cases(2))]),
        (test_the_correlation_is_in_its_interval, lambda data: [data.draw(cases(2))]),
        (test_the_coefficients_are_in_their_intervals, lambda data: [2, data]),
        (test_the_coefficients_are_in_their_intervals, lambda data: [3, data]),
    ],
)
@settings(max_examples=200)
@given(data=st.data())
def test_many_are_in_their_intervals(test: Any, given_it: Any, data: st.DataObject) -> None:
    test.hypothesis.inner_test(*given_it(data))


@attrs.frozen
class Forgetful(Regression):
    """Wrong: it takes the noisy sums for exact ones."""

    def bounds(self, low: Any, high: Any) -> Any:
        exact = (low + high) // 2
        low, high = low.copy(), high.copy()
        low[..., 1:] = high[..., 1:] = exact[..., 1:]
        return super().bounds(low, high)


def misses(kind: Any, rho: Any = "1/50") -> int:
    """How many of 50 intervals at 80% miss the slope."""
    slope = np.polyfit(X, Y, 1)[0]
    table = opened()
    missed = 0
    for _ in range(50):
        low, high = table.release(kind("y", "x", XY), loss=ZCDP(rho)).interval("0.8")
        missed += not low[1] <= slope <= high[1]
    return missed


def test_intervals_cover_and_a_wrong_one_does_not() -> None:
    """More than 25 of 50 misses at a chance of 1/5 have a probability below 1e-6."""
    assert misses(Regression) <= 25 < misses(Forgetful)


def test_a_constant_column_is_exact() -> None:
    """A number is clipped to bounds that are equal, and truncation takes nothing from it."""
    statistic = Regression("y", "x", {"x": (0, 1), "y": ("0.5", "0.5")})
    exact = np.array(statistic({"x": [0.0, 1.0], "y": [7.0, 9.0]}), dtype=object)
    low, high = statistic.bounds(exact, exact)
    assert low[0] <= 0.5 <= high[0]
    assert low[1] <= 0 <= high[1]


def test_too_much_noise_gives_infinite_intervals() -> None:
    answer = released(Regression("y", ["x", "z"], BOUNDS), rho="1e-9")
    low, high = answer.interval()
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_a_statistic_can_be_evolved() -> None:
    fit = Regression("y", ["x", "z"], BOUNDS)
    assert attrs.evolve(fit) == fit
    assert hash(attrs.evolve(fit)) == hash(fit)
    assert Regression("y", column("x"), XY) == Regression("y", ["x"], XY)


@pytest.mark.parametrize("ends", [(0, 100), (-3, "0.01"), (0, 10**9), ("1e-9", "2e-9"), (5, 5)])
def test_scaled_numbers_fill_the_radius(ends: Any) -> None:
    column = Scaled.of("x", Fraction(ends[0]), Fraction(ends[1]))
    reach = max(column.lattice.high - column.center, column.center - column.lattice.low)
    assert reach * column.factor <= RADIUS
    if column.half:
        assert reach * column.factor > RADIUS * 0.99
        assert 2**18 <= reach <= 2**21
