"""The keys that occur in a table, with a count for each: what an engine is asked to find.

A `Discovery` is to keys that nobody has named what a `Request` is to public groups. What an engine
finds is private. Noise and thresholds are not its concern.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand, columns_of, operand_name
from mechanisms.tables.expressions.predicates import Where
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Categories, Request
from queryable.data.cells import Array
from queryable.losses.numbers import natural

Key: TypeAlias = tuple[Any, ...]
"""One Python value for each column."""

BATCH = 1 << 18
"""How many keys are held in memory at a time."""


@attrs.frozen
class Discovery:
    """The combinations of cells that occur, with the number of rows or of privacy units of each.

    Args:
        columns: whose cells are keys. A row in which one of them is missing, or is no value of
            Python's, has no key.
        where: which rows are selected.
        per: the privacy unit that is counted, once in each of its keys; None to count rows.
        max_keys: in how many keys a unit is counted.
    """

    columns: tuple[Operand, ...]
    where: Where | None
    per: PrivacyUnit | None
    max_keys: int

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the columns."""
        return tuple(map(operand_name, self.columns))

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the table that are read, without the privacy unit's."""
        return tuple(sorted(set(columns_of(*self.columns, self.where))))

    @property
    def request(self) -> Request:
        """The columns and the `where` as a request without keys, by which engines compile them."""
        by = tuple(Categories(column, ()) for column in self.columns)
        return Request((), self.where, by, self.per)


@attrs.frozen(eq=False, repr=False)
class FoundKeys:
    """Some of the keys that occur. Private.

    Args:
        counts: of each key, int64.
        keys: the keys at some places of `counts`.
    """

    counts: Array
    keys: Callable[[Array], list[Key]]


MOST_BYTES = 2**16
"""Texts that are longer in UTF-8, and longer bytes, are no keys: sorting one could take all memory,
and one record would decide whether a launch fails."""

_GROUPABLE = {
    "float": ", such as column({0!r}).cast('integer')",
    "decimal": ", such as column({0!r}).cast('integer')",
    "timestamp": ", such as column({0!r}).truncate('month')",
    "instant": ", such as column({0!r}).truncate('month')",
    "duration": "",
    "other": "",
}


def require_discoverable(kind: Kind, name: str) -> None:
    """Check that cells of a kind can be keys: text, whole numbers, dates, truth values or bytes.

    Raises:
        TypeError: hardly any two of them are equal, or they are of no type that is compared.
    """
    if kind.name in _GROUPABLE and not (kind.name == "decimal" and kind.step == 1):
        instead = _GROUPABLE[kind.name].format(name)
        raise TypeError(
            f"give columns of text, whole numbers, dates or truth values{instead}: {name!r} is a "
            f"column of {kind.declared or kind.name}"
        )


def max_keys_of(value: Any) -> int:
    """Read a bound as a plain int, because it is written into SQL statements."""
    bound = natural(value, "max_keys")
    if not 1 <= bound < 2**31:
        raise ValueError(f"max_keys is {bound}; it should be at least 1, below 2**31")
    return bound


def in_batches(
    rows: Iterator[tuple[Any, ...]], values: Callable[[Any], Key | None]
) -> Iterable[FoundKeys]:
    """Keys and counts that an engine returns row by row, the count last.

    Args:
        values: makes a key of what an engine has returned; None of what is no value of Python's.
    """
    keys: list[Key] = []
    counts: list[int] = []
    for *raw, count in rows:
        if (key := values(raw)) is None:
            continue
        keys.append(key)
        counts.append(int(count))
        if len(keys) == BATCH:
            yield listed(keys, counts)
            keys, counts = [], []
    if keys:
        yield listed(keys, counts)


def listed(keys: list[Key], counts: list[int]) -> FoundKeys:
    """Keys in a list, with their counts."""
    return FoundKeys(
        np.array(counts, dtype=np.int64), lambda places: [keys[i] for i in places.tolist()]
    )
