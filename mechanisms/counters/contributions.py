"""What a batch adds to a counter, with the bound on a unit's records enforced.

Which records of a unit count depends on that unit's records alone: the first ones, in the order in
which they arrive. All functions here read data; they run inside the fault boundary.
"""

from typing import Any

from immutables import Map

from queryable.data.keys import Key
from queryable.data.rows import column_keys, take
from queryable.faults import touching_data
from queryable.statistics import IntegerStatistic
from queryable.streams.levels import UserLevel

Seen = Map[Key, int]
"""How many records of each unit have counted, by the key of the unit."""


def contribution(
    statistic: IntegerStatistic, neighbours: Any, seen: Seen, records: Any
) -> tuple[Any, Seen]:
    """The statistic of a batch, and how many records of each unit have counted then.

    Raises:
        MechanismFault: the statistic or the column of units could not be read.
    """
    if isinstance(neighbours, UserLevel):
        level = neighbours
        records, seen = touching_data(lambda: first_records(records, level, seen))
    return statistic(records), seen


def first_records(records: Any, level: UserLevel, seen: Seen) -> tuple[Any, Seen]:
    """The records that count: the first `max_records` of each unit; none without a unit."""
    kept, counts = [], seen.mutate()
    units = column_keys(records, level.column)
    for row, unit in enumerate(units):
        if unit is None:  # missing, or no value that names a unit
            continue
        before = counts.get(unit, 0)
        if before < level.max_records:
            counts[unit] = before + 1
            kept.append(row)
    chosen = records if len(kept) == len(units) else take(records, kept)
    return chosen, counts.finish()
