"""Frames and arrays as Arrow tables, without a copy if their library can.

A column has the type that its library gives it; no cell decides it. A column of Python objects has
no such type, and becomes text.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mechanisms.tables.engines.objects import as_text
from mechanisms.tables.engines.validity import valid_cells


class Frame(NamedTuple):
    """An Arrow table, and the names of its columns whose text represents Python objects."""

    table: Any
    written: frozenset[str]


def as_arrow(source: Any) -> Frame:
    """A pandas, polars or Arrow frame, a structured array or a dict of columns as an Arrow table.

    Raises:
        TypeError: the source is anything else.
    """
    table, written = _as_arrow(source)
    table = valid_cells(table)
    return Frame(table, written)


def _as_arrow(source: Any) -> Frame:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return Frame(source, frozenset())
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        columns = [(str(name), source.iloc[:, i]) for i, name in enumerate(source.columns)]
    elif hasattr(source, "get_columns"):  # polars
        columns = [(column.name, column) for column in source.get_columns()]
    elif isinstance(source, np.ndarray) and source.dtype.names is not None and source.ndim == 1:
        columns = [(name, source[name]) for name in source.dtype.names]
    elif isinstance(source, Mapping):
        columns = [(str(name), values) for name, values in source.items()]
    else:
        raise TypeError(
            f"source is a {type(source).__name__}; it should be a path, a pandas, polars or Arrow "
            "frame, a numpy structured array or an Ibis table"
        )
    written = frozenset(name for name, column in columns if _of_objects(column))
    arrays = [_column(column) for _, column in columns]
    return Frame(pa.table(arrays, names=[name for name, _ in columns]), written)


def _of_objects(column: Any) -> bool:
    """Whether a column's cells are Python objects, by its type."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if dtype is None or str(dtype) == "Object":  # polars
        return True
    return bool(getattr(getattr(dtype, "categories", dtype), "dtype", dtype) == np.dtype(object))


def _column(column: Any) -> Any:
    import pyarrow as pa

    if _of_objects(column):
        return as_text(column)
    if isinstance(column, np.ndarray):
        return _of_array(column)
    if hasattr(column, "iloc"):
        python_text = getattr(column.dtype, "storage", None) == "python"
        return as_text(column) if python_text else pa.Array.from_pandas(column)
    return column.to_arrow() if hasattr(column, "to_arrow") else column


def _of_array(values: Any) -> Any:
    """A typed numpy array. Days beyond Arrow's range and lone surrogates become missing."""
    import pyarrow as pa

    mask, plain = np.ma.getmaskarray(values), np.ascontiguousarray(np.ma.getdata(values))
    if plain.dtype.byteorder not in ("=", "|"):
        plain = plain.astype(plain.dtype.newbyteorder("="))
    if plain.dtype.kind == "S":  # of a fixed width in numpy, not in Arrow
        return pa.array(plain.astype(object), pa.binary(), mask=mask)
    if plain.dtype.kind in "UT":
        try:
            return pa.array(plain, pa.string(), mask=mask)
        except (UnicodeError, pa.ArrowException):  # one by one it gives the same type
            cells = zip(plain.tolist(), mask.tolist(), strict=True)
            return as_text(None if missing else cell for cell, missing in cells)
    if plain.dtype.kind in "mM":
        mask = mask | np.isnat(plain)
    if plain.dtype == "M8[D]":
        mask = mask | (np.abs(plain.view(np.int64)) >= 2**31 - 1)
    return pa.array(plain, mask=mask, from_pandas=True)
