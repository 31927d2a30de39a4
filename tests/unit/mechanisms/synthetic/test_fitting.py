"""Models of the rows: graphical ones, and how they are fitted."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mechanisms import Measured
from mechanisms.synthetic import fitting
from mechanisms.synthetic.graphical import GRID, Model, tree_of, uniform
from mechanisms.synthetic.workload import candidates_of, cells_of_model, elimination
from queryable import SeededCoins

SIZES = (3, 4, 2, 3)
SETS = ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 3), (1, 2))
RANDOM = np.random.default_rng(11)
TRUTH = RANDOM.dirichlet([0.3] * 72).reshape(SIZES) * 2000


def noisy(sd: float) -> list[Measured]:
    """Marginals of the truth with rounded noise."""
    found = []
    for each in SETS:
        exact = TRUTH.sum(axis=tuple(c for c in range(4) if c not in each))
        counts = np.rint(exact + RANDOM.normal(0, sd, exact.shape)).astype(np.int64)
        found.append(Measured(tuple(map(str, each)), counts, Fraction(sd) ** 2))
    return found


def loss(found: Callable[[tuple[int, ...]], Any], measured: list[Measured]) -> float:
    """Half the squared distance from the measurements, in units of their noise."""
    both = zip(SETS, measured, strict=True)
    return sum(float(((found(c) - e.counts) ** 2).sum() / e.variance) / 2 for c, e in both)


@pytest.mark.parametrize(
    "sd", [3, *(pytest.param(each, marks=pytest.mark.slow) for each in (30, 1000))]
)
def test_no_model_is_much_more_likely(sd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the truth, and not what a search finds that takes longer."""
    measured = noisy(sd)
    model = fitting.fitted(uniform(SIZES, 1.0), SETS, measured)
    truth = {c: TRUTH.sum(axis=tuple(set(range(4)) - set(c))) for c in SETS}
    assert loss(model.marginal, measured) < loss(truth.__getitem__, measured)
    monkeypatch.setattr(fitting, "STEPS", 3_000)
    monkeypatch.setattr(fitting, "_GAIN", -1)
    longer = fitting.fitted(uniform(SIZES, 1.0), SETS, measured)
    assert loss(model.marginal, measured) < 1.05 * loss(longer.marginal, measured) + 0.1


def test_a_search_that_starts_at_the_last_model_ends_where_another_does() -> None:
    measured = noisy(10)
    first = fitting.fitted(uniform(SIZES, 1.0), SETS[:6], measured[:6])
    warm = fitting.fitted(first, SETS, measured)
    cold = fitting.fitted(uniform(SIZES, 1.0), SETS, measured)
    for pair in combinations(range(4), 2):
        assert warm.marginal(pair) == pytest.approx(cold.marginal(pair), abs=4)


def test_a_fit_with_large_tables_takes_fewer_steps() -> None:
    """All cells of all steps together are bounded, until there are 64 steps."""
    for sets, sizes, steps in (
        ([(0,), (1,)], (8, 8), 2000),
        ([(0, 1, 2)], (60,) * 3, 75),
        ([(0, 1)], (1000,) * 2, 64),
        ([(each,) for each in range(100)], (2,) * 100, 334),
    ):
        assert fitting.steps_of(tree_of(sets, sizes)) == steps


def test_numbers_that_are_no_longer_finite_are_an_error() -> None:
    measured = [Measured(("a",), np.array([1e200, 0]), Fraction(1, 10**300))]
    with pytest.raises(ArithmeticError), np.errstate(all="ignore"):
        fitting.fitted(uniform((2,), 1.0), [(0,)], measured)


def test_measurements_of_the_same_columns_are_averaged() -> None:
    measured = [
        Measured(("a",), np.array([1, 4]), Fraction(1)),
        Measured(("b",), np.array([5]), Fraction(1, 4)),
        Measured(("a",), np.array([4, 4]), Fraction(1, 2)),
    ]
    found = fitting.together([(0,), (1,), (0,)], measured)
    assert list(found) == [(0,), (1,)]
    assert np.array_equal(found[0,][0], [3, 4])
    assert (found[0,][1], found[1,][1]) == (3, 4)
    assert fitting.total_of(measured) == pytest.approx((5 / 2 + 5 * 4 + 8 * 1) / (0.5 + 4 + 1))
    assert fitting.total_of([Measured(("a",), np.array([-5]), Fraction(1))]) == 1


def test_a_model_fits_exact_measurements() -> None:
    """Without noise to speak of, a chain of pairs has the conditional independence that it says."""
    pairs = {(0, 1): np.array([[9, 1], [2, 8]]), (1, 2): np.array([[10, 1], [3, 6]])}
    measured = [Measured(("",), counts, Fraction(1, 10**4)) for counts in pairs.values()]
    model = fitting.fitted(uniform((2, 2, 2), 1.0), list(pairs), measured)
    for columns, counts in pairs.items():
        assert model.marginal(columns) == pytest.approx(counts, abs=0.05)
    middle = pairs[1, 2].sum(axis=1)
    expected = pairs[0, 1][:, :, None] * pairs[1, 2][None] / middle[None, :, None]
    assert model.marginal((0, 1, 2)) == pytest.approx(expected, abs=0.05)


SHAPE = (2, 3, 2, 4, 2)
DRAWN = np.random.default_rng(1)
TABLES = [(0, 1), (1, 2), (2, 3), (0, 3), (4,)]
MODEL = Model(
    SHAPE, tuple((each, DRAWN.normal(0, 2, [SHAPE[c] for c in each])) for each in TABLES), 1000.0
)


def whole() -> np.ndarray:
    """The table of all columns."""
    logs = np.zeros(SHAPE)
    for columns, factor in MODEL.factors:
        logs = logs + factor.reshape([n if c in columns else 1 for c, n in enumerate(SHAPE)])
    shares = np.exp(logs)
    return np.asarray(shares / shares.sum() * MODEL.total)


@pytest.mark.parametrize(
    "columns", [each for size in range(6) for each in combinations(range(5), size)]
)
def test_marginals_are_those_of_the_whole_table(columns: tuple[int, ...]) -> None:
    others = tuple(each for each in range(5) if each not in columns)
    found = MODEL.marginal(columns)
    assert np.allclose(found, whole().sum(axis=others), atol=0.5 / GRID + 1e-9)
    assert np.array_equal(found * GRID, np.rint(found * GRID))


def test_rows_follow_the_model() -> None:
    """Rows are made as evenly as possible: two columns are off by a few rows, not by hundreds."""
    rows = MODEL.sampled(20_000, SeededCoins(2))
    for columns in TABLES:
        shape = [SHAPE[c] for c in columns]
        found = np.zeros(shape)
        np.add.at(found, tuple(rows[:, c] for c in columns), 1)
        assert abs(found - MODEL.marginal(columns) * 20).max() < 100
    joint = np.zeros(SHAPE)
    np.add.at(joint, tuple(rows.T), 1)
    expected = whole() * 20
    assert ((joint - expected) ** 2 / np.maximum(expected, 1)).sum() < 3 * joint.size
    one, same, other = (MODEL.sampled(50, SeededCoins(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert MODEL.sampled(0, SeededCoins(1)).shape == (0, 5)


def test_a_uniform_model_is_uniform() -> None:
    assert np.array_equal(uniform((2, 4), 64.0).marginal((0, 1)), np.full((2, 4), 8.0))
    assert cells_of_model([(0,), (1,)], (2, 3)) == 5
    assert cells_of_model([(0, 1)], (2, 3)) in (6 + 2, 6 + 3)
    # a circle of four columns needs a table of three
    circle = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert max(len(n) for _, n in elimination(circle, (2, 2, 2, 2))) == 2
    far = Model(SHAPE, tuple((c, 1e4 * f) for c, f in MODEL.factors), 10.0)
    assert far.marginal((0, 3)).sum() == pytest.approx(10, abs=0.1)
    assert far.sampled(10, SeededCoins(1)).shape == (10, 5)


def test_candidates_are_the_subsets_weighed_by_what_they_share() -> None:
    names = ("a", "b", "c")
    found = {each.columns: each.weight for each in candidates_of(None, names)}
    assert found == {(0,): 2, (1,): 2, (2,): 2, (0, 1): 4, (0, 2): 4, (1, 2): 4}
    weighted = candidates_of(((("c", "a"), 3), (("b",), 1)), names)
    assert {each.columns: each.weight for each in weighted} == {
        (0,): 3,
        (1,): 1,
        (2,): 3,
        (0, 2): 6,
    }
    assert [each.columns for each in candidates_of(None, ("a",))] == [(0,)]
    with pytest.raises(ValueError, match="workload names 'z'; the columns are a, b, c"):
        candidates_of(((("z",), 1),), names)
    many = tuple(map(str, range(20)))
    with pytest.raises(ValueError, match="smaller sets"):
        candidates_of(((many, 1),), many)
