"""What a value holds: mechanisms, persons and statistics, wherever they are nested in it.

Responsible for one walk over fields, and for how deep it may go. Checks before a charge use it, so
that a class with a new field, or a mechanism in another one, needs no code of its own to be looked
through.
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

from queryable.errors import QueryError
from queryable.faults import require_room
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.optional import NO_RUN
from queryable.postprocessing import PersonInTheMiddle
from queryable.randomness.laws import Law
from queryable.statistics import Checked

MOST_NESTED = 50
"""The largest number of values of a message that hold each other, such as mechanisms, queries and
lists. A statistic is one; expressions have a limit of their own. Whatever walks over so many fits
on the stack of any usual caller. A message that is sent through more than twenty children may have
one less for every two of them."""
_MOST_LEVELS = 120  # a child that a message is sent through counts once, and a value twice

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


def require_nested(path: tuple[Any, ...], query: Any) -> None:
    """Check, before anything is charged, that a message is not nested too deep for a stack.

    Args:
        path: the children that it is sent through.

    Raises:
        QueryError: it has more than `MOST_NESTED` levels, or fewer at the end of a path of more
            than twenty children; or the stack of this caller, which is deep already, does not hold
            them.
    """
    levels = nesting(query)
    if not len(path) + 2 * levels <= _MOST_LEVELS:
        raise QueryError(_NESTED)
    require_room(len(path), levels)


_NESTED = (
    f"this message is nested too deep: {MOST_NESTED} values in each other are the most, less one "
    "for every two children beyond twenty that it is sent through; nothing is charged. Launch what "
    "is inside on its own"
)


def nesting(value: Any) -> int:
    """The largest number of values in a value that hold each other, itself included.

    Every mechanism, person, statistic, object of attrs and nonempty container counts, also those
    that are never run. A statistic whose `check` looks at all that it holds is one. A value in
    itself, which has no text and is compared by no name, is not looked into again.

    Raises:
        QueryError: they are more than `MOST_NESTED`.
    """
    known = dict[int, tuple[int, Any]]()  # with the value, so that no other one gets its id
    outer = [_Opened(value)]
    known[id(value)] = 0, value
    while True:
        last = outer[-1]
        if last.waiting:
            inner = last.waiting.pop()
            try:
                kind: Any = type(inner)
                if _holds_nothing(kind):
                    continue
            except Exception:  # its class has no hash
                continue
            height = known[id(inner)][0] if id(inner) in known else 1
            if not len(outer) + height <= MOST_NESTED:
                raise QueryError(_NESTED)
            if id(inner) not in known:
                outer.append(_Opened(inner))
                known[id(inner)] = 0, inner
            last.height = max(last.height, height)
            continue
        outer.pop()
        height = 1 + last.height
        known[id(last.value)] = height, last.value
        if not outer:
            return height
        outer[-1].height = max(outer[-1].height, height)


class _Opened:
    """A value whose inner values are looked at, and the largest height of those seen so far."""

    __slots__ = ("height", "value", "waiting")

    def __init__(self, value: Any) -> None:
        self.value, self.height = value, 0
        try:
            self.waiting = list(_inside(value, type(value), run=False))
        except Exception:  # a class of the analyst's own cannot be read
            self.waiting = []


def _inside(value: Any, kind: Any, *, run: bool = True) -> Iterable[Any]:
    if issubclass(kind, list | tuple | set | frozenset):
        kinds: set[Any] = set(map(type, value))
        return () if all(map(_holds_nothing, kinds)) else tuple(value)
    if issubclass(kind, Mapping | Map):
        return tuple(value.values()) if run else (*value.keys(), *value.values())
    names = _fields(kind, run)
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
def _fields(kind: type, run: bool) -> tuple[str, ...] | None:
    """The fields to look into; None for all attributes of an object.

    Args:
        run: whether fields of what is never run are left out.
    """
    if issubclass(kind, Checked) and kind.checks_all:
        return ()
    if attrs.has(kind):
        fields = attrs.fields(kind)
        return tuple(each.name for each in fields if not (run and each.metadata.get(NO_RUN)))
    return None if issubclass(kind, _FOUND) else ()
