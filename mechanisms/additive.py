"""Integer noise added to an integer statistic: the part that Laplace and Gaussian share."""

from typing import Any

import numpy as np

from mechanisms.sampling.integers import added
from queryable.answers import NoisyArray, NoisyInt, noisy_array
from queryable.quoting import quoted
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic


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
