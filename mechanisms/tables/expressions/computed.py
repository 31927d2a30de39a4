"""Operands evaluated on arrays and frames in memory, each record on its own."""

from datetime import date
from typing import Any

import numpy as np

from mechanisms.tables.expressions.column_types import TEXT, are_dates, kind_of, united
from mechanisms.tables.expressions.grammar import READ
from mechanisms.tables.expressions.lattice import number_in
from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Literal,
    Operand,
    TextFunction,
    Truncated,
    When,
)
from mechanisms.tables.expressions.texts import function_of_text
from mechanisms.tables.expressions.values import (
    PresentValues,
    Times,
    everything,
    integer_of,
    numbers,
    picked,
    texts,
    times,
)
from queryable.data.cells import Array, Cells, Mask, cells, count_records, python_values

LARGEST, LEAST = 1e150, 1e-150
"""In arithmetic, floats beyond the first are missing, and below the second they are zero."""

_DAY, _HOUR = 86_400 * 10**6, 3_600 * 10**6


def operand_cells(dataset: Any, operand: Operand) -> Cells:
    """The cells of a column, or the cells that are computed from others of the same record.

    Raises:
        KeyError, ValueError, TypeError: there is no such column, or its type does not fit.
    """
    match operand:
        case str():
            return cells(dataset, operand)
        case Literal(value):
            count = count_records(dataset)
            return Cells(np.ones(count, dtype=bool), _constants(value, count))
        case Arithmetic(operator, left, right):
            pair = (operand_cells(dataset, each) for each in (left, right))
            return _arithmetic(operator, *pair)
        case TextFunction(function, inner):
            given = operand_cells(dataset, inner)
            there, values = texts(given.values)
            changed = [function_of_text(function, each) for each in values]
            return _of(given, PresentValues(there, np.fromiter(changed, object, len(changed))))
        case DatePart(part, inner):
            given = operand_cells(dataset, inner)
            _require_hours(part, given.values)
            return _of(given, _part(part, times(given.values)))
        case Truncated(unit, inner):
            given = operand_cells(dataset, inner)
            _require_hours(unit, given.values)
            return _of(given, _truncated(unit, times(given.values)))
        case Cast(inner, to):
            given = operand_cells(dataset, inner)
            return _of(given, _cast(given.values, to))
        case When():
            return _chosen(dataset, operand)
    raise TypeError(f"a {type(operand).__name__} is no operand")


def _of(given: Cells, found: PresentValues) -> Cells:
    """The found values as cells of the table."""
    present = given.present.copy()
    present[given.present] = found.there
    return Cells(present, found.values)


def _constants(value: Any, count: int) -> Array:
    if isinstance(value, str):
        return np.full(count, value, dtype=object)
    if isinstance(value, date) and getattr(value, "tzinfo", None) is not None:
        return np.full(count, value, dtype=object)
    return np.full(count, np.datetime64(value) if isinstance(value, date) else value)


def _both(left: Cells, right: Cells) -> tuple[Mask, Array, Array]:
    """The records in which both cells are present, and these cells."""
    both = left.present & right.present
    return both, left.values[both[left.present]], right.values[both[right.present]]


def _arithmetic(operator: str, left: Cells, right: Cells) -> Cells:
    both, a, b = _both(left, right)
    if operator == "-" and "M" in (a.dtype.kind, b.dtype.kind):
        for each in (a, b):
            if each.dtype.kind == "M" and not are_dates(each.dtype):
                raise TypeError("cast times to dates first: their difference is in whole days")
        return _of(Cells(both, a), _days_between(times(a), times(b)))
    found = _calculated(operator, numbers(a), numbers(b))
    if operator == "-" and a.dtype == b.dtype == object:
        days = _days_between(times(a), times(b))
        values = np.zeros(len(a))
        values[found.there], values[days.there] = found.values, days.values
        there = found.there | days.there
        found = PresentValues(there, values[there])
    return _of(Cells(both, a), found)


def _calculated(operator: str, left: PresentValues, right: PresentValues) -> PresentValues:
    there, a, b = _both(Cells(*left), Cells(*right))
    a, b = tamed(a), tamed(b)
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                result = a + b
            case "-":
                result = a - b
            case "*":
                result = a * b
            case _:
                result = a / np.where(b == 0, np.nan, b)
    result = tamed(result)
    fits = ~np.isnan(result)
    there[there] = fits
    return PresentValues(there, result[fits])


def tamed(values: Array) -> Array:
    """Floats: NaN beyond `LARGEST`, and zero below `LEAST`."""
    size = np.abs(values)
    with np.errstate(all="ignore"):
        return np.where(size <= LARGEST, np.where(size >= LEAST, values, 0.0), np.nan)


def _days_between(left: Times, right: Times) -> PresentValues:
    there = left.there & right.there
    mine, theirs = there[left.there], there[right.there]
    dates = left.dates[mine] & right.dates[theirs]
    there[there] = dates
    days = (left.micros[mine] - right.micros[theirs])[dates] // _DAY
    return PresentValues(there, days.astype(np.float64))


def _require_hours(part: str, values: Array) -> None:
    if part == "hour" and values.dtype.kind == "M" and are_dates(values.dtype):
        raise TypeError("give times: a column of dates has no hours")


def _part(part: str, found: Times) -> PresentValues:
    if part == "hour":
        there = found.there.copy()
        there[there] = ~found.dates
        return PresentValues(there, found.micros[~found.dates] // _HOUR % 24)
    days = found.micros // _DAY
    if part == "weekday":
        return PresentValues(found.there, (days + 3) % 7)
    day = days.astype("M8[D]")
    month = day.astype("M8[M]").astype(np.int64)
    match part:
        case "year":
            value = month // 12 + 1970
        case "quarter":
            value = month % 12 // 3 + 1
        case "month":
            value = month % 12 + 1
        case _:
            value = days - day.astype("M8[M]").astype("M8[D]").astype(np.int64) + 1
    return PresentValues(found.there, value)


def _truncated(unit: str, found: Times) -> PresentValues:
    if unit == "hour":
        there = found.there.copy()
        there[there] = ~found.dates
        hours = found.micros[~found.dates] // _HOUR * _HOUR
        return PresentValues(there, hours.astype("M8[us]"))
    days = found.micros // _DAY
    if unit == "week":
        monday = days - (days + 3) % 7  # never before the year 1, which began on a Monday
        return PresentValues(found.there, monday.astype("M8[D]"))
    day = days.astype("M8[D]")
    if unit == "quarter":
        month = day.astype("M8[M]").astype(np.int64)
        day = (month // 3 * 3).astype("M8[M]").astype("M8[D]")
    elif unit != "day":
        day = day.astype(f"M8[{unit[0].upper()}]").astype("M8[D]")
    return PresentValues(found.there, day)


def _cast(values: Array, to: str) -> PresentValues:
    kind = values.dtype.kind
    if to in READ and kind == "U":
        return picked(values.astype(object), READ[to], _DTYPES[to])
    if kind == "O":
        return picked(values, lambda cell: _cell_cast(cell, to), _DTYPES[to])
    match to:
        case "integer" if kind in "biuf":
            return _whole(values)
        case "number" if kind in "biuf":
            return numbers(values.astype(np.int64) if kind == "b" else values)
        case "text" if kind in "biuU":
            return picked(values, _written, object)
        case "text" if kind == "M" and are_dates(values.dtype):
            there, days = _days(times(values))
            return PresentValues(there, days.astype(str).astype(object))
        case "date" if kind == "M":
            return _days(times(values))
        case "timestamp" if kind == "M":
            return _moments(times(values))
        case "boolean" if kind == "b":
            return everything(values)
        case "boolean" if kind in "iu":
            there = (values == 0) | (values == 1)
            return PresentValues(there, values[there] == 1)
    raise TypeError(f"a column of {values.dtype} has no cast to {to}")


def _days(found: Times) -> PresentValues:
    return PresentValues(found.there, (found.micros // _DAY).astype("M8[D]"))


def _moments(found: Times) -> PresentValues:
    return PresentValues(found.there, found.micros.astype("M8[us]"))


_TRUTH: dict[int | None, bool] = {0: False, 1: True}
_DTYPES: dict[str, Any] = {
    "integer": np.int64,
    "number": np.float64,
    "boolean": bool,
    "date": "M8[D]",
    "timestamp": "M8[us]",
    "text": object,
}


def _whole(values: Array) -> PresentValues:
    """Numbers truncated toward zero, within 64 bits."""
    if values.dtype.kind in "bu":
        there = values.astype(np.uint64) < 2**63
        return PresentValues(there, values[there].astype(np.int64))
    if values.dtype.kind == "i":
        there = values.astype(np.int64) > -(2**63)
        return PresentValues(there, values[there].astype(np.int64))
    with np.errstate(over="ignore"):  # the constant is infinite as a half
        there = np.abs(values) < 2.0**63
    return PresentValues(there, np.trunc(values[there]).astype(np.int64))


def _written(cell: Any) -> str | None:
    """A boolean, an integer, a date or a text as text."""
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if (whole := integer_of(cell)) is not None:
        return str(whole)
    if isinstance(cell, str):
        return str.__str__(cell)
    if isinstance(cell, date | np.datetime64):
        found = times(np.fromiter([cell], object, 1))
        if found.there[0] and found.dates[0]:
            return str((found.micros // _DAY).astype("M8[D]")[0])
    return None


def _cell_cast(cell: Any, to: str) -> Any:
    """One cell of an array of objects."""
    if to == "text":
        return _written(cell)
    if isinstance(cell, str):
        return READ[to](str.__str__(cell))
    truth = isinstance(cell, bool | np.bool_)
    if to in ("date", "timestamp"):
        found = times(np.fromiter([cell], object, 1))
        if not found.there[0]:
            return None
        micros = int(found.micros[0])
        return np.datetime64(micros // _DAY, "D") if to == "date" else np.datetime64(micros, "us")
    if to == "boolean":
        if truth:
            return bool(cell)
        return _TRUTH.get(integer_of(cell))
    if to == "number":
        given = np.fromiter([int(cell) if truth else cell], object, 1)
        found_numbers = numbers(given)
        return found_numbers.values[0] if found_numbers.there[0] else None
    exact: Any = float(cell) if isinstance(cell, float | np.floating) else number_in(cell)
    return int(exact) if exact is not None and abs(exact) < 2**63 else None


def _chosen(dataset: Any, operand: When) -> Cells:
    count = count_records(dataset)
    values = [None if each is None else operand_cells(dataset, each) for each in operand.values]
    given = [each for each in values if each is not None]
    constants = (each.value for each in operand.values if isinstance(each, Literal))
    text = any(isinstance(each, str) for each in constants)
    unified = iter(_of_one_family([each.values for each in given], text=text))
    present = np.zeros(count, dtype=bool)
    open_ = np.ones(count, dtype=bool)
    whole: Array | None = None
    holds = [predicate.holds(dataset) for predicate, _ in operand.cases]
    for condition, each in zip([*holds, np.ones(count, dtype=bool)], values, strict=True):
        now = open_ & condition
        open_ &= ~condition
        if each is None:
            continue
        found = _of(each, next(unified))
        if whole is None:
            whole = np.zeros(count, dtype=found.values.dtype)
        chosen = now & found.present
        whole[chosen] = found.values[chosen[found.present]]
        present |= chosen
    assert whole is not None
    return Cells(present, whole[present])


def _of_one_family(values: list[Array], *, text: bool) -> list[PresentValues]:
    """The cells of the values as one type; `text` says whether a constant is a text.

    Raises:
        TypeError: the types of the arrays are of different families.
    """
    kinds = [*(kind_of(each.dtype) for each in values), *[TEXT] * text]
    families = {kind.computed_family for kind in kinds} - {"any"}
    if len(families) > 1 or None in families:
        raise TypeError(
            "give values of one type to then and otherwise: they are of "
            f"{', '.join(sorted({kind.name for kind in kinds}))}"
        )
    letters = {each.dtype.kind for each in values}
    match united(kind.name for kind in kinds):
        case "float":
            return [numbers(each) for each in values]
        case "date":
            return [_days(times(each)) for each in values]
        case "timestamp":
            return [_moments(times(each)) for each in values]
        case "integer" if len(letters) == 1:
            whole = np.uint64 if letters == {"u"} else np.int64
            return [everything(each.astype(whole)) for each in values]
        case "boolean":
            return [everything(each) for each in values]
    return [everything(np.fromiter(python_values(each), object, len(each))) for each in values]
