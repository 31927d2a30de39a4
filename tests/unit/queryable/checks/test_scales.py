from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import pytest

from mechanisms import Count, Gaussian, Histogram, Laplace, RandomizedResponse, SparseVector
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import accuracy
from queryable.answers.half_widths import half_width
from queryable.checks.scales import scale_for
from tests.reference import mp, real

LAWS = [
    DiscreteLaplace("1/3"),
    DiscreteLaplace(1),
    DiscreteLaplace(50),
    DiscreteGaussian("1/10"),
    DiscreteGaussian(2),
    DiscreteGaussian(400),
    DiscreteGaussian(64**2),
    DiscreteGaussian(100**2),
]


def true_tail(law: Any, k: int) -> Any:
    """P(|X| > k) summed term by term at sixty digits."""
    beyond = sums(law)
    return 2 * beyond[k + 1] / (2 * beyond[0] - 1)


@cache
def sums(law: Any) -> list[Any]:
    """What the terms from each magnitude on sum to, smallest first."""
    if isinstance(law, DiscreteLaplace):
        terms = [mp.exp(-x / real(law.scale)) for x in range(int(80 * law.scale) + 80)]
    else:
        terms = [mp.exp(-x * x / (2 * real(law.variance))) for x in range(20 * law.spread + 40)]
    return list(accumulate(reversed(terms), initial=mp.mpf(0)))[::-1]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_are_bounded_from_above_and_tightly(law: Any) -> None:
    spread = max(1, law.spread)
    for k in sorted({0, 1, spread // 2, spread, 2 * spread, 6 * spread}):
        bound, true = law.beyond(k), true_tail(law, k)
        assert real(bound) >= true * (1 - mp.mpf("1e-25"))  # the sum above stops at e^-80
        assert real(bound) <= true * mp.mpf("1.0005")


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999"])
def test_a_half_width_covers_and_one_less_does_not(law: Any, confidence: str) -> None:
    width = half_width(law, confidence)
    missed = 1 - mp.mpf(confidence)
    assert true_tail(law, width) <= missed
    if width:
        assert true_tail(law, width - 1) > missed


def test_a_width_that_is_one_too_small_would_be_noticed() -> None:
    """The test above rejects the continuous law's quantile, which is too small here."""
    continuous = int(-2 * mp.log(mp.mpf("0.05")))  # of Laplace noise of scale 2: 5
    assert true_tail(DiscreteLaplace(2), continuous - 1) > mp.mpf("0.05")


def test_known_values() -> None:
    assert accuracy(Laplace(Count(), epsilon=1)) == 3
    assert accuracy(Gaussian(Count(), scale=10)) == 20
    assert accuracy(Gaussian(Count(), scale=10**6)) in (1959964, 1959965)


def test_all_coordinates_at_once_need_more() -> None:
    counts = Laplace(Histogram("a", range(100)), scale=10)
    one, all_of_them = accuracy(counts), accuracy(counts, simultaneous=True)
    assert one < all_of_them
    assert (1 - true_tail(DiscreteLaplace(10), all_of_them)) ** 100 >= mp.mpf("0.95")
    assert (1 - true_tail(DiscreteLaplace(10), all_of_them - 1)) ** 100 < mp.mpf("0.95")


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("within", [0, 1, 10, 12345])
def test_the_scale_is_the_largest_that_is_accurate_enough(kind: Any, within: int) -> None:
    scale = scale_for(kind, Count(), within, 0.9)
    assert accuracy(kind(Count(), scale=scale), 0.9) <= within
    coarser = kind(Count(), scale=scale * Fraction(1002, 1000))
    assert accuracy(coarser, 0.9) > within


def test_mechanisms_without_additive_noise_raise() -> None:
    for mechanism in (RandomizedResponse(bool, odds=3), SparseVector(1, 1), "Laplace"):
        with pytest.raises(TypeError, match="noise of a known law"):
            accuracy(mechanism)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="within"):
        scale_for(Laplace, Count(), -1)
