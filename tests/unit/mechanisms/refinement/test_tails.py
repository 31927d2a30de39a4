"""Half-widths of estimates against the exact law of their noise, and what becomes of them."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mechanisms.refinement.tails import MeanTails, Reach, ReleaseTails, Tails
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.answers.half_widths import half_width

F = Fraction
MISSED = [F(1, 2), F(1, 5), F(1, 20), F(1, 1000)]
PATHS = [
    [F(1, 10)],
    [F(1)],
    [F(100)],
    [F(2), F(1)],
    [F(100), F(1)],
    [F(3), F(1, 5)],
    [F(400), F(399)],
    [F(10), F(9), F(8)],
    [F(1), F(9, 10), F(3, 10)],
]


def paths_of_noise(path: list[Fraction]) -> tuple[Any, Any]:
    """Every path of the noise of a mean, shape (paths, steps), but for less than 1e-15, in floats.

    Steps are weighted means of independent discrete Gaussians, as refinements along the path are.
    """
    precisions = [1 / path[0], *(1 / fine - 1 / coarse for coarse, fine in pairwise(path))]
    sums, chances = np.zeros((1, 0)), np.ones(1)
    for precision in precisions:
        reach = int(9 * float(precision) ** -0.5) + 3
        values = np.arange(-reach, reach + 1)
        weights = np.exp(-(values**2) * float(precision) / 2)
        before = sums[:, -1:] if sums.shape[1] else np.zeros((len(sums), 1))
        after = (before + float(precision) * values).reshape(-1, 1)
        sums = np.hstack([np.repeat(sums, len(values), axis=0), after])
        chances = np.outer(chances, weights / weights.sum()).ravel()
    return sums * np.array([float(t) for t in path]), chances


def missing(tails: list[Any], noise: Any, chances: Any) -> float:
    """The probability that the noise of some step is at its half-width or beyond."""
    beyond = abs(noise) >= np.array([float(each) for each in tails]) - 1e-9
    return float(chances[beyond.any(axis=1)].sum())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "-".join(map(str, path)))
def test_a_mean_is_within_its_half_width_often_enough(path: list[Fraction]) -> None:
    """Exactly, whatever the steps before; and by not much more than that."""
    noise, chances = paths_of_noise(path)
    for missed in MISSED:
        width = MeanTails(path[-1], path[0]).in_advance(missed)
        assert missing([width], noise[:, -1:], chances) <= missed
        if path[-1] >= 1:
            normal = half_width(DiscreteGaussian(path[-1] * 10**6), 1 - missed) / 1000
            assert width < normal + 1


def test_all_refinements_at_once() -> None:
    """Who stops where the value is worst misses more than was said in advance, but not this."""
    for path in ([F(64), F(16), F(4)], [F(8), F(4), F(2)], [F(20), F(19), F(1)]):
        tails = [MeanTails(t, path[0]) for t in path]
        noise, chances = paths_of_noise(path)
        for missed in MISSED:
            always = [each.at_all_times(missed) for each in tails]
            assert missing(always, noise, chances) <= missed
        before = [each.in_advance(F(1, 5)) for each in tails]
        assert missing(before, noise, chances) > F(1, 5)


@pytest.mark.parametrize("law", [DiscreteLaplace(F(7, 2)), DiscreteGaussian(F(50))])
def test_a_release_has_the_tails_of_its_law(law: Any) -> None:
    """At all times by shares that sum to one."""
    assert ReleaseTails(law, 3).in_advance(F(1, 20)) == half_width(law, F(19, 20))
    assert ReleaseTails(law, 3).at_all_times(F(1, 20)) == half_width(law, 1 - F(1, 240))
    assert sum(F(1, n * (n + 1)) for n in range(1, 1000)) < 1


class Fixed(Tails):
    """Says what the test says."""

    def __init__(self, width: Any) -> None:
        self.width = F(width)

    def in_advance(self, missed: Fraction) -> Fraction:
        return self.width

    def at_all_times(self, missed: Fraction) -> Fraction:
        return 2 * self.width


def ends(reach: Reach, value: Any, confidence: Any = "0.9") -> tuple[Any, Any]:
    """The interval for a target that was fixed in advance."""
    return reach.ends(value, confidence, fixed_in_advance=True)


def test_ends_are_the_integers_within_the_bound() -> None:
    """The truth is one, so nothing is lost; there is always at least one."""
    assert ends(Reach(Fixed("1.5")), F(10)) == (9, 11)
    assert ends(Reach(Fixed(2)), 7) == (5, 9)
    assert ends(Reach(Fixed("1.5"), value_dependent=True), F(10)) == (7, 13)
    assert Reach(Fixed("1.5")).ends(F(10), "0.9") == (7, 13)
    assert ends(Reach(Fixed("1/10")), F(1, 2)) == (0, 1)
    assert ends(Reach(Fixed("1.5"), rounded=F(1, 2)), F(10)) == (8, 12)


def test_ends_of_arrays() -> None:
    """Floats outward, to whole numbers; what is not finite says nothing; integers exactly."""
    floats = np.array([10.0, 0.5, np.inf, np.nan, 2.0**60])
    low, high = ends(Reach(Fixed("1.5"), rounded=np.full(5, 1e-9)), floats)
    assert low[:4].tolist() == [9, -1, -np.inf, -np.inf]
    assert high[:4].tolist() == [11, 2, np.inf, np.inf]
    assert low[4] < 2.0**60 < high[4]
    assert (ends(Reach(Fixed("1/10")), np.array([0.5]))) == (np.array([0.0]), np.array([1.0]))
    big = np.array([5, 2**63 - 1])
    low, high = ends(Reach(Fixed(3)), big)
    assert (low.tolist(), high.tolist()) == ([2, 2**63 - 4], [8, 2**63 + 2])
    low, high = ends(Reach(Fixed(10**400)), np.array([1.0]))
    assert (low.tolist(), high.tolist()) == ([-np.inf], [np.inf])


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, "x", True])
def test_a_confidence_is_between_0_and_1(confidence: Any) -> None:
    with pytest.raises(ValueError, match="confidence"):
        ends(Reach(Fixed(1)), F(1), confidence)
