"""Rows and columns of the forms that data come in.

Responsible for reading numpy arrays, dicts of columns, lists of records and data frames alike,
without importing a frame library. Everything here touches data, so it runs inside the boundary.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def column_values(dataset: Any, name: str) -> list[Any]:
    """One column as Python values: ints, floats, strings, None.

    Raises:
        KeyError, ValueError, TypeError: there is no such column.
    """
    if isinstance(dataset, list | tuple):
        return [record[name] for record in dataset]
    column = dataset[name]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def records(dataset: Any) -> Iterable[Any]:
    """The rows, one by one: elements of a sequence or an array, else dicts of the columns."""
    if isinstance(dataset, list | tuple | np.ndarray):
        return iter(dataset)
    names = list(dataset.keys() if isinstance(dataset, dict) else dataset.columns)
    columns = [column_values(dataset, name) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def take(dataset: Any, rows: Sequence[int]) -> Any:
    """Some rows, in the dataset's own form; arrays are read-only."""
    if isinstance(dataset, list | tuple):
        return type(dataset)([dataset[row] for row in rows])
    if isinstance(dataset, dict):
        return {name: take(column, rows) for name, column in dataset.items()}
    indices = np.asarray(rows, dtype=np.intp)
    taken = dataset.iloc[indices] if hasattr(dataset, "iloc") else dataset[indices]
    if isinstance(taken, np.ndarray):
        taken.flags.writeable = False
    return taken
