"""Rows and columns of the forms that data come in.

Responsible for reading arrays, mappings of columns, lists of records and data frames alike, and for
saying which cells are missing. Imports no frame library: frames are recognised by what they can do.
Everything here touches data, so it runs inside the fault boundary.

Every result for one record depends on that record and on the column's type alone, never on other
records: each claim about sensitivity rests on that. So missing cells are taken out before a
library can turn a column with a null into floats, and lists are never given a common type.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class Cells(NamedTuple):
    """A column: which records have a cell, and the cells of those."""

    present: Mask
    values: Array


def count_records(dataset: Any) -> int:
    """How many records the dataset holds: the length of an array, or of a table's columns."""
    if not isinstance(dataset, Mapping):
        return len(dataset)
    lengths = {len(column) for column in dataset.values()}
    if len(lengths) > 1:
        raise ValueError("the columns have different lengths")
    return lengths.pop() if lengths else 0


def cells(dataset: Any, name: str) -> Cells:
    """A column of a structured array, a mapping of columns, or a pandas or polars frame.

    None, NaN, NaT and a frame's nulls are missing.
    """
    column = dataset[name]
    if hasattr(column, "drop_nulls"):  # polars
        given, values = ~column.is_null().to_numpy(), column.drop_nulls().to_numpy()
    elif hasattr(column, "dropna"):  # pandas
        given, values = column.notna().to_numpy(), column.dropna().to_numpy()
    elif isinstance(column, np.ma.MaskedArray):
        given, values = ~np.ma.getmaskarray(column), column.compressed()
    else:
        values = column if isinstance(column, np.ndarray) else _objects(column)
        given = np.ones(len(values), dtype=bool)
    if given.ndim != 1 or values.ndim != 1 or len(given) != count_records(dataset):
        raise ValueError(f"column {name!r} does not have one cell for each record")
    there = _not_missing(values)
    present = given.copy()
    present[given] = there
    return Cells(present, values[there])


def _objects(column: Any) -> Array:
    return np.fromiter(column, dtype=object, count=len(column))


def _not_missing(values: Array) -> Mask:
    if values.dtype == object:
        return np.fromiter((_is_value(cell) for cell in values), dtype=bool, count=len(values))
    equal: Mask = values == values  # noqa: PLR0124 (NaN and NaT are the values that are not)
    return equal


def _is_value(cell: Any) -> bool:
    if cell is None:
        return False
    try:
        return bool(cell == cell)  # noqa: PLR0124
    except Exception:  # pandas.NA, or a cell that is no scalar: never a fault
        return False


def column_values(dataset: Any, name: str) -> list[Any]:
    """One column as Python values, None where a cell is missing.

    Raises:
        KeyError, ValueError, TypeError: there is no such column.
    """
    if isinstance(dataset, list | tuple):
        return [record[name] for record in dataset]
    present, values = cells(dataset, name)
    given = iter(values.tolist())
    return [next(given) if there else None for there in present.tolist()]


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
