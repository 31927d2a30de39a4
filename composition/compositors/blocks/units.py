"""The rows of privacy units in blocks: which of a batch count.

Responsible for the bound on the blocks of a unit. Whether a row counts depends on its unit's own
earlier rows alone, so streams that differ in one unit still differ in one unit. Reads rows inside
the fault boundary.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from immutables import Map

from queryable.data.growing import growable, grown, over
from queryable.data.keys import Key
from queryable.data.rows import column_keys, column_names, take
from queryable.errors import QueryError
from queryable.faults import touching_data

Units: TypeAlias = "Map[Key, tuple[int, int, int]]"
"""For the key of each unit: in how many blocks it is, which is the last, and its rows in that."""

NO_UNITS: Units = Map()


def kept_rows(
    records: Any, column: str, units: Units, place: int, blocks: int, rows: int | None
) -> tuple[Any, Units]:
    """The rows of a batch that count, and the units after it.

    Args:
        records: the batch.
        column: names the unit of a row. A row without a unit does not count.
        place: the place of the batch's block.
        blocks: in how many blocks rows of a unit count, the first ones.
        rows: how many rows of a unit in one block count, the first ones; None for all.

    Raises:
        QueryError: the batch has no such column, which is public.
        MechanismFault: the rows could not be read, for a reason that is not in them.
    """
    names = column_names(records)
    if names is not None and column not in names:
        raise QueryError(
            f"the batch has no column {column!r}, which names units; nothing has changed"
        )
    return touching_data(lambda: _rows_within_bounds(records, column, units, (place, blocks, rows)))


def _rows_within_bounds(
    records: Any, column: str, units: Units, bounds: tuple[int, int, int | None]
) -> tuple[Any, Units]:
    place, blocks, rows = bounds
    kept: list[int] = []
    named = column_keys(records, column)
    now = units.mutate()
    for row, unit in enumerate(named):
        if unit is None:
            continue
        known, last, count = now.get(unit, (0, -1, 0))
        if last != place:
            known, count = known + 1, 0
        if known > blocks or count == rows:
            continue
        now[unit] = (known, place, count + 1)
        kept.append(row)
    return (records if len(kept) == len(named) else take(records, kept)), now.finish()


def restricted(
    data: Any, names: Sequence[Hashable], column: str, blocks: int, rows: int | None
) -> tuple[Any, Units]:
    """Data that have blocks already, with the rows that count of each, and the units in them.

    Args:
        names: those of the blocks, in the order in which they were opened.
        column, blocks, rows: as for `kept_rows`.
    """
    kept, units = growable(over(data, ())), NO_UNITS
    for place, name in enumerate(names):
        records, units = kept_rows(over(data, (name,)), column, units, place, blocks, rows)
        kept = grown(kept, records, name)
    return kept, units
