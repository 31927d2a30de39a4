"""Advanced composition read at the worst moment: 12.97% instead of 5%, exactly."""

import math

import numpy as np

E, LARGEST, DELTA = 0.1, 50, 0.05
STEPS = round(LARGEST / E**2)


def crossing(bound: np.ndarray) -> float:
    """The chance that the loss of a walk of randomized responses ever exceeds its bound."""
    truth = 1 / (1 + math.exp(-E))
    law = np.zeros(2 * STEPS + 1)
    law[STEPS] = 1.0
    losses = np.arange(-STEPS, STEPS + 1) * E
    crossed = 0.0
    for limit in bound:
        moved = np.zeros_like(law)
        moved[1:] = truth * law[:-1]
        moved[:-1] += (1 - truth) * law[1:]
        over = losses > limit + 1e-12
        crossed += moved[over].sum()
        moved[over] = 0.0
        law = moved
    return float(crossed)


def test_the_stopping_time_adversary_beats_advanced_composition() -> None:
    """It stops as soon as the realised loss is above the bound of that moment."""
    variance = np.arange(1, STEPS + 1) * E * E
    bound = np.sqrt(2 * variance * math.log(1 / DELTA)) + variance / 2
    assert 0.1292 < crossing(bound) < 0.1302


def test_ours_holds_against_the_same_adversary() -> None:
    """The linear odometer is crossed with a probability of at most delta."""
    from composition import LinearOdometer
    from queryable import ZCDP

    odometer = LinearOdometer(DELTA, target_epsilon=5)
    ends = [float(odometer.bound([ZCDP(v / 2)])) for v in (1.0, 2.0)]
    slope = ends[1] - ends[0]
    variance = np.arange(1, STEPS + 1) * E * E
    assert crossing(ends[0] + slope * (variance - 1.0)) <= DELTA
