"""The public names and signatures are those of `api.txt`, so that no change of them goes unseen.

`make api` writes the file anew. A line that is gone or changed breaks somebody's program, and
docs/stability.md says what is owed to them then.
"""

import inspect
from collections.abc import Iterator
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import typer

from curator.commands import application

TEXT = Path(__file__).with_name("api.txt")
DOORS = ("queryable", "queryable.audit", "mechanisms", "composition", "curator")
REMEDY = "is it meant? docs/stability.md says what a change needs; `make api` writes api.txt anew"
_PLAIN = (type(None), bool, int, str, float, bytes, Enum)


def api() -> Iterator[str]:
    """A line for each public name, parameter list, method, property and command."""
    for door in DOORS:
        module = import_module(door)
        for name in sorted(module.__all__):
            yield from described(f"{door}.{name}", getattr(module, name))
    yield from commands()


def described(name: str, value: Any) -> Iterator[str]:
    """The lines of a public name."""
    if inspect.isclass(value):
        yield f"{name}{parameters(value)}"
        yield from members(name, value)
    elif callable(value):
        yield f"{name}{parameters(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def members(name: str, kind: type) -> Iterator[str]:
    """The public methods and properties of a class that are our own; fields are parameters."""
    in_signature = {each.name for each in getattr(kind, "__attrs_attrs__", ()) if each.init}
    for member in sorted({*dir(kind)} - in_signature):
        static = inspect.getattr_static(kind, member)
        owner = next((each for each in kind.__mro__ if member in vars(each)), object)
        ours = owner.__module__.split(".")[0] in DOORS
        if member.startswith("_") or not ours or (owner is not kind and owner in exported()):
            continue
        if isinstance(static, classmethod | staticmethod):
            static = static.__func__
        if isinstance(static, property | cached_property) or not inspect.isfunction(static):
            yield f"{name}.{member}"
        else:
            yield f"{name}.{member}{parameters(static)}"


@cache
def exported() -> frozenset[type]:
    """The public classes, so that what they inherit from each other is there once."""
    values = (
        getattr(import_module(door), it) for door in DOORS for it in import_module(door).__all__
    )
    return frozenset(each for each in values if inspect.isclass(each))


def parameters(call: Any) -> str:
    """Names, kinds and defaults; types are checked by mypy and vary with Python's version."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return "(..)"
    plain = [
        each.replace(
            annotation=inspect.Parameter.empty, default=_Shown.of(each.default, each.empty)
        )
        for each in signature.parameters.values()
    ]
    return str(inspect.Signature(plain))


class _Shown:
    """A default as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def of(cls, default: Any, empty: Any) -> Any:
        """The default; what has no short and stable text is shown as its class."""
        if default is empty:
            return empty
        entries = default if isinstance(default, tuple) else (default,)
        plain = all(isinstance(each, _PLAIN) for each in entries)
        return cls(repr(default) if plain else f"<{type(default).__name__}>")

    def __repr__(self) -> str:
        return self._text


def commands() -> Iterator[str]:
    """The commands of `curator`, each with its parameters."""
    waiting: list[tuple[str, Any]] = [("curator", typer.main.get_command(application()))]
    while waiting:
        name, command = waiting.pop(0)
        waiting += [(f"{name} {each}", it) for each, it in getattr(command, "commands", {}).items()]
        given = [each.opts[0] if each.opts else each.name for each in command.params]
        yield " ".join([f"$ {name}", *sorted(each for each in given if "completion" not in each)])


def test_the_public_names_and_signatures_are_those_of_the_snapshot() -> None:
    known, found = TEXT.read_text(encoding="utf-8").splitlines(), list(api())
    gone = [each for each in known if each not in found]
    new = [each for each in found if each not in known]
    assert (gone, new) == ([], []), REMEDY


def test_a_changed_signature_is_another_line() -> None:
    def before(a: int, *, b: str = "x") -> None: ...
    def renamed(a: int, *, c: str = "x") -> None: ...
    def other_default(a: int, *, b: str = "y") -> None: ...
    def by_place(a: int, b: str = "x") -> None: ...

    assert len({parameters(each) for each in (before, renamed, other_default, by_place)}) == 4


def test_fields_of_a_class_are_lines() -> None:
    @attrs.frozen
    class Kind:
        a: int
        b: int = 3

    assert parameters(Kind) == "(a, b=3)"


if __name__ == "__main__":
    TEXT.write_text("".join(f"{each}\n" for each in api()), encoding="utf-8")
