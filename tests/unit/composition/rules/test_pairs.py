"""The least epsilon of responses, Gaussians and curves together, against exact laws of the loss."""

from collections import defaultdict
from fractions import Fraction
from math import comb
from typing import Any

import pytest

from composition import ConComp
from composition.rules import declared, pairs
from composition.rules.optimal import optimal_epsilon
from composition.rules.pairs import least_epsilon
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse
from queryable import FDP, GDP, ZCDP, ApproxDP, Loss, PureDP, Statistic
from tests.reference import gaussian_profile, likelier, mp, over, real
from tests.strategies import Toy

F = Fraction
MILLIONTH = F(1, 10**6)
COUNT = Statistic(len, l1=1, l2=1)


def responses_beside(mu: Any, epsilon: Fraction, count: int, t: Any) -> Any:
    """The hockey stick at e^t of so many equal responses and a Gaussian, exactly."""
    p, found = likelier(epsilon), mp.mpf(0)
    for true in range(count + 1):
        chance = comb(count, true) * p**true * (1 - p) ** (count - true)
        found += chance * gaussian_profile(mu, t - (2 * true - count) * real(epsilon))
    return found


@pytest.mark.parametrize(
    ("mus", "epsilon", "count"),
    [(("1/3",), "1/10", 30), (("0.3", "0.4"), "1", 3), (("1/100",), "2", 2), (("3",), "1/50", 9)],
)
def test_responses_beside_gaussians(mus: tuple[str, ...], epsilon: str, count: int) -> None:
    """The delta at the least epsilon is not above the stated one, and a little lower it is."""
    losses: list[Loss] = [*map(GDP, mus), *[PureDP(epsilon)] * count]
    found = least_epsilon(losses, MILLIONTH)
    mu = mp.sqrt(sum(real(F(each)) ** 2 for each in mus))
    assert responses_beside(mu, F(epsilon), count, real(found)) <= real(MILLIONTH)
    lower = real(found) * mp.mpf("0.9995")
    assert responses_beside(mu, F(epsilon), count, lower) > real(MILLIONTH)


@pytest.mark.parametrize(
    "losses",
    [
        [PureDP("0.1")] * 50,
        [ApproxDP("0.1", "1e-9")] * 20 + [PureDP("0.03")] * 100,
        [PureDP(3), PureDP("0.01")] * 2,
        [PureDP("0.001")] * 3000,
    ],
)
def test_responses_alone_are_composed_exactly(losses: list[Loss]) -> None:
    """Losses that are multiples of the step are not split."""
    exact = optimal_epsilon(losses, MILLIONTH)
    assert abs(least_epsilon(losses, MILLIONTH) - exact) <= exact / 10**9


def test_responses_of_no_common_unit_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a coarse grid, where each loss is split between two multiples."""
    losses = [PureDP(F(1, prime)) for prime in (7, 11, 13, 17, 19, 23)]
    exact = optimal_epsilon(losses, F(1, 1000))
    for grid, slack in ((pairs.GRID, "1.0001"), (100, "1.05")):
        monkeypatch.setattr(pairs, "GRID", grid)
        monkeypatch.setattr(pairs, "_PER_ROOT", 1)
        pairs._least_epsilon.cache_clear()
        assert exact <= least_epsilon(losses, F(1, 1000)) <= exact * F(slack)
    pairs._least_epsilon.cache_clear()


def law_of(kind: Any, shift: int) -> dict[Any, Any]:
    """The law of the loss of one number with discrete noise, by its exact value."""
    if isinstance(kind, Gaussian):
        v = real(kind.variance)
        half = int(13 * mp.sqrt(v)) + 5
        weights = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * v)) for x in range(-half, half + 1)}
        losses = {x: F(shift**2 - 2 * shift * x) / (2 * kind.variance) for x in weights}
    else:
        b = real(kind.scale)
        weights = {x: mp.exp(-abs(x) / b) for x in range(-int(90 * b), int(90 * b) + 1)}
        losses = {x: F(abs(x - shift) - abs(x)) / kind.scale for x in weights}
    total, found = sum(weights.values()), defaultdict[Any, Any](mp.mpf)
    for x, weight in weights.items():
        found[losses[x]] += weight / total
    return found


def convolved(laws: list[dict[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {F(0): mp.mpf(1)}
    for law in laws:
        grown = defaultdict[Any, Any](mp.mpf)
        for loss, mass in found.items():
            for more, chance in law.items():
                grown[loss + more] += mass * chance
        found = {loss: mass for loss, mass in grown.items() if mass > mp.mpf(10) ** -25}
    return found


@pytest.mark.parametrize(
    ("kinds", "d_in"),
    [
        ([Gaussian(COUNT, variance=1)] * 3, 1),
        ([Gaussian(COUNT, variance=4), Laplace(COUNT, scale=2)] * 2, 1),
        ([Laplace(COUNT, scale=5)] * 4, 3),
        ([Gaussian(COUNT, variance=9), Laplace(COUNT, scale=6)], 2),
    ],
)
def test_discrete_noise_is_composed_by_its_own_curves(kinds: list[Any], d_in: int) -> None:
    """The exact delta at the claim is not above the stated one, and a little lower it is."""
    claim: Any = ConComp(kinds, delta=MILLIONTH).privacy_map(d_in)
    law = convolved([law_of(kind, d_in) for kind in kinds])

    def delta(t: Any) -> Any:
        return sum(mass * over(t - real(loss)) for loss, mass in law.items())

    assert delta(real(claim.epsilon)) <= real(MILLIONTH)
    assert delta(real(claim.epsilon) * mp.mpf("0.998")) > real(MILLIONTH)


def test_which_losses_are_taken_as_what() -> None:
    """Wide Gaussian noise is a Gaussian, and adds up in squares; a response stays one."""

    def taken(*mechanisms: Any) -> list[type]:
        return [type(each) for each in declared._pairs(declared.maps_at(mechanisms, 1))]

    wide, narrow = Gaussian(COUNT, scale=40), Gaussian(COUNT, scale=2)
    assert taken(wide, narrow, Laplace(COUNT, scale=3)) == [GDP, FDP, PureDP]
    assert taken(Laplace(Statistic(len, l1=9, l2=9), scale=3)) == [FDP]
    assert taken(Laplace(COUNT, scale=3), RandomizedResponse(bool, epsilon=1)) == []
    vector = Statistic(len, l1=9, l2=9, shape=9)
    assert taken(Gaussian(vector, scale=2), Laplace(vector, scale=2)) == [FDP, PureDP]
    with pytest.raises(ValueError, match="no theorem"):
        taken(wide, Toy(ZCDP("1/10")))


def test_the_theorem_is_that_of_trade_off_curves() -> None:
    """The one that the table has for them, with fixed parameters."""
    both = ConComp([Gaussian(Count(), scale=5), Laplace(Count(), scale=3)], delta="1e-6")
    assert both.guarantee().theorem == "Vadhan, Zhang 2023."


def test_losses_that_the_grid_does_not_take() -> None:
    """Then the other bounds are stated."""
    wide = Gaussian(COUNT, scale=40)
    for losses, delta in (
        ([ZCDP(1)], MILLIONTH),
        ([PureDP(1000), GDP(1)], MILLIONTH),
        ([PureDP(10**399), GDP(10**399)], MILLIONTH),
        ([PureDP("1e-20"), GDP("1e-20")], MILLIONTH),
        ([ApproxDP(1, "1e-6"), GDP(1)], MILLIONTH),
        ([PureDP(1), GDP(1)], F(1, 10**300)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  each has a text of its own
            least_epsilon(losses, delta)
    many = [wide, Toy(ZCDP("1/1000")), Laplace(COUNT, epsilon=1000)]
    assert ConComp(many, delta="1e-6").privacy_map(1) <= ApproxDP(1001, "1e-6")
    assert least_epsilon([GDP(1)], MILLIONTH) == GDP(1).to(ApproxDP, MILLIONTH).parts[0]  # type: ignore[attr-defined]
    assert pairs._paired([GDP(F(1, 3)), GDP(F(1, 7))])[0][0].parts >= (F(58, 441),)  # type: ignore[attr-defined]
    both: Any = FDP.of_approx(1).compose(FDP.of_approx(1)).to(ApproxDP, MILLIONTH)
    together = least_epsilon([FDP.of_approx(1), FDP.of_approx(1)], MILLIONTH)
    assert abs(together / both.epsilon - 1) < F(1, 1000)
