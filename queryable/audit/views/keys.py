"""Convert answers of any type to keys of a law, which decide what an adversary can distinguish."""

from collections.abc import Hashable, Iterable
from operator import is_
from typing import Any

import attrs
import numpy as np

from queryable.conversation import Data, Later, Node, made
from queryable.wording.quoting import quoted

_NAN = float("nan")  # as a key it equals itself


def hashable(value: Any) -> Hashable:
    """Return an answer as a hashable value; arrays become tuples, and sets become frozensets.

    Answers that compare equal count as one: 1 and 1.0, or a list and an array. All NaNs count as
    one. True and 1 also compare equal but mean different things; `require_alike` rejects them.
    Fields that an answer's class excludes from comparison are ignored.

    Raises:
        TypeError: the answer contains itself, or is nested too deeply.
    """
    try:
        return _key(value)
    except RecursionError:
        text = quoted(value)
        raise TypeError(f"answer {text} contains itself or is nested too deep") from None


def _key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return _key(tuple(value.reshape(-1).tolist() if not value.ndim else value.tolist()))
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
        fields = _compared_fields(value)
        keys = [_key(field) for field in fields]
        if not all(map(is_, keys, fields)):
            return (type(value).__name__, *keys)
    return value  # type: ignore[no-any-return]


def state_key(state: Any) -> Hashable:
    """Return a state for comparison by value: with the data that compositors keep as `Later`s.

    Raises:
        TypeError: it cannot be hashed.
    """
    kind = type(state)
    if kind is Node:
        children = [
            (each, child.mechanism, state_key(child.state), child.messages)
            for each, child in state.children.items()
        ]
        return (state_key(state.own), frozenset(children))
    if kind is Later:
        return snapshot_key(state)
    if kind is Data:
        return (snapshot_key(state.rows), state.facts.blocks, state.facts.fed)
    if kind is tuple:
        return tuple(map(state_key, state))
    fields = _compared_fields(state) if attrs.has(kind) else ()
    if any(type(each) in _BY_VALUE for each in fields):
        return (kind, *map(state_key, fields))
    return state  # type: ignore[no-any-return]


_BY_VALUE = frozenset({Later, Data, Node})


def snapshot_key(later: Later) -> Hashable:
    """What a `Later` stands for, as a key; itself if it cannot be made."""
    try:
        value = made(later)
    except Exception:
        return later
    try:
        hash(value)
    except TypeError:
        return _key(value)
    return value  # type: ignore[no-any-return]


def _compared_fields(value: Any) -> list[Any]:
    return [getattr(value, field.name) for field in attrs.fields(type(value)) if field.eq]


def flags(value: Any) -> Hashable:
    """Return the positions of booleans in a value, or None if it contains none.

    As keys, booleans equal 1 and 0.
    """
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
        parts = _compared_fields(value)
    below = tuple(map(flags, parts))
    return below if any(below) else None


def require_alike(answer: Any, other: Any) -> None:
    """Check that two answers with equal keys have booleans at the same positions.

    Raises:
        ValueError: one has a boolean where the other has a number.
    """
    if answer is not other and flags(answer) != flags(other):
        raise ValueError(
            f"the answers {quoted(answer)} and {quoted(other)} compare equal and would count as "
            "one; make one of them another type"
        )
