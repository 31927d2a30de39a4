"""Bounds on the noise of estimates, rounded outward, and the intervals that follow from them.

The noise is that of one release, or of a mean of Gaussian releases. Each has two bounds: one for a
target that was fixed in advance, and one for all refinements at once, so that the analyst may
stop because of the values. Proofs are in docs/theory.md, Brownian noise reduction.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, nextafter
from typing import Any

import attrs
import numpy as np
from flint import arb

from queryable.answers.half_widths import confidence_of, half_width
from queryable.answers.noisy import narrowed
from queryable.losses.numbers import round_up
from queryable.randomness.laws import Law

_SMALL = Fraction(1, 4)  # below this variance `by_cubes` is not the smaller bound


class Tails(ABC):
    """Bounds on the noise of each coordinate, exceeded with probability at most `missed`."""

    @abstractmethod
    def in_advance(self, missed: Fraction) -> Fraction:
        """The bound for a target that does not depend on the noise; the steps to it may."""

    @abstractmethod
    def at_all_times(self, missed: Fraction) -> Fraction:
        """The bound for every refinement of one estimate at once, however targets are chosen."""


@attrs.frozen
class ReleaseTails(Tails):
    """Bounds for one release, the `place`-th of its estimate, counted from 1.

    At all times: the n-th release exceeds its bound with probability at most missed/(n(n + 1)),
    which sum to missed.
    """

    law: Law[int]
    place: int = 1

    def in_advance(self, missed: Fraction) -> Fraction:
        """From the tails of the law."""
        return Fraction(half_width(self.law, 1 - missed))

    def at_all_times(self, missed: Fraction) -> Fraction:
        """Union bound over releases."""
        return self.in_advance(missed / (self.place * (self.place + 1)))


@attrs.frozen
class MeanTails(Tails):
    """Bounds for a mean of discrete Gaussians, weighted by precision, with this variance.

    `coarsest` is the variance of the first of them, which was chosen before any value was seen.
    """

    variance: Fraction
    coarsest: Fraction

    def in_advance(self, missed: Fraction) -> Fraction:
        """The smaller of two bounds, see `_in_advance`."""
        return _in_advance(self.variance, missed)

    def at_all_times(self, missed: Fraction) -> Fraction:
        """Method of mixtures: sqrt(t (1 + t/T) log((1 + T/t) / missed^2)), T = `coarsest`."""
        return _at_all_times(self.variance, self.coarsest, missed)


@lru_cache(maxsize=256)
def _in_advance(variance: Fraction, missed: Fraction) -> Fraction:
    """The smaller of sqrt(2 t log(2/missed)) and 1/2 + sqrt(2 t) erfc^-1(missed e^(-1/24t))."""
    chernoff = round_up(lambda t, m: (2 * t * (2 / m).log()).sqrt(), variance, missed)
    if variance < _SMALL:
        return chernoff

    def by_cubes(t: arb, m: arb) -> arb:
        return arb(0.5) + (2 * t).sqrt() * (m * (-1 / (24 * t)).exp()).erfcinv()

    return min(chernoff, round_up(by_cubes, variance, missed))


@lru_cache(maxsize=256)
def _at_all_times(variance: Fraction, coarsest: Fraction, missed: Fraction) -> Fraction:
    def mixture(t: arb, first: arb, m: arb) -> arb:
        return (t * (1 + t / first) * ((1 + first / t) / m**2).log()).sqrt()

    return round_up(mixture, variance, coarsest, missed)


@attrs.frozen(eq=False)
class Reach:
    """How far a value may be from the value without noise.

    Attributes:
        tails: bounds on the noise.
        rounded: an upper bound on later rounding; for an array, of each entry.
        value_dependent: whether the estimate was reached because of earlier values.
    """

    tails: Tails
    rounded: Any = Fraction(0)
    value_dependent: bool = False

    def ends(
        self, value: Any, confidence: Any, *, fixed_in_advance: bool = False
    ) -> tuple[Any, Any]:
        """The least and the greatest integer within the bound of a value.

        Raises:
            ValueError: the confidence is not above 0 and below 1.
        """
        missed = 1 - confidence_of(confidence)
        fixed = fixed_in_advance and not self.value_dependent
        width = self.tails.in_advance(missed) if fixed else self.tails.at_all_times(missed)
        if not isinstance(value, np.ndarray):
            far = width + self.rounded
            least, most = sorted((ceil(value - far), floor(value + far)))
            return least, most
        if value.dtype.kind == "f":
            return _of_floats(value, _float_up(width), self.rounded)
        whole = np.asarray(value).astype(object)
        return narrowed(whole - floor(width)), narrowed(whole + floor(width))


def _of_floats(value: Any, width: float, rounded: Any) -> tuple[Any, Any]:
    """Round outward to floats, then inward to integers; infinite where a value is not finite."""
    with np.errstate(all="ignore"):
        far = np.nextafter(width + rounded, inf)
        low = np.ceil(np.nextafter(value - far, -inf))
        high = np.floor(np.nextafter(value + far, inf))
        known = np.isfinite(value) & np.isfinite(far)
    least, most = np.minimum(low, high), np.maximum(low, high)
    return np.where(known, least, -inf), np.where(known, most, inf)


def _float_up(width: Fraction) -> float:
    try:
        return nextafter(float(width), inf)
    except OverflowError:
        return inf
