"""Reads one column of any table in memory, and says which cells are missing.

A table is an array, a mapping of columns, a list of records, or a pandas, polars or Arrow frame. No
frame library is imported: frames are recognised by their methods. All functions touch data, so they
run inside the fault boundary.

The result for one record depends only on that record and on the column's type, never on other
records. Every claim about sensitivity relies on this. Therefore:

- Missing cells are removed before a library can turn a column with a null into floats.
- The cells of a list are not converted to a common type.
- A cell that a library cannot convert is missing; it is not an error.
- The way to read a column depends on its type, which is found on an empty slice of it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryable.data.guarded import pass_on, safely
from queryable.data.keys import common_type, plain_cell

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_TYPED = "biufcSUMm"  # kinds of numpy types whose operations do not fail for any value


class Cells(NamedTuple):
    """A column: a mask of the records that have a cell, and the cells of those records."""

    present: Mask
    values: Array


def count_records(dataset: Any) -> int:
    """Return the number of records: the length of an array, or of a table's columns."""
    if not isinstance(dataset, Mapping):
        return len(dataset)
    lengths = {len(column) for column in dataset.values()}
    if len(lengths) > 1:
        raise ValueError("the columns have different lengths")
    return lengths.pop() if lengths else 0


def cells(dataset: Any, name: str) -> Cells:
    """Read a column of a table.

    Missing are None, NaN, NaT, a frame's nulls, fields that a record of a list does not have, and
    cells that cannot be read or compared with themselves.

    Raises:
        KeyError, ValueError, TypeError: no such column, or its cells are not single values.
    """
    if isinstance(dataset, list | tuple):
        field = itemgetter(name)
        column: Any = [safely(field, record) for record in dataset]
    else:
        column = dataset[name]
    given, values = read(column)
    if given.ndim != 1 or values.ndim != 1 or len(given) != count_records(dataset):
        raise ValueError(f"column {name!r} does not have one cell for each record")
    if values.dtype.kind == "T":  # numpy's text of any length, whose nulls may be of any class
        values = values.astype(object)
    if values.dtype.kind not in f"O{_TYPED}":
        raise TypeError(f"column {name!r} holds {values.dtype}, not one value for each cell")
    there = _not_missing(values)
    if len(values) == len(given):  # no nulls
        return Cells(there, values[there])
    present = given.copy()
    present[given] = there
    return Cells(present, values[there])


def python_values(values: Array) -> list[Any]:
    """Return cells as Python objects, with None for a cell that Python cannot represent.

    Times that are finer than Python's, or beyond its years, stay numpy's: numpy would count them.
    """
    listed = _each(values.tolist, values.item, len(values))
    if values.dtype.kind not in "mM":
        return listed
    return [values[i] if type(cell) is int else cell for i, cell in enumerate(listed)]


def objects(column: Iterable[Any], count: int) -> Array:
    """Return an array of the objects, without converting them."""
    return np.fromiter(column, dtype=object, count=count)


def read(column: Any) -> tuple[Mask, Array]:
    """Return a mask of the cells that are not null, and those cells.

    The column is a list, an array, or a frame's column.

    Raises:
        TypeError: it is none of these.
    """
    if type(column) is list:
        return np.ones(len(column), dtype=bool), objects(column, len(column))
    if type(column) is np.ndarray:
        return np.ones(len(column), dtype=bool), column
    if hasattr(column, "drop_nulls"):
        return _of_polars(column)
    if hasattr(column, "notna"):
        return _of_pandas(column)
    if hasattr(column, "to_pylist"):
        return _of_arrow(column)
    if isinstance(column, masked_arrays()):
        return ~np.ma.getmaskarray(column), column.compressed()
    values = column if isinstance(column, np.ndarray) else objects(column, len(column))
    return np.ones(len(values), dtype=bool), values


def masked_arrays() -> tuple[type[Any], ...]:
    """The class of masked arrays, if its module is loaded: to load it takes 10 ms."""
    return (np.ma.MaskedArray,) if "numpy.ma" in sys.modules else ()


def _of_polars(column: Any) -> tuple[Mask, Array]:
    if str(column.dtype).startswith(("String", "Categorical", "Enum")):
        column = column.cast(str).cast(bytes)
        try:
            column = column.cast(str)
        except Exception:  # a cell is not UTF-8; polars would panic on it later
            return _all_given([_text(cell) for cell in column.to_list()])
    elif not _is_typed(column.clear()):
        return _all_given(_each(column.to_list, column.__getitem__, len(column)))
    return ~column.is_null().to_numpy(), column.drop_nulls().to_numpy()


def _of_pandas(column: Any) -> tuple[Mask, Array]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _all_given(column.to_numpy())  # pandas would compare cells to find nulls
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow":
        return _of_arrow(column.array.__arrow_array__())
    if hasattr(column, "cat"):
        return _of_categories(column.cat)
    given = np.asarray(column.notna())
    column = column if given.all() else column[given]
    if _is_typed(column[:0]):
        return given, column.to_numpy()
    return given, objects(_each(column.to_numpy, column.iloc.__getitem__, len(column)), len(column))


def _of_categories(column: Any) -> tuple[Mask, Array]:
    """Read categories by their codes, as objects.

    Their type says nothing publicly: `astype("category")` takes the categories from the cells, so
    that one cell could make numbers objects.
    """
    valid, values = _of_pandas(column.categories.to_series())
    values = objects(python_values(values), len(values))
    place, codes = np.cumsum(valid) - 1, column.codes.to_numpy()
    given = codes >= 0
    given[given] = valid[codes[given]]
    return given, values[place[codes[given]]]


def _of_arrow(column: Any) -> tuple[Mask, Array]:
    if not _is_typed(column.slice(0, 0)):
        return _all_given(_each(column.to_pylist, lambda index: column[index].as_py(), len(column)))
    given = column.is_valid().to_numpy(zero_copy_only=False)
    return given, column.drop_null().to_numpy(zero_copy_only=False)


def _is_typed(empty: Any) -> bool:
    """Whether a column has a numpy type that does not depend on its values."""
    try:
        plain = np.asarray(empty)
    except Exception:  # depends only on the type, because there are no cells
        return False
    return plain.ndim == 1 and plain.dtype.kind in _TYPED


def _all_given(values: Iterable[Any]) -> tuple[Mask, Array]:
    listed = list(values)
    return np.ones(len(listed), dtype=bool), objects(listed, len(listed))


def _each(whole: Callable[[], Any], one: Callable[[int], Any], count: int) -> list[Any]:
    """Return the cells as a list; if reading all of them fails, read them one by one."""
    try:
        return list(whole())
    except BaseException as error:  # a panic of polars is not an Exception
        pass_on(error)
    return [safely(one, index) for index in range(count)]


def _text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def _not_missing(values: Array) -> Mask:
    if values.dtype == object:
        listed = values.tolist()
        if _is_never_missing(common_type(listed)):
            return np.ones(len(values), dtype=bool)
        there = (_is_never_missing(type(cell)) or _is_value(cell) for cell in listed)
        return np.fromiter(there, dtype=bool, count=len(values))
    equal: Mask = values == values  # noqa: PLR0124 (NaN and NaT differ from themselves)
    return equal


def _is_never_missing(kind: type | None) -> bool:
    """Whether every cell of exactly this type has a value."""
    return kind is int or kind is str or kind is bool or kind is bytes


def _is_value(cell: Any) -> bool:
    """Whether a cell has a value; one of no known type has if it equals itself."""
    if type(cell) is float:
        return cell == cell  # noqa: PLR0124
    if cell is None or plain_cell(cell) is not None:
        return cell is not None
    return safely(lambda it: bool(it == it), cell) is True  # noqa: PLR0124
