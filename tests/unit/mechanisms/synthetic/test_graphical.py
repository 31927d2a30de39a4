"""Graphical models against the whole table, and rows against their law."""

from itertools import combinations

import numpy as np
import pytest

from mechanisms.synthetic.graphical import GRID, Model, uniform
from mechanisms.synthetic.workload import candidates_of, cells_of_model, elimination
from queryable import SeededCoins

SIZES = (2, 3, 2, 4, 2)
RANDOM = np.random.default_rng(1)
SETS = [(0, 1), (1, 2), (2, 3), (0, 3), (4,)]
MODEL = Model(
    SIZES,
    tuple((each, RANDOM.normal(0, 2, [SIZES[c] for c in each])) for each in SETS),
    1000.0,
)


def whole() -> np.ndarray:
    """The table of all columns."""
    logs = np.zeros(SIZES)
    for columns, factor in MODEL.factors:
        logs = logs + factor.reshape([n if c in columns else 1 for c, n in enumerate(SIZES)])
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


def test_large_logarithms_do_not_overflow() -> None:
    far = Model(SIZES, tuple((c, 1e4 * f) for c, f in MODEL.factors), 10.0)
    assert far.marginal((0, 3)).sum() == pytest.approx(10, abs=0.1)
    assert far.sampled(10, SeededCoins(1)).shape == (10, 5)


def test_rows_follow_the_model() -> None:
    """Rows are made as evenly as possible: two columns are off by a few rows, not by hundreds."""
    rows = MODEL.sampled(20_000, SeededCoins(2))
    for columns in SETS:
        shape = [SIZES[c] for c in columns]
        found = np.zeros(shape)
        np.add.at(found, tuple(rows[:, c] for c in columns), 1)
        assert abs(found - MODEL.marginal(columns) * 20).max() < 100
    joint = np.zeros(SIZES)
    np.add.at(joint, tuple(rows.T), 1)
    expected = whole() * 20
    assert ((joint - expected) ** 2 / np.maximum(expected, 1)).sum() < 3 * joint.size


def test_rows_are_a_function_of_the_coins() -> None:
    one, same, other = (MODEL.sampled(50, SeededCoins(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert MODEL.sampled(0, SeededCoins(1)).shape == (0, 5)


def test_a_uniform_model_is_uniform() -> None:
    assert np.array_equal(uniform((2, 4), 64.0).marginal((0, 1)), np.full((2, 4), 8.0))


def test_the_cells_of_a_model() -> None:
    assert cells_of_model([(0,), (1,)], (2, 3)) == 5
    assert cells_of_model([(0, 1)], (2, 3)) in (6 + 2, 6 + 3)
    # a circle of four columns needs a table of three
    circle = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert max(len(n) for _, n in elimination(circle, (2, 2, 2, 2))) == 2


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
