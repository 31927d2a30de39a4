"""What a value holds: mechanisms, persons and statistics, wherever they are nested in it.

Responsible for one walk over fields. Checks before a charge use it, so that a class with a new
field, or a mechanism in another one, needs no code of its own to be looked through.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import attrs
import numpy as np
from immutables import Map

from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.optional import NO_RUN
from queryable.postprocessing import PersonInTheMiddle
from queryable.randomness.laws import Law
from queryable.statistics import Checked

_FOUND = (InteractiveMechanism, PersonInTheMiddle, Checked)
_HOLDS_NOTHING = (
    *(int, float, complex, str, bytes, Fraction, type(None), type, np.ndarray, np.generic),
    *(FunctionType, BuiltinFunctionType, Loss, Law),
)


def held(holder: Any) -> list[Any]:
    """The mechanisms, persons and statistics in a value, itself included, inner ones first.

    They are looked for in the fields of attrs classes, in lists, tuples, sets and mappings, and in
    the attributes of mechanisms, persons and statistics of any other class. A statistic whose
    `check` looks at all that it holds is not looked into, nor is a field of what is never run
    (`NO_RUN`). Each is listed once.
    """
    found, seen, waiting = list[Any](), dict[int, Any](), deque([holder])
    while waiting:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        try:
            kind: Any = type(each)
            if _holds_nothing(kind):
                continue
            seen[id(each)] = each  # kept, so that no other value gets its id
            if _is_found(kind):
                found.append(each)
            waiting.extend(_inside(each, kind))
        except Exception:  # a class of the analyst's own has no hash, or cannot be read
            continue
    found.reverse()
    return found


def _inside(value: Any, kind: Any) -> Iterable[Any]:
    if issubclass(kind, list | tuple | set | frozenset):
        kinds: set[Any] = set(map(type, value))
        return () if all(map(_holds_nothing, kinds)) else tuple(value)
    if issubclass(kind, Mapping | Map):
        return tuple(value.values())
    names = _fields(kind)
    if names is None:
        return tuple(vars(value).values())
    return [getattr(value, name, None) for name in names]


@lru_cache(maxsize=1000)
def _holds_nothing(kind: type) -> bool:
    return issubclass(kind, _HOLDS_NOTHING)


@lru_cache(maxsize=1000)
def _is_found(kind: type) -> bool:
    return issubclass(kind, _FOUND)


@lru_cache(maxsize=1000)
def _fields(kind: type) -> tuple[str, ...] | None:
    """The fields to look into; None for all attributes of an object."""
    if issubclass(kind, Checked) and kind.checks_all:
        return ()
    if attrs.has(kind):
        fields = attrs.fields(kind)
        return tuple(each.name for each in fields if not each.metadata.get(NO_RUN))
    return None if issubclass(kind, _FOUND) else ()
