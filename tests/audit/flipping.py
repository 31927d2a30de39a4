"""Roundings in source code, and the same code with one of them turned the other way.

A site is a call that rounds, such as `round_up(..)` or `x.__ceil__()`, or a division that does, as
in `-(-a // b)`. `flip` installs the code of the function around it with this one site turned.
"""

import ast
import inspect
import math
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs
import pytest

from queryable.losses import conversions, numbers

_PAIRS = (
    *(("round_up", "round_down"), ("sqrt_up", "sqrt_down"), ("log_up", "log_down")),
    *(("ceil", "floor"), ("__ceil__", "__floor__")),
)
FLIPS = {**dict(_PAIRS), **{down: up for up, down in _PAIRS}}


def _found(name: str) -> Any:
    """What a name of a rounding function means."""
    return next(getattr(each, name) for each in (numbers, conversions, math) if hasattr(each, name))


@attrs.frozen
class Site:
    """A rounding: its module, the function around it, and its number among those of the module."""

    module: ModuleType = attrs.field(repr=lambda module: module.__name__)
    function: tuple[str, ...]
    number: int

    def __str__(self) -> str:
        name = self.module.__name__.removeprefix("composition.")
        return f"{name}:{'.'.join(self.function)}:{self.number}"


class _Turned(ast.NodeTransformer):
    """Turns the site of one number, and lists the functions of all sites."""

    def __init__(self, number: int | None) -> None:
        self.number, self.functions, self._around = number, [], ()  # type: ignore[var-annotated]

    def visit(self, node: ast.AST) -> Any:
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if named:
            self._around = (*self._around, node.name)  # type: ignore[attr-defined]
        turned = self._turned(super().visit(node))
        if named:
            self._around = self._around[:-1]
        return turned

    def _turned(self, node: Any) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FLIPS:
                other: Any = ast.Call(ast.Name(FLIPS[name], ast.Load()), node.args, node.keywords)
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in FLIPS:
                called = ast.Attribute(value, FLIPS[name], ast.Load())
                other = ast.Call(called, node.args, node.keywords)
            case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(left, ast.FloorDiv(), right)):
                other = ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.FloorDiv(), right)
            case _:
                return node
        self.functions.append(self._around)
        return other if len(self.functions) - 1 == self.number else node


def _source(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def sites(module: ModuleType) -> Iterator[Site]:
    """All roundings of a module."""
    turned = _Turned(None)
    turned.visit(_source(module))
    for number, function in enumerate(turned.functions):
        yield Site(module, function, number)


def flip(site: Site, patch: pytest.MonkeyPatch) -> None:
    """Turn one rounding the other way, until the patch is undone."""
    tree = ast.fix_missing_locations(_Turned(site.number).visit(_source(site.module)))
    for name in FLIPS:
        if not name.startswith("__"):
            patch.setattr(site.module, name, _found(name), raising=False)
    if site.function:
        code = compile(tree, site.module.__file__ or "", "exec")
        for name in _up_to_a_function(site):
            inner = (each for each in code.co_consts if isinstance(each, CodeType))
            code = next(each for each in inner if each.co_name == name)
        patch.setattr(_function(site), "__code__", code)
        return
    for node in tree.body:  # a constant of the module
        if isinstance(node, ast.Assign) and ast.dump(node) not in map(
            ast.dump, _source(site.module).body
        ):
            (target,) = node.targets
            assert isinstance(target, ast.Name)
            value = eval(compile(ast.Expression(node.value), "", "eval"), vars(site.module))
            patch.setattr(site.module, target.id, value)


def _up_to_a_function(site: Site) -> tuple[str, ...]:
    """The names up to the outermost function, which is replaced as a whole."""
    owner: Any = site.module
    for place, name in enumerate(site.function):
        owner = inspect.getattr_static(owner, name)
        if not inspect.isclass(owner):
            return site.function[: place + 1]
    raise AssertionError(f"{site} is in no function")


def _function(site: Site) -> FunctionType:
    owner: Any = site.module
    for name in _up_to_a_function(site):
        owner = inspect.getattr_static(owner, name)
    for inner in ("fget", "__func__", "__wrapped__"):
        owner = getattr(owner, inner, owner)
    assert isinstance(owner, FunctionType)
    return owner


def forget() -> None:
    """Empty all caches of numbers that were computed before."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith(("composition", "queryable.losses")):
            for each in tuple(vars(module).values()):
                clear = getattr(each, "cache_clear", None)
                if clear is not None:
                    clear()


__all__ = ["FLIPS", "Site", "flip", "forget", "sites"]
