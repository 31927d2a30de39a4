"""Sections of a configuration: tables of TOML whose errors name the file and the key.

Responsible for unknown and missing keys, and for the texts of errors. Numbers are exact: a number
with a decimal point is read from its text, so that 0.1 is one tenth.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import attrs

from queryable.errors import InteractiveError
from queryable.losses.numbers import at_least_one
from queryable.wording.quoting import quoted

Reader = Callable[[Any], Any]
"""From the value in the file to the one that is kept; raises ValueError or TypeError."""


class ConfigurationError(InteractiveError, ValueError):
    """The configuration is wrong. The text names the file and the key, and what would be right."""


@attrs.frozen
class Section:
    """A table of a file.

    Attributes:
        file: the path of the file.
        keys: where the table is, as ("datasets", "visits").
        values: what it has.
    """

    file: Path
    keys: tuple[str, ...]
    values: Mapping[str, Any]

    def read(self, readers: Mapping[str, Reader], required: Iterable[str] = ()) -> dict[str, Any]:
        """The values of the keys that are there, each through its reader.

        Raises:
            ConfigurationError: a key is unknown or missing, or its value is wrong.
        """
        for key in self.values:
            if key not in readers:
                raise self.wrong(f"there is no key {quoted(key)}{_instead(key, readers)}")
        for key in required:
            if key not in self.values:
                raise self.wrong(f"{key} is missing")
        found = {}
        for key, value in self.values.items():
            with self.checked(key):
                found[key] = readers[key](value)
        return found

    def inner(self, key: str) -> "Section":
        """The table at a key.

        Raises:
            ConfigurationError: it is no table.
        """
        with self.checked(key):
            return Section(self.file, (*self.keys, key), mapping(self.values[key]))

    def wrong(self, problem: str) -> ConfigurationError:
        """The error about this table."""
        where = ".".join(self.keys)
        return ConfigurationError(f"{self.file}: {where + ': ' if where else ''}{problem}")

    def inner_wrong(self, key: str, problem: str, known: Iterable[str]) -> ConfigurationError:
        """The error about a name at a key that is none of those known."""
        given = str(self.values[key])
        return Section(self.file, (*self.keys, key), {}).wrong(problem + _instead(given, known))

    @contextmanager
    def checked(self, *keys: str) -> Iterator[None]:
        """Name the file and the key in errors about values."""
        try:
            yield
        except ConfigurationError:
            raise
        except (ValueError, TypeError, InteractiveError) as error:
            raise Section(self.file, (*self.keys, *keys), {}).wrong(str(error)) from error


def read_file(path: Path) -> Section:
    """The whole file as a section.

    Raises:
        ConfigurationError: it is no TOML.
        FileNotFoundError: there is no file.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {path}: `curator init FOLDER` writes a configuration"
        ) from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigurationError(f"{path}: this is no TOML: {error}") from error
    return Section(path, (), values)


def text(value: Any) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise TypeError(f'it is {quoted(value)}; it should be a text, as in "{_shown(value)}"')
    return value


def texts(value: Any) -> list[str]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise TypeError(f'it is {quoted(value)}; it should be a list of texts, as ["a", "b"]')
    return value


def mapping(value: Any, example: str = '{ name = "value" }') -> dict[str, Any]:
    """Read a table."""
    if not isinstance(value, dict):
        given = str(value) if isinstance(value, Decimal) else quoted(value)
        raise TypeError(f"it is {given}; it should be a table, as {example}")
    return value


def text_table(value: Any) -> dict[str, str]:
    """Read a table of texts."""
    return {name: text(each) for name, each in mapping(value).items()}


def natural_number(value: Any) -> int:
    """Read a whole number that is at least 1."""
    if isinstance(value, Decimal):
        raise TypeError(f"it is {value}; it should be a whole number")
    return at_least_one(value, "it")


def one_name(*names: str) -> Reader:
    """Read one of these names."""

    def read(value: Any) -> str:
        if value not in names:
            wanted = " or ".join(f'"{name}"' for name in names)
            raise ValueError(f"it is {quoted(value)}; it should be {wanted}")
        return str(value)

    return read


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, int | Decimal) else "a name"


def _instead(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    advice = f"; write {near[0]}" if near else ""
    return f"{advice}. Possible are {', '.join(names)}"
