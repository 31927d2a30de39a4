"""What the values of a class hold, found out once for each class.

Responsible for where a value of a class keeps other values, for whether it can hold any, and for
whether what it holds can change. `held` walks over values with it. What is known of a class is
forgotten when the class ends.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType
from typing import Any, NamedTuple
from weakref import ref

import attrs
import numpy as np
from immutables import Map

from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Launch
from queryable.optional import NO_RUN
from queryable.postprocessing import PersonInTheMiddle
from queryable.randomness.laws import Law
from queryable.statistics import Checked, Statistic

_FOUND = (InteractiveMechanism, PersonInTheMiddle, Checked)
_HOLDS_NOTHING = (
    *(int, float, complex, str, bytes, Fraction, type(None), type, np.ndarray, np.generic),
    *(FunctionType, BuiltinFunctionType, Loss, Law),
)


class ValueKind(NamedTuple):
    """What is known of the values of a class."""

    empty: bool
    """They hold nothing."""

    found: bool
    mechanism: bool
    checked: bool
    """They are statistics with a `check` that may fail."""

    fixed: bool
    """What a value holds cannot change."""

    run: Callable[[Any], Iterable[Any]]
    """What a value holds, without the fields of what is never run and the keys of mappings."""

    every: Callable[[Any], Iterable[Any]]
    """All that a value holds."""

    alive: ref[type]


KINDS: dict[int, ValueKind] = {}
"""By the number of a class, which leaves when the class ends: a class of an analyst's own holds the
variables of where it was written, and so data."""


def kind_of(value: Any) -> ValueKind:
    """What is known of the class of a value."""
    return KINDS.get(id(type(value))) or kind_of_class(type(value))


def kind_of_class(kind: Any) -> ValueKind:
    """What is known of a class; `KINDS` is read first where many values are walked over."""
    number, found = id(kind), issubclass(kind, _FOUND)
    run: Callable[[Any], Iterable[Any]] = _nothing
    every, fixed = run, kind in (tuple, frozenset, Map)
    if issubclass(kind, Checked) and kind.checks_all:
        run = every = _nothing
    elif issubclass(kind, list | tuple | set | frozenset):
        run = every = _items
    elif issubclass(kind, Mapping | Map):
        run, every = _values, _keys_and_values
    elif attrs.has(kind):
        fields = attrs.fields(kind)
        run = every = _fields([each.name for each in fields])
        if any(each.metadata.get(NO_RUN) for each in fields):
            run = _fields([each.name for each in fields if not each.metadata.get(NO_RUN)])
        fixed = _is_frozen(kind, [each.name for each in fields])
    elif found:
        run = every = _attributes
    alive = ref(kind, partial(KINDS.pop, number))  # no code of Python: no interrupt stops it
    checked = issubclass(kind, Checked) and not issubclass(kind, Statistic)
    known = ValueKind(
        issubclass(kind, _HOLDS_NOTHING),
        found,
        issubclass(kind, InteractiveMechanism),
        checked,
        fixed or every is _nothing,
        run,
        every,
        alive,
    )
    return KINDS.setdefault(number, known)


def _is_frozen(kind: Any, names: list[str]) -> bool:
    """Whether a class of attrs is frozen, and reads these fields plainly from slots."""
    frozen = kind.__setattr__ is Launch.__setattr__ and kind.__delattr__ is Launch.__delattr__
    plain = kind.__getattribute__ is object.__getattribute__ and "__getattr__" not in dir(kind)
    fields = (type(getattr(kind, name, None)) for name in names)
    return frozen and plain and all(each is MemberDescriptorType for each in fields)


def _nothing(_: Any) -> Iterable[Any]:
    return ()


def _items(value: Any) -> Iterable[Any]:
    kinds: set[Any] = set(map(type, value))
    return () if all(map(holds_nothing, kinds)) else tuple(value)


def _values(value: Any) -> Iterable[Any]:
    return tuple(value.values())


def _keys_and_values(value: Any) -> Iterable[Any]:
    return (*value.keys(), *value.values())


def _attributes(value: Any) -> Iterable[Any]:
    return tuple(vars(value).values())


def _fields(names: list[str]) -> Callable[[Any], Iterable[Any]]:
    if not names:
        return _nothing
    read = attrgetter(*names, *names[:1])  # two at least, so that it gives a tuple

    def inside(value: Any) -> Iterable[Any]:
        try:
            found: tuple[Any, ...] = read(value)
            return found
        except Exception:  # a field is not set, or is a property of an analyst's own
            return [getattr(value, name, None) for name in names]

    return inside


def holds_nothing(kind: type) -> bool:
    """Whether values of a class hold no mechanism, person or statistic, however deep."""
    return (KINDS.get(id(kind)) or kind_of_class(kind)).empty
