"""Rows of the guard's tables, and the columns that they have.

`one_more` has rows that a table may have or lack: ordinary ones, and one with each extreme cell.
"""

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

from tests.messy_tables import some_cell

TYPES = {
    "who": "integer",
    "age": "integer",
    "city": "text",
    "a": "integer",
    "b": "float",
    "hours": "float",
    "day": "date",
    "at": "timestamp",
    "price": "money",
    "flag": "boolean",
}
"""The columns, with those that the examples of the codec name."""

Row = dict[str, Any]


def plain(number: int, who: int | None = None) -> Row:
    """An ordinary row."""
    return {
        "who": number if who is None else who,
        "age": (20, 31, 47, 64, 80)[number % 5],
        "city": "abc"[number % 3],
        "a": number % 10,
        "b": number / 4,
        "hours": 7.5 + number,
        "day": dt.date(2024, 1 + number % 12, 3),
        "at": dt.datetime(2024, 1, 1, number % 24, 30),  # noqa: DTZ001
        "price": Decimal(number) / 4,
        "flag": number % 2 == 0,
    }


_EDGES: dict[str, list[Any]] = {
    "age": [2**63 - 1, -(2**63), -1, 0, 10**6],
    "city": ["", "é", "B", "a b"],
    "a": [-(2**63), 2**62],
    "b": [float("nan"), float("inf"), -1e308, 5e-324, -3.5],
    "hours": [1e300, float("-inf"), -0.0],
    "day": [dt.date.min, dt.date.max],
    "at": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23)],  # noqa: DTZ001
    "price": [Decimal("9999999999.99"), Decimal("-9999999999.99"), Decimal("0.01")],
}


def one_more(number: int, random: Random) -> Row:
    """A row: first those of one extreme cell, then of nulls, then random ones."""
    edges = [(name, cell) for name, cells in _EDGES.items() for cell in cells]
    row = plain(random.randrange(9), random.randrange(6))
    if number == 0:
        return row
    if number <= len(edges):
        name, cell = edges[number - 1]
        return row | {name: cell}
    if number == len(edges) + 1:
        return dict.fromkeys(TYPES, None) | {"who": 2}
    keep = random.random()
    return {
        name: row[name] if name == "who" or random.random() < keep else _cell(random, kind)
        for name, kind in TYPES.items()
    }


def _cell(random: Random, kind: str) -> Any:
    cell = None if random.random() < 0.1 else some_cell(random, kind)
    return cell.replace("\0", "") if isinstance(cell, str) else cell


def table(size: int) -> list[Row]:
    """An ordinary table."""
    return [plain(number) for number in range(size)]


def of_units(sizes: tuple[int, ...]) -> list[Row]:
    """A table in which the unit `i` has `sizes[i]` rows."""
    return [plain(3 * who + n, who) for who, size in enumerate(sizes) for n in range(size)]
