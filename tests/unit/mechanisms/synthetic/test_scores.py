"""Scores of marginals: whatever an analyst writes there, they move by their sensitivity."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import (
    Count,
    ExponentialMechanism,
    GroupBy,
    Histogram,
    PrivacyUnit,
    Sum,
    column,
)
from mechanisms.frugal.combined import Combined
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import Compared, Distances, Marginal

CITIES = Marginal(GroupBy({"city": ["a", "b"]}, Count()), ("city",))
ZEROS = np.zeros(2, dtype=np.int64)


@pytest.mark.parametrize("modelled", [2**60, -(2**60)])
def test_no_distance_is_beyond_64_bits(modelled: int) -> None:
    """A row more moves a score by the sensitivity, whatever the model says."""
    scores = Distances((Compared(CITIES, np.array([modelled, 0]), 3, 5),))
    none, one = (scores({"city": np.array(["a"] * rows)}) for rows in (0, 1))
    assert abs(one - none) == [scores.linf] == [3 * GRID]


@pytest.mark.parametrize(
    ("modelled", "weight", "less"),
    [
        (np.array([-(2**63) + GRID, 0]), 1, 0),  # a row more would turn the sign of the distance
        (np.array([2**60, 2**60]), 1, 0),
        (np.zeros((50, 2), dtype=np.int64), 1, 0),  # would count each row 50 times
        (np.zeros(2), 1, 0),
        (np.zeros(2, dtype=object), 1, 0),
        ([0, 0], 1, 0),
        (ZEROS, 0, 0),
        (ZEROS, -1000, 0),  # would move by 1,000 times the sensitivity
        (ZEROS, 0.5, 0),
        (ZEROS, 1, -1),
        (ZEROS, 1, 0.5),
    ],
)
def test_wrong_comparisons(modelled: Any, weight: Any, less: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Compared(CITIES, modelled, weight, less)


@pytest.mark.parametrize(
    "counts",
    [Count(), Histogram("city", ["a", "b"]), GroupBy({"city": ["a", "b"]}, Sum("age", -5, 5))],
)
def test_marginals_are_counts(counts: Any) -> None:
    """They are said to be monotone, and sums are not."""
    with pytest.raises(TypeError, match="GroupBy of a Count"):
        Marginal(counts, ("city",))


@pytest.mark.parametrize("compared", [(), (CITIES,), None])
def test_distances_are_of_comparisons(compared: Any) -> None:
    with pytest.raises(TypeError, match="list of Compared"):
        Distances(compared)
    with pytest.raises(TypeError, match="Marginal"):
        Compared(Count(), ZEROS, 1, 0)


def test_combinations_state_how_far_one_of_them_moves() -> None:
    """So no smaller sensitivity can be given to a choice among them."""
    each = Combined(GroupBy({"city": ["a", "b"]}, Sum("age", -5, 3)), [[[1, -7], [2, 3]]])
    assert each.linf == 35
    assert ExponentialMechanism(each, 1).sensitivity == 35
    with pytest.raises(ValueError, match="at least 35"):
        ExponentialMechanism(each, 1, sensitivity=Fraction(1, 10**9))


@pytest.mark.parametrize("names", [(), ("city", "town"), ["city"], (1,), "city", None])
def test_each_dimension_of_a_marginal_has_a_name(names: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="names"):
        Marginal(GroupBy({"city": ["a", "b"]}, Count()), names)


@pytest.mark.parametrize(
    "other", [Count(column("age") > 3), Count(per=PrivacyUnit("who", max_rows=2))]
)
def test_distances_are_of_the_same_rows(other: Any) -> None:
    """The request was that of the first: other rows and units were not checked before a charge."""
    first = Compared(CITIES, ZEROS, 1, 0)
    second = Compared(Marginal(GroupBy({"town": ["a", "b"]}, other), ("town",)), ZEROS, 1, 0)
    assert Distances((first, first)).request == CITIES.request
    for both in ((first, second), (second, first)):
        with pytest.raises(ValueError, match="count the same rows"):
            Distances(both)
