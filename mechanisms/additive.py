"""Integer noise added to an integer statistic: what Laplace and Gaussian do alike.

Responsible for adding without overflow. Knows no privacy loss.
"""

from typing import Any

import numpy as np

from mechanisms.sampling.integers import added
from queryable.answers import NoisyArray, NoisyInt, noisy_array
from queryable.quoting import quoted
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic


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
