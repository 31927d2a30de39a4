"""Columns of the forms that tables in memory come in, cell by cell.

Responsible for reading one column of an array, a mapping of columns, a list of records, or a
pandas, polars or Arrow frame, and for saying which cells are missing. Imports no frame library:
frames are recognised by what they can do. Everything here touches data, so it runs inside the
fault boundary.

Every result for one record depends on that record and on the column's type alone, never on other
records: each claim about sensitivity rests on that. So missing cells are taken out before a
library can turn a column with a null into floats, lists are never given a common type, and a cell
that a library cannot convert is missing instead of an error. How a column is read is decided by
its type, found on an empty slice of it.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_TYPED = "biufcSUMm"  # kinds of numpy types whose operations fail for no value


_PRESENT = frozenset({bool, int, str, bytes})  # of these Python types every cell has a value


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
    """A column of any kind of table.

    None, NaN, NaT, a frame's nulls, a field that a record of a list does not have, and a cell that
    cannot be read or compared with itself are missing.

    Raises:
        KeyError, ValueError, TypeError: there is no such column, or it is none of single cells.
    """
    if isinstance(dataset, list | tuple):
        field = itemgetter(name)
        column: Any = [_or_none(field, record) for record in dataset]
    else:
        column = dataset[name]
    given, values = read(column)
    if given.ndim != 1 or values.ndim != 1 or len(given) != count_records(dataset):
        raise ValueError(f"column {name!r} does not have one cell for each record")
    if values.dtype.kind == "T":  # numpy's text of any length, whose nulls may be of any class
        values = values.astype(object)
    if values.dtype.kind not in f"O{_TYPED}":
        raise TypeError(f"column {name!r} holds {values.dtype}, which is not one value a cell")
    there = _not_missing(values)
    present = given.copy()
    present[given] = there
    return Cells(present, values[there])


def python_values(values: Array) -> list[Any]:
    """Cells as Python has them, None for one that Python cannot hold."""
    return _each(values.tolist, values.item, len(values))


def objects(column: Iterable[Any], count: int) -> Array:
    """An array of these objects themselves, whatever they are."""
    return np.fromiter(column, dtype=object, count=count)


def read(column: Any) -> tuple[Mask, Array]:
    """Which cells of a list, an array or a frame's column are not null, and those.

    Raises:
        TypeError: it is none of these.
    """
    if hasattr(column, "drop_nulls"):
        return _of_polars(column)
    if hasattr(column, "notna"):
        return _of_pandas(column)
    if hasattr(column, "to_pylist"):
        return _of_arrow(column)
    if isinstance(column, np.ma.MaskedArray):
        return ~np.ma.getmaskarray(column), column.compressed()
    values = column if isinstance(column, np.ndarray) else objects(column, len(column))
    return np.ones(len(values), dtype=bool), values


def _of_polars(column: Any) -> tuple[Mask, Array]:
    if str(column.dtype).startswith(("String", "Categorical", "Enum")):
        column = column.cast(str).cast(bytes)
        try:
            column = column.cast(str)
        except Exception:  # some cell is not UTF-8, at which polars panics later
            return _all_given([_text(cell) for cell in column.to_list()])
    elif not _is_typed(column.clear()):
        return _all_given(_each(column.to_list, column.__getitem__, len(column)))
    return ~column.is_null().to_numpy(), column.drop_nulls().to_numpy()


def _of_pandas(column: Any) -> tuple[Mask, Array]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _all_given(column.to_numpy())  # pandas compares cells when it looks for nulls
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
    """By their codes: pandas would convert the cells, to a type that depends on how many are."""
    valid, values = _of_pandas(column.categories.to_series())
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
    """Whether a frame's library has a numpy type for such a column, which no value changes."""
    try:
        plain = np.asarray(empty)
    except Exception:  # depends on the type alone: there are no cells
        return False
    return plain.ndim == 1 and plain.dtype.kind in _TYPED


def _all_given(values: Iterable[Any]) -> tuple[Mask, Array]:
    listed = list(values)
    return np.ones(len(listed), dtype=bool), objects(listed, len(listed))


def _each(whole: Callable[[], Any], one: Callable[[int], Any], count: int) -> list[Any]:
    """The cells of a column as a list; where they cannot be read as a whole, one by one."""
    try:
        return list(whole())
    except BaseException as error:  # polars panics, which is no Exception
        _pass_on(error)
    return [_or_none(one, index) for index in range(count)]


def _or_none(read: Callable[[Any], Any], place: Any) -> Any:
    """An element, None where there is none or where it cannot be read."""
    try:
        return read(place)
    except BaseException as error:
        _pass_on(error)
        return None


def _pass_on(error: BaseException) -> None:
    """Interrupts are about the machine, not about a cell."""
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error


def _text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def _not_missing(values: Array) -> Mask:
    if values.dtype == object:
        there = (type(cell) in _PRESENT or _is_value(cell) for cell in values)
        return np.fromiter(there, dtype=bool, count=len(values))
    equal: Mask = values == values  # noqa: PLR0124 (NaN and NaT are the values that are not)
    return equal


def _is_value(cell: Any) -> bool:
    if cell is None:
        return False
    try:
        return bool(cell == cell)  # noqa: PLR0124
    except Exception:  # pandas.NA, or a cell that is no scalar: never a fault
        return False
