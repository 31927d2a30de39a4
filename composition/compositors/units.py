"""The rows of privacy units in blocks: which of a batch count.

Responsible for the bound on the blocks of a unit. Whether a row counts depends on its unit's own
earlier rows alone, so streams that differ in one unit still differ in one unit. Touches data.
"""

from typing import Any, TypeAlias

from immutables import Map

from queryable.data.rows import column_values, take
from queryable.errors import QueryError

Units: TypeAlias = "Map[Any, tuple[int, int, int]]"
"""For each unit: the number of its blocks, the place of the last, and its rows in that one."""

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
        QueryError: the batch has no such column.
    """
    kept: list[int] = []
    named = _units_of(records, column)
    now = units.mutate()
    for row, unit in enumerate(named):
        if not _names_a_unit(unit):
            continue
        known, last, count = now.get(unit, (0, -1, 0))
        if last != place:
            known, count = known + 1, 0
        if known > blocks or count == rows:
            continue
        now[unit] = (known, place, count + 1)
        kept.append(row)
    return (records if len(kept) == len(named) else take(records, kept)), now.finish()


def _units_of(records: Any, column: str) -> list[Any]:
    try:
        return column_values(records, column)
    except (KeyError, TypeError, ValueError, IndexError):
        pass
    raise QueryError(f"the batch has no column {column!r}, which names units; nothing has changed")


def _names_a_unit(value: Any) -> bool:
    """Whether a cell has a value: not null, not NaN, and one that can be compared."""
    try:
        hash(value)
        return value is not None and bool(value == value)  # noqa: PLR0124 (NaN is not itself)
    except Exception:
        return False
