"""Streams: what neighbours are if the data grow, and what a mechanism does with their batches.

A stream is the initial data and a sequence of batches. How many batches there are, and when each
arrives, is public. Streams are neighbours only if they have as many batches. The levels here say in
which records they may differ. A mechanism states one of them as its `neighbours`; what a whole tree
of mechanisms protects is derived in `queryable.checks.protection`. A mechanism that takes batches
states a
`Growth`.
"""

from typing import Any

import attrs

from queryable.losses.numbers import at_least_one


@attrs.frozen
class DataLevel:
    """Streams differ in `d_in` of what the data set protects, rows or units.

    It is for mechanisms that see batches only through a data set that grows, such as filters and
    sparse vectors, and for those that keep the data: the data set bounds what a unit may change.
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
    """Streams differ in `d_in` units: one has all records of each, over all batches, one has none.

    The mechanism enforces that only the first `max_records` records of a unit count. Its loss is
    that of d_in * max_records records. If both streams have records of a unit, and not the same
    ones, they are at distance 2: the unit is removed and added again.

    Args:
        column: names the unit of a record.
        max_records: how many records of a unit count, the first ones.
    """

    column: str = attrs.field(converter=_column)
    max_records: int = attrs.field(converter=_max_records)

    @property
    def counted(self) -> str:
        """Which records of a unit count, in words."""
        if self.max_records == 1:
            return "the first record of each counts"
        return f"the first {self.max_records:,} records of each count"

    def __str__(self) -> str:
        return f"{_units(self.column)}; {self.counted}"


@attrs.frozen
class BlockLevel:
    """Streams that differ as at `UserLevel`; a unit's records count in a few blocks only.

    The mechanism enforces that only the records in the first `max_blocks` blocks of a unit count,
    and in each of them the first `max_records`, unless the data protect units and bound their
    records themselves.

    Args:
        column: names the unit of a record.
        max_blocks: in how many blocks records of a unit count.
        max_records: how many records of a unit count in one block; None for all.
    """

    column: str = attrs.field(converter=_column)
    max_blocks: int = attrs.field(converter=_max_blocks)
    max_records: int | None = attrs.field(
        default=None, converter=attrs.converters.optional(_max_records)
    )

    @property
    def counted(self) -> str:
        """Which records of a unit count, in words."""
        if self.max_records is None:
            return self.blocks
        return f"{self.blocks}, at most {self.max_records:,} of each in a block"

    @property
    def blocks(self) -> str:
        """In which blocks records of a unit count, in words."""
        blocks = "block" if self.max_blocks == 1 else f"{self.max_blocks:,} blocks"
        return f"those in the first {blocks} of each count"

    def __str__(self) -> str:
        return f"{_units(self.column)}; {self.counted}"


Neighbours = DataLevel | EventLevel | UserLevel | BlockLevel


def _is_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"a fact about a growth is True or False, not a {type(value).__name__}")
    return value


@attrs.frozen(kw_only=True)
class Growth:
    """What a mechanism does whose `step` takes the messages of the data's owner.

    These are `Update` and `CloseBlock`, and it answers None to each. Its claim is then about
    streams.

    Args:
        from_any_history: whether the claim holds from every history on which the messages agreed.
            Take any state that messages with equal batches lead to with positive probability.
            Whatever differs later loses at most the privacy map, given that state. Additive noise
            on the differing batches satisfies this. `Parallel` needs it, unless all is pure.
        counts_batches: whether it answers about batches since its launch alone.
        passes_batches: whether those that it launches get its batches, if they take batches.
        in_blocks: whether it reads named blocks only, so that a batch needs a block's name.
    """

    from_any_history: bool = attrs.field(default=False, converter=_is_bool)
    counts_batches: bool = attrs.field(default=False, converter=_is_bool)
    passes_batches: bool = attrs.field(default=True, converter=_is_bool)
    in_blocks: bool = attrs.field(default=False, converter=_is_bool)

    @property
    def about_batches(self) -> bool:
        """Whether it answers about batches that arrive, so that it needs some."""
        return self.counts_batches or self.in_blocks


def _units(column: str) -> str:
    return (
        f"streams that differ in d_in units, the values of {column}: one has all records of each, "
        "the other none"
    )
