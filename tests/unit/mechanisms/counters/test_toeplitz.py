"""The Toeplitz counter, and sums of the noise of counters."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, log
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, ToeplitzCounter, Total, Window
from mechanisms.counters import coefficients, roots, toeplitz_noise
from mechanisms.counters.coefficients import running_sum
from mechanisms.counters.roots import ALL_SQUARES, LATTICE, root, sum_of_squares
from mechanisms.counters.steps import Steps
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import ZCDP, SeededCoins, Statistic, Update
from queryable.answers.half_widths import half_width
from queryable.answers.noisy import NoisyInt
from queryable.audit import Pair, ViewLaw, view_law
from queryable.audit.views.enumeration import CUT
from queryable.streams.levels import Growth
from tests.strategies import NotedCoins


def of_root(count: int) -> list[Fraction]:
    """C's coefficients on the lattice, from binomials: c_k = binom(2k, k) / 4^k, to the nearest."""
    exact = (Fraction(comb(2 * k, k), 4**k) for k in range(count))
    return [
        Fraction((each * 2**LATTICE + Fraction(1, 2)).__floor__(), 2**LATTICE) for each in exact
    ]


def coefficients_of(count: int, horizon: int | None) -> list[Fraction]:
    """C's coefficients on the lattice; without a horizon, those of `roots`."""
    if horizon is None:
        return [Fraction(each, 2**LATTICE) for each in root(count, endless=True)]
    return of_root(count)


def inverse_of_sums(count: int, horizon: int | None = 1) -> list[Fraction]:
    """B's coefficients, exactly, from B C = A."""
    c, b = coefficients_of(count, horizon), list[Fraction]()
    for place in range(count):
        b.append(1 - sum((c[place - k] * b[k] for k in range(place)), Fraction(0)))
    return b


@pytest.mark.parametrize(("horizon", "squares"), [(64, 2.38885), (1024, 3.27255)])
def test_the_sums_of_squares_are_the_papers(horizon: int, squares: float) -> None:
    """2.38885 and 3.27255; variance times 2 rho at 1,024 batches is 10.71."""
    assert float(sum_of_squares(horizon)) == pytest.approx(squares, abs=5e-6)
    mechanism = ToeplitzCounter(Count(), rho="1/2", horizon=horizon)
    law = toeplitz_noise.ToeplitzNoise(mechanism.unit, horizon, 0, horizon)
    assert float(law.variance()) == pytest.approx(squares**2, rel=1e-5)
    if horizon == 1024:
        assert round(float(law.variance()), 2) == 10.71


@pytest.mark.parametrize("horizon", [1, 2, 3, 64, 300])
def test_the_claim_is_the_exact_sum_of_squares(horizon: int) -> None:
    """u^2 (c_0^2 + ... + c_{n-1}^2) / (2 sigma^2), with the rounded c_k, for every horizon."""
    wide = Statistic(len, l1=6, l2=5)
    squares = sum((each**2 for each in of_root(horizon)), Fraction(0))
    mechanism = ToeplitzCounter(wide, scale=3, horizon=horizon)
    assert mechanism.privacy_map(2) == ZCDP(10**2 * squares / (2 * 9))
    assert ToeplitzCounter(wide, rho=25 * squares / 18, horizon=horizon).unit == mechanism.unit


def test_the_first_64_coefficients_are_exact() -> None:
    """Each approximate b_k is within the stated error of B = A C^-1; the first are exact."""
    exact, near = inverse_of_sums(40), running_sum(40)
    for true, found in zip(exact, near.near, strict=False):
        assert abs(true * 2**192 - found) <= near.error
    squares = sum((each**2 for each in exact), Fraction(0))
    assert squares <= near.most(40) <= squares * (1 + Fraction(1, 10**15))
    gaps = [b - (exact[k - 7] if k >= 7 else 0) for k, b in enumerate(exact)]
    squares = sum((each**2 for each in gaps), Fraction(0))
    assert squares <= near.most(40, 7) <= squares * (1 + Fraction(1, 10**15))
    exact, near = inverse_of_sums(64), running_sum(64)
    assert near.error == 0
    assert [true * 2**192 for true in exact] == list(near.near)
    assert all((true * 4**k).denominator == 1 for k, true in enumerate(exact))
    assert running_sum(65).error == running_sum(128).error == 92
    assert running_sum(1024).error == 20_233


@pytest.mark.parametrize("horizon", [12, None])
@pytest.mark.parametrize("scale", ["1/100", 1, 5000])
def test_answers_are_functions_of_what_is_released(scale: Any, horizon: int | None) -> None:
    """round(B z) with z = C v + N, computed here with fractions; so they are postprocessing."""
    sizes = [5, 0, 3, 1, 0, 0, 2, 8, 1, 4, 0, 7]
    mechanism = ToeplitzCounter(Count(), scale=scale, horizon=horizon)
    coins = NotedCoins(5)
    state, _ = mechanism.init(None, coins)
    c, b = coefficients_of(12, horizon), inverse_of_sums(12, horizon)
    released: list[Fraction] = []
    for time, size in enumerate(sizes):
        state, _ = mechanism.step(state, Update([0] * size), coins)
        mixed = sum((c[time - s] * sizes[s] for s in range(time + 1)), Fraction(0))
        assert (mixed * 2**LATTICE).denominator == 1
        released.append(mixed + Fraction(coins.drawn[time], 2**LATTICE))
        whole = sum((b[time - s] * released[s] for s in range(time + 1)), Fraction(0))
        total = (whole + Fraction(1, 2)).__floor__()
        assert mechanism.step(state, Total(), SeededCoins(0))[1] == total
    assert coins.laws == [DiscreteGaussian(Fraction(scale) ** 2 * 4**LATTICE)] * len(sizes)


def test_a_question_is_decided_exactly_where_approximations_are_not_enough() -> None:
    """The exact rational decides, ties included; a sequence of steps never changes."""
    half = 1 << (LATTICE - 1)
    for noise, horizon in product(
        ([half], [-half], [half - 1], [0, half], [3 * half, -half, 1]), (1, None)
    ):
        endless = horizon is None
        b = inverse_of_sums(len(noise), horizon)
        whole = sum((x * y for x, y in zip(b, reversed(noise), strict=True)), Fraction(0))
        rounded = (whole / 2**LATTICE + Fraction(1, 2)).__floor__()
        assert running_sum(len(noise), endless).of(noise) == rounded
        assert coefficients._exactly(noise, endless) == rounded
    for endless in (False, True):
        vague = coefficients.CoefficientSums(running_sum(8, endless).near, 1 << 190, endless)
        for noise in ([half, 5, 7], [half << 10, 5, 7]):
            assert vague.of(noise) == running_sum(3, endless).of(noise)
    # A sequence goes on in place once, and is copied where another one goes on.
    empty = Steps()
    one = empty.after("a")
    two, other = one.after("b"), one.after("c")
    assert [list(each) for each in (empty, one, two, other)] == [[], ["a"], ["a", "b"], ["a", "c"]]
    assert (len(two), two[1], two.part(0, 9), one.part(0, 2)) == (2, "b", ["a", "b"], ["a"])
    assert one == Steps(["a"]) != two
    with pytest.raises(IndexError):
        one[1]


def test_a_year_by_the_hour_in_windows() -> None:
    """Windows are differences of totals, so they add up."""
    mechanism = ToeplitzCounter(Count(), rho="1/10", horizon=8760)
    state, coins = mechanism.init(None, SeededCoins(1))[0], SeededCoins(1)
    for _ in range(500):
        state, _ = mechanism.step(state, Update([0]), coins)
    told = [mechanism.step(state, each, coins)[1] for each in (Total(), Total(at=476), Window(24))]
    assert told[0] - told[1] == told[2]
    # A very wide noise is Python integers; sums are exact.
    wide = Statistic(lambda batch: np.array([len(batch), 2**62]), l1=1, l2=1, shape=2)
    mechanism, coins = ToeplitzCounter(wide, scale=2**60, horizon=3), SeededCoins(1)
    state, _ = mechanism.init(None, coins)
    for _ in range(3):
        state, _ = mechanism.step(state, Update([0]), coins)
    assert state.sums[2].tolist() == [3, 3 * 2**62]
    totals = [mechanism.step(state, Total(at=t), coins)[1] for t in (2, 3)]
    window = mechanism.step(state, Window(last=1), coins)[1]
    assert (totals[1].astype(object) - totals[0].astype(object) == window.astype(object)).all()


# The exact law of all answers, on neighbouring streams. The lattice is coarse, so that few values
# of noise have nearly all of the mass.


@pytest.fixture(name="coarse")
def _coarse(monkeypatch: pytest.MonkeyPatch) -> Any:
    caches = (roots.rounded_root, roots._endless, sum_of_squares, coefficients._running_sum)
    for module in (roots, coefficients, toeplitz_noise):
        monkeypatch.setattr(module, "LATTICE", 2)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def divergence(one: ViewLaw, other: ViewLaw, alpha: int) -> float:
    """The Renyi divergence of views that have all but a tiny mass."""
    total = 0.0
    for view, chance in one.items():
        if view != CUT and view in other:
            p, q = (float(getattr(each, "high", each)) for each in (chance, other[view]))
            total += p**alpha * q ** (1 - alpha) if p and q else 0
    return log(total) / (alpha - 1)


def laws(mechanism: Any, first: Any, later: Any) -> tuple[ViewLaw, ViewLaw]:
    """The laws of both totals, with a record that arrives in the first batch on one side."""
    script = (first, Total(), later, Total())

    def adversary(view: Any) -> Any:
        return script[len(view)] if len(view) < len(script) else None

    one, other = (
        view_law(mechanism, None, adversary, tail=Fraction(1, 10**8), side=side) for side in (0, 1)
    )
    return one, other


ARRIVES = Pair(Update([0]), Update([]))


@pytest.mark.usefixtures("coarse")
def test_the_claim_holds_for_the_law_of_all_answers() -> None:
    """Two batches and two totals: at most the claim, within a tenth of it.

    A claim without the last coefficient would be 1/2, and is refuted.
    """
    mechanism = ToeplitzCounter(Count(), scale=1, horizon=2)
    claimed: Any = mechanism.privacy_map(1)
    assert claimed.rho == Fraction(5, 8)  # c_0 = 1 and c_1 = 1/2
    found = laws(mechanism, ARRIVES, Update([]))
    for alpha in (2, 4):
        assert 0.9 * alpha * claimed.rho < divergence(*found, alpha) <= alpha * claimed.rho
    assert divergence(*found, 2) > 2 * 1.1 * Fraction(1, 2)


@pytest.mark.usefixtures("coarse")
def test_the_claim_holds_without_a_horizon() -> None:
    """Two batches lose what their coefficients 1 and 1/4 say; the claim allows for all later ones.

    A claim about one batch would be 1/2, and is refuted.
    """
    mechanism = ToeplitzCounter(Count(), scale=1)
    claimed: Any = mechanism.privacy_map(1)
    assert claimed.rho == ALL_SQUARES / 2
    found = laws(mechanism, ARRIVES, Update([]))
    for alpha in (2, 4):
        rho = divergence(*found, alpha) / alpha
        assert 1.01 * 0.5 < rho <= 17 / 32 < claimed.rho


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_a_late_record_loses_no_more() -> None:
    """In the last batch it moves one step."""
    mechanism = ToeplitzCounter(Count(), scale=1, horizon=2)
    assert divergence(*laws(mechanism, Update([]), ARRIVES), 2) <= 2 * Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_noise_drawn_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh noise at each question loses more than is claimed."""
    mechanism = ToeplitzCounter(Count(), scale=1, horizon=2)
    real = ToeplitzCounter.step

    def step(self: Any, state: Any, query: Any, coins: Any) -> Any:
        if isinstance(query, Total):
            law = toeplitz_noise.step_law(self.unit, self.horizon)
            noise = Steps([coins.draw(law)] * state.time)
            fresh = type(state)(state.time, state.seen, False, state.sums, noise)
            return state, real(self, fresh, query, coins)[1]
        return real(self, state, query, coins)

    monkeypatch.setattr(ToeplitzCounter, "step", step)
    monkeypatch.setattr(ToeplitzCounter, "growth", Growth())
    script = (ARRIVES, Total(), Total())
    found = [
        view_law(
            mechanism,
            None,
            lambda view: script[len(view)] if len(view) < 3 else None,
            tail=Fraction(1, 10**8),
            side=side,
        )
        for side in (0, 1)
    ]
    assert divergence(found[0], found[1], 2) > 2 * float(mechanism.loss(1).rho)


Floats = np.ndarray[Any, Any]


def gaussian(variance: float) -> Floats:
    x = np.arange(-int(30 * variance**0.5) - 5, int(30 * variance**0.5) + 6)
    weights = np.exp(-x * x / (2 * variance))
    return np.asarray(weights / weights.sum())


def laplace(scale: float) -> Floats:
    x = np.arange(-int(50 * scale) - 5, int(50 * scale) + 6)
    weights = np.exp(-abs(x) / scale)
    return np.asarray(weights / weights.sum())


def tails(law: Callable[[float], Floats], sizes: list[float]) -> Floats:
    """P(|X| > k) for k = 0, 1, ..., by convolution."""
    whole = np.array([1.0])
    for size in sizes:
        whole = np.convolve(whole, law(size))
    middle = len(whole) // 2
    return 2 * (np.cumsum(whole[::-1])[::-1])[middle + 1 :]


@pytest.mark.parametrize(
    "sizes", [[3], [3, 3], [0.5] * 3, [10] * 5, [100, 20, 1], [4] * 12, [0.125, 0.25, 9]], ids=str
)
def test_tails_of_gaussian_sums(sizes: list[float]) -> None:
    """At or above the exact tail; above variance 1, by less than one part in a thousand."""
    law, exact = GaussianSum(sizes), tails(gaussian, sizes)
    for size in (0, 1, 2, 5, 9, 20):
        if exact[size] > 1e-12:
            bound = float(law.beyond(size))
            assert bound >= exact[size] * (1 - 1e-9)
            assert bound <= exact[size] * 1.001 or min(sizes) < 1 or bound == 1


@pytest.mark.parametrize("sizes", [[3], [3, 3], [0.5] * 3, [10] * 5, [40] * 14], ids=str)
def test_tails_of_equal_laplace_sums_are_exact(sizes: list[float]) -> None:
    law, exact = LaplaceSum(sizes), tails(laplace, sizes)
    for size in (0, 1, 2, 5, 9, 20, 60):
        if exact[size] > 1e-12:
            assert float(law.beyond(size)) == pytest.approx(exact[size], rel=1e-8)


@pytest.mark.parametrize("sizes", [[2, 3, 5], [1, 20], [1, 2, 3, 4, 5, 5]], ids=str)
def test_tails_of_other_laplace_sums_are_bounded(sizes: list[float]) -> None:
    """By Chernoff: above the exact tail; an interval at 0.95 is less than twice as wide."""
    law, exact = LaplaceSum(sizes), tails(laplace, sizes)
    for size in range(0, 120, 7):
        assert float(law.beyond(size)) >= exact[size] * (1 - 1e-9)
    true = int(np.argmax(exact <= 0.05))
    assert true <= half_width(law, "0.95") < 2 * true + 2


def test_one_term_is_its_own_law() -> None:
    """The same intervals as of one launch; of no term, a point."""
    for confidence in ("0.5", "0.95", "0.999999"):
        assert half_width(GaussianSum([9]), confidence) == half_width(
            DiscreteGaussian(9), confidence
        )
        assert half_width(LaplaceSum([9]), confidence) == half_width(DiscreteLaplace(9), confidence)
    for empty in (GaussianSum([]), LaplaceSum([]), ToeplitzNoise(1, 5, 3, 3)):
        assert NoisyInt(4, empty).interval("0.999") == (4, 4)
    # Below a lattice of noise no continuous Gaussian is near.
    narrow = ToeplitzNoise(Fraction(1, 1 << 60), 3, 0, 3)
    assert half_width(narrow, "0.95") == 0
    assert half_width(ToeplitzNoise(Fraction(1, 4), 3, 0, 3), "0.95") == 1
    # Each total is rounded, by at most 1/2.
    assert ToeplitzNoise(narrow.unit, 3, 1, 3).beyond(0) == 1
    assert max(ToeplitzNoise(narrow.unit, 3, 1, 3).beyond(1), narrow.beyond(0)) < 10**-9
    # Noise that two totals share cancels.
    window = ToeplitzNoise(Fraction(1), 100, 90, 100).variance()
    totals = sum(ToeplitzNoise(Fraction(1), 100, 0, t).variance() for t in (90, 100))
    assert window < Fraction(2, 3) * totals
    assert running_sum(4).near[0] == 1 << 192
    assert LATTICE == 20


@pytest.mark.parametrize("span", [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("horizon", [3, None])
def test_tails_of_toeplitz_noise(span: tuple[int, int], horizon: int | None) -> None:
    """Against the continuous law of the same variance, with rounding half a unit a total."""
    law = ToeplitzNoise(Fraction(7), horizon, *span)
    sigma = float(law.variance()) ** 0.5
    draws = np.random.default_rng(1).normal(0, sigma, 10**6)
    for size in (0, int(sigma), int(2 * sigma), int(4 * sigma)):
        bound = float(law.beyond(size))
        rounded = 0.5 * (2 if span[0] else 1)
        assert bound >= np.mean(np.abs(draws) >= size + 1) - 0.002
        assert bound <= np.mean(np.abs(draws) >= size + 1 - rounded - 1e-3) + 0.02


def test_samples_are_of_the_noise() -> None:
    """Sums of draws of each term."""
    coins = SeededCoins(4)
    for law, variance in (
        (GaussianSum([9, 16]), 25.0),
        (LaplaceSum([3, 3]), 36.0),
        (ToeplitzNoise(Fraction(9), 2, 0, 2), 9 * 1.25**2),
        (ToeplitzNoise(Fraction(9), None, 0, 2), 9 * 1.97505 * (1 + 0.625**2)),
    ):
        draws = coins.draw(law, 4000)
        assert abs(np.mean(draws)) < 5 * (variance / 4000) ** 0.5
        assert abs(np.var(draws) / variance - 1) < 0.15
