"""Integer noise added to an integer statistic: what Laplace and Gaussian do alike.

Responsible for adding without overflow. Knows no privacy loss.
"""

from typing import Any

import numpy as np

from queryable.coins import Coins, Law
from queryable.statistics import IntegerStatistic


def integer_statistic(value: Any) -> IntegerStatistic:
    """Check that a mechanism was given a statistic with declared sensitivities.

    Raises:
        TypeError: it was not.
    """
    if not isinstance(value, IntegerStatistic):
        raise TypeError(
            f"statistic is {value!r}; it should be an IntegerStatistic: Count, Sum, Histogram, or "
            "Statistic(function, l1=..., l2=...)"
        )
    return value


def noisy(statistic: IntegerStatistic, dataset: Any, law: Law[int], coins: Coins) -> Any:
    """The statistic with independent noise of `law` on each coordinate.

    Returns:
        A Python int, or a read-only array of the statistic's shape: int64 where every sum fits,
        else Python integers. The dtype is thus a function of the answer, not of the data.

    Raises:
        MechanismFault: the statistic failed.
    """
    value = statistic(dataset)
    if statistic.shape is None:
        return value + coins.draw(law)
    noise = coins.draw(law, statistic.shape)
    total = np.asarray(np.asarray(value, dtype=object) + np.asarray(noise, dtype=object))
    try:
        answer = total.astype(np.int64)
    except OverflowError:
        answer = total.astype(object)
    answer.flags.writeable = False
    return answer
