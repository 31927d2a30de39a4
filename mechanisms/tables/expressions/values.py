"""Cells of arrays as numbers, texts and times, each cell on its own.

Each function takes cells, none of them missing, and says which of them have a value of the family.
A typed array of another family is an error, which depends on its type alone. In an array of
objects, a cell of another family has no value.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mechanisms.tables.expressions.column_types import are_dates
from mechanisms.tables.expressions.lattice import number_in
from queryable.data.cells import Array, Mask, python_values
from queryable.data.guarded import safely

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
_FINE = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}


class PresentValues(NamedTuple):
    """Which cells have a value, and these values."""

    there: Mask
    values: Array


class Times(NamedTuple):
    """Which cells are times of the years 1 to 9999, in microseconds since 1970, and of what sort.

    `dates` are those without a time of day, `instants` those with a time zone.
    """

    there: Mask
    micros: Array
    dates: Mask
    instants: Mask


def everything(values: Array) -> PresentValues:
    """All cells have a value."""
    return PresentValues(np.ones(len(values), dtype=bool), values)


def picked(values: Array, read: Callable[[Any], Any], dtype: Any) -> PresentValues:
    """The values that a function gives of each cell, without those that are None."""
    listed = [None if cell is None else safely(read, cell) for cell in python_values(values)]
    there = np.fromiter((each is not None for each in listed), dtype=bool, count=len(listed))
    given = [each for each in listed if each is not None]
    if dtype is object:
        return PresentValues(there, np.fromiter(given, dtype=object, count=len(given)))
    return PresentValues(there, np.array(given, dtype=dtype))


def nearest(number: Fraction | Decimal | float) -> float:
    """The nearest 64-bit float."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


def _float_of(cell: Any) -> float | None:
    if isinstance(cell, float | np.floating):
        return float.__float__(cell) if isinstance(cell, float) else float(cell)
    exact = None if isinstance(cell, bool | np.bool_) else number_in(cell)
    return None if exact is None else nearest(exact)


def numbers(values: Array) -> PresentValues:
    """Numbers as the nearest 64-bit floats; booleans are no numbers.

    Raises:
        TypeError: the array's type is not a type of real numbers.
    """
    if values.dtype == object:
        return picked(values, _float_of, np.float64)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"give numbers: a column of {values.dtype} has no arithmetic")
    with np.errstate(all="ignore"):
        return everything(values.astype(np.float64))


def texts(values: Array) -> PresentValues:
    """Texts as Python's strings.

    Raises:
        TypeError: the array's type is not text.
    """
    if values.dtype.kind not in "OU":
        raise TypeError(f"give a column of text: it is of {values.dtype}")
    return picked(values, text_of, object)


def text_of(cell: Any) -> str | None:
    """The cell, if it is a text."""
    return str.__str__(cell) if isinstance(cell, str) else None


def times(values: Array) -> Times:
    """Dates and times. What is finer than a microsecond is cut off.

    Raises:
        TypeError: the array's type is not one of dates or times.
    """
    if values.dtype == object:
        there, read = picked(values, _time_of, object)
        counts = np.fromiter((each[0] for each in read), dtype=np.int64, count=len(read))
        flags = ([each[position] for each in read] for position in (1, 2))
        return Times(there, counts, *(np.array(each, dtype=bool) for each in flags))
    if values.dtype.kind != "M":
        raise TypeError(f"give dates or times: a column of {values.dtype} has no parts of a date")
    there = _in_range(values)
    micros = _microseconds(values[there])
    dates = np.full(len(micros), are_dates(values.dtype))
    return Times(there, micros, dates, np.zeros(len(micros), dtype=bool))


def _in_range(values: Array) -> Mask:
    """Whether times are of the years 1 to 9999, compared in their own unit."""
    unit, count = np.datetime_data(values.dtype)
    if unit in _FINE:  # 64 bits of them are a few centuries or less
        return np.ones(len(values), dtype=bool)
    ends = np.array(["0001-01-01", "10000-01-01"], dtype=f"M8[{unit}]")
    first, end = ends.astype(np.int64).tolist()
    whole = values.astype(np.int64)
    fits: Mask = (whole >= -(-first // count)) & (whole < -(-end // count))
    return fits


def _microseconds(values: Array) -> Array:
    unit, count = np.datetime_data(values.dtype)
    finer = _FINE.get(unit)
    if finer is None:
        return values.astype("M8[us]").astype(np.int64)
    if count == 1:
        return np.floor_divide(values.astype(np.int64), finer)
    exact = [cell * count // finer for cell in values.astype(np.int64).tolist()]
    return np.array(exact, dtype=np.int64)


def _time_of(cell: Any) -> tuple[int, bool, bool] | None:
    if isinstance(cell, np.datetime64):
        found = times(np.array([cell]))
        return (int(found.micros[0]), bool(found.dates[0]), False) if found.there[0] else None
    if not isinstance(cell, date):
        return None
    if not isinstance(cell, datetime):
        return (cell.toordinal() - _EPOCH.toordinal()) * 86_400 * 10**6, True, False
    aware = cell.tzinfo is not None
    moment = cell.astimezone(UTC) if aware else cell
    exact = datetime(  # noqa: DTZ001 (pandas' nanoseconds are cut off)
        *(moment.year, moment.month, moment.day),
        *(moment.hour, moment.minute, moment.second, moment.microsecond),
    )
    elapsed = exact - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 10**6 + elapsed.microseconds, False, aware


def integer_of(cell: Any) -> int | None:
    """The integer in a cell. numpy counts durations as integers; they are none."""
    if isinstance(cell, np.timedelta64) or not isinstance(cell, int | np.integer):
        return None
    return int(cell)


def comparable(cell: Any) -> tuple[str, Any] | None:
    """The family of a Python cell, and a value that compares with those of the same family."""
    if isinstance(cell, bool | np.bool_):
        return "boolean", bool(cell)
    if isinstance(cell, str):
        return "text", str.__str__(cell)
    if isinstance(cell, date | np.datetime64):
        found = _time_of(cell)
        return None if found is None else ("instant" if found[2] else "moment", found[0])
    if (whole := integer_of(cell)) is not None:
        return "integer", whole
    number = _float_of(cell)
    return None if number is None or number != number else ("number", number)  # noqa: PLR0124
