"""What the data's owner states about columns: bounds and keys. All of it is public.

Bounds and keys are never taken from the rows.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.keys import categories_of
from mechanisms.tables.requests.signed import signed
from queryable.wording.quoting import quoted

_PARTS = ("lower", "upper", "keys")


@attrs.frozen
class Declared:
    """What is stated about one column.

    Attributes:
        lower, upper: the ends to which numbers are clipped; for dates the first and the last day
            that a GROUP BY shows.
        keys: the values of which each makes a group.
    """

    lower: Any = None
    upper: Any = None
    keys: tuple[Scalar, ...] = ()

    @classmethod
    def of(cls, given: Any, name: str) -> "Declared":
        """Read what is stated about a column: {"lower": 0, "upper": 100} or {"keys": ["CA"]}.

        Raises:
            TypeError, ValueError: it states something else.
        """
        if isinstance(given, Declared):
            return given
        if not isinstance(given, Mapping) or not given or not set(given) <= set(_PARTS):
            raise TypeError(
                f"{name} is declared as {quoted(given)}; it should be like "
                '{"lower": 0, "upper": 100} or {"keys": ["CA", "NY"]}'
            )
        if ("lower" in given) != ("upper" in given):
            raise ValueError(f"{name} needs both, a lower and an upper bound")
        keys = categories_of(given["keys"]) if "keys" in given else ()
        if "lower" not in given:
            return cls(keys=keys)
        lower, upper = given["lower"], given["upper"]
        if type(lower) not in (date, datetime) or type(lower) is not type(upper):
            lower, upper = signed(lower, f"{name}'s lower"), signed(upper, f"{name}'s upper")
        if not lower <= upper:
            raise ValueError(f"{name}'s lower bound is above its upper bound")
        return cls(lower, upper, keys)

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds, if they are numbers."""
        numbers = isinstance(self.lower, Fraction) and isinstance(self.upper, Fraction)
        return (self.lower, self.upper) if numbers else None


def declared_of(given: Any, columns: Collection[str]) -> dict[str, Declared]:
    """What is stated about columns, by their names.

    Args:
        columns: the names that there are.

    Raises:
        TypeError, ValueError: it is not, or of a column that is not there.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"declared is {quoted(given)}; it should be like "
            '{"age": {"lower": 0, "upper": 100}, "state": {"keys": ["CA", "NY"]}}'
        )
    for name in given:
        if name not in columns:
            raise ValueError(no_column(str(name), columns))
    return {str(name): Declared.of(each, str(name)) for name, each in given.items()}
