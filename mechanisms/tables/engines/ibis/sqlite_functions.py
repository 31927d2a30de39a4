"""Functions of Python that compute operands on SQLite.

SQLite is dynamically typed: any cell may be of any type, and texts may be invalid. Texts arrive as
bytes. Every function gives None where a cell has no value, and raises for none.

Dates and times are texts, `2020-02-29` and `2020-02-29 12:30:00` with microseconds if there are
any, as Ibis writes constants.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import cache, partial
from math import trunc
from typing import Any

from mechanisms.tables.expressions.computed import LARGEST, LEAST
from mechanisms.tables.expressions.grammar import READ
from mechanisms.tables.expressions.texts import function_of_text, matcher

_ZERO_OFFSET = re.compile(r"(Z|[+]00(:?00)?)$")


def register(connection: Any) -> None:
    """Register the functions on a connection."""
    [encoding] = connection.execute("PRAGMA encoding").fetchone()
    for name, (count, function) in _functions(encoding.lower()).items():
        connection.create_function(f"queryable_{name}", count, function, deterministic=True)


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with None for cells that are None or that it fails on."""

    def total(*given: Any) -> Any:
        if any(each is None for each in given):
            return None
        try:
            return function(*given)
        except Exception:  # depends on the cell
            return None

    return total


def _functions(encoding: str) -> Mapping[str, tuple[int, Callable[..., Any]]]:
    """Every function by its name, with the number of its arguments."""

    def of_text(function: Callable[[str], Any]) -> Callable[[bytes], Any]:
        return lambda cell: function(cell.decode(encoding))

    found: dict[str, tuple[int, Callable[..., Any]]] = {}
    for name in ("lower", "upper", "strip"):
        found[name] = 1, of_text(partial(function_of_text, name))
    for to, read in READ.items():
        found[f"read_{to}"] = 1, of_text(partial(_read, read))
    found["matches"] = 3, lambda cell, how, by: _matcher(how, by)(cell.decode(encoding))
    found["moment"] = 1, of_text(lambda text: _stored(_moment(text)))
    found["calendar_day"] = 1, of_text(lambda text: _stored(READ["date"](text)))
    found |= {
        "day": (1, lambda text: text[:10]),
        "midnight": (1, lambda text: f"{text} 00:00:00"),
        "part": (2, _part),
        "truncated": (2, _truncated),
        "days_between": (2, lambda a, b: float((_day(a) - _day(b)).days)),
        "tamed": (1, _tamed),
        "whole": (1, lambda number: _narrow(trunc(number))),
        "narrow": (1, _narrow),
        "as_truth": (1, {0: 0, 1: 1}.get),
        "truth_text": (1, lambda truth: "true" if truth else "false"),
    }
    return {name: (count, _total(function)) for name, (count, function) in found.items()}


_matcher = cache(matcher)


def _stored(value: Any) -> Any:
    """A value as SQLite stores it."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else value


def _read(read: Callable[[str], Any], text: str) -> Any:
    return _stored(read(text))


def _moment(text: str) -> datetime | None:
    moment: datetime | None = READ["timestamp"](_ZERO_OFFSET.sub("", text))
    return moment


def _day(text: str) -> date:
    return date.fromisoformat(text[:10])


def _part(text: str, part: str) -> int:
    if part == "hour":
        return int(text[11:13])
    day = _day(text)
    match part:
        case "quarter":
            return (day.month + 2) // 3
        case "weekday":
            return day.weekday()
    return int(getattr(day, part))


def _truncated(text: str, unit: str) -> str:
    day = _day(text)
    match unit:
        case "hour":
            return f"{day.isoformat()} {text[11:13]}:00:00"
        case "week":
            day -= timedelta(days=day.weekday())
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            day = day.replace(month=1, day=1)
    return day.isoformat()


def _tamed(number: float) -> float | None:
    if not abs(number) <= LARGEST:
        return None
    return number if abs(number) >= LEAST else 0.0


def _narrow(number: int) -> int | None:
    return number if -(2**63) < number < 2**63 else None
