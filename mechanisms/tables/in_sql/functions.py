"""The functions of one row: what SQL calls them, as computed columns, with public bounds."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from mechanisms.tables.expressions.columns import Column, when
from mechanisms.tables.in_sql.refusals import refusal
from mechanisms.tables.in_sql.sources import Bounds, Valued

PARTS: Mapping[str, tuple[int, int] | None] = {
    "YEAR": None,
    "QUARTER": (1, 4),
    "MONTH": (1, 12),
    "DAY": (1, 31),
    "HOUR": (0, 23),
    "ISODOW": (1, 7),
    "DOW": (0, 6),
}
"""Parts of a date, and the ends of their values; years depend on the column."""
ALIASES = {"DAYOFMONTH": "DAY", "WEEKDAY": "DOW", "DAYOFWEEK": "DOW", "DAYOFWEEKISO": "ISODOW"}
CASTS = {
    "INT": "integer",
    "BIGINT": "integer",
    "SMALLINT": "integer",
    "TINYINT": "integer",
    "DOUBLE": "number",
    "FLOAT": "number",
    "VARCHAR": "text",
    "TEXT": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPNTZ": "timestamp",
    "BOOLEAN": "boolean",
}
OF_TEXT = {"Lower": Column.lower, "Upper": Column.upper, "Trim": Column.strip}
PARTS_OF = {
    "Year": "YEAR",
    "Quarter": "QUARTER",
    "Month": "MONTH",
    "Day": "DAY",
    "DayOfMonth": "DAY",
    "Hour": "HOUR",
    "DayOfWeekIso": "ISODOW",
    "DayOfWeek": "DOW",
}
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR")


def part_of(name: str, of: Column) -> Column:
    """A part of a date or a time."""
    match name:
        case "ISODOW":
            return (of.weekday() + 1).cast("integer")
        case "DOW":
            sunday = of.weekday() == 6
            return when(sunday).then(0).otherwise(of.weekday() + 1).cast("integer")
    parts: dict[str, Callable[[], Column]] = {
        "YEAR": of.year,
        "QUARTER": of.quarter,
        "MONTH": of.month,
        "DAY": of.day,
        "HOUR": of.hour,
    }
    if name not in parts:
        raise refusal(f"EXTRACT({name} ..) is not answered", f"there are {', '.join(PARTS)}")
    return parts[name]()


def arithmetic(operator: str, left: Valued, right: Valued) -> Valued:
    """Two numbers, added and so on.

    Raises:
        TypeError: they are no numbers.
    """
    if left.is_null or right.is_null:
        return Valued()
    bounds = combined(operator, bounds_of(left), bounds_of(right))
    if left.column is None and right.column is None:
        return Valued(constant=_folded(operator, left, right))
    one, other = left.as_column(), right.as_column()
    match operator:
        case "+":
            return Valued(one + other, bounds=bounds)
        case "-":
            return Valued(one - other, bounds=bounds)
        case "*":
            return Valued(one * other, bounds=bounds)
    return Valued(one / other, bounds=bounds)


def _folded(operator: str, left: Valued, right: Valued) -> Any:
    one, other = left.number, right.number
    if one is None or other is None:
        raise TypeError("only numbers are computed with")
    match operator:
        case "+":
            found = one + other
        case "-":
            found = one - other
        case "*":
            found = one * other
        case _:
            if not other:
                return None
            found = one / other
    return int(found) if found.denominator == 1 else found


def bounds_of(value: Valued) -> Bounds | None:
    """The public bounds of a value; those of a constant are itself."""
    number = value.number
    return value.bounds if number is None else (number, number)


def combined(operator: str, one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """The bounds of a sum, difference, product or quotient; None if there are none."""
    if one is None or other is None:
        return None
    match operator:
        case "+":
            return one[0] + other[0], one[1] + other[1]
        case "-":
            return one[0] - other[1], one[1] - other[0]
        case "*":
            ends = [a * b for a in one for b in other]
            return min(ends), max(ends)
    if other[0] <= 0 <= other[1]:
        return None
    ends = [a / b for a in one for b in other]
    return min(ends), max(ends)


def united(parts: list[Bounds | None]) -> Bounds | None:
    """Bounds of values that are in one of several ranges."""
    known = [each for each in parts if each is not None]
    if not known or len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def clamped(value: Valued, low: Fraction | None, high: Fraction | None) -> Valued:
    """A value between two constants."""
    given = value.as_column()
    if not isinstance(given, Column):
        number = value.number
        if number is None:
            raise TypeError("only a number is clamped")
        number = number if low is None else max(number, low)
        number = number if high is None else min(number, high)
        return Valued(constant=int(number) if number.denominator == 1 else number)
    known = value.bounds
    ends = (
        low if known is None else known[0] if low is None else max(low, known[0]),
        high if known is None else known[1] if high is None else min(high, known[1]),
    )
    cases: Any = None
    if low is not None:
        cases = when(given < _float(low)).then(_float(low))
    if high is not None:
        above = given > _float(high)
        cases = (when(above) if cases is None else cases.when(above)).then(_float(high))
    inside = ends[0] is not None and ends[1] is not None and ends[0] <= ends[1]
    return Valued(cases.otherwise(given), bounds=ends if inside else None)  # type: ignore[arg-type]


def _float(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def shifted(day: Any, amount: int, unit: str) -> Any:
    """A date and an interval of public length."""
    match unit:
        case "DAY" | "WEEK":
            return day + timedelta(days=amount * (7 if unit == "WEEK" else 1))
        case "HOUR" | "MINUTE" | "SECOND":
            seconds = amount * {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}[unit]
            at = day if isinstance(day, datetime) else datetime(*day.timetuple()[:3])  # noqa: DTZ001
            return at + timedelta(seconds=seconds)
        case "MONTH" | "QUARTER" | "YEAR":
            months = amount * {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
            place = day.year * 12 + day.month - 1 + months
            for last in (day.day, 30, 29, 28):
                try:
                    return day.replace(year=place // 12, month=place % 12 + 1, day=last)
                except ValueError:
                    continue
            raise ValueError("the date is outside the years 1 to 9999")
    raise ValueError(f"INTERVAL of {unit} is not answered; there are DAY, WEEK, MONTH and YEAR")


def moment(text: str, *, whole: bool) -> Any:
    """The date or the time that a text in ISO 8601 names.

    Raises:
        ValueError: it names none.
    """
    return date.fromisoformat(text) if whole else datetime.fromisoformat(text)
