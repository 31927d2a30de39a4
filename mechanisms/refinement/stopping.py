"""Conditions for stopping a refinement, and schedules of its steps.

A condition is any function from a `Refined` to a bool. It is given noisy answers only, so it
costs nothing. A schedule is any falling sequence of variances.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

import attrs
import numpy as np

from mechanisms.refinement.estimate import Refined
from queryable.errors import QueryError
from queryable.losses.numbers import natural, positive, shown
from queryable.wording.quoting import quoted

Schedule = tuple[Fraction, ...]

_DIGITS = 6

LONGEST = 5_000
"""The largest number of steps of a schedule: half of the rounds that `Postprocessed` allows."""


def _alpha(value: Any) -> Fraction:
    alpha = positive(value, "alpha")
    if not alpha < 1:
        raise ValueError(f"alpha is {shown(alpha)}; it should be below 1")
    return alpha


def _margin(value: Any) -> Fraction:
    return positive(value, "margin")


def _deviations(value: Any) -> Fraction:
    return positive(value, "deviations")


def _in_words(deviations: Fraction) -> str:
    return "1 standard deviation" if deviations == 1 else f"{shown(deviations)} standard deviations"


@attrs.frozen
class RelativeError:
    """Whether a noisy answer is known to within a share of itself.

    With m = `deviations` times the standard deviation: 1 - alpha < |(y + m) / (y - m)| <= 1 + alpha
    and |y| > m (Rogers et al. 2023, section 7.2), compared without rounding; for an array, for each
    entry. The value without noise is that near with the probability that the noise is within m. Use
    more deviations for a higher probability.

    Args:
        alpha: the share, between 0 and 1.
        deviations: m in standard deviations of the noise.
    """

    alpha: Fraction = attrs.field(converter=_alpha)
    deviations: Fraction = attrs.field(default=Fraction(1), converter=_deviations)

    # For y > 0, (y + m)/(y - m) <= 1 + alpha is equivalent to (2 + alpha) m <= alpha y.
    # For y < 0, (|y| - m)/(|y| + m) > 1 - alpha is equivalent to (2 - alpha) m < alpha |y|.
    _above: Fraction = attrs.field(init=False, repr=False, eq=False)
    _below: Fraction = attrs.field(init=False, repr=False, eq=False)

    @_above.default
    def _at_least(self) -> Fraction:
        return (self.deviations * (2 + self.alpha) / self.alpha) ** 2

    @_below.default
    def _more_than(self) -> Fraction:
        return (self.deviations * (2 - self.alpha) / self.alpha) ** 2

    def __str__(self) -> str:
        return f"an error of {shown(100 * self.alpha)}% at {_in_words(self.deviations)}"

    def __call__(self, estimate: Refined) -> bool:
        """Whether the condition holds for the estimate."""
        value, variance = estimate.value, estimate.variance
        if isinstance(value, np.ndarray):
            above, below = float(self._above * variance), float(self._below * variance)
            square = value**2
            near = ((value > 0) & (above <= square)) | ((value < 0) & (below < square))
            return bool(near.all())
        if value > 0:
            return bool(self._above * variance <= value * value)
        return bool(value < 0 and self._below * variance < value * value)


@attrs.frozen
class AbsoluteError:
    """Whether `deviations` standard deviations are at most `margin`."""

    margin: Fraction = attrs.field(converter=_margin)
    deviations: Fraction = attrs.field(default=Fraction(1), converter=_deviations)

    def __str__(self) -> str:
        return f"an error of {shown(self.margin)} at {_in_words(self.deviations)}"

    def __call__(self, estimate: Refined) -> bool:
        """Whether the condition holds for the estimate."""
        return self.deviations**2 * estimate.variance <= self.margin**2


def even_schedule(coarsest: Any, finest: Any, steps: Any = 1000) -> Schedule:
    """Variances whose precisions 1/t are equally spaced, so that each step costs the same.

    Raises:
        ValueError: `finest` is not below `coarsest`, or there are fewer than 2 steps or too many.
    """
    start, end = _ends(coarsest, finest)
    count = natural(steps, "steps")
    if not 2 <= count <= LONGEST:
        raise ValueError(f"steps is {count}; it should be between 2 and {LONGEST}")
    step = (1 / end - 1 / start) / (count - 1)
    return tuple(1 / (1 / start + index * step) for index in range(count))


def geometric_schedule(coarsest: Any, finest: Any, factor: Any = 2) -> Schedule:
    """Variances that fall by a constant factor, rounded to six digits; the last one is `finest`.

    Raises:
        ValueError: `finest` is not below `coarsest`, the factor is not above 1, or there are too
            many steps.
    """
    start, end = _ends(coarsest, finest)
    ratio = above_one(factor)
    variances = [start]
    while variances[-1] > end:
        following = max(shortened(variances[-1] / ratio), end)
        if len(variances) == LONGEST or following >= variances[-1]:
            raise ValueError(
                f"factor is {shown(ratio)}; it should be larger: this takes more than {LONGEST} "
                "steps"
            )
        variances.append(following)
    return tuple(variances)


def shortened(value: Fraction) -> Fraction:
    """The value rounded up to six significant digits, so that sums of such numbers stay short."""
    exponent = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    unit = Fraction(10) ** (exponent - _DIGITS)
    return -(-value // unit) * unit


def above_one(value: Any) -> Fraction:
    """Read a factor by which variances fall.

    Raises:
        ValueError: it is not above 1.
    """
    factor = positive(value, "factor")
    if not factor > 1:
        raise ValueError(f"factor is {shown(factor)}; it should be above 1")
    return factor


def _ends(coarsest: Any, finest: Any) -> tuple[Fraction, Fraction]:
    start, end = positive(coarsest, "coarsest"), positive(finest, "finest")
    if not end < start:
        raise ValueError(f"finest is {shown(end)}; it should be below coarsest, {shown(start)}")
    return start, end


def in_order(values: Any, name: str, *, rising: bool = False) -> Schedule:
    """Read a schedule: positive numbers, each below (or with `rising`, above) the one before.

    Args:
        name: what the numbers are called in messages.

    Raises:
        ValueError: it is empty or too long, a number is not positive, or two are not in order.
        TypeError: it is not a list of numbers.
    """
    order = "rise" if rising else "fall"
    single = not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0
    if isinstance(values, str | Iterator) or single:
        raise TypeError(f"{name} should be a list of numbers that {order}, not {_kind(values)}")
    entries = tuple(positive(each, name) for each in islice(values, LONGEST + 1))
    if not 0 < len(entries) <= LONGEST:
        what = "is empty" if not entries else "has more"
        raise ValueError(f"{name} {what}; it should have between 1 and {LONGEST} entries")
    for before, here in pairwise(entries):
        if not (before < here if rising else here < before):
            raise ValueError(
                f"{name} should {order}, but {shown(before)} is followed by {shown(here)}"
            )
    return entries


def _kind(value: object) -> str:
    return quoted(value) if isinstance(value, str | int) else type(value).__name__


def schedule_of(values: Any, name: str = "variances") -> Schedule:
    """Read an analyst's schedule: positive numbers, each below the one before.

    Raises:
        QueryError: it is not one.
    """
    try:
        return in_order(values, name)
    except Exception as error:
        raise QueryError(f"give a schedule as a list of falling numbers: {error}") from None
