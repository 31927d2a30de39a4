"""The Gaussian mechanism: variance, claim, and the claim against exact laws."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from composition import FiltCon, GDPResidue, ViaGDP, ViaZCDP, admitted
from mechanisms import Count, Gaussian, Histogram
from queryable import GDP, RDP, ZCDP, ApproxDP, PureDP, Queryable, SeededCoins, Statistic
from queryable.errors import PrivacyClaimError
from queryable.losses import Dominated
from tests.reference import gaussian_profile, mp, real

COUNT = Count()
WIDE = Statistic(lambda dataset: np.zeros(4, int), l1=6, l2=3, shape=4)


def test_rho_sets_the_variance() -> None:
    """The variance is l2^2 / (2 rho), exactly, though sigma is irrational."""
    assert Gaussian(WIDE, rho="0.1").variance == 45
    assert Gaussian(WIDE, rho="0.1").privacy_map(1) == ZCDP("0.1")


def test_scale_is_sigma() -> None:
    """A scale is squared; a variance is taken as it is, so that sigma may be irrational."""
    assert Gaussian(COUNT, scale="3/2").variance == Fraction(9, 4)
    assert Gaussian(COUNT, variance=2) == Gaussian(COUNT, rho="1/4")


@pytest.mark.parametrize("d_in", [0, 1, 2, 7])
def test_loss_is_quadratic(d_in: int) -> None:
    """The loss grows with the square of the number of records."""
    assert Gaussian(WIDE, scale=3).privacy_map(d_in) == ZCDP(Fraction(d_in**2, 2))


@pytest.mark.parametrize("shift", [1, 2])
@pytest.mark.parametrize("variance", ["1/4", "1", "9"])
@pytest.mark.parametrize("alpha", ["1.01", "2", "16"])
def test_claims_hold_against_the_law(shift: int, variance: str, alpha: str) -> None:
    """The RDP claim is not below the exact Renyi divergence of the noise."""
    grid = np.arange(-150, 151)
    sigma2, order = float(Fraction(variance)), float(alpha)
    logs = [-((grid - centre) ** 2) / (2 * sigma2) for centre in (0, shift)]
    logs = [each - np.logaddexp.reduce(each) for each in logs]
    divergence = np.logaddexp.reduce(order * logs[0] + (1 - order) * logs[1]) / (order - 1)
    mechanism = Gaussian(Statistic(len, l1=1, l2=1), rho=1 / (2 * Fraction(variance)))
    claimed: Any = mechanism.privacy_map(shift, RDP.at(alpha))
    assert divergence <= float(claimed.epsilon) + 1e-9 / (order - 1)


def test_no_gaussian_dp_is_claimed() -> None:
    """Discrete noise is not exactly mu-GDP; and (epsilon, delta) needs a delta."""
    with pytest.raises(ValueError, match="no theorem"):
        Gaussian(COUNT, scale=1).privacy_map(1, GDP)
    with pytest.raises(ValueError, match="delta"):
        Gaussian(COUNT, scale=1).privacy_map(1, ApproxDP)


def test_answers_an_array() -> None:
    """A histogram comes back with its shape, and almost as it was under almost no noise."""
    mechanism = Gaussian(Histogram("state", ["NY", "CA"]), scale="1/1000")
    table = {"state": np.array(["CA", "NY", "CA"])}
    answer = Queryable(mechanism, table, coins=SeededCoins(1), allow_seeded=True).opening
    assert answer.tolist() == [1, 2]
    assert not answer.flags.writeable


def test_no_variance_from_zero_sensitivity() -> None:
    """A constant has no variance at which it loses rho; with a scale it loses nothing."""
    constant = Statistic(lambda dataset: 0, l1=0, l2=0)
    with pytest.raises(ValueError, match="l2 is 0"):
        Gaussian(constant, rho=1)
    assert Gaussian(constant, scale=1).privacy_map(5) == ZCDP(0)


@cache
def weights(variance: int, shift: int) -> dict[int, Any]:
    half = int(40 * mp.sqrt(variance)) + shift
    return {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * variance)) for x in range(-half, half + 1)}


def curve(variance: int, shift: int, t: Any) -> Any:
    """The hockey stick at e^t of discrete Gaussians that far apart."""
    law, ratio = weights(variance, shift), mp.exp(t)
    excess = (p - ratio * law.get(x - shift, mp.mpf(0)) for x, p in law.items())
    return sum(each for each in excess if each > 0) / sum(law.values())


@pytest.mark.parametrize(
    ("variance", "shift"),
    [*(pytest.param(each, 1, marks=pytest.mark.slow) for each in (5, 30)), (9, 1), (30, 4)],
)
def test_the_dominating_gaussian_is_above_the_exact_curve(variance: int, shift: int) -> None:
    """At every epsilon tried, up to where delta is 1e-25; the mu of continuous noise is not."""
    counted = Statistic(len, l1=shift, l2=shift)
    loss: Any = Gaussian(counted, variance=variance).privacy_map(1, Dominated)
    assert Fraction(shift**2, variance - 4) <= loss.mu**2
    assert 0 < loss.delta < Fraction(1, 10**33)
    naive = mp.mpf(shift) / mp.sqrt(variance)
    below = 0
    for step in range(-40, 400, 5):
        t = naive * mp.mpf(step) / 40
        true = curve(variance, shift, t)
        assert true <= gaussian_profile(loss.mu, t) * (1 - real(loss.delta)) + real(loss.delta)
        below += true > gaussian_profile(naive, t) * (1 + mp.mpf("1e-9"))
    assert below > 3


def test_the_residue_takes_more_discrete_gaussians() -> None:
    """With scale 40 it admits more than the best zCDP rule, and nearly what continuous ones fit."""
    budget = ApproxDP(1, "1e-6")
    mechanism = Gaussian(COUNT, scale=40)
    residue = admitted(budget, GDPResidue("9.99e-7"), mechanism.privacy_map(1, Dominated))
    concentrated = admitted(budget, ViaZCDP(), mechanism.privacy_map(1))
    limit = admitted(budget, ViaGDP(), GDP("1/40"))
    assert concentrated < residue <= limit
    assert residue > Fraction(99, 100) * limit
    assert concentrated < Fraction(93, 100) * limit


def test_every_coordinate_adds_to_the_delta() -> None:
    """Four coordinates miss four times as much; noise too narrow says nothing of Gaussians."""
    one: Any = Gaussian(COUNT, scale=9).privacy_map(1, Dominated)
    four: Any = Gaussian(WIDE, scale=9).privacy_map(2, Dominated)
    assert four.delta == 4 * one.delta
    assert four.mu**2 >= Fraction(36, 77)
    assert Gaussian(COUNT, scale=9).privacy_map(0, Dominated) == Dominated(0, 0, 0)
    with pytest.raises(ValueError, match="no theorem"):
        Gaussian(COUNT, scale=2).privacy_map(1, Dominated)
    q = Queryable(FiltCon(ApproxDP(1, "1e-6"), GDPResidue("9e-7")), [1, 2, 3])
    q.launch(Gaussian(COUNT, scale=40))


def test_under_epsilon_and_delta_the_error_says_first_what_to_write() -> None:
    first = r"^use composition.budget\(epsilon=.., delta=..\), or FiltCon\(.*rule=ViaZCDP\(\)\)"
    with pytest.raises(PrivacyClaimError, match=first):
        Queryable(FiltCon(ApproxDP(1, "1e-6")), [1, 2]).launch(Gaussian(Count(), rho="1/10"))
    with pytest.raises(PrivacyClaimError, match=r"^use composition.budget\(.*such as Laplace"):
        Queryable(FiltCon(PureDP(1)), [1, 2]).launch(Gaussian(Count(), rho="1/10"))
