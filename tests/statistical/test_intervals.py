"""Intervals of estimates that several noisy integers enter: how often they miss, how wide they are.

Each kind is released 1,000 or 10,000 times from the same exact integers. At 95% an interval that
holds as it says misses at most 5% and 3 standard errors, but for a probability of 0.002. The exact
estimate is that of the integers, so nothing is truncated.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import Correlation, Covariance, Mean, Regression, Std, Variance
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.statistics.products import RADIUS
from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width
from queryable.randomness.coins import SeededCoins
from tests.sizes import sized

ROWS = 4000
RUNS = 10_000
COLUMNS = np.random.default_rng(7)
AGE = COLUMNS.integers(0, 101, ROWS)
OLD = (AGE > 65).astype(int)
DOSE = np.clip(COLUMNS.normal(50, 20, ROWS), 0, 100).round()
PAIN = np.clip(0.3 * AGE + 0.2 * DOSE + COLUMNS.normal(20, 10, ROWS), 0, 100).round()
DATA = {"age": AGE, "old": OLD, "dose": DOSE, "pain": PAIN}
BOUNDS = dict.fromkeys(("age", "dose", "pain"), (0, 100))
PAIR = {name: BOUNDS[name] for name in ("age", "pain")}
ONE, TWO = Regression("pain", "age", PAIR), Regression("pain", ["age", "dose"], BOUNDS)
KINDS = {  # the noise as a multiple of the largest part of a row; the widest half-width allowed
    "mean": (Mean("age", 0, 100), (20, 2, 1000), 1.1),
    "share": (Mean("old", 0, 1, unit="1/2"), (20, 8, 1000), 1.1),
    "variance": (Variance("age", 0, 100), (20, 2, 1000), 1.5),
    "deviation": (Std("age", 0, 100), (20, 2, 1000), 1.5),
    "covariance": (Covariance("age", "pain", PAIR), (20, 2, 100), 1.5),
    "correlation": (Correlation("age", "pain", PAIR), (20, 2, 50, 200), 1.5),
    "regression on one": (ONE, (20, 2, 200), 1.15 * 1.249),
    "regression on two": (TWO, (20, 2, 200), 1.15 * 1.426),
}
"""1.249 and 1.426 are the roots of the 95% quantiles of chi-square for 2 and 3 over that for 1."""
NARROW = 20
"""Noise up to which the half-widths are checked: with more, 4,000 rows are few."""


def drawn(law: Any, runs: int, many: int) -> Any:
    return np.asarray(SeededCoins(3).draw(law, (runs, many)))


def released(statistic: Any, law: Any, runs: int, data: Any = DATA) -> tuple[Any, Any, Any]:
    """The exact estimate, and the estimates and ends of many releases."""
    exact = np.array(statistic(data), dtype=object)
    noisy = exact + drawn(law, runs, len(exact)).astype(object)
    low, high = statistic.interval(noisy, law, Fraction(1, 20))
    return statistic.estimate(exact), statistic.estimate(noisy), np.stack([low, high])


def assert_most_hold(exact: Any, ends: Any) -> None:
    slack = 1e-6 * np.max(np.abs(exact))  # of estimates in floats
    missed = ((ends[0] > exact + slack) | (ends[1] < exact - slack)).sum(axis=0)
    runs = ends.shape[1]
    assert (missed <= runs / 20 + 3 * np.sqrt(runs * 0.0475)).all(), missed


@pytest.mark.parametrize("runs", sized(slow=1000, long=10_000))
@pytest.mark.parametrize("gaussian", [True, False], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_and_are_narrow(kind: str, gaussian: bool, runs: int) -> None:
    statistic, noises, widest = KINDS[kind]
    statistic = statistic.informed(DATA)
    if "regression" in kind and runs < RUNS:
        runs //= 5  # one takes 25 ms
    for noise in noises:
        size = Fraction(noise * max(statistic.largest))
        law = DiscreteGaussian(size**2) if gaussian else DiscreteLaplace(size)
        exact, estimates, ends = released(statistic, law, runs)
        assert_most_hold(exact, ends)
        if gaussian and noise <= NARROW:
            wide = np.median(ends[1] - ends[0], axis=0) / 2
            assert (wide <= widest * 1.96 * np.std(estimates, axis=0)).all(), noise


def case(rows: int, both: float, rare: float = 1) -> dict[str, Any]:
    """Two columns, correlated as `both` says; the first differs from 50 in a share of `rare`."""
    rng = np.random.default_rng(rows)
    one, other = rng.integers(0, 101, (2, rows))
    one = np.where(rng.random(rows) < rare, one, 50)
    return {"age": one, "pain": (one * both + other * (1 - both)).round(3)}


@pytest.mark.parametrize("kind", [Correlation, Covariance])
@pytest.mark.parametrize("gaussian", [True, False], ids=["gaussian", "laplace"])
@pytest.mark.parametrize(
    ("data", "noises"),
    [
        (case(5, 0.5), (0.01, 0.3)),
        (case(100, 1), (0.3, 3)),
        (case(4000, 0.999), (3, 50)),
        (case(4000, 0.3, rare=0.01), (0.3, 2)),
        (case(100_000, 0, rare=0.02), (20, 300)),
    ],
    ids=["few rows", "a correlation of 1", "almost 1", "almost constant", "not known"],
)
def test_they_hold_whatever_the_data(kind: Any, gaussian: bool, data: Any, noises: Any) -> None:
    """Few rows, columns that are almost constant, and noise beyond which nothing is known."""
    statistic = kind("age", "pain", PAIR)
    runs = 2000 if gaussian else 300
    for noise in noises:
        size = Fraction(noise) * RADIUS**2
        law = DiscreteGaussian(size**2) if gaussian else DiscreteLaplace(size)
        exact, _, ends = released(statistic, law, runs, data)
        assert_most_hold(exact, ends)


def test_a_mean_near_its_bound_holds() -> None:
    """There the noise of the count moves a mean as much as that of the sum."""
    law = DiscreteGaussian(Fraction(200) ** 2)
    exact, _, ends = released(Mean("age", 0, 20).informed(DATA), law, 5000)
    assert np.sum((ends[0] > exact) | (ends[1] < exact)) <= 250 + 4 * np.sqrt(237)


def test_a_ratio_without_the_noise_of_its_count_misses() -> None:
    """The check above rejects an interval that forgets one of two sources of noise."""
    statistic = Mean("age", 0, 20)
    exact = np.array(statistic(DATA), dtype=object)
    law = DiscreteGaussian(Fraction(20 * max(statistic.largest)) ** 2)
    noisy = exact + drawn(law, RUNS, 2).astype(object)
    far = half_width(law, Fraction(19, 20)) / noisy[:, 0].astype(float)
    ratio = (noisy[:, 1] / noisy[:, 0]).astype(float)
    assert np.sum(np.abs(ratio - exact[1] / exact[0]) > far) > 565


@pytest.mark.parametrize("size", [Fraction(1, 10), 1, 3, 30])
@pytest.mark.parametrize("kind", [DiscreteGaussian, DiscreteLaplace])
def test_weighted_sums_are_within_their_half_widths(kind: Any, size: Any) -> None:
    """Exceeded at most 0.05 of 20,000 times, plus 4 deviations: by chance once in 30,000."""
    law = kind(size**2 if kind is DiscreteGaussian else size)
    draws = drawn(law, 20_000, 4)
    for weights in ([1, 1, 0, 0], [1, 0.3, 0, 0], [1, -1, 0.5, 2], [0, 0, 0, 1]):
        width = weighted_half_width([law] * 4, weights, Fraction(1, 20))
        assert np.sum(np.abs(draws @ weights) > width) <= 1000 + 4 * np.sqrt(950)


def test_two_laws_in_one_sum_share_what_may_be_missed() -> None:
    one, other = DiscreteGaussian(400), DiscreteLaplace(30)
    draws = np.concatenate([drawn(one, 20_000, 2), drawn(other, 20_000, 1)], axis=1)
    width = weighted_half_width([one, one, other], [1, 2, -1], Fraction(1, 20))
    assert np.sum(np.abs(draws @ [1, 2, -1]) > width) <= 1000 + 4 * np.sqrt(950)
