"""Goodness of fit of noise drawn in bulk, and of noise with wrong margins.

Values are put into cells. The cells' probabilities are computed in floating point from closed forms
or sums. On a correct sampler each fit fails with probability 10^-4: the 16 fits of the quick tests
together below 0.17%, the 15 slow ones below 0.15%. Seeds are fixed, so a test always gives the same
result.
"""

from math import erfc, exp, expm1, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mechanisms.sampling.blocks import Tickets
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import SYSTEM, SeededCoins

FALSE_ALARM = 1e-4
LEAST = 20  # expected draws in a cell
LAWS: list[Any] = [
    DiscreteLaplace("1/3"),
    DiscreteLaplace(1),
    DiscreteLaplace("73/2"),
    DiscreteLaplace(150),
    DiscreteLaplace(1000),
    DiscreteLaplace(10**6),
    DiscreteGaussian("1/4"),
    DiscreteGaussian(1),
    DiscreteGaussian(127**2),
    DiscreteGaussian("45001/2"),
    DiscreteGaussian(10**6),
    DiscreteGaussian(10**12),
]


def scale_of(law: Any) -> float:
    if isinstance(law, DiscreteLaplace):
        return float(law.scale)
    return sqrt(float(law.variance))


def at_most(law: Any, x: int) -> float:
    """The probability of a value <= x < 0.

    For a wide Gaussian the sum is replaced by an integral from x + 1/2 (the midpoint rule). Its
    relative error is 1/(24 s^2), which 10^7 draws cannot detect.
    """
    scale = scale_of(law)
    if isinstance(law, DiscreteLaplace):
        return exp((x + 1) / scale) * -expm1(-1 / scale) / -expm1(-2 / scale) * exp(-1 / scale)
    if scale > 1000:
        return erfc(-(x + 0.5) / scale / sqrt(2)) / 2
    weights = np.exp(-(np.arange(int(40 * scale) + 2.0) ** 2) / (2 * scale**2))
    return float(weights[-x:].sum() / (2 * weights.sum() - 1))


def cells_of(law: Any, draws: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bounds and probabilities of cells: single integers, or steps of a 60th of the scale."""
    scale = scale_of(law)
    step = max(1, int(scale) // 60)
    lower: list[int] = []
    while not lower or at_most(law, lower[-1]) * draws > LEAST:
        lower.append(-1 - len(lower) * step)
    lower = [x for x in reversed(lower) if at_most(law, x) * draws > LEAST]
    below = [at_most(law, x) for x in lower]
    bounds = [*lower, *(-x - 1 for x in reversed(lower))]  # cells are (b, b']: the middle one is 0
    chances = np.diff([0, *below, *(1 - each for each in reversed(below)), 1])
    return np.array(bounds), chances


def p_value(law: Any, drawn: Any) -> float:
    bounds, chances = cells_of(law, drawn.size)
    observed = np.bincount(np.searchsorted(bounds, drawn), minlength=len(chances))
    return float(stats.chisquare(observed, chances * drawn.size).pvalue)


def low_bits_p_value(law: Any, drawn: Any) -> float:
    """Within a block only the slope is not uniform, so a wide law has fair low bits."""
    assert scale_of(law) > 1000
    return float(stats.chisquare(np.bincount(drawn & 15, minlength=16)).pvalue)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bulk_noise_fits(law: Any) -> None:
    """With 300,000 draws."""
    assert p_value(law, SeededCoins(1).draw(law, 300_000)) > FALSE_ALARM


@pytest.mark.parametrize("law", [DiscreteLaplace(10**6), DiscreteGaussian(10**12)], ids=str)
def test_low_bits_are_fair(law: Any) -> None:
    """With 300,000 draws."""
    assert low_bits_p_value(law, SeededCoins(2).draw(law, 300_000)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bulk_noise_fits_at_length(law: Any) -> None:
    """With 10^7 draws."""
    assert p_value(law, SeededCoins(3).draw(law, 10_000_000)) > FALSE_ALARM


@pytest.mark.parametrize(
    ("law", "draws"),
    [
        (DiscreteGaussian(64**2), 100_000),
        pytest.param(DiscreteGaussian(64**2), 1_000_000, marks=pytest.mark.slow),
        pytest.param(DiscreteLaplace(64), 400_000, marks=pytest.mark.slow),
        pytest.param(DiscreteLaplace(64), 1_000_000, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_wrong_margin_is_rejected_and_a_tight_one_is_not(law: Any, draws: int) -> None:
    """Blocks are as wide as the scale, so that chord and curve differ visibly.

    The statistic of the wrong margin is a noncentral chi-square. With 10^5 draws of the Gaussian,
    whose noncentrality is 397 at 454 degrees of freedom, it passes once in 10^9 seeds. That of the
    Laplace is 133 at 1002 with as many draws, and would pass four times in five; with 4 * 10^5 it
    is 532 at 1178, and passes twice in 10^8.
    """
    right, wrong = Tickets(law, bits=6), Tickets(law, bits=6)
    right.margin = right.margin - 3  # the proven bound, without slack for rounding
    wrong.margin = wrong.margin // 8
    assert p_value(law, right.draw(SeededCoins(4), draws)) > FALSE_ALARM
    assert p_value(law, wrong.draw(SeededCoins(4), draws)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("law", "other"),
    [
        (DiscreteLaplace(1000), DiscreteLaplace(1030)),
        (DiscreteGaussian(10**6), DiscreteGaussian(1_060_000)),
        (DiscreteLaplace(1), DiscreteLaplace("103/100")),
    ],
    ids=str,
)
def test_near_misses_are_rejected(law: Any, other: Any) -> None:
    """The fit detects a difference of three percent in scale."""
    assert p_value(law, SeededCoins(5).draw(other, 300_000)) < FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    """Signs and sizes of adjacent draws: the correlation of 10^6 pairs is within 5 sigma."""
    drawn = SeededCoins(6).draw(DiscreteGaussian(10**6), 1_000_001).astype(float)
    for values in (drawn, np.abs(drawn)):
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5e-3


@pytest.mark.slow
def test_the_time_of_a_pooled_draw_does_not_depend_on_its_value() -> None:
    """The times of the smallest and the largest third of the draws differ by KS <= 0.05.

    Each third has 20,000 draws. By chance KS exceeds 0.02 once in a thousand runs.
    """
    from time import perf_counter_ns

    law = DiscreteLaplace(1000)
    for _ in range(2000):
        SYSTEM.draw(law)
    taken = []
    for _ in range(60_000):
        began = perf_counter_ns()
        value = SYSTEM.draw(law)
        taken.append((perf_counter_ns() - began, abs(value)))
    times, sizes = np.array(taken).T
    low, high = np.quantile(sizes, [1 / 3, 2 / 3])
    assert stats.ks_2samp(times[sizes <= low], times[sizes >= high]).statistic <= 0.05
