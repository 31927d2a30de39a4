"""Scores of marginals: whatever an analyst writes there, they move by their sensitivity."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import (
    Count,
    ExponentialMechanism,
    GroupBy,
    PrivacyUnit,
    Sum,
    column,
)
from mechanisms.frugal.combined import Combined
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal

CITIES = Marginal(GroupBy({"city": ["a", "b"]}, Count()), ("city",))
ZEROS = np.zeros(2, dtype=np.int64)


@pytest.mark.parametrize("modelled", [2**60, -(2**60)])
def test_no_distance_is_beyond_64_bits(modelled: int) -> None:
    """A row more moves a score by the sensitivity, whatever the model says."""
    scores = Distances((ComparedMarginal(CITIES, np.array([modelled, 0]), 3, 5),))
    none, one = (scores({"city": np.array(["a"] * rows)}) for rows in (0, 1))
    assert abs(one - none) == [scores.linf] == [3 * GRID]


def test_combinations_state_how_far_one_of_them_moves() -> None:
    """So no smaller sensitivity can be given to a choice among them."""
    each = Combined(GroupBy({"city": ["a", "b"]}, Sum("age", -5, 3)), [[[1, -7], [2, 3]]])
    assert each.linf == 35
    assert ExponentialMechanism(each, 1).sensitivity == 35
    with pytest.raises(ValueError, match="at least 35"):
        ExponentialMechanism(each, 1, sensitivity=Fraction(1, 10**9))


@pytest.mark.parametrize(
    "other", [Count(column("age") > 3), Count(per=PrivacyUnit("who", max_rows=2))]
)
def test_distances_are_of_the_same_rows(other: Any) -> None:
    """The request was that of the first: other rows and units were not checked before a charge."""
    first = ComparedMarginal(CITIES, ZEROS, 1, 0)
    second = ComparedMarginal(
        Marginal(GroupBy({"town": ["a", "b"]}, other), ("town",)), ZEROS, 1, 0
    )
    assert Distances((first, first)).request == CITIES.request
    for both in ((first, second), (second, first)):
        with pytest.raises(ValueError, match="count the same rows"):
            Distances(both)
