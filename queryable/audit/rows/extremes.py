"""Cells that hurt: each is a place at which a statistic of somebody has gone wrong.

Missing cells, infinities, zeros with a sign, numbers that no float has, numbers whose sum or
square overflows, texts that look like numbers or end a cell of a CSV file, letters that change
their length in another case, days at the ends of calendars.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from queryable.audit.rows.forms import is_missing
from queryable.data.keys import key_of

_REAL = float("nan"), float("inf"), float("-inf")
_WHOLE = (0, 1, -1, -2, 2**53 + 1, 2**63 - 1, -(2**63), 2**31 - 1, -(2**31), 127, -128, 255)
_FLOATS = (-0.0, 0.5, -0.57, 1e307, -1.7e308, 5e-324, 1e-300, float(2**53), 0.1 + 0.2, 1e15 + 0.5)
_TEXTS = (
    *(
        'a"b',
        "a\nb",
        "",
        "a,b;c\td",
        "a\r\nb",
        " ",
        "NaN",
        "NULL",
        "inf",
        "1e308",
        "0x10",
        "-0",
        "1_000",
        "İ",
        "ß",
        "e\u0301",
        "\u200b",
    ),
    *('"', "'; DROP TABLE t--", "%", "\\", "🌍", "x" * 100),
)
_DAYS = (
    *(dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)),
    *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 3, 31, 2, 30)),  # noqa: DTZ001
    dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC),
)
_DECIMALS = Decimal("0.29"), Decimal("-0.57"), Decimal("9999999999.99"), Decimal("1E-8")

_OTHERS = True, False, b"", b"\xff\x00", *_DECIMALS

EXTREMES: tuple[Any, ...] = (
    None,
    *(
        cell
        for several in zip_longest(_REAL, _TEXTS, _WHOLE, _FLOATS, _DAYS, _OTHERS)
        for cell in several
        if cell is not None
    ),
)
"""Cells of all types, in turns. A column gets those that its type admits."""


def around(constants: Iterable[Any]) -> Iterator[Any]:
    """Constants of an analysis, each with what is next to it.

    Of a number, one more and one less, as a number of its own type and as a float or an integer; of
    a text, a longer and a shorter one, and one in the other case; of a day, the days beside it.
    """
    for each in constants:
        yield each
        match each:
            case bool() | None:
                continue
            case int() | float() | Decimal() | Fraction():
                if is_missing(each) or each in (float("inf"), float("-inf")):
                    continue
                yield from _numbers(each)
            case str():
                yield from (f"{each} ", each.swapcase(), each[:-1])
            case dt.date():
                yield from _days(each)


def _numbers(number: Any) -> Iterator[Any]:
    for each in (number, number - 1, number + 1):
        if each == int(each):
            yield int(each)
        try:
            yield float(each)
        except OverflowError:
            continue


def _days(day: dt.date) -> Iterator[Any]:
    for step in (-1, 1):
        try:
            yield day + dt.timedelta(days=step)
        except OverflowError:
            continue


def told_apart(cells: Iterable[Any]) -> list[Any]:
    """The cells without repetitions; 1, 1.0, True, 0.0 and -0.0 are all different here."""
    found: dict[Any, Any] = {}
    for cell in cells:
        found.setdefault((type(cell), key_of(cell), str(cell)), cell)
    return list(found.values())
