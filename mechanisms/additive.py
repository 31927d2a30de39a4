"""Integer noise added to an integer statistic: the part that Laplace and Gaussian share."""

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from mechanisms.sampling.integers import added
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
from queryable.effort import Effort
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted


def integer_statistic(value: Any) -> IntegerStatistic:
    """Check that a value is a statistic with declared sensitivities, and return it.

    Raises:
        TypeError: it is anything else.
    """
    if not isinstance(value, IntegerStatistic):
        raise TypeError(
            "give a statistic, such as Count(column('age') >= 65), Sum('cost', 0, 100) or "
            f"Statistic(function, l1=..., l2=...): statistic is {quoted(value)}; it should be an "
            "IntegerStatistic"
        )
    return value


def is_entry(of: str | int | None, shape: tuple[int, ...] | None) -> bool:
    """Whether there is one number at `of` in an answer of this shape; None: it is a number."""
    if shape is None:
        return of is None
    return type(of) is int and len(shape) == 1 and of < shape[0]


def noisy(
    statistic: IntegerStatistic, dataset: Any, law: Law[int], coins: Coins
) -> NoisyInt | NoisyArray:
    """Add independent noise with distribution `law` to each coordinate of the statistic.

    Returns:
        A `NoisyInt`, or where the statistic has a shape a read-only `NoisyArray` of that shape:
        int64 where every sum fits, else Python integers. The dtype is therefore a function of the
        answer and not of the data. Both keep the law of their noise, for `.interval(0.95)`.

    Raises:
        MechanismFault: the statistic failed.
    """
    value = statistic(dataset)
    if statistic.shape is None:
        return NoisyInt(value + coins.draw(law), law)
    return noisy_array(added(np.asarray(value), np.asarray(coins.draw(law, statistic.shape))), law)


_SHORT = 100
"""Bits of a scale below which noise is drawn in machine words, all coordinates together."""


def drawing(statistic: IntegerStatistic, parameter: Fraction, spread: int) -> Effort:
    """What it takes to draw noise for each coordinate of a statistic, and to write the sums.

    Args:
        parameter: the scale of the noise, or the variance, whose digits are computed with.
        spread: about as large as the noise.
    """
    count = 1 if statistic.shape is None else prod(statistic.shape)
    bits = parameter.numerator.bit_length() + parameter.denominator.bit_length()
    largest = max(spread, int(statistic.l1)).bit_length() * 3 // 10 + 3  # digits of a sum
    if bits < _SHORT and largest < _DIGITS:
        return Effort(100 + 2 * count + statistic.steps, 100 + (largest + 2) * count)
    return Effort(100 + (40 + bits // 8) * count + statistic.steps, 100 + (largest + 30) * count)


_DIGITS = 25
