"""Half-widths of weighted sums, against exact enumeration and the formulas of the proof."""

from fractions import Fraction
from itertools import product
from math import erfc, exp, pi, prod, sqrt
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width


def beyond(law: Any, weights: Any, width: float) -> float:
    """The probability that a weighted sum of independent draws is beyond a width."""
    if isinstance(law, DiscreteGaussian):
        values = range(-60, 61)
        curve = np.array([np.exp(-(x**2) / (2 * float(law.variance))) for x in values])
    else:
        values = range(-400, 401)
        curve = np.array([np.exp(-abs(x) / float(law.scale)) for x in values])
    shares = dict(zip(values, curve / curve.sum(), strict=True))
    (a, one), *others = ((weight, shares) for weight in weights)
    sums = {a * x: p for x, p in one.items()}
    for b, each in others:
        found: dict[float, float] = {}
        for (s, p), (x, q) in product(sums.items(), each.items()):
            if p * q > 1e-12:
                found[s + b * x] = found.get(s + b * x, 0.0) + p * q
        sums = found
    return sum(p for s, p in sums.items() if abs(s) > width)


@pytest.mark.parametrize("law", [DiscreteGaussian("1/4"), DiscreteGaussian(9), DiscreteLaplace(3)])
@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 1000)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.25), (0.125, 1.0), (1.0,)])
def test_no_more_is_beyond_than_stated(law: Any, missed: Fraction, weights: Any) -> None:
    width = float(weighted_half_width([law] * len(weights), weights, missed))
    assert beyond(law, weights, width) <= missed
    assert beyond(law, weights, 0.4 * width) > missed  # not far too wide


@settings(max_examples=30)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=10), st.floats(1, 3))
def test_larger_weights_have_larger_widths(weights: list[float], factor: float) -> None:
    for law in (DiscreteGaussian(50), DiscreteLaplace(7)):
        laws = [law] * len(weights)
        width = weighted_half_width(laws, weights, Fraction(1, 20))
        more = weighted_half_width(laws, np.array(weights) * factor, Fraction(1, 20))
        assert width <= more * (1 + 1 / 64)  # Laplace weights are rounded up to 256ths
        assert np.shape(width) == ()


@pytest.mark.parametrize("variances", [(9, 9), (100, 100, 4), (10**6, 10**4)])
@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 10**6)])
def test_a_width_is_one_that_the_theorem_proves(variances: Any, missed: Fraction) -> None:
    """For some s and t; a millionth of what is missed is left for the floats of this test."""
    weights = [3.0, 4.0, 1.0][: len(variances)]
    laws = [DiscreteGaussian(each) for each in variances]
    width, proved = float(weighted_half_width(laws, weights, missed)), []
    for s in np.arange(0.05, 2.05, 0.05):
        powers = [exp(-2 * pi**2 * v * s / (v + s)) for v in variances]
        excess = prod(1 + 2 * q / (1 - q) for q in powers)
        spread = sqrt(sum(a * a * (v + s) for a, v in zip(weights, variances, strict=True)))
        for t in np.arange(0, 8.01, 0.125):
            z = (width - t * sqrt(s) * np.linalg.norm(weights)) / spread
            proved.append(erfc(max(z, 0) / sqrt(2)) * excess / (1 - erfc(t / sqrt(2)) / 2))
    each = [half_width(law, 1 - missed / len(laws)) for law in laws]
    assert min(proved) <= missed * (1 + Fraction(1, 10**6)) or width >= np.dot(weights, each)


@pytest.mark.parametrize(
    ("variance", "most"), [(25, 1.11), (100, 1.07), (400, 1.04), (10**6, 1.002)]
)
def test_widths_are_near_those_of_continuous_noise(variance: int, most: float) -> None:
    laws = [DiscreteGaussian(variance)] * 2
    width = weighted_half_width(laws, [[3, 4], [0, 0]], Fraction(1, 20))
    assert width[0] <= most * 1.96 * 5 * np.sqrt(variance)
    assert width[1] == 0


def test_weights_without_a_bound_have_none() -> None:
    for law in (DiscreteGaussian(4), DiscreteLaplace(4)):
        widths = weighted_half_width([law] * 2, [[np.inf, 1], [1e300, 1]], Fraction(1, 20))
        assert widths[0] == np.inf
        assert widths[1] >= 1e300


@pytest.mark.parametrize("size", [Fraction(1, 10**300), Fraction(1, 10**6), 10**160, 10**300])
@pytest.mark.parametrize("kind", [DiscreteGaussian, DiscreteLaplace])
def test_extreme_noise_has_the_union_bound(kind: Any, size: Any) -> None:
    law = kind(size)
    for many in (1, 3, 66):
        widths = weighted_half_width([law] * many, np.ones((2, many)), Fraction(1, 20))
        assert (widths >= half_width(law, Fraction(19, 20))).all()


def test_tiny_weights_are_not_lost() -> None:
    laws = [DiscreteGaussian(100)] * 2
    assert weighted_half_width(laws, [1e-170, 1e-170], Fraction(1, 20)) > 0
    assert weighted_half_width([DiscreteLaplace(5)] * 2, [1e307, 1], Fraction(1, 20)) >= 1e307


# Enumeration finds no bound that is too small by less than its slack, so bounds are compared with
# the formulas of docs/theory/proofs/weighted_noise.md, at the s and t that the code may choose.

SMOOTHINGS = np.array([2, 3, 4, 5, 6, 8, 10, 15, 20, 40])[:, None] / 20
STEPS = np.arange(1, 65) / 8
MISSED = pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 10**6)])


def share_of(variance: float, many: int, missed: Fraction) -> Any:
    """What may be beyond smoothed Gaussian noise, by s and t."""
    q = np.exp(-2 * np.pi**2 * variance * SMOOTHINGS / (variance + SMOOTHINGS))
    return float(missed) * norm.cdf(STEPS) / (1 + 2 * q / (1 - q)) ** many


@pytest.mark.parametrize("variance", [1, 25, 400])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0, 2.0)])
@MISSED
def test_gaussian_widths_are_those_of_theorem_1(
    variance: int, weights: Any, missed: Fraction
) -> None:
    width = weighted_half_width([DiscreteGaussian(variance)] * len(weights), weights, missed)
    z = norm.isf(share_of(variance, len(weights), missed) / 2)
    bounds = STEPS * np.sqrt(SMOOTHINGS) + z * np.sqrt(variance + SMOOTHINGS)
    assert width == pytest.approx(bounds.min() * np.linalg.norm(weights), rel=1e-9)


def test_gaussian_widths_below_floats_have_chernoffs_bound() -> None:
    width = weighted_half_width([DiscreteGaussian(10**6)], [1], Fraction(1, 10**300))
    assert norm.isf(0.5e-300) <= width / 1000 <= 1.01 * norm.isf(0.5e-300)


def assert_is_a_bound_of_theorem_2(width: float, weights: Any, bounds: Any) -> None:
    """For some t; with `bounds` on the sum of continuous noise by t."""
    found = STEPS * np.linalg.norm(weights) + bounds
    assert ((found <= width) & (width <= found * (1 + 2e-6))).any()


@pytest.mark.parametrize("scale", [3, 30])
@MISSED
def test_laplace_widths_are_those_of_theorem_2(scale: int, missed: Fraction) -> None:
    shares = float(missed) * (1 - np.exp(-(STEPS**2)))
    weights = np.array([257, 77]) / 256  # of 1 and 0.3, rounded up
    a, b = scale * weights

    def beyond(x: float) -> float:
        return float((a * a * np.exp(-x / a) - b * b * np.exp(-x / b)) / (a * a - b * b))

    bounds = [brentq(lambda x, share=share: beyond(x) - share, 0, 10**5) for share in shares]
    width = weighted_half_width([DiscreteLaplace(scale)] * 2, [1, 0.3], missed)
    assert_is_a_bound_of_theorem_2(float(width), weights, bounds)
    # Of many scales the bound is Markov's, which needs no different ones; 1 is rounded up.
    scales = np.full(12, scale * 257 / 256)
    rates = np.arange(1, 64)[:, None] / 64 / scales.max()
    spread = np.log1p(-((rates * scales) ** 2)).sum(axis=1, keepdims=True)
    bounds = ((np.log(2 / shares) - spread) / rates).min(axis=0)
    width = weighted_half_width([DiscreteLaplace(scale)] * 12, np.ones(12), missed)
    assert_is_a_bound_of_theorem_2(float(width), np.full(12, 257 / 256), bounds)


def test_kinds_of_noise_share_what_may_be_missed() -> None:
    """Gaussian and Laplace noise have half of it each."""
    both = [DiscreteGaussian(25), DiscreteGaussian(25), DiscreteLaplace(3)]
    width = weighted_half_width(both, [1, 1, 1], Fraction(1, 20))
    each = [
        weighted_half_width(laws, np.ones(len(laws)), Fraction(1, 40))
        for laws in (both[:2], both[2:])
    ]
    assert width == pytest.approx(sum(each), rel=1e-12)


@attrs.frozen
class Uniform:
    """Integers from -10 to 10."""

    gaussian_variance = laplace_scale = None

    def beyond(self, width: int) -> Fraction:
        """The probability of more than this width."""
        return Fraction(max(20 - 2 * width, 0), 21)


def test_other_noise_has_the_union_bound() -> None:
    """Of two draws each is beyond 9 with probability 2/21, and beyond 8 with 4/21."""
    laws: Any = [Uniform()] * 2
    assert weighted_half_width(laws, [1, 2], Fraction(1, 5)) == pytest.approx(27)
