"""What a value holds: mechanisms, persons and statistics, wherever they are nested in it.

Responsible for one walk over fields, and for how deep it may go. Checks before a charge use it, so
that a class with a new field, or a mechanism in another one, needs no code of its own to be looked
through. What is found about a value that cannot change is remembered while that value is alive.
"""

import sys
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar
from weakref import ref

import attrs

from queryable.checks.kinds import KINDS, holds_nothing, kind_of_class
from queryable.errors import QueryError
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Launch, PrivacyLossQuery
from queryable.statistics import Checked, Statistic

MOST_NESTED = 50
"""The largest number of values of a message that hold each other, such as mechanisms, queries and
lists. A statistic is one; expressions have a limit of their own. Whatever walks over so many fits
on the stack of any usual caller. A message that is sent through more than twenty children may have
one less for every two of them."""
_ROOM = 150  # frames of Python's stack for what a message runs, at most
_FOR_CHILD = 5  # for each child on its path
_FOR_VALUE = 13  # for each value of it in which there are others
_MOST_LEVELS = 120  # a child that a message is sent through counts once, and a value twice


def held(holder: Any) -> list[Any]:
    """The mechanisms, persons and statistics in a value, itself included, inner ones first.

    They are looked for in the fields of attrs classes, in lists, tuples, sets and mappings, and in
    the attributes of mechanisms, persons and statistics of any other class. A statistic whose
    `check` looks at all that it holds is not looked into, nor is a field of what is never run
    (`NO_RUN`). Each is listed once.
    """
    known = _known(holder)
    inside = None if known is None else known.get(held)
    if inside is None:
        inside = _held(holder)
        if known is not None:
            known[held] = _weakly(inside)
        return inside
    return [each() for each in inside]


def _held(holder: Any) -> list[Any]:
    found, seen, waiting = list[Any](), dict[int, Any](), deque([holder])
    while waiting:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        try:
            kind = KINDS.get(id(type(each))) or kind_of_class(type(each))
            if kind.empty:
                continue
            seen[id(each)] = each  # kept, so that no other value gets its id
            if kind.found:
                found.append(each)
            waiting.extend(kind.run(each))
        except Exception:  # a class of the analyst's own has no hash, or cannot be read
            continue
    found.reverse()
    return found


def times_of(holder: Any, inner: Any) -> Fraction:
    """How often a value that another one holds is expected to run, in all its places together.

    Args:
        holder: was read from a text, so that nothing in it holds itself.
    """
    total, waiting = Fraction(0), [(holder, Fraction(1))]
    while waiting:
        each, times = waiting.pop()
        total += times if each is inner else 0
        times *= getattr(each, "repeats", 1) if isinstance(each, InteractiveMechanism) else 1
        kind = KINDS.get(id(type(each))) or kind_of_class(type(each))
        waiting += [(one, times) for one in kind.run(each)]
    return total


def statistics_of(mechanism: Any) -> list[Checked]:
    """The statistics among the fields of a mechanism, which a measurement evaluates itself."""
    kind = type(mechanism)
    names = [field.name for field in attrs.fields(kind)] if attrs.has(kind) else []
    found = (getattr(mechanism, name, None) for name in names)
    return [each for each in found if isinstance(each, Checked) and not isinstance(each, Statistic)]


def require_nested(path: tuple[Any, ...], query: Any) -> None:
    """Check, before anything is charged, that a message is not nested too deep for a stack.

    Args:
        path: the children that it is sent through.

    Raises:
        QueryError: it has more than `MOST_NESTED` levels, or fewer at the end of a path of more
            than twenty children; or the stack of this caller, which is deep already, does not hold
            them.
    """
    kind, levels = type(query), 0
    if kind in _FLAT:
        levels = 1
    elif kind is Launch and query.d_out is None:
        alive, known = _REMEMBERED.get(id(query.mechanism), _NOBODY)
        if alive() is query.mechanism:
            levels = 1 + known[_levels]
    levels = levels or nesting(query)
    if not (levels <= MOST_NESTED and len(path) + 2 * levels <= _MOST_LEVELS):
        raise QueryError(_NESTED)
    room = _ROOM + _FOR_CHILD * len(path) + _FOR_VALUE * levels
    try:
        sys._getframe(max(sys.getrecursionlimit() - room, 0))
    except ValueError:  # the stack is not as deep as that
        return
    raise QueryError(
        f"Python's recursion limit of {sys.getrecursionlimit()} is closer than {room} frames, too "
        "close to run a mechanism; nothing is charged. Ask from a shallower call, or raise the "
        "limit with sys.setrecursionlimit"
    )


_FLAT = frozenset({str, int, PrivacyLossQuery})
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
    if type(value) is Launch:  # most messages are one, of a mechanism that may be known
        levels = 1 + max(nesting(value.mechanism), nesting(value.d_out))
        if not levels <= MOST_NESTED:
            raise QueryError(_NESTED)
        return levels
    return 1 if holds_nothing(type(value)) else once(value, _levels)


def _levels(value: Any) -> int:
    """The `nesting` of a value that may hold others; it finds out whether the value can change."""
    levels, level, seen = 0, [value], dict[int, Any]()
    found, fixed, all_run = list[Any](), True, True
    while level:
        levels += 1
        if not levels <= MOST_NESTED:
            raise QueryError(_NESTED)
        inner = dict[int, Any]()  # a value that several hold is looked into once a level
        for each in level:
            known = id(each) in seen
            seen[id(each)] = each  # kept, so that no other value gets its id
            try:
                kind = KINDS.get(id(type(each))) or kind_of_class(type(each))
                fixed, all_run = fixed and kind.fixed, all_run and kind.every is kind.run
                if kind.found and not known:
                    found.append(each)
                for one in kind.every(each):
                    if not (KINDS.get(id(type(one))) or kind_of_class(type(one))).empty:
                        inner[id(one)] = one
            except Exception:  # a class of the analyst's own cannot be read
                fixed = False
        if not levels <= len(seen):  # something holds itself
            inner = {number: each for number, each in inner.items() if number not in seen}
        level = [*inner.values()]
    if fixed and found and found[0] is value:
        _remember(value, levels, found[::-1] if all_run else None)
    return levels


T = TypeVar("T")

_MOST_REMEMBERED = 256
_REMEMBERED: dict[int, tuple[Callable[[], Any], dict[Any, Any]]] = {}
"""By the number of a value that cannot change: the value, weakly, and what was found about it.

None of it keeps a value. No function is called when a value ends: an interrupt would be lost in it.
"""
_NOBODY: tuple[Callable[[], Any], dict[Any, Any]] = (object, {})


def once(value: Any, find: Callable[..., T], *hints: Any) -> T:
    """What a function finds about a value, remembered if the value cannot change.

    Args:
        find: its result keeps no value of the analyst's.
        hints: further arguments of `find`, on which the result does not depend.
    """
    known = _known(value)
    if known is None:
        return find(value, *hints)
    if find not in known:
        known[find] = find(value, *hints)
    result: T = known[find]
    return result


def cannot_change(value: Any) -> bool:
    """Whether a value is known to be frozen, with all that it holds."""
    alive, _ = _REMEMBERED.get(id(value), _NOBODY)
    return alive() is value


def _known(value: Any) -> dict[Any, Any] | None:
    alive, known = _REMEMBERED.get(id(value), _NOBODY)
    return known if alive() is value else None


def _remember(value: Any, levels: int, found: list[Any] | None) -> None:
    """Keep what is found about a value that cannot change."""
    if len(_REMEMBERED) >= _MOST_REMEMBERED:
        _REMEMBERED.clear()
    inside = None if found is None else _weakly(found)
    try:
        _REMEMBERED[id(value)] = ref(value), {_levels: levels, held: inside}
    except TypeError:  # it has no weak references
        return


def _weakly(found: list[Any]) -> list[Any] | None:
    try:
        return [*map(ref, found)]
    except TypeError:
        return None
