"""Guesses: the bounds hold for laws whose distance is known, and are reached where they can be."""

from fractions import Fraction
from math import erf, exp, sqrt, tanh

import pytest

from mechanisms import RandomizedResponse
from queryable import FDP, GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.audit import view_law
from queryable.display.odds import factor_of_odds, in_100, right_guess


def gaussians(mu: float) -> float:
    """The total variation distance of two Gaussians whose means differ by mu."""
    return erf(mu / 2 / sqrt(2))


def guess(distance: float) -> float:
    return (1 + distance) / 2


REACHED = [
    (PureDP(0), 0.5),
    (PureDP(1), exp(1) / (1 + exp(1))),
    (ApproxDP(1, "1/10"), guess((exp(1) - 1 + 0.2) / (exp(1) + 1))),
    (ApproxDP(0, "1/4"), guess(0.25)),
    (FDP([(0, "3/4"), ("3/4", 0), (1, 0)]), guess(0.25)),
    (GDP(1), guess(gaussians(1))),
]


@pytest.mark.parametrize(("loss", "exactly"), REACHED, ids=str)
def test_the_bound_is_the_best_guess(loss: Loss, exactly: float) -> None:
    assert exactly - 1e-12 <= float(right_guess(loss)) <= exactly + 1e-9


@pytest.mark.parametrize("rho", ["1/1000", "1/10", "3/2", "8/5", 2, 9])
def test_no_pair_of_zcdp_is_told_apart_more_often(rho: object) -> None:
    """Gaussians, and the randomized response of this rho; the bound by epsilon is no better."""
    bound, value = right_guess(ZCDP(rho)), float(Fraction(rho))  # type: ignore[arg-type]
    assert guess(gaussians(sqrt(2 * value))) <= bound <= 1
    epsilon = value
    for _ in range(200):  # epsilon tanh(epsilon / 2) = rho
        epsilon = value / tanh(epsilon / 2)
    assert guess(tanh(epsilon / 2)) <= bound
    assert right_guess(ApproxZCDP(rho, "1/100")) == min(bound + Fraction(1, 200), 1)


@pytest.mark.parametrize(("rho", "distance"), [("1/10", sqrt(0.05)), (2, sqrt(1 - exp(-2)))])
def test_a_divergence_bounds_the_distance_in_two_ways(rho: object, distance: float) -> None:
    found = float(right_guess(ZCDP(rho)))  # type: ignore[arg-type]
    assert guess(distance) - 1e-12 <= found <= guess(distance) + 1e-9


def test_the_law_of_an_answer() -> None:
    """The best guess from a response that is right three times of four."""
    truth = RandomizedResponse(lambda data: data == [1], odds=3)
    laws = [view_law(truth, data, lambda _: None) for data in ([1], [0])]
    best = sum(max(laws[0][view], laws[1][view]) for view in laws[0]) / 2
    assert best == Fraction(3, 4)
    assert best <= right_guess(truth.privacy_map(1)) <= best + Fraction(1, 10**9)


@pytest.mark.parametrize("loss", [PureDP(21), ZCDP(10**9), GDP(1000), RDP(8, 10**6)], ids=str)
def test_large_losses_promise_nothing(loss: Loss) -> None:
    assert (right_guess(loss), in_100(loss)) == (1, 100)
    assert factor_of_odds(loss) is None


def test_shown_numbers_are_rounded_up() -> None:
    assert in_100(PureDP(0)) == 50
    assert in_100(PureDP("1/1000000")) == 51
    assert in_100(RDP(8, 1)) < 80
    factors = [factor_of_odds(PureDP(epsilon)) for epsilon in (0, "1/1000", 1, 5)]
    assert factors == ["1", "1.01", "2.72", "149"]
    assert factor_of_odds(ApproxDP(1, 0)) == "2.72"
    assert factor_of_odds(ApproxDP(1, "1e-9")) is None
