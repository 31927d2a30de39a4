"""Streams: what neighbours are if the data grow.

A stream is the initial data and a sequence of batches. How many batches there are, and when each
arrives, is public. Streams are neighbours only if they have as many batches. The classes here say
in which records they may differ. A mechanism states one of them as its `neighbours`.
"""

from typing import Any

import attrs

from queryable.errors import QueryError
from queryable.losses.numbers import natural


@attrs.frozen
class DataLevel:
    """Streams differ in `d_in` of what the data set protects, rows or units.

    It is for mechanisms that see batches only through a data set that grows, such as filters and
    sparse vectors: the data set bounds what a unit may change.
    """

    def __str__(self) -> str:
        return "streams that differ in d_in of the rows or units that the data protect"


@attrs.frozen
class EventLevel:
    """Streams differ in `d_in` records, added or removed, in all batches together."""

    def __str__(self) -> str:
        return "streams that differ in d_in records, added or removed, over all batches"


def _column(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("column should be the name of the column that names units")
    return value


def _max_records(value: Any) -> int:
    return _at_least_one(value, "max_records")


def _max_blocks(value: Any) -> int:
    return _at_least_one(value, "max_blocks")


def _at_least_one(value: Any, name: str) -> int:
    most = natural(value, name)
    if most == 0:
        raise ValueError(f"{name} is 0; it should be at least 1")
    return most


@attrs.frozen
class UserLevel:
    """Streams differ in all records of `d_in` units, over all batches.

    The mechanism enforces that only the first `max_records` records of a unit count. Its loss is
    that of d_in * max_records records.

    Args:
        column: names the unit of a record.
        max_records: how many records of a unit count, the first ones.
    """

    column: str = attrs.field(converter=_column)
    max_records: int = attrs.field(converter=_max_records)

    def __str__(self) -> str:
        return (
            f"streams that differ in all records of d_in units, the values of {self.column}; the "
            f"first {self.max_records:,} records of each count"
        )


@attrs.frozen
class BlockLevel:
    """Streams differ in all records of `d_in` units; a unit's records count in a few blocks only.

    The mechanism enforces that only the records in the first `max_blocks` blocks of a unit count.

    Args:
        column: names the unit of a record.
        max_blocks: in how many blocks records of a unit count.
    """

    column: str = attrs.field(converter=_column)
    max_blocks: int = attrs.field(converter=_max_blocks)

    def __str__(self) -> str:
        blocks = "block" if self.max_blocks == 1 else f"{self.max_blocks:,} blocks"
        return (
            f"streams that differ in all records of d_in units, the values of {self.column}; those "
            f"in the first {blocks} of each count"
        )


Neighbours = DataLevel | EventLevel | UserLevel | BlockLevel


def require_neighbours(whose: str | None, mechanism: Any) -> None:
    """Check that a continual mechanism protects what the data protect.

    Args:
        whose: the column that names the units of the data; None if rows are protected.

    Raises:
        QueryError: the data protect units, and the mechanism only single records.
    """
    if whose is None or not mechanism.continual:
        return
    level = mechanism.neighbours
    if isinstance(level, DataLevel):
        return
    if isinstance(level, UserLevel | BlockLevel) and level.column == whose:
        return
    name = type(mechanism).__name__
    raise QueryError(
        f"these data protect all rows of one {whose}, and {name} protects {level}. State "
        f"neighbours=UserLevel({whose!r}, max_records) where it takes that, or unit={whose!r} in "
        "Blocks; nothing is charged"
    )
