"""Reads and selects rows of any table in memory.

A table is an array, a mapping of columns, a list of records, or a frame. No frame library is
imported: frames are recognised by their methods. All functions touch data, so they run inside the
fault boundary. The content of a row does not depend on other rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from queryable.data.cells import Array, cells, python_values
from queryable.data.frozen import read_only
from queryable.data.growing import Growing
from queryable.data.keys import Key, keys_of


def column_values(dataset: Any, name: str) -> list[Any]:
    """Return one column as Python values, with None for a missing cell.

    If a record of a list does not have the field, its cell is missing, so no record decides whether
    the column exists. The columns of other tables are public.

    Raises:
        KeyError, ValueError, TypeError: there is no such column.
    """
    if isinstance(dataset, Growing):
        return dataset.column_values(name)
    present, values = cells(dataset, name)
    given = iter(python_values(values))
    return [next(given) if there else None for there in present.tolist()]


def column_keys(dataset: Any, name: str) -> Sequence[Key | None]:
    """Return the key of each cell of a column; None for a cell that has none.

    Raises:
        KeyError, ValueError, TypeError: as `column_values`.
    """
    if isinstance(dataset, Growing):
        return keys_of(dataset.column_values(name))
    present, values = cells(dataset, name)
    keys = keys_of(python_values(values))
    if len(keys) == len(present):
        return keys
    given = iter(keys)
    return [next(given) if there else None for there in present.tolist()]


def rows_of(dataset: Any) -> Iterable[Any]:
    """Iterate over the rows: elements of a sequence or an array, else dicts by column name."""
    if isinstance(dataset, list | tuple | np.ndarray):
        return iter(dataset)
    names = list(dataset.keys() if isinstance(dataset, dict) else _columns(dataset))
    columns = [column_values(dataset, name) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def column_names(dataset: Any) -> tuple[str, ...] | None:
    """The names of the columns; None if they are not public, as those of a list of records."""
    if isinstance(dataset, Mapping):
        return tuple(dataset)
    if isinstance(dataset, np.ndarray):
        return dataset.dtype.names or ()
    names = getattr(dataset, "column_names", None) or getattr(dataset, "columns", None)
    return None if names is None else tuple(names)


def _columns(frame: Any) -> Iterable[str]:
    """Return the column names; the `columns` of an Arrow table are its data."""
    names: Iterable[str] = getattr(frame, "column_names", None) or frame.columns
    return names


def take(dataset: Any, rows: Sequence[int] | Array) -> Any:
    """Return the rows at these positions, in the dataset's own form.

    Arrays become read-only. The index of a pandas frame is dropped.
    """
    if isinstance(dataset, Growing):
        return dataset.take(np.asarray(rows).tolist())
    if isinstance(dataset, list | tuple):
        return type(dataset)([dataset[row] for row in rows])
    if isinstance(dataset, dict):
        return {name: take(column, rows) for name, column in dataset.items()}
    indices = np.asarray(rows, dtype=np.intp)
    if hasattr(dataset, "iloc"):  # the old index would reveal how many rows are in other parts
        return dataset.iloc[indices].reset_index(drop=True)
    taken = dataset.take(indices) if hasattr(dataset, "to_pylist") else dataset[indices]
    return read_only(taken) if isinstance(taken, np.ndarray) else taken
