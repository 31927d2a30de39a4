"""Neighbouring data: tables with one record or one unit more or less, in memory and on engines.

A `Star` has one data set in its centre, and neighbours of it. `STARS` are those of rows and those
of privacy units. Tables are opened when they are first used, and then kept.
"""

from contextlib import ExitStack
from functools import cache
from random import Random
from typing import Any

import attrs
import numpy as np

from tests.datasets import MEMORY, opened
from tests.guard.rows import TYPES, Row, of_units, one_more, plain, table

ARRAYS, RECORDS = "arrays", "records"
FRAMES = ("pandas", "polars", "arrow")
IN_MEMORY = (ARRAYS, RECORDS, *FRAMES)
DUCKDB = "table on arrow"
ENGINES = (DUCKDB, "ibis on duckdb", "ibis on sqlite", "ibis on postgres")
MANY, FEW = 160, 10
"""Neighbours of a centre, in memory and on an engine."""

_OPEN = ExitStack()


@attrs.frozen
class Neighbour:
    """A neighbour of the centre.

    Attributes:
        sign: 1 if it has the record or unit more, -1 if it lacks it.
        rows: all its rows.
        what: the record, or the rows of the unit.
    """

    sign: int
    rows: tuple[Row, ...] = attrs.field(repr=False)
    what: tuple[Row, ...]


@attrs.frozen(eq=False)
class Star:
    """A table and neighbours of it.

    Attributes:
        unit: the column that names units; None if rows are protected.
    """

    name: str
    unit: str | None
    centre: tuple[Row, ...] = attrs.field(repr=False)
    neighbours: tuple[Neighbour, ...] = attrs.field(repr=False)


def _with(rows: list[Row], added: list[list[Row]], dropped: list[list[Row]]) -> Any:
    for what in dropped:
        yield Neighbour(-1, tuple(row for row in rows if row not in what), tuple(what))
    for what in added:
        yield Neighbour(1, (*rows, *what), tuple(what))


def _turn(lists: list[Any], others: list[Any]) -> list[Any]:
    found = [each for pair in zip(lists, others, strict=False) for each in pair]
    return found + lists[len(others) :] + others[len(lists) :]


def _star(name: str, unit: str | None, rows: list[Row], added: Any, dropped: Any) -> Star:
    neighbours = list(_with(rows, added, dropped))
    less = [each for each in neighbours if each.sign < 0]
    more = [each for each in neighbours if each.sign > 0]
    return Star(name, unit, tuple(rows), tuple(_turn(more, less)))


def _stars() -> tuple[Star, ...]:
    random = Random(7)
    single = [[one_more(number, random)] for number in range(MANY)]
    eight, units = table(8), of_units((1, 2, 5, 12))
    whole = [[one_more(n, random) | {"who": 9} for _ in range(n % 7 + 1)] for n in range(MANY)]
    heavy = [[plain(n, 9) for n in range(40)]]
    of_one = [[row for row in units if row["who"] == who] for who in (3, 0, 2)]
    return (
        _star("rows", None, eight, single, [[row] for row in eight]),
        _star("no rows", None, [], single, []),
        _star("units", "who", units, heavy + whole, of_one),
        _star("no units", "who", [], heavy + whole, []),
    )


STARS = _stars()
OF_ROWS, OF_UNITS = STARS[:2], STARS[2:]


def in_memory(form: str, rows: list[Row]) -> Any:
    """Rows in a form that is the same whatever the cells are."""
    if form == RECORDS:
        return [dict(row) for row in rows]
    if form in FRAMES:
        return MEMORY[form](TYPES, rows)
    return {name: _array([row[name] for row in rows], kind) for name, kind in TYPES.items()}


_DTYPES = {"float": np.float64, "date": "M8[D]", "timestamp": "M8[us]"}
_FILLED = {"integer": (np.int64, 0), "boolean": (np.bool_, False)}


def _array(cells: list[Any], kind: str) -> Any:
    if kind in _FILLED:
        dtype, filler = _FILLED[kind]
        there = [filler if cell is None else cell for cell in cells]
        return np.ma.array(np.array(there, dtype), mask=[cell is None for cell in cells])
    if kind in _DTYPES:
        return np.array(cells, _DTYPES[kind])
    return np.fromiter(cells, dtype=object, count=len(cells))


@cache
def _held(form: str, star: Star, place: int | None) -> Any:
    rows = star.centre if place is None else star.neighbours[place].rows
    if form in IN_MEMORY:
        return in_memory(form, list(rows))
    unit = {} if star.unit is None else {"privacy_unit": star.unit, "max_rows": 2, "seed": 5}
    return _OPEN.enter_context(opened(form, TYPES, list(rows), **unit))


def centre(form: str, star: Star) -> Any:
    """The data in the centre."""
    return _held(form, star, None)


def neighbour(form: str, star: Star, place: int) -> Any:
    return _held(form, star, place)


def places(form: str, star: Star, count: int, random: Random) -> list[int]:
    """Some neighbours: any in memory, of the first few on an engine."""
    most = len(star.neighbours) if form in IN_MEMORY else min(FEW, len(star.neighbours))
    return random.sample(range(most), min(count, most))


def available() -> tuple[str, ...]:
    """The engines that are installed."""
    from tests.postgres import POSTGRES

    missing = POSTGRES.args[0]
    return tuple(each for each in ENGINES if not (missing and "postgres" in each))
