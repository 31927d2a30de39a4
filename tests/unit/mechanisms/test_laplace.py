"""The Laplace mechanism: scale, claim, and the claim against exact laws."""

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, Laplace, Sum
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
)

COUNT = Count()
WIDE = Statistic(lambda dataset: 0, l1=3, l2=3)


def test_epsilon_sets_the_scale() -> None:
    """The scale is the sensitivity over epsilon, exactly."""
    assert Laplace(WIDE, epsilon="0.1").scale == 30
    assert Laplace(WIDE, epsilon="0.1") == Laplace(WIDE, scale=30)


@pytest.mark.parametrize("d_in", [0, 1, 2, 7])
def test_pure_loss(d_in: int) -> None:
    """The loss is sensitivity times records over scale."""
    assert Laplace(WIDE, scale="5/2").privacy_map(d_in) == PureDP(Fraction(3 * d_in * 2, 5))


def renyi(scale: float, shift: int, order: float) -> float:
    grid = np.arange(-600, 601)
    law, shifted = (-abs(grid - centre) / scale for centre in (0, shift))
    law, shifted = law - np.logaddexp.reduce(law), shifted - np.logaddexp.reduce(shifted)
    return float(np.logaddexp.reduce(order * law + (1 - order) * shifted) / (order - 1))


@pytest.mark.parametrize("d_in", [1, 2, 3])
@pytest.mark.parametrize("scale", ["1/2", "3/2", "6"])
@pytest.mark.parametrize("alpha", ["1.001", "2", "8", "100"])
def test_claims_hold_against_the_law(d_in: int, scale: str, alpha: str) -> None:
    """Neither the RDP nor the zCDP claim is below the exact Renyi divergence of the noise."""
    order = float(alpha)
    divergence = renyi(float(Fraction(scale)), d_in, order)
    mechanism = Laplace(COUNT, scale=scale)
    rdp: Any = mechanism.privacy_map(d_in, RDP.at(alpha))
    zcdp: Any = mechanism.privacy_map(d_in, ZCDP)
    slack = 1e-9 / (order - 1)
    assert divergence <= float(rdp.epsilon) + slack
    assert divergence <= order * float(zcdp.rho) + slack


def test_zcdp_knows_better_than_converting() -> None:
    """For several records integer noise has a smaller zCDP loss than its pure loss implies."""
    mechanism = Laplace(COUNT, scale=2)
    own: Any = mechanism.privacy_map(4, ZCDP)
    converted: Any = mechanism.privacy_map(4).to(ZCDP)
    assert own.rho < converted.rho * Fraction(9, 10)
    assert mechanism.privacy_map(4, ApproxZCDP) == ApproxZCDP(own.rho, 0)
    small_order: Any = mechanism.privacy_map(4, RDP.at("1.1"))
    assert small_order.epsilon == Fraction(11, 10) * own.rho


def test_high_orders_use_the_pure_bound() -> None:
    """Where zCDP would say more than epsilon, RDP says at most epsilon."""
    large: Any = Laplace(COUNT, scale=1).privacy_map(1, RDP.at(1000))
    assert large.epsilon <= 1


def test_several_orders_take_the_best_at_each() -> None:
    """A curve is the better of the two bounds order by order, though neither is better at all."""
    mechanism = Laplace(COUNT, scale=1)
    orders = ("1.1", 1000)
    curve: Any = mechanism.privacy_map(4, RDP.at(*orders))
    single: list[Any] = [mechanism.privacy_map(4, RDP.at(order)) for order in orders]
    assert list(curve.epsilons) == [each.epsilon for each in single]
    converted: Any = mechanism.privacy_map(4).to(RDP.at(*orders))
    assert curve.epsilons[0] < converted.epsilons[0]
    assert curve.epsilons[1] == converted.epsilons[1]


def test_the_continuous_formula_would_be_too_small() -> None:
    """The zCDP claim is above e + exp(-e) - 1, which does not hold on the integers."""
    claimed: Any = Laplace(COUNT, scale=1).privacy_map(1, ZCDP)
    assert claimed.rho > Fraction(exp(-1))


def test_measures_without_a_better_bound() -> None:
    """Elsewhere the pure loss is converted."""
    mechanism = Laplace(COUNT, scale=1)
    assert mechanism.privacy_map(1, ApproxDP) == ApproxDP(1, 0)
    assert mechanism.privacy_map(1, GDP) == PureDP(1).to(GDP)


def test_answers() -> None:
    """A number without noise to speak of is answered as it is."""
    table = {"age": np.array([1, 2, 30])}
    mechanism = Laplace(Sum("age", 0, 10), scale="1/1000")
    assert Queryable(mechanism, table, coins=SeededCoins(1), allow_seeded=True).opening == 13


def test_no_scale_from_zero_sensitivity() -> None:
    """A constant has no scale at which it loses epsilon; with a scale it loses nothing."""
    constant = Statistic(lambda dataset: 0, l1=0, l2=0)
    with pytest.raises(ValueError, match="l1 is 0"):
        Laplace(constant, epsilon=1)
    assert Laplace(constant, scale=1).privacy_map(5) == PureDP(0)
    assert Laplace(constant, scale=1).privacy_map(5, ZCDP) == ZCDP(0)
