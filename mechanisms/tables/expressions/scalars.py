"""Public constants that a cell can be compared with.

`scalar` and `scalars` check the constants of predicates, categories and grids, and convert them to
exactly Python's own types. `alike` says when two of them are the same question.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np

from queryable.data.constants import python_constant
from queryable.losses.numbers import several
from queryable.wording.quoting import quoted

Scalar: TypeAlias = bool | int | float | str | bytes | date | timedelta | np.generic
"""A constant that a cell can be compared with: one value, never a missing one."""

_MOST_DIGITS = 400  # the limit for every parameter

EQUAL = frozenset({bool, int, str, bytes})
"""Types of which two equal constants are alike."""
WRITTEN = frozenset({float, date, datetime, timedelta, np.datetime64, np.timedelta64})
"""Types of which two constants are alike if they are written alike: 0.0 equals -0.0."""


def scalar(value: Any, name: str) -> Scalar:
    """Convert a constant to one of exactly Python's own types.

    A subclass is converted too, because its `__eq__` would be given the cells. A Decimal or a
    Fraction becomes the integer or the float that is written like it.

    Raises:
        TypeError: the value is no scalar, or is a column or a predicate.
        ValueError: the value is missing (None, NaN, NaT), or Python's types would round it.
    """
    if type(value) is str or (type(value) is int and abs(value) < 2**63):  # quickly
        return value
    if value is None or (isinstance(value, Scalar) and value != value):  # noqa: PLR0124
        raise ValueError(
            f"{name} is {quoted(value)}, a missing value, which no comparison selects; to select "
            "missing cells write column(..).is_null()"
        )
    try:
        exact = isinstance(value, Decimal | Fraction)
        taken: Scalar = written_number(value) if exact else python_constant(value)
    except TypeError:
        raise TypeError(
            f"{name} is {quoted(value)}; it should be a number, a string or a date"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name} is {quoted(value)}; {error}") from None
    if isinstance(taken, int) and not -(10**_MOST_DIGITS) <= taken <= 10**_MOST_DIGITS:
        raise ValueError(f"{name} is an integer of more than {_MOST_DIGITS} digits")
    return taken


def written_number(value: Decimal | Fraction) -> int | float:
    """The integer, or the float of which it is the shortest decimal.

    Raises:
        ValueError: there is none.
    """
    try:
        nearest = float(value)
    except OverflowError:
        nearest = inf
    if value == 0:
        return 0
    if nearest == 0 or not isfinite(nearest):  # it might be too long to be converted
        raise ValueError("it has no nearest float")
    exact = Fraction(value)
    if exact.denominator == 1:
        return int(exact)
    if Fraction(float.__repr__(nearest)) != exact:
        raise ValueError("write it with at most 15 digits")
    return nearest


def scalars(values: Any, name: str) -> tuple[Scalar, ...]:
    """Convert a collection of constants.

    Raises:
        TypeError: the collection is a string, whose letters would be the constants, or no
            collection; or as `scalar`.
        ValueError: as `scalar`.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {quoted(values)}; it should be a list")
    given = several(values, name)
    types = set(map(type, given))
    if types == {str} or (types == {int} and min(given) > -(2**63) and max(given) < 2**63):
        return tuple(given)  # quickly, as there may be many
    return tuple(scalar(value, f"a member of {name}") for value in given)


def alike(value: Any) -> Any:
    """A key that constants, or tuples of them, share only if no engine can tell them apart.

    Python's 1 equals 1.0 and True, which are read from a text, and written as one, in other ways.
    So expressions and statistics compare their constants by this key.
    """
    kind = type(value)
    if kind is not tuple:
        return kind, repr(value) if kind in WRITTEN else value
    kinds = set(map(type, value))
    if len(kinds) == 1 and kinds <= EQUAL:  # quickly, as there may be many
        return *kinds, value
    return tuple(map(alike, value))
