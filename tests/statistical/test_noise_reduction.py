"""The law of a path of noise reduction: covariances of Brownian motion, over 100,000 runs.

Each entry of one vector-valued estimate is an independent run. The ten covariances of four steps
and the four means are compared with the expected values at 5 standard errors. A correct
implementation fails with probability below 10^-5. Seeds are fixed, so a test always gives the same
result. The relative difference between the discrete Gaussian's variance and its parameter is below
10^-6 here.
"""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import BrownianNoiseReduction, Doubling, Gaussian, Open, Refine
from mechanisms.refinement.averaging import number
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.estimating import OpenEstimate
from queryable import ZCDP, Queryable, SeededCoins, Statistic

RUNS = 100_000
ERRORS = 5
PATH = (100, 80, 20, 3)
ZEROS = Statistic(lambda dataset: np.zeros(RUNS, dtype=np.int64), l1=1, l2=1, shape=RUNS)


def path(person: Any, targets: tuple[Any, ...] = PATH) -> Any:
    """The noise of every run at every step, shape (steps, runs)."""
    table = Queryable(person @ FiltCon(ZCDP(10**6)), None, coins=SeededCoins(9), allow_seeded=True)
    estimate = table(Open(ZEROS))
    return np.array([estimate(Refine(target)).value for target in targets])


def is_brownian(noise: Any) -> bool:
    """Whether covariances are min(t_i, t_j), and means 0, within the stated error."""
    expected = np.minimum.outer(PATH, PATH).astype(float)
    variances = np.diag(expected)
    error = np.sqrt((np.outer(variances, variances) + expected**2) / RUNS)
    found = noise @ noise.T / RUNS
    means = np.abs(noise.mean(axis=1)) <= ERRORS * np.sqrt(variances / RUNS)
    return bool(np.all(np.abs(found - expected) <= ERRORS * error) and means.all())


def test_covariances_are_those_of_brownian_motion() -> None:
    """The covariance is min(t_i, t_j) for every pair of steps."""
    assert is_brownian(path(BrownianNoiseReduction()))


@attrs.frozen
class DifferenceOfVariances(BrownianNoiseReduction):
    """Wrong: uses the increment of a path in increasing time."""

    def _measurement(self, held: OpenEstimate, target: Fraction) -> Gaussian:
        variance = target if held.level is None else held.level - target
        return Gaussian(held.statistic, variance=variance)


@attrs.frozen
class PlainMean(BrownianNoiseReduction):
    """Wrong: weights both measurements equally."""

    def _combined(self, held: OpenEstimate, target: Fraction, measured: Any) -> Refined:
        value = number(measured)
        if held.estimate is not None:
            value = (value + held.estimate.value) / 2
        return Refined(value, target)


@attrs.frozen
class LastOnly(BrownianNoiseReduction):
    """Wrong: ignores the earlier estimate."""

    def _combined(self, held: OpenEstimate, target: Fraction, measured: Any) -> Refined:
        return Refined(number(measured), target)


@attrs.frozen
class Afresh(LastOnly):
    """Each step is correct alone, but the steps are independent, so each costs its full loss."""

    def _measurement(self, held: OpenEstimate, target: Fraction) -> Gaussian:
        return Gaussian(held.statistic, variance=target)


@pytest.mark.parametrize("wrong", [DifferenceOfVariances(), PlainMean(), LastOnly(), Afresh()])
def test_wrong_paths_are_rejected(wrong: BrownianNoiseReduction) -> None:
    assert not is_brownian(path(wrong))


def test_releases_of_doubling_are_independent() -> None:
    """The variances are the stated ones, and the covariances are zero."""
    targets = (None,) * 4
    noise = path(Doubling(96, 2), targets)
    variances = 96 / 2.0 ** np.arange(4)
    error = np.sqrt(np.outer(variances, variances) / RUNS * (1 + np.eye(4)))
    found = noise @ noise.T / RUNS
    assert np.all(np.abs(found - np.diag(variances)) <= ERRORS * error)
