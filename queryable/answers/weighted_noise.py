"""How far weighted sums of independent integer noise are from 0.

Responsible for the half-width of an interval for a combination of noisy integers with real weights,
such as A - theta B of a ratio. The bounds are a little above those of continuous noise of the same
law: docs/theory/proofs/weighted_noise.md. Reads no data.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, inf, log, nextafter, sqrt
from typing import Any

import numpy as np
from flint import arb

from queryable.answers.half_widths import half_width
from queryable.losses.numbers import ball, round_down, round_up, sqrt_up
from queryable.randomness.laws import Law

_SMOOTHINGS = [Fraction(n, 20) for n in (2, 3, 4, 5, 6, 8, 10, 15, 20, 40)]
_STEPS = [Fraction(n, 8) for n in range(1, 65)]
_MOST_EXACT = 8
_TINY = 2.0**-500


def weighted_half_width(laws: Sequence[Law[int]], weights: Any, missed: Fraction) -> Any:
    """A float w for which |sum of weight * draw| > w has at most the probability `missed`.

    Args:
        laws: those of independent draws, one for each weight.
        weights: shape (..., k), any floats at least as far from 0 as the real weights.
        missed: above 0.

    Returns: shape (...,); infinite where a weight is.
    """
    sizes = np.abs(np.asarray(weights, dtype=float))
    sizes = np.where((sizes > 0) & (sizes < _TINY), _TINY, sizes)  # their squares are not 0
    kinds = [_kind(law) for law in laws]
    found = sorted(set(kinds))
    widths = []
    for kind in found:
        places = [place for place, each in enumerate(kinds) if each == kind]
        of_kind = [laws[place] for place in places]
        widths.append(_WIDTHS[kind](of_kind, sizes[..., places], missed / len(found)))
    return _up(np.sum(widths, axis=0), len(widths))


def _kind(law: Law[int]) -> str:
    """The bound for a law; by the union bound also if its parameter is extreme for floats."""
    if law.gaussian_variance is not None and _LEAST <= law.gaussian_variance <= _LARGEST:
        return "gaussian"
    if law.laplace_scale is not None and _LEAST <= law.laplace_scale <= _LARGEST:
        return "laplace"
    return "other"


_LEAST, _LARGEST = Fraction(1, 100), Fraction(10) ** 100


def _up(values: Any, count: int) -> Any:
    """At least the exact result of sums and products of `count` floats that are not negative."""
    with np.errstate(over="ignore"):
        return np.asarray(values) * (1 + (count + 16) * 2.0**-51)


def _of_gaussians(laws: Sequence[Law[int]], sizes: Any, missed: Fraction) -> Any:
    variances = [law.gaussian_variance or Fraction(1) for law in laws]
    with np.errstate(over="ignore"):
        squares = sizes * sizes
    about, bounds = squares.sum(axis=-1), [_of_others(laws, sizes, missed)]
    for typical in {min(variances), max(variances)}:
        smoothing, steps, deviations = _envelope(min(variances), typical, len(laws), missed)
        wide = np.array([nextafter(float(each + smoothing), inf) for each in variances])
        beyond = (squares * wide).sum(axis=-1)
        bounds.append(_up(steps * np.sqrt(about) + deviations * np.sqrt(beyond), len(laws)))
    return np.minimum.reduce(bounds)  # the first one if noise is small


@lru_cache(maxsize=256)
def _envelope(
    least: Fraction, typical: Fraction, many: int, missed: Fraction
) -> tuple[Fraction, float, float]:
    """The smoothing s, t sqrt(s) and z of the proof, which are about the narrowest.

    Args:
        least: the least variance of the draws.
        typical: a variance for which they are the narrowest.
        many: how many draws there are.
    """

    def wide(s: Fraction, t: Fraction) -> float:
        share = float(missed) * (1 - erfc(float(t) / sqrt(2)) / 2)
        share *= exp(-many * log(_excess(least, s)))
        return float(t) * sqrt(s) + _quantile(share) * sqrt(typical + s)

    s, t = min(((s, t) for s in _SMOOTHINGS for t in _STEPS), key=lambda each: wide(*each))
    steps = _float_up(t * sqrt_up(s))
    return s, steps, _quantile_up(_share_of(least, s, steps, many, missed))


def _share_of(
    least: Fraction, smoothing: Fraction, steps: float, many: int, missed: Fraction
) -> Fraction:
    """What may be beyond the smoothed noise, if `missed` may be beyond the noise itself."""

    def share_of(v: arb, s: arb, step: arb, whole: arb) -> arb:
        q = (-2 * arb.pi() ** 2 * v * s / (v + s)).exp()
        excess = (1 + 2 * q / (1 - q)) ** many
        return whole * (1 - (step / (2 * s).sqrt()).erfc() / 2) / excess

    return round_down(share_of, least, smoothing, Fraction(steps), missed)


def _excess(variance: Fraction, smoothing: Fraction) -> float:
    q = exp(-19.739 * float(variance * smoothing / (variance + smoothing)))
    return 1 + 2 * q / (1 - q)


def _quantile(share: float) -> float:
    """About the z with P(|N(0, 1)| > z) = share."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if erfc(middle / sqrt(2)) > share else (low, middle)
    return high


def _quantile_up(share: Fraction) -> float:
    """A z with P(|N(0, 1)| > z) at most `share`; Chernoff's bound where that is below floats."""
    z = _quantile(float(share)) if share > Fraction(1, 10**290) else inf
    while z < 39:
        if round_up(lambda x: (x / arb(2).sqrt()).erfc(), Fraction(z)) <= share:
            return z
        z = nextafter(z * (1 + 1e-13), inf)
    return _float_up(sqrt_up(2 * round_up(lambda x: -x.log(), share)))  # erfc(x) <= exp(-x^2)


def _float_up(value: Fraction) -> float:
    try:
        return nextafter(float(value), inf)
    except OverflowError:
        return inf


def _of_laplaces(laws: Sequence[Law[int]], sizes: Any, missed: Fraction) -> Any:
    scales = [law.laplace_scale or Fraction(1) for law in laws]
    largest = sizes.max(axis=-1)
    widths = np.empty(np.shape(largest))
    for place in np.ndindex(widths.shape):
        top = float(largest[place])
        if not 0 < top < inf:
            widths[place] = top
            continue
        shares = (max(1, int(np.ceil(each / top * _GRID * _ENOUGH))) for each in sizes[place])
        each = Fraction(top) * Fraction(_of_shares(tuple(zip(scales, shares, strict=True)), missed))
        widths[place] = _float_up(each)
    return np.minimum(widths, _of_others(laws, sizes, missed))


_GRID = 256
_ENOUGH = 1 + 2.0**-40


@lru_cache(maxsize=4096)
def _of_shares(shares: tuple[tuple[Fraction, int], ...], missed: Fraction) -> float:
    """The half-width for Laplace laws by scale, and their weights in 256ths."""
    scales = sorted(scale * share / _GRID for scale, share in shares)
    beyond = _chernoff if len(scales) > _MOST_EXACT else _exact
    if beyond is _exact:  # which divides by differences
        scales = _apart(scales)
    step = Fraction(int(8 * sqrt(log(1 / max(float(missed), 1e-300)))) + 2, 8)
    share = missed * (1 - round_up(lambda t: (-t * t).exp(), step))
    low, high = 0.0, float(scales[-1])
    floats = [float(each) for each in scales]
    while not beyond(floats, high, exp) <= share:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(floats, middle, exp) <= share else (middle, high)

    def mass(far: arb) -> Any:
        return beyond([ball(each) for each in scales], far, arb.exp)

    while not round_up(mass, Fraction(high)) <= share:
        high *= 1 + 2.0**-12
    about = sqrt_up(sum((Fraction(each, _GRID) ** 2 for _, each in shares), Fraction(0)))
    return _float_up(step * about + Fraction(high))


def _apart(scales: Sequence[Fraction]) -> list[Fraction]:
    """At least these scales, in order, and no two of them close to each other."""
    apart: list[Fraction] = []
    for each in sorted(scales):
        apart.append(max(each, apart[-1] * Fraction(257, 256)) if apart else each)
    return apart


def _exact(scales: Sequence[Any], far: Any, exponential: Callable[[Any], Any]) -> Any:
    """The mass of a sum of Laplace laws of different scales beyond `far`."""
    total = 0
    for c in scales:
        share = 1
        for other in scales:
            if other is not c:
                share *= c * c / (c * c - other * other)
        total += share * exponential(-far / c)
    return total


def _chernoff(scales: Sequence[Any], far: Any, exponential: Callable[[Any], Any]) -> Any:
    """At least that mass: 2 exp(-r far) / prod(1 - (r scale)^2), at about the best rate r."""
    sizes = np.array([float(each) for each in scales])
    rates = np.arange(1, 64) / 64 / sizes.max()
    logs = -rates * float(far) - np.log1p(-((rates[:, None] * sizes) ** 2)).sum(axis=1)
    rate = float(rates[logs.argmin()])
    total = 2 * exponential(-rate * far)
    for c in scales:
        total /= 1 - (rate * c) ** 2
    return total


def _of_others(laws: Sequence[Law[int]], sizes: Any, missed: Fraction) -> Any:
    """By the union bound over the draws."""
    each = 1 - missed / len(laws)
    widths = np.array([_float_up(Fraction(half_width(law, each))) for law in laws])
    with np.errstate(over="ignore", invalid="ignore"):
        far = np.where(sizes > 0, sizes * widths, 0.0).sum(axis=-1)
    return _up(far, len(laws))


_WIDTHS = {"gaussian": _of_gaussians, "laplace": _of_laplaces, "other": _of_others}
