"""Tails of sums of noise: never below the exact tails, and how far above."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms.counters.coefficients import LATTICE, running_sum
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import SeededCoins
from queryable.answers.half_widths import half_width
from queryable.answers.noisy import NoisyInt

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
    """By the finite sum."""
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


@pytest.mark.parametrize("span", [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("horizon", [3, None])
def test_tails_of_toeplitz_noise(span: tuple[int, int], horizon: int | None) -> None:
    """Against the continuous law of the same variance, with rounding half a unit a total."""
    law = ToeplitzNoise(Fraction(7), horizon, *span)
    sigma = float(law.variance()) ** 0.5
    draws = np.random.default_rng(1).normal(0, sigma, 10**6)
    for size in (0, int(sigma), int(2 * sigma), int(4 * sigma)):
        bound = float(law.beyond(size))
        rounded = 0.5 * (2 if span[0] else 1) if horizon else 1
        assert bound >= np.mean(np.abs(draws) >= size + 1) - 0.002
        assert bound <= np.mean(np.abs(draws) >= size + 1 - rounded - 1e-3) + 0.02


def test_narrow_toeplitz_noise_has_chernoffs_bound() -> None:
    """Below a lattice of noise no continuous Gaussian is near."""
    narrow = ToeplitzNoise(Fraction(1, 1 << 60), 3, 0, 3)
    assert half_width(narrow, "0.95") == 0
    assert half_width(ToeplitzNoise(Fraction(1, 4), 3, 0, 3), "0.95") == 1


def test_samples_are_of_the_noise() -> None:
    """Sums of draws of each term."""
    coins = SeededCoins(4)
    for law, variance in (
        (GaussianSum([9, 16]), 25.0),
        (LaplaceSum([3, 3]), 36.0),
        (ToeplitzNoise(Fraction(9), 2, 0, 2), 9 * 1.25**2),
        (ToeplitzNoise(Fraction(9), None, 1, 3), 9 * 1.25**2),
    ):
        draws = coins.draw(law, 4000)
        assert abs(np.mean(draws)) < 5 * (variance / 4000) ** 0.5
        assert abs(np.var(draws) / variance - 1) < 0.15


def test_the_variance_of_a_window_is_less_than_of_two_totals() -> None:
    """Noise that two totals share cancels."""
    window = ToeplitzNoise(Fraction(1), 100, 90, 100).variance()
    totals = sum(ToeplitzNoise(Fraction(1), 100, 0, t).variance() for t in (90, 100))
    assert window < Fraction(2, 3) * totals
    assert running_sum(4).near[0] == 1 << 192
    assert LATTICE == 20
