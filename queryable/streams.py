"""Streams: what neighbours are if the data grow.

A stream is the initial data and a sequence of batches. How many batches there are, and when each
arrives, is public. Streams are neighbours only if they have as many batches. The classes here say
in which records they may differ. A mechanism states one of them as its `neighbours`.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from queryable.errors import QueryError
from queryable.losses.numbers import at_least_one


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
    return at_least_one(value, "max_records")


def _max_blocks(value: Any) -> int:
    return at_least_one(value, "max_blocks")


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


def require_neighbours(whose: str | None, mechanism: Any, *, launched: bool = False) -> None:
    """Check that a continual mechanism, and each one in it, protects what the data protect.

    Args:
        whose: the column that names the units of the data; None if rows are protected.
        launched: whether a compositor charges its claim for what the data protect. A root's claim
            is about its own `neighbours`.

    Raises:
        QueryError: the data protect units, and the mechanism only single records; or the data
            protect single records, and the mechanism bounds what a unit may do, not a record.
    """
    if not mechanism.continual:
        return
    of_units = not launched and isinstance(mechanism.neighbours, UserLevel | BlockLevel)
    for level in mechanism.levels:
        if whose is None and not of_units:
            _require_for_rows(level, type(mechanism).__name__)
        if whose is not None:
            _require_for_units(whose, level, type(mechanism).__name__)


def too_few_for_rows(levels: Iterable[Neighbours]) -> str | None:
    """What to change so that claims about units hold for one record; None if they do.

    A record that comes first may displace the last one of its unit that counted, so two records
    differ, perhaps in two blocks. A claim about units covers that if two or more of a unit count.
    """
    advice = []
    for level in levels:
        if isinstance(level, UserLevel) and level.max_records < 2:
            advice.append(f"two records of each {level.column}")
        elif isinstance(level, BlockLevel) and level.max_blocks < 2:
            advice.append(f"two blocks of each {level.column}")
    return f"let {' and '.join(advice)} count" if advice else None


def _require_for_rows(level: Neighbours, name: str) -> None:
    """Check that a claim about units holds for one record."""
    advice = too_few_for_rows([level])
    if advice is not None:
        raise QueryError(
            f"these data protect single records, and {name} protects {level}. One record more may "
            f"take the place of another one there, and then two differ: {advice}. Nothing is "
            "charged"
        )


def _require_for_units(whose: str, level: Neighbours, name: str) -> None:
    if isinstance(level, DataLevel):
        return
    if isinstance(level, UserLevel | BlockLevel) and level.column == whose:
        return
    raise QueryError(
        f"these data protect all rows of one {whose}, and {name} protects {level}. State "
        f"neighbours=UserLevel({whose!r}, max_records) where it takes that, or unit={whose!r} in "
        "Blocks; nothing is charged"
    )
