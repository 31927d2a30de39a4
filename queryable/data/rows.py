"""Rows of the forms that tables in memory come in.

Responsible for taking rows out of arrays, mappings of columns, lists of records and frames alike.
Imports no frame library: frames are recognised by what they can do. Everything here touches data,
so it runs inside the fault boundary. What a row is does not depend on other rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from queryable.data.cells import Array as Array  # noqa: PLC0414 (modules that read no cells name it)
from queryable.data.cells import cells, python_values


def column_values(dataset: Any, name: str) -> list[Any]:
    """One column as Python values, None where a cell is missing.

    A record of a list that has no such field misses it, so that no record's fields decide whether
    the column is there. Other forms say in public which columns they have.

    Raises:
        KeyError, ValueError, TypeError: there is no such column.
    """
    present, values = cells(dataset, name)
    given = iter(python_values(values))
    return [next(given) if there else None for there in present.tolist()]


def records(dataset: Any) -> Iterable[Any]:
    """The rows, one by one: elements of a sequence or an array, else dicts of the columns."""
    if isinstance(dataset, list | tuple | np.ndarray):
        return iter(dataset)
    names = list(dataset.keys() if isinstance(dataset, dict) else _columns(dataset))
    columns = [column_values(dataset, name) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _columns(frame: Any) -> Iterable[str]:
    """The names; Arrow's `columns` are the columns themselves."""
    names: Iterable[str] = getattr(frame, "column_names", None) or frame.columns
    return names


def take(dataset: Any, rows: Sequence[int]) -> Any:
    """Some rows, in the dataset's own form; arrays are read-only, an index of pandas is dropped."""
    if isinstance(dataset, list | tuple):
        return type(dataset)([dataset[row] for row in rows])
    if isinstance(dataset, dict):
        return {name: take(column, rows) for name, column in dataset.items()}
    indices = np.asarray(rows, dtype=np.intp)
    if hasattr(dataset, "iloc"):  # pandas, whose index would say how many rows are in other parts
        return dataset.iloc[indices].reset_index(drop=True)
    taken = dataset.take(indices) if hasattr(dataset, "to_pylist") else dataset[indices]
    if isinstance(taken, np.ndarray):
        taken.flags.writeable = False
    return taken
