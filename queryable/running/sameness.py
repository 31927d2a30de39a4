"""Whether a launch is the one that was made before under the same name.

Responsible for marks: values taken of a launch that are equal when its mechanism is equal, however
often the cell that makes it is run. Knows no handle.

What counts: attrs values, dataclasses, collections and arrays by their contents; functions by their
code, their defaults, what they close over and the globals that they read, as these were when the
mark was taken, so that a lambda defined anew is the same and one that reads a changed global is
not. Of a module or a class that they read, whatever has a name that their code says. What a module
that can be imported has under its name counts as itself, and so does a class: one defined anew is
another. Other objects count as themselves and by what is in them, so that one that was changed is
another; what does not let itself be read equals nothing. In doubt two launches differ.

What is not seen: what functions of other modules read, what code reaches by `eval` or `getattr`,
and changes of a mechanism's class.
"""

import dis
import pickle
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import attrs
import numpy as np
from immutables import Map

from queryable.answers import NoisyArray, NoisyInt

# By their exact types: what is derived from them may have more to it.
_INTEGERS = frozenset({int, NoisyInt})
_BY_VALUE = frozenset({str, bytes, Fraction, timedelta, type(None)})
_BY_TEXT = frozenset({float, complex, Decimal, date, datetime, time, range, slice})  # 1.0 is 1.00
_ARRAYS = frozenset({np.ndarray, NoisyArray})
_OURS = frozenset({"queryable", "mechanisms", "composition"})
_BOOKKEEPING = frozenset({"__dict__", "__weakref__"})

Found = Iterator[tuple[str, Any]]


@attrs.frozen
class Mark:
    """What was found in one place: its kind, and marks or plain values by name."""

    kind: Any
    parts: tuple[tuple[str, Any], ...] = ()


@attrs.frozen(eq=False)
class Itself:
    """Something that is equal to nothing but itself."""

    value: Any = attrs.field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Unreadable:
    """The contents of what does not let itself be read: equal to nothing."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


def mark(
    value: Any, seen: tuple[int, ...] = (), said: frozenset[str] = frozenset()
) -> Mark | Itself | Unreadable:
    """The mark of a value, as it is now.

    Args:
        seen: what it is in, so that it may contain itself.
        said: the names in the code that reads it.
    """
    kind = type(value)
    if isinstance(value, bool | np.bool_):
        return Mark("bool", (("", bool(value)),))
    if kind in _INTEGERS:
        return Mark("int", (("", int(value)),))
    if kind in _BY_VALUE:
        return Mark(kind, (("", value),))
    if kind in _BY_TEXT:
        return Mark(kind, (("", repr(value)),))
    if kind is Unreadable:
        return Unreadable()
    if isinstance(value, Enum) or (not isinstance(value, type) and _is_importable(value)):
        return Itself(value)
    if id(value) in seen:
        return Mark("above", (("", seen.index(id(value))),))
    below = (*seen, id(value))
    if isinstance(value, FunctionType):
        said = frozenset(_names_in(value.__code__))
    found, parts = _parts(value, said)
    return Mark(found, tuple((name, mark(part, below, said)) for name, part in parts))


def difference(old: Any, new: Any) -> str:
    """Where two marks differ first, as a path; empty where they are equal.

    It names fields and variables, never what is in them: a function may close over anything.
    """
    return next(_differences(old, new), "")


def _differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    if old == new:
        return
    alike = isinstance(old, Mark) and isinstance(new, Mark) and old.kind == new.kind
    if alike and [name for name, _ in old.parts] == [name for name, _ in new.parts]:
        for (name, before), (_, after) in zip(old.parts, new.parts, strict=True):
            yield from _differences(before, after, f"{where}.{name}" if name else where)
    yield where.lstrip(".") or "the mechanism's class"


def _parts(value: Any, said: frozenset[str]) -> tuple[Any, Found]:
    """What a value is, and what it is made of."""
    kind = type(value)
    if kind in _ARRAYS or isinstance(value, np.generic):
        return kind, _of_array(value)
    if kind is partial:
        return kind, _of_partial(value)
    if attrs.has(kind):
        fields = {each.name: bool(each.eq) or each.init for each in attrs.fields(kind)}
        return kind, _of_fields(value, fields)
    if is_dataclass(kind):
        fields = {each.name: bool(each.compare) or each.init for each in dataclass_fields(value)}
        return kind, _of_fields(value, fields)
    match value:
        case FunctionType():
            return "function", _of_function(value)
        case MethodType():
            return "method", iter([("function", value.__func__), ("self", value.__self__)])
        case ModuleType() | type():
            return Itself(value), _of_namespace(value, said)
        case tuple() | list():
            return kind, _of_collection(value, value)
        case set() | frozenset():
            return kind, _of_collection(value, sorted(value, key=repr))
        case dict() | MappingProxyType() | Map():
            return kind, _of_collection(value, value.items())
    return Itself(value), _of_object(value)


def _is_importable(value: Any) -> bool:
    """Whether a module, not a notebook, has this very object under its name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return False
    found: Any = sys.modules.get(module)
    for each in name.split("."):
        found = getattr(found, each, None)
    return found is value


def _of_function(function: FunctionType) -> Found:
    code = function.__code__
    yield "code", _bare(code)
    yield "defaults", (function.__defaults__, function.__kwdefaults__)
    yield "attributes", function.__dict__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            yield name, None
    for name in sorted(set(_read_by(code, "LOAD_GLOBAL", "LOAD_NAME"))):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name in sorted(set(_read_by(code, "IMPORT_NAME"))):
        yield f"import {name}", sys.modules.get(name)


def _bare(code: CodeType) -> tuple[Any, ...]:
    """The code without where it was written, which another cell above changes."""
    constants = [_bare(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    signature = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, signature, names, constants


def _all_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _all_of(each)


def _names_in(code: CodeType) -> Iterator[str]:
    for each in _all_of(code):
        yield from each.co_names


def _read_by(code: CodeType, *operations: str) -> Iterator[str]:
    for each in _all_of(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname in operations:
                yield str(instruction.argval)


def _of_partial(value: "partial[Any]") -> Found:
    yield "function", value.func
    yield "args", value.args
    yield "named", sorted(value.keywords.items())


def _of_namespace(space: Any, said: frozenset[str]) -> Found:
    """What code can read of a module or a class by the names in it."""
    held: dict[str, Any] = {}
    for each in reversed(space.__mro__[:-1] if isinstance(space, type) else (space,)):
        held |= vars(each)
    for name in sorted(said & held.keys()):
        part = held[name]
        if isinstance(part, staticmethod | classmethod):
            yield name, part.__func__
        elif isinstance(part, FunctionType) or not hasattr(type(part), "__get__"):
            yield name, part


def _of_array(array: Any) -> Found:
    yield "dtype", str(array.dtype)
    yield "shape", array.shape
    if array.dtype.hasobject:
        yield "", array.tolist()
    else:
        yield "", sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _of_collection(value: Any, entries: Iterable[Any]) -> Found:
    for each in entries:
        yield "", each
    if isinstance(value, defaultdict):
        yield "default", value.default_factory
    yield from _state(value)


def _of_fields(value: Any, fields: dict[str, bool]) -> Found:
    """The fields that count, and what a class that was derived without saying so has added."""
    for name, counts in fields.items():
        if counts:
            yield name, getattr(value, name)
    yield from _state(value, fields)


def _of_object(value: Any) -> Found:
    if type(value).__module__.partition(".")[0] in _OURS:
        return  # a queryable, coins: nothing that a launch depends on is in them
    if "__wrapped__" in getattr(value, "__dict__", {}) or _is_all_in_state(value):
        yield from _state(value)
    else:
        yield "", _pickled(value)


def _state(value: Any, apart_from: Collection[str] = ()) -> Found:
    """What is in an object's dictionary and its slots, but for what it keeps to be quick."""
    kinds = type(value).__mro__
    slots: list[str] = []
    for kind in kinds:
        own = vars(kind).get("__slots__", ())
        if "__attrs_attrs__" not in vars(kind):  # else they are fields, or cached
            names = (own,) if isinstance(own, str) else own
            slots += [_mangled(kind.__name__, name) for name in names]
    held = getattr(value, "__dict__", {})
    for name in dict.fromkeys([*held, *slots]):
        cached = any(isinstance(vars(kind).get(name), cached_property) for kind in kinds)
        if not (cached or name in apart_from or name in _BOOKKEEPING) and hasattr(value, name):
            yield name, held[name] if name in held else getattr(value, name)


def _mangled(kind: str, name: str) -> str:
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.lstrip('_')}{name}" if private else name


def _is_all_in_state(value: Any) -> bool:
    """Whether there is no more to it than its dictionary and its slots, as far as Python knows."""
    kind = type(value)
    if kind is SimpleNamespace:
        return True
    for name in ("__reduce_ex__", "__reduce__", "__getstate__"):
        if getattr(kind, name) is not getattr(object, name):
            return False
    try:
        object.__reduce_ex__(value, 2)
    except Exception:  # it has more, in C
        return False
    return True


def _pickled(value: Any) -> Any:
    try:
        return sha256(pickle.dumps(value)).hexdigest()
    except Exception:
        return Unreadable()
