"""What a choice says about the marginals that were not chosen."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from mechanisms import ExponentialMechanism, Gaussian
from mechanisms.synthetic.choosing import ChosenMarginal
from mechanisms.synthetic.domain import domain_of
from mechanisms.synthetic.graphical import GRID, uniform
from mechanisms.synthetic.messages import Modelled, PassedOver
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.requests.keys import groups_of
from queryable import SeededCoins

NAMES = ("a", "b", "c")
DOMAIN = domain_of(groups_of({name: [0, 1] for name in NAMES}))
PAIRS = ((0, 1), (0, 2), (1, 2))
RANDOM = np.random.default_rng(3)
DATA = {name: RANDOM.integers(0, 2, 60) for name in NAMES}
MODEL = uniform((3, 3, 3), 90.0)
EPSILON, VARIANCE = Fraction(1, 20), Fraction(9)


def marginal(columns: tuple[int, ...]) -> Marginal:
    return Marginal(DOMAIN.counts(columns, None), tuple(NAMES[each] for each in columns))


def modelled(names: tuple[str, ...]) -> np.ndarray:
    return MODEL.marginal(tuple(map(NAMES.index, names)))


COMPARED = tuple(
    ComparedMarginal(marginal(each), np.full((3, 3), 10 * GRID), weight, less)
    for each, weight, less in zip(PAIRS, (2, 1, 3), (5, 0, 400), strict=True)
)


def chosen(seed: int) -> ChosenMarginal:
    """A choice and its measurement, on the data."""
    scores, coins = Distances(COMPARED), SeededCoins(seed)
    place = ExponentialMechanism(scores, EPSILON).release(DATA, coins.spawn("choice", 0))
    best = COMPARED[place].marginal
    noisy = Gaussian(best, variance=VARIANCE).release(DATA, coins.spawn("noise", 0))
    return ChosenMarginal(scores, best.names, EPSILON, 1, np.asarray(noisy), VARIANCE)


def test_the_bound_is_that_of_the_theorem() -> None:
    best = COMPARED[0].marginal
    counts = np.arange(9).reshape(3, 3)
    found = ChosenMarginal(Distances(COMPARED), best.names, EPSILON, 2, counts, VARIANCE).about(
        ("b", "c"), lambda names: modelled(names) + 1
    )
    assert found is not None
    share = 0.05 / 10 / 6
    distance = (2 * abs(counts - 10).sum() + (400 - 5) / GRID) / 3
    noise = 2 / 3 * sqrt(2 * 9 * 9 * log(2 / share))
    choice = 2 * 3 / (0.05 * 3) * log(2 * 3 / share)
    assert float(found.half_width(Fraction(1, 20))) == pytest.approx(
        distance + noise + choice + 9, rel=1e-9
    )


def test_no_candidate_has_all_columns() -> None:
    assert chosen(1).about(NAMES, modelled) is None


def test_rounding_to_the_grid_is_added_if_fewer_columns_are_asked_about() -> None:
    choice = chosen(1)
    for names in (("a",), ()):
        exact, rounded = choice.about(("a", "b"), modelled), choice.about(names, modelled)
        assert exact is not None
        assert rounded is not None
        assert exact.moved == 0
        assert rounded.moved == Fraction(2 * 9, GRID)


def test_a_marginal_of_too_many_cells_bounds_nothing() -> None:
    large = [("a", "b"), ("a", "c")]
    found = chosen(1).about(("a",), lambda names: None if names in large else modelled(names))
    assert found is None
    some = chosen(1).about(("a",), lambda names: None if names in large[:1] else modelled(names))
    assert some is not None


def test_all_distances_are_within_the_bounds() -> None:
    """Of 100 choices the bounds of all marginals at once fail for at most a half, at missed=1."""
    truth = {
        each.marginal.names: abs(np.asarray(each.marginal.value(DATA)) - 10).sum()
        for each in COMPARED
    }
    failed, slack = 0, []
    for seed in range(100):
        choice = chosen(seed)
        bounds = {}
        for names in truth:
            found = choice.about(names, modelled)
            assert found is not None
            bounds[names] = found.half_width(Fraction(99, 100))
        failed += any(truth[names] > bound for names, bound in bounds.items())
        slack += [float(bound) / truth[names] for names, bound in bounds.items()]
    assert failed < 50
    assert max(slack) < 20


def test_an_interval_is_around_the_value_of_the_model() -> None:
    known = PassedOver(Fraction(20), Fraction(0), Fraction(0), 3, 1, Fraction(0))
    assert Modelled(30.5, (), known).interval() == (11, 50)
    assert Modelled(3.0, (), known).interval() == (0, 23)
    low, high = Modelled(np.array([30.5, 0.0]), (), known).interval()  # type: ignore[misc]
    assert (low.tolist(), high.tolist()) == ([11, 0], [50, 20])
    assert low.dtype == np.int64
    assert Modelled(3.0).interval() is None
