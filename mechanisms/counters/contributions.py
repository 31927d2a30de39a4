"""What a batch adds to a counter, with the bound on a unit's records enforced.

Which records of a unit count depends on that unit's records alone: the first ones, in the order in
which they arrive. All functions here read data; they run inside the fault boundary.
"""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from immutables import Map

from queryable.data.rows import column_values, take
from queryable.faults import touching_data
from queryable.statistics import IntegerStatistic
from queryable.streams import UserLevel

Seen = Map[Any, int]
"""How many records of each unit have counted."""

_UNITS = (int, float, str, bytes, date, timedelta, Decimal, np.generic)


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
    units = column_values(records, level.column)
    for row, unit in enumerate(units):
        if not isinstance(unit, _UNITS):  # missing, or no value that names a unit
            continue
        before = counts.get(unit, 0)
        if before < level.max_records:
            counts[unit] = before + 1
            kept.append(row)
    chosen = records if len(kept) == len(units) else take(records, kept)
    return chosen, counts.finish()
