"""Roundings in source code, and the same code with one of them turned the other way.

A site is a call that rounds, such as `round_up(..)` or `x.__ceil__()`, a search that returns one
end of the last interval, or a division of integers, `a // b` or `-(-a // b)`. `flip` installs the
code of the function around it with this one site turned.
"""

import ast
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs
import pytest

from queryable.losses import conversions, numbers

Holds = Callable[[Fraction], bool]


def just_too_large(holds: Holds, start: Fraction = Fraction(1)) -> Fraction:
    """The other end of the last interval of `greatest`."""
    return conversions.greatest(holds, start) * (1 + Fraction(1, 2**60))


def just_too_small(holds: Holds, start: Fraction = Fraction(1)) -> Fraction:
    """The other end of the last interval of `least`."""
    return conversions.least(holds, start) * (1 - Fraction(1, 2**60))


def shown_above(value: Fraction) -> str:
    """As `shown_below`, at or above the value."""
    above = Context(prec=3, rounding=ROUND_CEILING).divide(
        Decimal(value.numerator), Decimal(value.denominator)
    )
    return f"{above.normalize():f}"


_PAIRS = (
    *(("round_up", "round_down"), ("sqrt_up", "sqrt_down"), ("log_up", "log_down")),
    *(("ceil", "floor"), ("__ceil__", "__floor__")),
)
_SEARCHES = {"greatest": "just_too_large", "least": "just_too_small"}
FLIPS = {
    **dict(_PAIRS),
    **{down: up for up, down in _PAIRS},
    **_SEARCHES,
    "shown_below": "shown_above",
}


def _found(name: str) -> Any:
    """What a name of a rounding function means."""
    homes = (sys.modules[__name__], numbers, conversions, math)
    return next(getattr(each, name) for each in homes if hasattr(each, name))


@attrs.frozen
class Site:
    """A rounding: its module, the function around it, its source, and its number in the module."""

    module: ModuleType = attrs.field(repr=lambda module: module.__name__)
    function: tuple[str, ...]
    source: str
    number: int

    @property
    def where(self) -> str:
        """The function around it."""
        name = self.module.__name__.removeprefix("composition.")
        return f"{name}:{'.'.join(self.function)}"

    def __str__(self) -> str:
        return f"{self.where}:{self.number}"


class _Turned(ast.NodeTransformer):
    """Turns the site of one number, and lists the functions and sources of all sites."""

    def __init__(self, number: int | None) -> None:
        self.number, self.found, self._around = number, [], ()  # type: ignore[var-annotated]
        self._inner: set[int] = set()

    def visit(self, node: ast.AST) -> Any:
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if named:
            self._around = (*self._around, node.name)  # type: ignore[attr-defined]
        if _rounds_up(node):
            self._inner.add(id(node.operand))  # type: ignore[attr-defined]
        floors = id(node) not in self._inner
        turned = self._turned(super().visit(node), floors=floors)
        if named:
            self._around = self._around[:-1]
        return turned

    def _turned(self, node: Any, *, floors: bool) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FLIPS:
                other: Any = ast.Call(ast.Name(FLIPS[name], ast.Load()), node.args, node.keywords)
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if (
                name in FLIPS and name not in _SEARCHES  # accounts have methods of these names
            ):
                called = ast.Attribute(value, FLIPS[name], ast.Load())
                other = ast.Call(called, node.args, node.keywords)
            case ast.UnaryOp(operand=ast.BinOp(left, _, right)) if _rounds_up(node):
                other = ast.BinOp(_minus(left), ast.FloorDiv(), right)
            case ast.BinOp(left, ast.FloorDiv(), right) if floors:
                other = _minus(ast.BinOp(_minus(left), ast.FloorDiv(), right))
            case _:
                return node
        self.found.append((self._around, ast.unparse(node)))
        return other if len(self.found) - 1 == self.number else node


def _minus(node: Any) -> ast.UnaryOp:
    return ast.UnaryOp(ast.USub(), node)


def _rounds_up(node: ast.AST) -> bool:
    """Whether this is -(a // b)."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(op=ast.FloorDiv())):
            return True
    return False


def _source(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def sites(module: ModuleType) -> Iterator[Site]:
    """All roundings of a module."""
    turned = _Turned(None)
    turned.visit(_source(module))
    for number, (function, source) in enumerate(turned.found):
        yield Site(module, function, source, number)


def flip(site: Site, patch: pytest.MonkeyPatch) -> None:
    """Turn one rounding the other way, until the patch is undone."""
    tree = ast.fix_missing_locations(_Turned(site.number).visit(_source(site.module)))
    for name in FLIPS.values():
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
