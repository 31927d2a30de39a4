"""Text read as a value by a fixed grammar, the same on every engine.

A text that does not follow the grammar, or is too long, has no value.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

MOST_CHARACTERS = 400
"""The largest length of a text that is read as a number; longer ones have no value."""

INTEGER = r"[+-]?[0-9]+([.]0*)?"
NUMBER = (
    r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,9})?"
    r"|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
)
TRUE, FALSE = "[tT]([rR][uU][eE])?|1", "[fF]([aA][lL][sS][eE])?|0"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
_OTHER = (
    "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
DATE = f"({_LEAP}|{_OTHER})"
"""A day of the calendar in the years 0 to 9999. No day of the year 0 is read."""
CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
TIMESTAMP = f"{DATE}([T ]{CLOCK})?"
MICROSECONDS = 26
"""The length of a timestamp with microseconds. What is finer is cut off."""


def _integer(text: str) -> int | None:
    if len(text) > MOST_CHARACTERS or not re.fullmatch(INTEGER, text):
        return None
    value = int(text.partition(".")[0])
    return value if abs(value) < 2**63 else None


def _number(text: str) -> float | None:
    if len(text) > MOST_CHARACTERS or not re.fullmatch(NUMBER, text):
        return None
    return float(text)


def _boolean(text: str) -> bool | None:
    if re.fullmatch(TRUE, text):
        return True
    return False if re.fullmatch(FALSE, text) else None


def _date(text: str) -> date | None:
    if not re.fullmatch(DATE, text) or text.startswith("0000"):
        return None
    return date(int(text[:4]), int(text[5:7]), int(text[8:]))


def _timestamp(text: str) -> datetime | None:
    if not re.fullmatch(TIMESTAMP, text) or (day := _date(text[:10])) is None:
        return None
    clock, _, fraction = text[11:].partition(".")
    hour, minute, second = (int(each) for each in f"{clock or '00:00'}:00".split(":")[:3])
    micros = int(fraction[:6].ljust(6, "0"))  # what is finer is cut off
    return datetime(day.year, day.month, day.day, hour, minute, second, micros)  # noqa: DTZ001


READ: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}
"""Functions that read a text as a type, by its name in `Cast`; None for no value."""
