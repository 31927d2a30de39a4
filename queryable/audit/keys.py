"""Answers as keys of a law: what an adversary can tell apart.

Responsible for comparing answers, whatever their type. Knows no mechanism.
"""

from collections.abc import Hashable, Iterable
from operator import is_
from typing import Any

import attrs
import numpy as np

from queryable.quoting import quoted

_NAN = float("nan")  # as a key it equals itself


def hashable(value: Any) -> Hashable:
    """An answer as a value that can be compared and hashed; arrays become tuples, sets frozen.

    Answers that compare equal count as one: 1 and 1.0, a list and an array. So do all NaNs. True
    and 1 compare equal too, but mean different things: `require_alike` tells.

    Raises:
        TypeError: the answer contains itself, or is nested too deep.
    """
    try:
        return _key(value)
    except RecursionError:
        told = quoted(value)
        raise TypeError(f"answer {told} contains itself or is nested too deep") from None


def _key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return _key(tuple(value.tolist()))
    if isinstance(value, dict):
        return ("dict", frozenset((_key(k), _key(v)) for k, v in value.items()))
    if isinstance(value, set):
        return frozenset(map(_key, value))
    if isinstance(value, tuple | list):
        entries = tuple(_key(entry) for entry in value)
        if isinstance(value, list) or not all(map(is_, entries, value)):
            return entries
    if isinstance(value, float | np.floating) and np.isnan(value):
        return _NAN
    if attrs.has(type(value)):
        fields = [getattr(value, field.name) for field in attrs.fields(type(value))]
        keys = [_key(field) for field in fields]
        if not all(map(is_, keys, fields)):
            return (type(value).__name__, *keys)
    return value  # type: ignore[no-any-return]


def flags(value: Any) -> Hashable:
    """Where a value says yes or no, which as keys look like 1 and 0; None where it nowhere does."""
    if isinstance(value, bool | np.bool_):
        return True
    parts: Iterable[Any] = ()
    if isinstance(value, np.ndarray):
        parts = value.tolist() if value.dtype in (bool, object) else ()
    elif isinstance(value, dict):
        parts = [part for _, part in sorted(value.items(), key=repr)]
    elif isinstance(value, set | frozenset):
        parts = sorted(value, key=repr)
    elif isinstance(value, tuple | list):
        parts = value
    elif attrs.has(type(value)):
        parts = [getattr(value, field.name) for field in attrs.fields(type(value))]
    below = tuple(map(flags, parts))
    return below if any(below) else None


def require_alike(answer: Any, other: Any) -> None:
    """Check that two answers with equal keys say the same.

    Raises:
        ValueError: one says yes or no where the other gives a number.
    """
    if answer is not other and flags(answer) != flags(other):
        raise ValueError(
            f"the answers {quoted(answer)} and {quoted(other)} compare equal and would count as "
            "one; make one of them another type"
        )
