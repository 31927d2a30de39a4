"""Exact totals of requests that a table has evaluated, so that an equal request reads no rows.

Totals are private. How many of them are kept, and which are dropped, depends on the requests alone.
Each asker has totals of their own, so that the time of a reply does not show what another asked.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from math import prod
from threading import Lock
from types import NoneType
from typing import Any, Self, TypeAlias

import attrs

from mechanisms.tables.expressions.scalars import EQUAL, WRITTEN
from mechanisms.tables.requests.request import Request
from queryable.data.cells import Array

Key: TypeAlias = tuple[Any, ...]

ROOM = 2**20
"""The totals of one request, with its parts, have at most so many entries; all have twice that."""

_EQUAL = EQUAL | {NoneType, Fraction}

_ASKER: ContextVar[Hashable] = ContextVar("asker", default=None)


@contextmanager
def asked_by(asker: Hashable) -> Iterator[None]:
    """Remember, and find, the totals of one asker while the block runs."""
    token = _ASKER.set(asker)
    try:
        yield
    finally:
        _ASKER.reset(token)


def key_of(request: Request) -> Key | None:
    """A key that two requests share only if no engine can tell them apart.

    The types of constants are in the key, as in `scalars.alike`: a column of text compares with 1,
    1.0 and True in different ways.

    Returns:
        None if the request holds something of the user's own, such as a function.
    """
    try:
        return _key_of(request)
    except TypeError:  # a class of the user's own has no hash
        return None


def _key_of(request: Request) -> Key | None:
    key: list[Any] = []
    rest: list[Any] = [request]
    while rest:
        value = rest.pop()
        kind: Any = type(value)
        key.append(kind)
        if kind in _EQUAL:
            key.append(value)
        elif kind in WRITTEN:
            key.append(repr(value))
        elif kind is tuple and len(kinds := set(map(type, value))) == 1 and kinds <= _EQUAL:
            key += [*kinds, value]  # quickly, as there may be many
        elif kind is tuple:
            key.append(len(value))
            rest.extend(value)
        elif (names := _fields(kind)) is not None:
            rest.extend(getattr(value, name) for name in names)
        else:
            return None
    return tuple(key)


def weight(request: Request, key: Key | None) -> int:
    """The number of a request's entries and parts. Public."""
    parts = (len(each) if type(each) is tuple else 1 for each in key or ())
    return prod(request.shape) + sum(parts)


@lru_cache(maxsize=1000)
def _fields(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of one of this package's own classes."""
    own = kind.__module__.startswith("mechanisms.tables.") and attrs.has(kind)
    return tuple(field.name for field in attrs.fields(kind) if field.init) if own else None


class Remembered:
    """Totals by askers and by the keys of their requests. Threads may share it.

    Whole totals are stored, so an interrupt leaves out what was being computed. A copy or a pickle
    is empty. When there is too much, the oldest totals are dropped until half of the room is free.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._totals: dict[Key, tuple[Array, int]] = {}
        self._weight = 0
        self._closed = False

    def find(self, key: Key | None) -> Array | None:
        """A copy of the totals; None if they are not known."""
        found = None if key is None else self._totals.get((_ASKER.get(), key))
        return None if found is None else found[0].copy()

    def __contains__(self, key: Key) -> bool:
        return (_ASKER.get(), key) in self._totals

    def keep(self, key: Key | None, total: Array, weight: int) -> None:
        """Remember a copy of the totals, unless they are too large or the table is closed."""
        if key is None or weight > ROOM:
            return
        key = _ASKER.get(), key
        with self._lock:
            if self._closed or key in self._totals:
                return
            self._weight += weight  # first, so that an interrupt leaves it too large, not too small
            self._totals[key] = total.copy(), weight
            if self._weight > 2 * ROOM:
                self._drop()

    def close(self) -> None:
        """Forget all, and remember nothing from now on."""
        with self._lock:
            self._closed = True
            self._totals = {}

    def _drop(self) -> None:
        kept, total = {}, 0
        for key, entry in reversed(self._totals.items()):
            total += entry[1]
            if total > ROOM:
                break
            kept[key] = entry
        self._totals = dict(reversed(kept.items()))
        self._weight = sum(weight for _, weight in kept.values())

    def __repr__(self) -> str:
        return "<Remembered>"

    def __copy__(self) -> Self:
        return type(self)()

    def __deepcopy__(self, memo: object) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()
