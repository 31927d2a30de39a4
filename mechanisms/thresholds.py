"""Noise against a threshold: chances that a key is shown, and that an answer is wrong.

Keys are shown where a count with noise is at or above a threshold. Responsible for the delta of
that rule, for the least threshold within a delta, and for what a shown count says about the count
itself; also for how far from a noisy threshold answers are right. Reads no data. Every chance is
rounded against the analyst. Proofs: docs/theory.md, keys found in the data, and sparse vector.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import log

import numpy as np
from flint import arb

from mechanisms.sampling.integers import Array
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.losses.numbers import BeyondReachError, round_down, round_up

KeyNoise = DiscreteLaplace | DiscreteGaussian
"""Noise on counts of keys. Its law is log-concave, which the bound for several units needs."""

MOST_THRESHOLD = 2**62
"""Counts are compared with thresholds below this."""


def at_least(noise: KeyNoise, least: int) -> tuple[Fraction, Fraction]:
    """Bounds below and above on the chance that one draw is `least` or more."""
    if least > 0:
        return _tail(noise, least)
    low, high = _tail(noise, 1 - least)
    return 1 - high, 1 - low


def places_shown(noisy: Array, threshold: int) -> Array:
    """The places of the noisy counts that are shown: at the threshold or above it."""
    return np.flatnonzero(noisy >= threshold)


@lru_cache(maxsize=4096)
def _tail(noise: KeyNoise, least: int) -> tuple[Fraction, Fraction]:
    """The same for `least` above 0."""
    if isinstance(noise, DiscreteLaplace):

        def tail(scale: arb, m: arb) -> arb:
            return (-m / scale).exp() / (1 + (-1 / scale).exp())

        return round_down(tail, noise.scale, least), round_up(tail, noise.scale, least)

    def from_here(v: arb, m: arb) -> arb:
        # The curve falls, so its terms are together at least its integral from the first one on;
        # all terms are sqrt(2 pi v) (1 + 2q + 2q^4 + ...), by Poisson's summation formula.
        q = (-2 * arb.pi() ** 2 * v).exp()
        return (m / (2 * v).sqrt()).erfc() / (2 * (1 + 2 * q / (1 - q)))

    high = noise.beyond(least - 1) / 2
    return min(round_down(from_here, noise.variance, least), high), high


def shown_by(noise: KeyNoise, threshold: int, keys: int, units: int = 1) -> Fraction:
    """The largest chance that a key is shown which only one of two datasets has, rounded up.

    The datasets differ in `units` units, with a count of 1 in each of at most `keys` keys. The
    chance is largest if all their keys differ, or if all have the same keys.
    """
    _, apart = at_least(noise, threshold - 1)
    _, together = at_least(noise, threshold - units)
    return max(_any_of(apart, keys * units), _any_of(together, keys))


def _any_of(chance: Fraction, many: int) -> Fraction:
    """1 - (1 - chance)^many, rounded up: the chance of one at least of independent events."""
    if not chance < 1:
        return Fraction(1)
    if many == 1:
        return chance
    try:
        found = round_up(lambda q, n: -(n * (-q).log1p()).expm1(), chance, many)
    except BeyondReachError:  # the chance is too close to 1
        return Fraction(1)
    return min(found, Fraction(1))


def wrong(
    threshold: DiscreteLaplace, answer: DiscreteLaplace, distance: int, questions: int
) -> Fraction:
    """A bound on the chance that one of some answers of one noisy threshold is wrong.

    It is about values at least `distance` from the threshold, on either side. Questions may depend
    on earlier answers. Proof: docs/theory/proofs/sparse_vector.md, right answers.

    Args:
        threshold, answer: the laws of the noise on the threshold, and on each value.
        distance: at least 1.
    """
    b, c = threshold.scale, answer.scale
    # Noise on the threshold of `rest` or more is given up. Within it each answer is wrong with the
    # tail of its own noise, at the distance that is left.
    rest = distance - min(int(c * Fraction(log(max(questions / 2, 1)))), distance - 1)

    def chance(b: arb, c: arb, h: arb, k: arb, r: arb) -> arb:
        x, y, z = (-1 / b).exp(), (-1 / c).exp(), 1 / c - 1 / b
        sums = r - 1 if same else ((z * r).exp() - z.exp()) / z.expm1()
        inside = (1 - x) / (1 + x) * (-h / c).exp() / (1 + y) * (1 + 2 * sums)
        return 2 * (-r / b).exp() / (1 + x) + k * inside

    same = b == c
    return min(round_up(chance, b, c, distance, questions, rest), Fraction(1))


def right_from(
    threshold: DiscreteLaplace,
    answer: DiscreteLaplace,
    questions: int,
    missed: Fraction,
    epochs: int = 1,
) -> int:
    """The least distance from a threshold at which answers are all right, but for `missed`.

    Args:
        epochs: how many noisy thresholds follow one another; each has an equal part of `missed`.
    """
    high = 1
    while wrong(threshold, answer, high, questions) * epochs > missed:
        high *= 2
    return _first(
        lambda far: wrong(threshold, answer, far, questions) * epochs <= missed, high // 2, high
    )


@lru_cache(maxsize=256)
def least_threshold(noise: KeyNoise, delta: Fraction, keys: int, units: int = 1) -> int:
    """The least threshold whose `shown_by` is at most `delta`.

    Raises:
        ValueError: it is too large, or there is none.
    """
    if not delta > 0:
        raise ValueError("give a delta above 0: keys that nobody has named are shown for it")
    high = 1
    while not shown_by(noise, high, keys, units) <= delta:
        high *= 2
        if not high < MOST_THRESHOLD:
            raise ValueError(
                "give a larger epsilon or delta: the threshold for these would be above 10^18"
            )
    return _first(lambda threshold: shown_by(noise, threshold, keys, units) <= delta, 0, high)


def least_counts(
    noise: KeyNoise, threshold: int, noisy: list[int], missed: Fraction
) -> dict[int, int]:
    """For each noisy count that was shown, a count that the exact one is at least.

    Given that a key is shown, its exact count is below this with probability at most `missed`. The
    count is at least 1 in any case, because a key without a row has no noise.
    """
    usual = half_line(noise, missed)
    values = sorted(set(noisy))
    # From some noisy count on, the threshold makes no difference to the distance.
    far = _first(
        lambda place: _excluded(noise, threshold, values[place], values[place] - usual - 1, missed),
        -1,
        len(values),
    )
    near = {each: _least_count(noise, threshold, each, usual, missed) for each in values[:far]}
    return near | {each: max(each - usual, 1) for each in values[far:]}


@lru_cache(maxsize=256)
def half_line(noise: KeyNoise, missed: Fraction) -> int:
    """The least h with which one draw is provably above h with probability at most `missed`."""
    high = 1
    while not at_least(noise, high + 1)[1] <= missed:
        high *= 2
    return _first(lambda width: at_least(noise, width + 1)[1] <= missed, -1, high)


def _least_count(noise: KeyNoise, threshold: int, noisy: int, usual: int, missed: Fraction) -> int:
    last = noisy - usual - 1  # what may be excluded at most

    def possible(count: int) -> bool:
        return count > last or not _excluded(noise, threshold, noisy, count, missed)

    return 1 if possible(1) else _first(possible, 1, max(last + 1, 2))


def _excluded(noise: KeyNoise, threshold: int, noisy: int, count: int, missed: Fraction) -> bool:
    """Whether a key with this count that is shown has such a noisy count, or a larger one, rarely.

    The chance grows with the count.
    """
    shown, _ = at_least(noise, threshold - count)
    _, as_large = at_least(noise, noisy - count)
    return as_large <= missed * shown


def _first(holds: Callable[[int], bool], below: int, high: int) -> int:
    """The least integer above `below` that holds; `high`, if none below it does.

    Whatever holds also holds for larger integers.
    """
    while high - below > 1:
        middle = (below + high) // 2
        below, high = (below, middle) if holds(middle) else (middle, high)
    return high
