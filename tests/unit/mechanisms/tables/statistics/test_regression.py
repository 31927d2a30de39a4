"""Covariances, correlations and regressions: exact vectors, estimates, and intervals that hold."""

import re
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from composition import FiltCon
from mechanisms import Correlation, Covariance, GroupBy, PrivacyUnit, Regression, Table, column
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.tables.statistics.products import RADIUS, Products, Scaled
from queryable import ZCDP, Queryable, SeededCoins
from queryable.answers.released import Released
from queryable.display.asked import brief

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


def test_estimates_of_groups() -> None:
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
    by = {"g": [0, 1, 2]}
    answer = released(GroupBy(by, Covariance("x", "y", XY)))
    exact = [np.cov(X[g::2], Y[g::2], bias=True)[0, 1] for g in (0, 1)]
    assert answer.estimate[:2] == pytest.approx(exact, rel=1e-3)
    assert answer.interval()[1][2] == 50 * 100  # all that the bounds allow
    assert released(GroupBy(by, Correlation("x", "y", XY))).interval()[0][2] == -1


def test_rows_without_a_cell_add_nothing() -> None:
    rows = {"x": [1, 2, None, 9], "y": [2.0, None, 3.0, 4.0]}
    whole = {"x": [1, 9], "y": [2.0, 4.0]}
    statistic = Correlation("x", "y", {"x": (0, 10), "y": (0, 10)})
    assert np.array_equal(statistic(rows), statistic(whole))
    with Table(rows, types={"x": "BIGINT", "y": "DOUBLE"}) as table:
        assert np.array_equal(statistic(table), statistic(whole))
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
    """Clipped rows, their bounds, and a function that releases a statistic's interval of them."""
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
        law = DiscreteGaussian(Fraction(len(exact) * max(width, 1) ** 2) / Fraction("3.6"))
        return statistic.interval(moved, law, Fraction(1, 20))  # the noise is within 1.9 deviations

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


@pytest.mark.parametrize(("kind", "shares"), [(Covariance, 3), (Correlation, 5)])
def test_what_is_missed_is_shared(kind: Any, shares: int) -> None:
    """A 25th of it is for the rows, both means, and for a correlation both variances."""
    missed = Fraction(1, 20)
    statistic = kind("x", "y", {"x": (-RADIUS, RADIUS), "y": (-RADIUS, RADIUS)})
    assert [each.scale for each in statistic.scaled] == [RADIUS] * 2
    law = DiscreteGaussian(Fraction(10 * RADIUS**2) ** 2)
    rows = np.random.default_rng(8).normal(0, RADIUS / 3, (2, 4000)).clip(-RADIUS, RADIUS)
    noisy = np.array(statistic({"x": rows[0], "y": rows.sum(axis=0) / 2}), object)
    centred = statistic.centred(noisy, law, missed / (25 * shares))
    find = centred.covariance if kind is Covariance else centred.correlation
    low, high = find(0, 1, missed * 24 / 25).ends
    scale = RADIUS**2 if kind is Covariance else 1
    ends = statistic.interval(noisy, law, missed)
    assert ends == pytest.approx((low * scale, high * scale), rel=1e-12)
    assert -scale < ends[0] < ends[1] < scale


def test_scaled_numbers_are_in_their_range() -> None:
    """Beyond the largest whole unit there is less than one more, which truncation takes."""
    statistic = Covariance("x", "y", {"x": (0, "1.0000004"), "y": (5, 5)})
    for each, whole in zip(statistic.scaled, statistic.wholes, strict=True):
        for end in (each.lattice.lower, each.lattice.upper):
            assert whole.low <= (end - each.middle) / each.scale <= whole.high
        assert whole.high < 1.001


@attrs.frozen
class Forgetful(Regression):
    """Wrong: it takes the noisy sums for exact ones."""

    def sums(self, noisy: Any, law: Any) -> Any:
        return super().sums(noisy, DiscreteGaussian(1))


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


def test_extreme_intervals() -> None:
    """A number is clipped to bounds that are equal, and truncation takes nothing from it."""
    statistic = Regression("y", "x", {"x": (0, 1), "y": ("0.5", "0.5")})
    exact = np.array(statistic({"x": [0.0, 1.0], "y": [7.0, 9.0]}), dtype=object)
    low, high = statistic.interval(exact, DiscreteGaussian(1), Fraction(1, 20))
    assert low[0] <= 0.5 <= high[0]
    assert low[1] <= 0 <= high[1]
    answer = released(Regression("y", ["x", "z"], BOUNDS), rho="1e-9")
    low, high = answer.interval()
    assert np.isinf(low).all()
    assert np.isinf(high).all()
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


def test_an_interval_of_a_regression_is_of_the_noise_unless_sampling_is_asked_for() -> None:
    """With almost no noise the second interval is the usual one."""
    plain = released(Regression("y", ["x", "z"], BOUNDS))
    assert "95% intervals, of the noise and not of sampling, each by itself" in str(plain)
    assert "sampling_low" not in plain.to_pandas()
    assert "sampling" not in brief(plain)
    with pytest.raises(ValueError, match="leave sampling out, or ask for it with the question"):
        plain.interval(sampling=True)
    answer = released(Regression("y", ["x", "z"], BOUNDS, sampling=True), 10**9)
    design = np.c_[np.ones(2000), X, Z]
    left = np.sum((Y - design @ FIT) ** 2) / (2000 - 3)
    errors = stats.t.isf(0.025, 1997) * np.sqrt(left * np.diag(np.linalg.inv(design.T @ design)))
    low, high = answer.interval(sampling=True)
    assert low == pytest.approx(FIT - errors, rel=1e-2)
    assert high == pytest.approx(FIT + errors, rel=1e-2)
    assert answer.to_pandas()["sampling_low"].tolist() == low.tolist()
    row = r"x: [-0-9.,]+ \([-0-9.,]+ to [-0-9.,]+; with sampling about [-0-9.,]+ to [-0-9.,]+\)"
    assert re.search(row, brief(answer, 1000))
    one = answer["x"]
    assert one.interval(sampling=True) == (low[1], high[1])
    assert "of the noise and not of sampling" in one.evidence.holds
    every, _ = answer.interval(sampling=True, simultaneous=True)
    assert (every < low).all()
    with pytest.raises(ValueError, match="give either fixed_in_advance or sampling"):
        answer.interval(sampling=True, fixed_in_advance=True)
    groups = released(GroupBy({"g": [0, 1, 5]}, Regression("y", "x", XY, sampling=True)))
    low, high = groups.interval(sampling=True)
    assert low.shape == (3, 2)
    assert np.isinf(low[2]).all()
    assert np.isinf(high[2]).all()


def test_sampling_is_asked_of_single_rows() -> None:
    with pytest.raises(ValueError, match="open the table with max_rows=1: rows of the same who"):
        Regression("y", "x", XY, per=PrivacyUnit("who", max_rows=2), sampling=True)
    with pytest.raises(TypeError, match="sampling is 'yes'; it should be True or False"):
        Regression("y", "x", XY, sampling="yes")
    per = PrivacyUnit("who", max_rows=1)
    assert Regression("y", "x", XY, per=per, sampling=True).shape == (6,)


@pytest.mark.slow
def test_the_interval_of_a_sample_holds_about_as_often_as_it_says() -> None:
    """Of 500 samples with noise: 6.9% are 2 deviations; half of the standard error misses 30%."""
    rng, statistic = np.random.default_rng(11), Regression("y", "x", XY, sampling=True)
    law = DiscreteGaussian(Fraction(RADIUS**2) ** 2)
    missed, narrow = np.zeros(2), np.zeros(2)
    for seed in range(500):
        x = rng.uniform(0, 100, 1000)
        data = {"x": x, "y": 3 + 0.5 * x + rng.normal(0, 20, 1000)}
        noisy = statistic(data) + np.asarray(SeededCoins(seed).draw(law, (6,)), dtype=object)
        low, high = statistic.sampling(noisy, law, Fraction(1, 20))
        middle, true = (low + high) / 2, np.array([3, 0.5])
        missed += (true < low) | (true > high)
        narrow += abs(middle - true) > (high - low) / 4
    assert (missed <= 40).all()
    assert (narrow >= 100).all()


@pytest.mark.parametrize("mean", [0, 1e-12, 1e-9, 1e-6, 1e-3, 1])
def test_a_slope_has_an_interval_wherever_the_middle_of_x_is(mean: float) -> None:
    """With a mean of about 0 the intercept enters a slope with a weight of about 0."""
    law = DiscreteGaussian(Fraction(RADIUS**2) ** 2)
    noisy = np.array([int(each * RADIUS**2) for each in (1e3, mean, -200, -300, 80)], dtype=object)
    low, high = Regression("y", "x", XY).interval(noisy, law, Fraction(1, 20))
    assert np.isfinite(high - low).all()
