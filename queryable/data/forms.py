"""The public form of data that grow, and the store for each form.

Responsible for choosing a store by the class of the data, and for an empty one, which says what a
batch looks like. `store_of` touches data.
"""

from typing import Any

import numpy as np

from queryable.data.cells import count_records, masked_arrays
from queryable.data.pieces import of_arrow, of_masked, of_pandas, of_polars
from queryable.data.stores import Arrayed, Columns, ListedRecords, Store

_CANNOT = (
    "these data cannot grow: give a list, a tuple, an array, a dict of columns, a frame or a table"
)
_SLICED = ("ndarray", "MaskedArray", "DataFrame", "Series")


def form_of(dataset: Any) -> Store | None:
    """An empty store, which says what a batch for these data looks like; None if they cannot grow.

    The public form of data: that they are a list (or a tuple, which is the same); the type of an
    array, but not the width of its texts, and its dimensions beyond the length; the names of
    columns, and the form of each; the class of a frame, and the names and types of its columns. How
    many records there are is no part of it, nor what is in a list or in a cell of type object.
    """
    try:
        return store_of(_emptied(dataset))
    except TypeError:
        return None


def _emptied(dataset: Any) -> Any:
    """Data of the same form without records; itself if it has no form that grows."""
    kind = type(dataset)
    if kind in (list, tuple):
        return kind()
    if kind is dict:
        return {name: _emptied(column) for name, column in dataset.items()}
    if kind is np.ndarray and not dataset.ndim:
        return dataset
    library = kind.__module__.partition(".")[0]
    if library == "pyarrow" and kind.__name__ == "Table":
        return dataset.slice(0, 0)
    grows = kind in (np.ndarray, *masked_arrays()) or library in ("pandas", "polars")
    return dataset[:0] if grows and kind.__name__ in _SLICED else dataset


_WORDS = {"b": "truth values", "i": "integers", "u": "integers", "f": "numbers", "M": "times"}
_WORDS |= {"U": "texts", "S": "bytes", "m": "durations"}


def layout_of(dataset: Any) -> str:
    """The columns of data with their types, in words; empty if there are none.

    Public: the types are those that `form_of` takes. The width of texts in an array is not told.
    """
    library = type(dataset).__module__.partition(".")[0]
    if type(dataset) is dict:
        named = [(name, _type_in_words(column)) for name, column in dataset.items()]
    elif library in ("pandas", "polars") and hasattr(dataset, "columns"):
        named = [(name, str(kind).partition("(")[0]) for name, kind in _types(dataset)]
    elif library == "pyarrow" and hasattr(dataset, "columns"):
        named = [(field.name, str(field.type).partition("<")[0]) for field in dataset.schema]
    else:
        return ""
    return ", ".join(f"{name}: {kind}" if kind else str(name) for name, kind in named)


def _types(frame: Any) -> Any:
    return zip(frame.columns, frame.dtypes, strict=True)


def _type_in_words(column: Any) -> str:
    return _WORDS.get(column.dtype.kind, "") if isinstance(column, np.ndarray) else ""


def store_of(dataset: Any) -> Store:
    """A store with a data set's records.

    Raises:
        TypeError: it has no form that grows.
    """
    kind = type(dataset)
    if kind in (list, tuple):
        return ListedRecords(kind, list(dataset))
    if kind is np.ndarray and dataset.ndim:
        return Arrayed(dataset)
    if kind is dict:
        columns = {name: store_of(column) for name, column in dataset.items()}
        if any(isinstance(each, Columns) for each in columns.values()):
            raise TypeError(_CANNOT)
        return Columns(columns, count_records(dataset))
    if kind in masked_arrays():
        return of_masked(dataset)
    library = kind.__module__.partition(".")[0]
    if library == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return of_pandas(dataset)
    if library == "polars" and kind.__name__ in ("DataFrame", "Series"):
        return of_polars(dataset)
    if library == "pyarrow" and kind.__name__ == "Table":
        return of_arrow(dataset)
    raise TypeError(_CANNOT)
