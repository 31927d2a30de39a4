"""A menu filter whose units are re-computed as deltas arrive: nearly twice the claimed delta."""

import math

import numpy as np

EPSILON, DELTA, UNIT = 1.0, 1e-6, 0.01
COSTS = {u: u * u for u in (1, 2, 3, 5, 10, 20)}
EDGE, PAD = 500, 20
LOSSES = np.arange(-EDGE, EDGE + 1)
STOP = np.maximum(0.0, -np.expm1(EPSILON - LOSSES * UNIT))
TRUTH = {u: 1 / (1 + math.exp(-u * UNIT)) for u in COSTS}


def padded(values: np.ndarray) -> np.ndarray:
    return np.concatenate([np.full(PAD, values[0]), values, np.ones(PAD)])


def launched(after: np.ndarray, u: int) -> np.ndarray:
    up = after[PAD + u : PAD + u + LOSSES.size]
    return TRUTH[u] * up + (1 - TRUTH[u]) * after[PAD - u : PAD - u + LOSSES.size]


def test_spending_the_delta_that_is_left_breaks_the_claim() -> None:
    """Whenever the analyst stops, one reveal takes whatever the re-computed rule says is left."""
    worst, table = [], []
    for budget in range(700):
        values = STOP.copy()
        for u, cost in COSTS.items():
            if cost <= budget:
                values = np.maximum(values, launched(table[budget - cost], u))
        table.append(padded(values))
        worst.append(values[EDGE])
    units = int(np.searchsorted(worst, DELTA, side="right") - 1)
    assert 545 <= units <= 562
    attack: dict[int, np.ndarray] = {}
    for used in range(units, -1, -1):
        left = DELTA - worst[used]
        values = (1 - left) * STOP + left
        for u, cost in COSTS.items():
            if used + cost <= units:
                values = np.maximum(values, launched(attack[used + cost], u))
        attack[used] = padded(values)
    assert 1.9 < attack[0][PAD + EDGE] / DELTA < 2.1


def test_ours_fixes_the_shares() -> None:
    """With the slack all of delta, a launch with a delta of its own is refused at any moment."""
    from composition import Menu
    from queryable import ApproxDP

    account = Menu(UNIT, list(COSTS)).open(ApproxDP(1, "1e-6"))
    assert account.add(ApproxDP("0.01", 0)).within
    assert not account.add(ApproxDP("0.01", "1e-9")).within
