"""Advanced composition read as a time-uniform bound fails with probability 12.97%, not 5%."""

from math import log, sqrt

from composition import LinearOdometer
from queryable import ZCDP
from tests.walks import crossing

EPSILON, DELTA = 0.1, 0.05
VARIANCES = [EPSILON**2 * count for count in range(1, 5001)]


def test_the_stopping_time_adversary_beats_advanced_composition() -> None:
    """The adversary stops as soon as the realised loss exceeds the current bound."""
    bounds = [sqrt(2 * variance * log(1 / DELTA)) + variance / 2 for variance in VARIANCES]
    assert 0.1292 < crossing(bounds, EPSILON) < 0.1302


def test_ours_holds_against_the_same_adversary() -> None:
    """The loss exceeds the linear odometer's bound with a probability close to delta, at most."""
    odometer = LinearOdometer(DELTA, target_epsilon=5)
    bounds = [float(odometer.bound([ZCDP(variance / 2)])) for variance in VARIANCES]
    assert 0.9 * DELTA < crossing(bounds, EPSILON) <= DELTA
