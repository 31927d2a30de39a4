"""Laplace and Gaussian noise on integer statistics: claims against exact laws."""

from fractions import Fraction
from math import exp
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon, GDPResidue, ViaGDP, ViaZCDP, admitted
from mechanisms import Count, Gaussian, Histogram, Laplace, Sum
from mechanisms.additive import noisy
from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    MechanismFault,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
)
from queryable.answers.noisy import noisy_array
from queryable.errors import PrivacyClaimError
from queryable.losses import Dominated
from queryable.randomness.laws import FairBits, Law
from tests.reference import mp, real


@attrs.frozen
class Always(Law[int]):
    """Noise that is known."""

    noise: int

    def sample(self, source: FairBits) -> int:
        return self.noise


def statistic(value: Any, shape: Any = None) -> Statistic:
    return Statistic(lambda dataset: value, l1=1, l2=1, shape=shape)


COINS = SeededCoins(1)


def test_noise_is_added_to_numbers_of_any_size() -> None:
    """One number is answered as a Python int, of any size."""
    answer = noisy(statistic(np.int64(2**63 - 1)), None, Always(5), COINS)
    assert isinstance(answer, int)
    assert type(answer + 0) is int
    assert answer == 2**63 + 4
    # Where a sum overflows 64 bits the answer holds Python integers, and is right.
    answer = noisy(statistic(np.array([2**63 - 1, 0]), 2), None, Always(1), COINS)
    assert answer.dtype == object
    assert answer.tolist() == [2**63, 1]
    assert not answer.flags.writeable
    # Large values that come back within 64 bits are int64: the dtype depends on the sum alone.
    answer = noisy(statistic(np.array([2**63], dtype=object), 1), None, Always(-1), COINS)
    assert answer.dtype == np.int64
    assert answer.tolist() == [2**63 - 1]
    answer = noisy(statistic(np.zeros(50, int), 50), None, DiscreteLaplace(100), COINS)
    assert len(set(answer.tolist())) > 30
    # A value that is no integer does not come through.
    with pytest.raises(MechanismFault):
        noisy(statistic(1.5), None, Always(0), COINS)


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 2)])
def test_array(shape: tuple[int, ...]) -> None:
    """An array keeps its shape, is int64 and cannot be written to."""
    answer = noisy(statistic(np.full(shape, 7), shape), None, Always(-2), COINS)
    assert answer.shape == shape
    assert answer.dtype == np.int64
    assert (answer == 5).all()
    assert not answer.flags.writeable


@pytest.mark.parametrize("value", [-(2**64), -(2**63), 2**62, 2**63 - 1, 2**63, 2**64 - 9])
@pytest.mark.parametrize("noise", [-7, 0, 7])
def test_a_single_entry_keeps_its_sign(value: int, noise: int) -> None:
    """Of shape () too, where numpy gives a sum of objects a type of its own, such as uint64."""
    entries = np.empty((), dtype=object)
    entries[...] = value
    total = added(entries, np.asarray(noise))
    assert total.shape == ()
    assert total.item() == value + noise
    law = DiscreteLaplace(1)
    low, high = noisy_array(total, law).interval("0.9")
    assert low.item() <= value + noise <= high.item()


COUNT = Count()
THREE = Statistic(lambda dataset: 0, l1=3, l2=3)


def test_a_loss_sets_the_noise() -> None:
    """The scale is sensitivity over epsilon; the variance is l2^2 / (2 rho), exactly."""
    assert Laplace(THREE, epsilon="0.1").scale == 30
    assert Laplace(Statistic(lambda dataset: 0, l1=3, l2=2), epsilon=1).scale == 3
    assert Laplace(THREE, epsilon="0.1") == Laplace(THREE, scale=30)
    assert Gaussian(WIDE, rho="0.1").variance == 45
    assert Gaussian(WIDE, rho="0.1").privacy_map(1) == ZCDP("0.1")
    # A scale is squared; a variance is taken as it is, so that sigma may be irrational.
    assert Gaussian(COUNT, scale="3/2").variance == Fraction(9, 4)
    assert Gaussian(COUNT, variance=2) == Gaussian(COUNT, rho="1/4")


@pytest.mark.parametrize("d_in", [0, 1, 2, 7])
def test_losses_grow_with_the_records(d_in: int) -> None:
    """That of Laplace noise in proportion, that of Gaussian noise with the square."""
    assert Laplace(THREE, scale="5/2").privacy_map(d_in) == PureDP(Fraction(3 * d_in * 2, 5))
    assert Gaussian(WIDE, scale=3).privacy_map(d_in) == ZCDP(Fraction(d_in**2, 2))


def renyi(scale: float, shift: int, order: float) -> float:
    grid = np.arange(-600, 601)
    law, shifted = (-abs(grid - centre) / scale for centre in (0, shift))
    law, shifted = law - np.logaddexp.reduce(law), shifted - np.logaddexp.reduce(shifted)
    return float(np.logaddexp.reduce(order * law + (1 - order) * shifted) / (order - 1))


@pytest.mark.parametrize("d_in", [1, 2, 3])
@pytest.mark.parametrize("scale", ["1/2", "3/2", "6"])
@pytest.mark.parametrize("alpha", ["1.001", "2", "8", "100"])
def test_claims_hold_against_the_law_of_laplace(d_in: int, scale: str, alpha: str) -> None:
    """Neither the RDP nor the zCDP claim is below the exact Renyi divergence of the noise."""
    order = float(alpha)
    divergence = renyi(float(Fraction(scale)), d_in, order)
    mechanism = Laplace(COUNT, scale=scale)
    rdp: Any = mechanism.privacy_map(d_in, RDP.at(alpha))
    zcdp: Any = mechanism.privacy_map(d_in, ZCDP)
    slack = 1e-9 / (order - 1)
    assert divergence <= float(rdp.epsilon) + slack
    assert divergence <= order * float(zcdp.rho) + slack


def test_laplace_noise_has_the_better_of_two_bounds() -> None:
    """For several records integer noise has a smaller zCDP loss than its pure loss implies."""
    mechanism = Laplace(COUNT, scale=2)
    own: Any = mechanism.privacy_map(4, ZCDP)
    converted: Any = mechanism.privacy_map(4).to(ZCDP)
    assert own.rho < converted.rho * Fraction(9, 10)
    assert mechanism.privacy_map(4, ApproxZCDP) == ApproxZCDP(own.rho, 0)
    small_order: Any = mechanism.privacy_map(4, RDP.at("1.1"))
    assert small_order.epsilon == Fraction(11, 10) * own.rho
    # A curve is the better of the two bounds order by order, though neither is better at all.
    mechanism = Laplace(COUNT, scale=1)
    orders = ("1.1", 1000)
    curve: Any = mechanism.privacy_map(4, RDP.at(*orders))
    single: list[Any] = [mechanism.privacy_map(4, RDP.at(order)) for order in orders]
    assert list(curve.epsilons) == [each.epsilon for each in single]
    converted: Any = mechanism.privacy_map(4).to(RDP.at(*orders))
    assert curve.epsilons[0] < converted.epsilons[0]
    assert curve.epsilons[1] == converted.epsilons[1]
    # Where zCDP would say more than epsilon, RDP says at most epsilon.
    large: Any = Laplace(COUNT, scale=1).privacy_map(1, RDP.at(1000))
    assert large.epsilon <= 1
    # The zCDP claim is above e + exp(-e) - 1, which does not hold on the integers.
    claimed: Any = Laplace(COUNT, scale=1).privacy_map(1, ZCDP)
    assert claimed.rho > Fraction(exp(-1))
    # Elsewhere the pure loss is converted.
    mechanism = Laplace(COUNT, scale=1)
    assert mechanism.privacy_map(1, ApproxDP) == ApproxDP(1, 0)
    assert mechanism.privacy_map(1, GDP) == PureDP(1).to(GDP)


def test_an_answer_is_near_the_truth_where_noise_is_narrow() -> None:
    table = {"age": np.array([1, 2, 30])}
    mechanism = Laplace(Sum("age", 0, 10), scale="1/1000")
    assert Queryable(mechanism, table, coins=SeededCoins(1), allow_seeded=True).opening == 13
    mechanism = Gaussian(Histogram("state", ["NY", "CA"]), scale="1/1000")
    table = {"state": np.array(["CA", "NY", "CA"])}
    answer = Queryable(mechanism, table, coins=SeededCoins(1), allow_seeded=True).opening
    assert answer.tolist() == [1, 2]
    assert not answer.flags.writeable


def test_no_noise_from_zero_sensitivity() -> None:
    """A constant has no noise at which it loses something; with a scale it loses nothing."""
    constant = Statistic(lambda dataset: 0, l1=0, l2=0)
    with pytest.raises(ValueError, match="l1 is 0"):
        Laplace(constant, epsilon=1)
    assert Laplace(constant, scale=1).privacy_map(5) == PureDP(0)
    assert Laplace(constant, scale=1).privacy_map(5, ZCDP) == ZCDP(0)
    constant = Statistic(lambda dataset: 0, l1=0, l2=0)
    with pytest.raises(ValueError, match="l2 is 0"):
        Gaussian(constant, rho=1)
    assert Gaussian(constant, scale=1).privacy_map(5) == ZCDP(0)


WIDE = Statistic(lambda dataset: np.zeros(4, int), l1=6, l2=3, shape=4)


@pytest.mark.parametrize("shift", [1, 2])
@pytest.mark.parametrize("variance", ["1/4", "1", "9"])
@pytest.mark.parametrize("alpha", ["1.01", "2", "16"])
def test_claims_hold_against_the_law_of_gaussians(shift: int, variance: str, alpha: str) -> None:
    """The RDP claim is not below the exact Renyi divergence of the noise."""
    grid = np.arange(-150, 151)
    sigma2, order = float(Fraction(variance)), float(alpha)
    logs = [-((grid - centre) ** 2) / (2 * sigma2) for centre in (0, shift)]
    logs = [each - np.logaddexp.reduce(each) for each in logs]
    divergence = np.logaddexp.reduce(order * logs[0] + (1 - order) * logs[1]) / (order - 1)
    mechanism = Gaussian(Statistic(len, l1=1, l2=1), rho=1 / (2 * Fraction(variance)))
    claimed: Any = mechanism.privacy_map(shift, RDP.at(alpha))
    assert divergence <= float(claimed.epsilon) + 1e-9 / (order - 1)


def test_gaussians_claim_what_is_proven() -> None:
    """The mu grows with the L2 norm, whatever the shape; and (epsilon, delta) needs a delta."""
    with pytest.raises(ValueError, match="delta"):
        Gaussian(COUNT, scale=1).privacy_map(1, ApproxDP)
    one: Any = Gaussian(COUNT, scale=9).privacy_map(1, GDP)
    four: Any = Gaussian(WIDE, scale=9).privacy_map(2, GDP)
    assert four == GDP(6 * one.mu)
    assert Fraction(1, 9) < one.mu < Fraction(1, 9) * (1 + Fraction(1, 24 * 80))
    assert Gaussian(COUNT, scale=9).privacy_map(1, Dominated) == Dominated(0, one.mu, 0)
    wide: Any = Gaussian(COUNT, scale=40).privacy_map(1, GDP)
    assert Gaussian(COUNT, scale=40).privacy_map(1, FDP) == wide.to(FDP)
    assert Gaussian(COUNT, scale=9).privacy_map(0, Dominated) == Dominated(0, 0, 0)
    for filtered in (FiltCon(ApproxDP(1, "1e-6"), GDPResidue("9e-7")), FiltCon(GDP("1/3"))):
        Queryable(filtered, [1, 2, 3]).launch(Gaussian(COUNT, scale=40))


def tails(variance: Fraction) -> dict[int, Any]:
    """P(X >= x) of discrete Gaussian noise, where it is above 1e-40."""
    half = int(14 * mp.sqrt(real(variance))) + 30
    law = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * real(variance))) for x in range(-half, half + 1)}
    total, rest, found = sum(law.values()), mp.mpf(0), {}
    for x in range(half, -half - 1, -1):
        rest += law[x]
        found[x] = rest / total
    return {x: tail for x, tail in found.items() if min(tail, 1 - tail) > mp.mpf("1e-40")}


def quantile(tail: Any) -> Any:
    """The x that a standard normal number reaches with this probability."""
    return mp.sqrt(2) * mp.erfinv(1 - 2 * tail)


@pytest.mark.parametrize("variance", ["1/12", "1/2", "17/32", "1", "5", "9", "25"])
def test_the_gaussian_above_discrete_noise_touches_it(variance: str) -> None:
    """At every corner of the exact trade-off curve a test of N(0,1), N(mu,1) misses no more.

    Between two corners the exact curve is straight and that of Gaussians convex. At the middle
    corner they meet, so no smaller mu holds. For larger shifts the curve is that far below.
    """
    counted = Statistic(len, l1=1, l2=1)
    loss: Any = Gaussian(counted, variance=variance).privacy_map(1, GDP)
    law = tails(Fraction(variance))
    steps = {x: quantile(law[x + 1]) - quantile(law[x]) for x in law if x + 1 in law}
    assert all(step <= real(loss.mu) for step in steps.values())
    assert max(steps, key=steps.__getitem__) == 0
    assert steps[0] > real(loss.mu) * (1 - mp.mpf(10) ** -20)
    for shift in (2, 5):
        moved = [quantile(law[x + shift]) - quantile(law[x]) for x in law if x + shift in law]
        grown: Any = Gaussian(counted, variance=variance).privacy_map(shift, GDP)
        assert max(moved) <= real(grown.mu) == shift * real(loss.mu)


def beyond(scale: Fraction, t: int) -> Any:
    """P(X >= t) of discrete Laplace noise."""
    p = mp.exp(-1 / real(scale))
    return p**t / (1 + p) if t >= 1 else 1 - p ** (1 - t) / (1 + p)


@pytest.mark.parametrize(
    ("mechanism", "d_in"),
    [
        (Gaussian(COUNT, variance="1/2"), 1),
        (Gaussian(COUNT, variance=9), 3),
        (Laplace(COUNT, scale=5), 2),
        (Laplace(COUNT, scale=5), 7),
        (Laplace(COUNT, scale=400), 1000),
    ],
)
def test_the_curve_of_one_number_has_its_exact_corners(mechanism: Any, d_in: int) -> None:
    """A test of a threshold misses as often as the curve says, and no more often."""
    curve: Any = mechanism.privacy_map(d_in, FDP)
    for t in range(-8, 9 + d_in, 1 + d_in // 50):
        if isinstance(mechanism, Gaussian):
            law = tails(mechanism.variance)
            alpha, miss = law.get(t, mp.mpf(0)), law.get(1 - t + d_in, mp.mpf(0))
        else:
            alpha, miss = (beyond(mechanism.scale, each) for each in (t, 1 - t + d_in))
        said = real(curve(Fraction(int(alpha * 2**200), 2**200)))
        assert said <= miss + mp.mpf(10) ** -40
        assert said >= miss * (1 - mp.mpf(10) ** -12) - mp.mpf(10) ** -25
    assert curve.implies(mechanism.privacy_map(d_in, GDP).to(FDP))


def test_the_residue_takes_more_discrete_gaussians() -> None:
    """With scale 40 it admits more than the best zCDP rule, and nearly what continuous ones fit."""
    budget = ApproxDP(1, "1e-6")
    mechanism = Gaussian(COUNT, scale=40)
    residue = admitted(budget, GDPResidue(), mechanism.privacy_map(1, Dominated))
    concentrated = admitted(budget, ViaZCDP(), mechanism.privacy_map(1))
    limit = admitted(budget, ViaGDP(), GDP("1/40"))
    assert concentrated < residue <= limit
    assert residue > Fraction(99, 100) * limit
    assert concentrated < Fraction(93, 100) * limit


def test_under_epsilon_and_delta_the_error_says_first_what_to_write() -> None:
    first = r"^use composition.budget\(epsilon=.., delta=..\), or FiltCon\(.*rule=ViaZCDP\(\)\)"
    with pytest.raises(PrivacyClaimError, match=first):
        Queryable(FiltCon(ApproxDP(1, "1e-6")), [1, 2]).launch(Gaussian(Count(), rho="1/10"))
    with pytest.raises(PrivacyClaimError, match=r"^use composition.budget\(.*such as Laplace"):
        Queryable(FiltCon(PureDP(1)), [1, 2]).launch(Gaussian(Count(), rho="1/10"))


SMALL, LARGE = Fraction(1, 100), Fraction(100)


@pytest.mark.parametrize("measure", [ZCDP, ApproxZCDP, RDP.at(3)])
def test_the_smaller_is_stated(measure: Any) -> None:
    converted = PureDP(1).to(measure)
    assert with_zcdp(converted, lambda: LARGE, measure) == converted
    assert with_zcdp(converted, lambda: SMALL, measure) == ZCDP(SMALL).to(measure) <= converted


def test_curves_are_compared_order_by_order() -> None:
    """Concentrated noise is better at low orders, pure privacy at high ones."""
    orders = RDP.at(2, 64)
    told: Any = with_zcdp(PureDP(1).to(orders), lambda: Fraction(1, 8), orders)
    assert told.epsilons[0] == Fraction(1, 4)
    assert told.to(RDP.at(64)) == PureDP(1).to(RDP.at(64))


@pytest.mark.parametrize("measure", [None, PureDP, ApproxDP, GDP, FDP])
def test_elsewhere_it_is_not_even_computed(measure: Any) -> None:
    """A concentrated bound says nothing there."""

    def never() -> Fraction:
        raise AssertionError

    converted = PureDP(1) if measure is None else PureDP(1).to(measure)
    assert with_zcdp(converted, never, measure) is converted
