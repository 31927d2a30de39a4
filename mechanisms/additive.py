"""Integer noise added to an integer statistic: what Laplace and Gaussian do alike.

Responsible for adding without overflow. Knows no privacy loss.
"""

from typing import Any, TypeAlias

import numpy as np

from queryable.answers import NoisyArray, NoisyInt, narrowed, noisy_array
from queryable.quoting import quoted
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic

Array: TypeAlias = np.ndarray[Any, Any]


def integer_statistic(value: Any) -> IntegerStatistic:
    """Check that a mechanism was given a statistic with declared sensitivities.

    Raises:
        TypeError: it was not.
    """
    if not isinstance(value, IntegerStatistic):
        raise TypeError(
            f"statistic is {quoted(value)}; it should be an IntegerStatistic: Count, Sum, "
            "Histogram, or Statistic(function, l1=..., l2=...)"
        )
    return value


def noisy(
    statistic: IntegerStatistic, dataset: Any, law: Law[int], coins: Coins
) -> NoisyInt | NoisyArray:
    """The statistic with independent noise of `law` on each coordinate.

    Returns:
        An int, or a read-only array of the statistic's shape: int64 where every sum fits, else
        Python integers. The dtype is thus a function of the answer, not of the data. Both remember
        the law of their noise, for `.interval(0.95)`.

    Raises:
        MechanismFault: the statistic failed.
    """
    value = statistic(dataset)
    if statistic.shape is None:
        return NoisyInt(value + coins.draw(law), law)
    return noisy_array(added(np.asarray(value), np.asarray(coins.draw(law, statistic.shape))), law)


def added(value: Array, noise: Array) -> Array:
    """The exact sum: int64 where it fits, else Python integers."""
    if _halved(value) and _halved(noise):
        return np.asarray(value + noise)
    return narrowed(value.astype(object) + noise.astype(object))


def _halved(array: Array) -> bool:
    """Whether two such arrays cannot overflow when added."""
    if array.dtype != np.int64 or not array.size:
        return False
    return bool(array.min() >= -(1 << 62) and array.max() < 1 << 62)
