"""Whether two values say the same: steps, functions of the data and laws that were made twice.

A conversation that is held again makes its queries again. Some of their classes compare by
identity, and arrays compare entry by entry.
"""

from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import attrs
import numpy as np

_DEEPEST = 40


def same_value(one: Any, other: Any, depth: int = _DEEPEST) -> bool:
    """Whether two values are of one class and have the same parts."""
    if one is other:
        return True
    if type(one) is not type(other) or not depth:
        return False
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and one.shape == other.shape
        return same and all(same_value(a, b, depth - 1) for a, b in _entries(one, other))
    kind: Any = type(one)
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        return all(
            same_value(getattr(one, name, None), getattr(other, name, None), depth - 1)
            for name in names
        )
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(
            same_value(one[key], other[key], depth - 1) for key in one
        )
    if isinstance(one, tuple | list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same_value(a, b, depth - 1) for a, b in pairs)
    if isinstance(one, FunctionType | MethodType | partial):
        return same_value(_of_function(one), _of_function(other), depth - 1)
    try:
        return bool(one == other)
    except Exception:
        return False


def _entries(one: Any, other: Any) -> Any:
    if one.dtype != object:  # at once
        equal = np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        return [(equal, True)]
    return zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)


def _of_function(function: Any) -> tuple[Any, ...]:
    """What a function is made of: its code, and what it holds."""
    if isinstance(function, MethodType):
        return function.__func__.__name__, function.__self__
    if isinstance(function, partial):
        return function.func, function.args, dict(function.keywords)
    held = tuple(cell.cell_contents for cell in function.__closure__ or ())
    return function.__code__, function.__defaults__, held
