"""Texts of values: short ones for error messages, safe for values of any type, and as code."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

_LONGEST = 60


def quoted(value: object) -> str:
    """The `repr` of a value in at most 60 characters; the name of its type if `repr` fails."""
    try:
        text = str.__str__(str(value) if type(value) is Fraction else repr(value))
    except Exception:  # also a RecursionError, and an int of too many digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def truth(value: object, name: str) -> bool:
    """Read an argument that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {quoted(value)}; it should be True or False")
    return bool(value)


def an_instance(kind: type) -> Callable[[Any, Any, Any], None]:
    """An attrs validator: the value is an instance of this class."""

    def check(_: object, attribute: Any, value: object) -> None:
        if not isinstance(value, kind):
            fix = ""
            if isinstance(value, type) and issubclass(value, kind):
                fix = f"write {value.__name__}(..), with parentheses: "
            raise TypeError(
                f"{fix}{attribute.name} is {quoted(value)}; it should be a {kind.__name__}"
            )

    return check


def one_of(*names: str) -> Callable[[Any, Any, Any], None]:
    """An attrs validator: the value is exactly one of these strings."""

    def check(_: object, attribute: Any, value: object) -> None:
        if type(value) is not str or value not in names:
            wanted = " or ".join(map(repr, names))
            raise ValueError(f"{attribute.name} is {quoted(value)}; it should be {wanted}")

    return check


def as_made(value: Any) -> str:
    """A value of an attrs class as code that makes it, without what has its default."""
    fields = [each for each in attrs.fields(type(value)) if each.init and each.repr]
    given = [each for each in fields if getattr(value, each.name) != _default(each)]
    given.sort(key=lambda each: each.kw_only)
    values = [(each.name, getattr(value, each.name)) for each in given]
    texts = (f"{n}={v.__name__ if isinstance(v, type) else repr(v)}" for n, v in values)
    return f"{type(value).__name__}({', '.join(texts)})"


def _default(field: "attrs.Attribute[Any]") -> Any:
    """The default value of a field; `attrs.NOTHING` if it has none."""
    factory = getattr(field.default, "factory", None)
    return field.default if factory is None else factory()
