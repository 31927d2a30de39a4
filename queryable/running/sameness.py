"""Whether a launch equals the one that was made before under the same name.

Responsible for marks. The mark of a launch is a snapshot of its mechanism, made of plain values, so
that comparing two marks runs no code of the user and does not depend on later changes.

* An instance of a class decorated with attrs is marked by its class and its fields.
* Numbers, strings, dates and collections are marked by their type and value: 1, 1.0 and True
  differ.
* Arrays are marked by dtype, shape and contents.
* Everything else is marked by identity: functions, classes, and objects of other classes.

So a lambda or a class that is defined again is another one, even if its source is the same.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from types import MappingProxyType, MethodType
from typing import Any

import attrs
import numpy as np

from queryable.answers.noisy import NoisyInt
from queryable.answers.released import Released

# Exact types: a subclass may hold more than the value.
_BY_VALUE = frozenset({bool, int, str, bytes, Fraction, timedelta, type(None)})
_BY_TEXT = frozenset({float, complex, Decimal, date, datetime, time, range, slice})


@attrs.frozen
class Snapshot:
    """The snapshot of one value: its class, and named parts that are marks or plain values."""

    kind: Any = attrs.field(eq=id)  # a metaclass may define how classes compare
    parts: Any


@attrs.frozen(eq=False)
class Identity:
    """The mark of a value that equals only itself."""

    value: Any = attrs.field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def mark(value: Any) -> Snapshot | Identity:
    """The mark of a value as it is now.

    Raises:
        RecursionError: the value contains itself, or is nested too deeply.
    """
    kind: Any = type(value)
    if kind is NoisyInt:  # a released number stands for itself, whatever its noise
        return Snapshot(int, int(value))
    if kind is Released:
        return mark(value.estimate)
    if kind in _BY_VALUE:
        return Snapshot(kind, value)
    if kind in _BY_TEXT:  # text, because Decimal("1.0") equals Decimal("1.00")
        return Snapshot(kind, repr(value))
    if kind is np.ndarray or isinstance(value, np.generic):
        return Snapshot(kind, tuple(_of_array(np.asarray(value))))
    if kind in (tuple, list):
        return Snapshot(kind, tuple(("", mark(each)) for each in value))
    if kind in (set, frozenset):
        return Snapshot(kind, frozenset(mark(each) for each in value))
    if kind in (dict, MappingProxyType):
        return Snapshot(kind, tuple(("", mark(pair)) for pair in value.items()))
    if kind is MethodType:
        return Snapshot(kind, (("function", mark(value.__func__)), ("self", mark(value.__self__))))
    if "__attrs_attrs__" in vars(kind):  # not inherited: a subclass may hold more than the fields
        return Snapshot(kind, tuple(_of_fields(value)))
    return Identity(value)


def difference(old: Any, new: Any) -> str:
    """The path to the first difference of two marks, such as "mechanism.scale"; empty if equal.

    The path has names of fields only. Values are left out: a function may close over private data.
    """
    return next(_differences(old, new, ""), "")


def _differences(old: Any, new: Any, where: str) -> Iterator[str]:
    if old == new:
        return
    if _named(old) and _named(new) and old.kind is new.kind:
        pairs = list(zip(old.parts, new.parts, strict=False))
        if len(old.parts) == len(new.parts) and all(a[0] == b[0] for a, b in pairs):
            for (name, before), (_, after) in pairs:
                yield from _differences(before, after, f"{where}.{name}" if name else where)
    yield where.lstrip(".") or "the mechanism's class"


def _named(value: Any) -> bool:
    return isinstance(value, Snapshot) and isinstance(value.parts, tuple)


def _of_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields that define the value, and not those that its author derives from them."""
    for field in attrs.fields(type(value)):
        if field.eq or field.init:
            yield field.name, mark(getattr(value, field.name))


def _of_array(array: Any) -> Iterator[tuple[str, Any]]:
    yield "dtype", str(array.dtype)
    yield "shape", array.shape
    if array.dtype.hasobject:
        yield "", mark(array.tolist())
    else:
        yield "", sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
