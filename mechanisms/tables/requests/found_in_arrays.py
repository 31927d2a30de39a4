"""The keys that occur in arrays and data frames in memory, with the number of rows of each."""

from collections.abc import Hashable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from mechanisms.tables.expressions.column_types import kind_of
from mechanisms.tables.expressions.computed import operand_cells
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.expressions.predicates import selected
from mechanisms.tables.requests.arrays import as_python, needs_table
from mechanisms.tables.requests.discovery import (
    MOST_BYTES,
    Discovery,
    FoundKeys,
    Key,
    require_discoverable,
)
from queryable.data.cells import Array, Mask
from queryable.data.keys import keys_of

_MOST = 2**128
"""Whole numbers below this can be keys, as in a database."""
_EPOCH = date(1970, 1, 1)
_DAYS = (date.min - _EPOCH).days, (date.max - _EPOCH).days


def found_in_arrays(dataset: Any, asked: Discovery) -> Iterator[FoundKeys]:
    """The keys that occur, in their order, with a count for each."""
    if asked.per is not None:
        raise TypeError(needs_table(asked.per))
    there = selected(asked.where, dataset)
    columns = [_coded(dataset, column) for column in asked.columns]
    for given, _, _ in columns:
        there = there & given
    code = np.zeros(int(there.sum()), dtype=np.int64)
    placed = [codes[there[given]] for given, codes, _ in columns]
    for each in placed:  # codes stay below the number of rows, so products are below 2**63
        code = np.unique(code * (each.max(initial=0) + 1) + each, return_inverse=True)[1]
    kept, first, counts = np.unique(code, return_index=True, return_counts=True)
    if not len(kept):
        return
    values = [column for _, _, column in columns]

    def keys(places: Array) -> list[Key]:
        rows = first[places]
        found = [
            [value[i] for i in mine[rows].tolist()]
            for value, mine in zip(values, placed, strict=True)
        ]
        return list(zip(*found, strict=True))

    yield FoundKeys(counts.astype(np.int64), keys)


def _coded(dataset: Any, column: Any) -> tuple[Mask, Array, Sequence[Any]]:
    """Which rows have a cell that can be a key, the places of these among all values, and these.

    Values are in ascending order. Whether a cell can be a key depends on the cell alone.
    """
    present, cells = operand_cells(dataset, column)
    require_discoverable(kind_of(cells.dtype), operand_name(column))
    if cells.dtype == object:
        each = [_discoverable(key) for key in keys_of(cells.tolist())]
        values = sorted({(type(it).__name__, it) for it in each if it is not None})
        place = {value: i for i, (_, value) in enumerate(values)}
        codes = np.array([-1 if it is None else place[it] for it in each], dtype=np.int64)
        known: list[Any] = [value for _, value in values]
    else:
        kinds, inverse = np.unique(cells, return_inverse=True)
        known = [_written(value) for value in as_python(kinds)]
        codes = np.where([it is None for it in known], -1, np.arange(len(known)))[inverse]
    there = present.copy()
    there[present] = codes >= 0
    return there, codes[codes >= 0], known


def _discoverable(key: Hashable) -> Any:
    """The whole number, text, bytes or date that has this key; None if none has."""
    match key:
        case int():
            return key if -_MOST < key < _MOST else None
        case str() | bytes():
            return _written(key)
        case ("date", int(day)) if _DAYS[0] <= day <= _DAYS[1]:
            return _EPOCH + timedelta(day)
    return None


def _written(value: Any) -> Any:
    """The value; None for a text with half a character, and for what is too long."""
    if isinstance(value, str | bytes) and len(value) > MOST_BYTES:
        return None
    if isinstance(value, str) and not value.isascii():
        half = any("\ud800" <= each <= "\udfff" for each in value)
        return None if half or len(value.encode()) > MOST_BYTES else value
    return value
