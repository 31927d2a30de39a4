"""Exact addition of integer arrays that may be beyond 64 bits."""

from typing import Any, TypeAlias

import numpy as np

from queryable.answers.noisy import narrowed

Array: TypeAlias = np.ndarray[Any, Any]


def added(value: Array, noise: Array) -> Array:
    """The exact sum: int64 where every entry fits, else Python integers."""
    if _halved(value) and _halved(noise):
        return np.asarray(value + noise)
    return narrowed(value.astype(object) + noise.astype(object))


def _halved(array: Array) -> bool:
    """Whether two arrays like this one cannot overflow int64 when added."""
    if array.dtype != np.int64 or not array.size:
        return False
    return bool(array.min() >= -(1 << 62) and array.max() < 1 << 62)
