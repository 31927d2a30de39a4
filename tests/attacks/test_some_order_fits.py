"""A Renyi filter that goes on while some order still fits: 1.395 times the claimed delta."""

import math

import numpy as np
from scipy.optimize import brentq

EPSILON, DELTA, FIRST = 5.0, 1e-6, 0.03


def budget(alpha: float) -> float:
    """The loss at this order that converts to (5, 1e-6)."""
    return EPSILON - (math.log1p(-1 / alpha) - math.log(DELTA * alpha) / (alpha - 1))


def response(alpha: float, e: float) -> float:
    """The Renyi divergence of randomized response."""
    up, down = -math.log1p(math.exp(-e)), -math.log1p(math.exp(e))
    both = np.logaddexp(alpha * up + (1 - alpha) * down, alpha * down + (1 - alpha) * up)
    return float(both) / (alpha - 1)


def two_points(p: float, q: float, alpha: float) -> float:
    """The Renyi divergence of two laws on two points, both ways, given logs of the bad one."""

    def other(z: float) -> float:
        return math.log1p(-math.exp(z))

    def way(x: float, y: float) -> float:
        bad = alpha * x + (1 - alpha) * y
        rest = alpha * other(x) + (1 - alpha) * other(y)
        return float(np.logaddexp(bad, rest)) / (alpha - 1)

    return max(way(p, q), way(q, p))


def most(epsilon: float, alpha: float, loss: float) -> float:
    """The largest delta at epsilon of a two-point mechanism within a Renyi loss."""
    best = 0.0
    for beyond in np.linspace(0.005, 2.0, 400):

        def excess(log_bad: float, gap: float = epsilon + beyond) -> float:
            return two_points(log_bad, log_bad - gap, alpha) - loss

        if excess(-60) < 0 < excess(-1e-6):
            chance = math.exp(brentq(excess, -60, -1e-6))
            best = max(best, chance * -math.expm1(-beyond))
    return best


def test_the_order_chosen_by_an_answer_breaks_the_claim() -> None:
    """After a plus the analyst fits order 64, after a minus order 6."""
    plus, minus = 1 / (1 + math.exp(-FIRST)), 1 / (1 + math.exp(FIRST))
    high = most(EPSILON - FIRST, 64, budget(64) - response(64, FIRST))
    low = most(EPSILON + FIRST, 6, budget(6) - response(6, FIRST))
    assert 1.39 < (plus * high + minus * low) / DELTA < 1.40


def test_fixed_weights_do_not_admit_either_order_s_budget() -> None:
    """What fits at one order alone is above what the weighted rule admits."""
    from composition import ViaRenyi
    from queryable import ApproxDP
    from queryable.renyi import RenyiCurve

    account = ViaRenyi([6, 64]).open(ApproxDP(5, "1e-6"))
    for orders in ((budget(6), 1000), (1000, budget(64))):
        assert not account.add(RenyiCurve((6, 64), orders)).within
