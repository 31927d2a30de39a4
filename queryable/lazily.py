"""Packages whose public names are imported when they are first used.

Responsible for the `__getattr__` and `__dir__` of a package (PEP 562), so that an import loads only
the modules that an analysis uses. Type checkers read the imports that stand beside the table.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    A module of the package is found by its name too, as if it had been imported.

    Args:
        package: its `__name__`.
        homes: for each module, the public names that are in it, separated by spaces.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    within = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name in home:
            found = within[name] = getattr(import_module(home[name]), name)
            return found
        module = f"{package}.{name}"
        try:
            if not name.startswith("__"):
                return import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*within, *home})

    return get, names
