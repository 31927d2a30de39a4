"""Random tables as they are found: with missing cells, extremes, odd text and duplicate rows.

`some_types` chooses columns, `some_rows` fills them. A cell is a Python value of its column's kind.
"""

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

Types: TypeAlias = Mapping[str, str]
"""The kind of each column; a `written` column is text without a declared type."""
Row: TypeAlias = dict[str, Any]

NUMBERS = ["integer", "float", "money"]
NAN, INF = float("nan"), float("inf")
NAMES = ["x", "y", "amount", "é t", 'q"x', "select", "key_0", "a'b", "Group", "x.y", "term_0", "%s"]

INTEGERS = [0, 1, -1, 2, 3, 5, 7, -7, 10, 29, 100, 2**31, -(2**31) - 1, 2**53, 2**53 + 1]
INTEGERS += [-(2**53) - 1, 2**62, 2**63 - 1, 2**63 - 513, -(2**63), -(2**63) + 1]
FLOATS = [NAN, INF, -INF, 0.0, -0.0, 0.29, 0.57, -0.57, 1.0, 2.5, -2.5, 0.1 + 0.2, 1 / 3, 1e15]
FLOATS += [1e150, 1.1e150, -1e151, 1e-150, -9e-151, 5e-324, -5e-324, 1.7976931348623157e308, 1e300]
FLOATS += [math.nextafter(1e150, INF), math.nextafter(1e-150, 0), 2.0**53, 2.0**63, -(2.0**63)]
FLOATS += [math.nextafter(2.0**63, 0), 0.5, 1.5, -0.999999, 12.99, 8.95]
TEXTS = ["", " ", "a", "A", "ab", "abc", "b", "B", "a%b", "a_b", "%", "_", "a\\b", "\\%", "aXb"]
TEXTS += [
    "é",
    "É",
    "e\u0301",
    "ß",
    "İ",
    "\u0131",
    "\u017f",
    "\u212a",
    "Σσς",
    "Ωω",
    "\u00a0x\u00a0",
    "日本",
]
TEXTS += ["\tx\n", "  x ", "x\r", "\r\n", "a\nb", '"', '""', "'", "a'b", "a,b", "a;b", "🌍", "a🌍b"]
TEXTS += ["12", "+7", "-3.00", "1.5", "1e3", ".5", "5.", "inf", "-Infinity", "nan", "NULL", "NaN"]
TEXTS += ["007", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0x10"]
TEXTS += ["1_000", "1,5", "12 ", "--1", "+", "1e", "٣", "true", "F", "t", "TRUE", "yes", "0", "1"]
TEXTS += ["2020-02-29", "2019-02-29", "0001-01-01", "9999-12-31", "2020-1-5", "2020-01-01 "]
TEXTS += ["2020-01-01T12:30", "1969-12-31 23:59:59.999999", "2020-01-01 24:00", "2020-01-01 12:60"]
TEXTS += ["'; DROP TABLE data; --", "$1", "{x}", "?", "\x1f", "\ufeffa", "z" * 70]
DAYS = ["0001-01-01", "0001-01-08", "0004-02-29", "0099-12-31", "1582-10-04", "1582-10-15"]
DAYS += ["1899-12-31", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01", "1972-02-29"]
DAYS += ["2000-02-29", "2020-02-29", "2020-12-31", "2021-01-01", "2021-01-03", "2021-01-04"]
DAYS += ["2024-03-31", "2024-04-01", "2100-02-28", "9999-12-27", "9999-12-31"]
TIMES = ["00:00:00", "00:00:00.000001", "23:59:59.999999", "12:00:00", "11:59:59.5", "01:00:00"]
CENTS = [
    "0.00",
    "12.34",
    "-0.57",
    "9999999999.99",
    "-9999999999.99",
    "0.01",
    "8.95",
    "1.00",
    "2.50",
]


def some_day(random: Random) -> dt.date:
    """A day that is special, of a recent year, or any."""
    match random.randrange(3):
        case 0:
            return dt.date.fromisoformat(random.choice(DAYS))
        case 1:
            return dt.date(2020, 1, 1) + dt.timedelta(days=random.randrange(900))
    return dt.date.fromordinal(random.randint(1, dt.date.max.toordinal()))


def some_moment(random: Random) -> dt.datetime:
    """A moment in whole microseconds."""
    if random.random() < 0.6:
        time = dt.time.fromisoformat(random.choice(TIMES))
    else:
        hours, rest = divmod(random.randrange(86_400 * 10**6), 3600 * 10**6)
        time = dt.time(hours, rest // (60 * 10**6), rest // 10**6 % 60, rest % 10**6)
    return dt.datetime.combine(some_day(random), time)


def some_cell(random: Random, kind: str) -> Any:
    """A cell that is not null; a float may be NaN."""
    odd = random.random() < 0.5
    match kind:
        case "integer":
            return random.choice(INTEGERS) if odd else random.randint(-12, 30)
        case "float":
            return random.choice(FLOATS) if odd else round(random.uniform(-20, 40), 2)
        case "boolean":
            return odd
        case "text" | "written":
            return random.choice(TEXTS) if odd else random.choice("abcdef")
        case "date":
            return some_day(random)
        case "timestamp":
            return some_moment(random)
        case "instant":
            return some_moment(random).replace(tzinfo=dt.UTC)
        case "money":
            return Decimal(random.choice(CENTS) if odd else f"{random.uniform(-20, 40):.2f}")
    raise ValueError(kind)


def some_types(random: Random, kinds: list[str], *, unit: bool) -> dict[str, str]:
    """Two to six columns, at least one of them of numbers; with a unit, the first names it."""
    names = random.sample(NAMES, random.randint(2, 6))
    numbers = [kind for kind in NUMBERS if kind in kinds]
    chosen = [random.choice(numbers), *(random.choice(kinds) for _ in names[1:])]
    first = {"person": random.choice(["integer", "text"])} if unit else {}
    return first | dict(zip(names, chosen, strict=True))


def some_rows(random: Random, types: Types, most: int = 25) -> list[Row]:
    """Rows of a table that may be empty, have one row, or have the same row several times."""
    count = random.choice([0, 1, *(random.randint(2, most) for _ in range(8))])
    missing = random.choice([0, 0.1, 0.4, 1])
    palettes = {
        name: [some_cell(random, kind) for _ in range(random.choice([2, 5, 20]))]
        for name, kind in types.items()
    }
    persons = {"integer": [1, 2, 3, -4, 2**62], "text": ["1", "é", "o'b", "z" * 70, "Ann"]}
    if "person" in types:
        palettes["person"] = persons[types["person"]]

    def row() -> Row:
        return {
            name: None
            if random.random() < missing / (1 + (name == "person"))
            else random.choice(palettes[name])
            for name in types
        }

    rows: list[Row] = []
    while len(rows) < count:
        again = rows and random.random() < 0.15
        rows.append(dict(random.choice(rows)) if again else row())
    return rows
