"""Deliberate faults by name, each with the check that detects it."""

from collections.abc import Callable
from typing import Any

import pytest

Patch = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[], object]


def replace(patch: pytest.MonkeyPatch, owner: Any, name: str, wrong: Callable[..., Any]) -> None:
    """Put `wrong` in place of a function; its first argument is the real one."""
    real = getattr(owner, name)
    patch.setattr(owner, name, lambda *given, **options: wrong(real, *given, **options))


class Faults(dict[str, tuple[Patch, Check]]):
    """Each fault by name: its patch, and the check that detects it."""

    def caught_by(self, check: Check) -> Callable[[Patch], Patch]:
        """Register a fault under its function's name."""

        def register(patch: Patch) -> Patch:
            self[patch.__name__.replace("_", " ")] = patch, check
            return patch

        return register

    def instead(self, check: Check, owner: Any, name: str) -> Callable[..., Any]:
        """Register a function that is called instead of a real one, with the real one first."""

        def register(wrong: Callable[..., Any]) -> Callable[..., Any]:
            patch = lambda monkeypatch: replace(monkeypatch, owner, name, wrong)  # noqa: E731
            self[wrong.__name__.replace("_", " ")] = patch, check
            return wrong

        return register

    def value(self, fault: str, check: Check, owner: Any, name: str, wrong: Any) -> None:
        """Register a wrong value of an attribute."""
        self[fault] = lambda patch: patch.setattr(owner, name, wrong), check
