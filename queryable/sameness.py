"""Whether a launch is the one that was made before under the same name.

Responsible for marks: values taken of a launch that are equal when its mechanism is equal, however
often the cell that makes it is run. Knows no handle.

What counts: attrs values, dataclasses, collections and arrays by their contents; functions by their
code, their defaults, what they close over and the globals that they read, as these were when the
mark was taken, so that a lambda defined anew is the same and one that reads a changed global is
not. Functions of importable modules, classes and everything else count as themselves: a
class defined anew is another class. In doubt two launches differ.
"""

import dis
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

import attrs
import numpy as np

_PLAIN = (str, bytes, Fraction, Decimal, date, time, timedelta, Enum, type(None))


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


def mark(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """The mark of a value, as it is now."""
    if isinstance(value, bool | np.bool_):
        return Mark("bool", (("", bool(value)),))
    if isinstance(value, int):
        return Mark("int", (("", int(value)),))
    if isinstance(value, float | complex):
        return Mark("number", (("", repr(value)),))
    if isinstance(value, _PLAIN):
        return Mark(type(value), (("", value),))
    if isinstance(value, np.generic):
        return Mark(value.dtype.str, (("", value.tobytes()),))
    if id(value) in seen:
        return Mark("above", (("", seen.index(id(value))),))
    parts = _parts(value)
    if parts is None:
        return Itself(value)
    kind, named = parts
    below = (*seen, id(value))
    return Mark(kind, tuple((name, mark(part, below)) for name, part in named))


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


def _parts(value: Any) -> tuple[Any, list[tuple[str, Any]]] | None:
    """What a value is made of, or None where it only counts as itself."""
    match value:
        case FunctionType():
            return None if _is_importable(value) else ("function", list(_of_function(value)))
        case MethodType():
            return "method", [("function", value.__func__), ("self", value.__self__)]
        case partial():
            named = sorted(value.keywords.items())
            return "partial", [("function", value.func), ("args", value.args), ("named", named)]
        case np.ndarray() if value.dtype != object:
            content = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return "array", [("dtype", value.dtype.str), ("shape", value.shape), ("", content)]
        case np.ndarray():
            return "array", [("shape", value.shape), ("", value.tolist())]
        case tuple() | list():
            return type(value), [("", each) for each in value]
        case set() | frozenset():
            return type(value), [("", each) for each in sorted(value, key=repr)]
        case Mapping():
            return type(value), [("", pair) for pair in value.items()]
        case range() | slice():
            return type(value), [("", repr(value))]
        case type():
            return None
    if attrs.has(type(value)):
        fields = [field.name for field in attrs.fields(type(value)) if field.eq]
        return type(value), [(name, getattr(value, name)) for name in fields]
    if is_dataclass(value):
        names = [field.name for field in dataclass_fields(value) if field.compare]
        return type(value), [(name, getattr(value, name)) for name in names]
    return None


def _is_importable(function: FunctionType) -> bool:
    """Whether a module, not a notebook, has this very function under its name."""
    if function.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield "code", _bare(function.__code__)
    yield "defaults", (function.__defaults__, function.__kwdefaults__)
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            yield name, None
    for name in sorted(set(_globals_of(function.__code__))):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _bare(code: CodeType) -> tuple[Any, ...]:
    """The code without where it was written, which another cell above changes."""
    constants = [_bare(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    signature = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, signature, names, constants


def _globals_of(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _globals_of(each)
