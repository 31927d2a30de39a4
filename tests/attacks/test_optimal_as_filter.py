"""An optimal accountant used as a filter: each path fits the budget, the whole does not."""

import math

from scipy.optimize import brentq
from scipy.stats import norm

EPSILON, DELTA, FIRST = 1.0, 1e-6, 1e-3


def gaussian(mu: float, epsilon: float) -> float:
    """delta(epsilon) of mu-GDP."""
    beyond = math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    return float(norm.cdf(-epsilon / mu + mu / 2) - beyond)


def response(e: float, epsilon: float) -> float:
    """delta(epsilon) of randomized response at e, for any real epsilon."""
    yes, no = 1 / (1 + math.exp(-e)), 1 / (1 + math.exp(e))
    return yes * max(0.0, -math.expm1(epsilon - e)) + no * max(0.0, -math.expm1(epsilon + e))


def test_choosing_by_the_first_answer_beats_the_optimal_accountant() -> None:
    """Each continuation is exactly (1, 1e-6)-DP with the first answer; choosing has 1.49e-6."""
    plus, minus = 1 / (1 + math.exp(-FIRST)), 1 / (1 + math.exp(FIRST))

    def after(second: object, size: float) -> float:
        profile = gaussian if second is gaussian else response
        return plus * profile(size, EPSILON - FIRST) + minus * profile(size, EPSILON + FIRST)

    mu = brentq(lambda m: after(gaussian, m) - DELTA, 1e-3, 5, xtol=1e-14)
    e = brentq(lambda s: after(response, s) - DELTA, EPSILON - FIRST, EPSILON + FIRST, xtol=1e-14)
    reached = plus * max(gaussian(mu, EPSILON - FIRST), response(e, EPSILON - FIRST))
    reached += minus * max(gaussian(mu, EPSILON + FIRST), response(e, EPSILON + FIRST))
    assert 1.48e-6 < reached < 1.50e-6


def test_our_filters_refuse_the_second_response() -> None:
    """No rule of ours admits the pair that the accountant would."""
    from composition import FiltCon, GDPResidue, ViaZCDP, Whitehouse2023
    from queryable import ApproxDP, Launch, PureDP, Refused
    from tests.strategies import Toy

    for rule in (Whitehouse2023(), ViaZCDP(), GDPResidue()):
        filtered = FiltCon(ApproxDP(1, "1e-6"), rule)
        state, _ = filtered.init(None)
        state, _ = filtered.step(state, Launch(Toy(PureDP("0.001"))))
        answer = filtered.step(state, Launch(Toy(PureDP("0.999003"))))[1]
        assert isinstance(answer, Refused)
