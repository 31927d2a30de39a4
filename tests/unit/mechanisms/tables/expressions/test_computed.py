"""Operands computed in memory, against plain Python, on every form of data."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import Count, column, when
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.computed import operand_cells

x, y = column("x"), column("y")
NAN, INF = float("nan"), float("inf")

DAYS = [
    *(None, dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1900, 2, 28)),
    *(dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2024, 2, 29)),
    dt.date(9999, 12, 31),
]
MOMENTS = [
    day and dt.datetime.combine(day, clock)
    for day in DAYS
    for clock in (dt.time(), dt.time(23, 59, 59, 999999), dt.time(12, 30))
]


def found(expression: Column, **columns: Any) -> list[Any]:
    """The computed cell of every record, None where it is missing."""
    present, values = operand_cells(columns, expression.operand)
    each = iter(values.tolist())
    return [next(each) if there else None for there in present]


def expected(function: Callable[[Any], Any], cells: list[Any]) -> list[Any]:
    return [None if cell is None else function(cell) for cell in cells]


def monday(day: Any) -> Any:
    return day - dt.timedelta(days=day.weekday())


def quarter(day: Any) -> Any:
    return day.replace(month=day.month - (day.month - 1) % 3, day=1)


PARTS: list[tuple[Column, Callable[[Any], Any]]] = [
    (x.year(), lambda day: day.year),
    (x.quarter(), lambda day: (day.month - 1) // 3 + 1),
    (x.month(), lambda day: day.month),
    (x.day(), lambda day: day.day),
    (x.weekday(), lambda day: day.weekday()),
]
STARTS: list[tuple[Column, Callable[[Any], Any]]] = [
    (x.truncate("year"), lambda day: day.replace(month=1, day=1)),
    (x.truncate("quarter"), quarter),
    (x.truncate("month"), lambda day: day.replace(day=1)),
    (x.truncate("week"), monday),
    (x.truncate("day"), lambda day: day),
]
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "lists": list,
    "arrow": pa.array,
    "polars": pl.Series,
    "pandas": lambda cells: pd.Series(cells, dtype=object),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("expression", "function"), [*PARTS, *STARTS])
def test_dates(expression: Column, function: Callable[[Any], Any], form: str) -> None:
    """Parts of dates and times, and the beginnings of their periods, as Python has them."""
    assert found(expression, x=FORMS[form](DAYS)) == expected(function, DAYS)
    of_days = expected(lambda moment: function(moment.date()), MOMENTS)
    assert found(expression, x=FORMS[form](MOMENTS)) == of_days


@pytest.mark.parametrize("unit", ["s", "ms", "us", "D", "h", "m"])
def test_dates_of_any_resolution(unit: str) -> None:
    """Years beyond 9999 and before 1 are missing; numpy holds them."""
    days = np.array(["0000-12-31", "0001-01-01", "9999-12-31", "10000-01-01"], dtype=f"M8[{unit}]")
    assert found(x.year(), x=days) == [None, 1, 9999, None]


@pytest.mark.parametrize("unit", ["ns", "ps", "fs"])
def test_what_is_finer_than_a_microsecond_is_cut_off(unit: str) -> None:
    before = np.array([-1], dtype=f"M8[{unit}]")
    assert found(x.cast("timestamp"), x=before) == [dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]  # noqa: DTZ001
    assert found(x.year(), x=before) == [1969]


def test_instants_are_in_utc_and_have_hours() -> None:
    zone = dt.timezone(dt.timedelta(hours=5))
    cells = [dt.datetime(2020, 1, 1, 3, 30, tzinfo=zone), dt.datetime(1, 1, 1, tzinfo=zone)]
    assert found(x.year(), x=cells) == [2019, None]
    assert found(x.hour(), x=cells) == [22, None]
    assert found(x.cast("date"), x=cells) == [dt.date(2019, 12, 31), None]
    assert found(x.hour(), x=MOMENTS) == expected(lambda moment: moment.hour, MOMENTS)
    start = expected(lambda moment: moment.replace(minute=0, second=0, microsecond=0), MOMENTS)
    assert found(x.truncate("hour"), x=MOMENTS) == start
    assert found(x.hour(), x=DAYS) == [None] * len(DAYS)


@given(st.datetimes(), st.datetimes())
def test_any_times(one: dt.datetime, other: dt.datetime) -> None:
    for expression, function in [*PARTS, *STARTS]:
        assert found(expression, x=[one]) == [function(one.date())]
    days = found(x.cast("date") - y.cast("date"), x=[one], y=[other])
    assert days == [float((one.date() - other.date()).days)]


FLOATS = [None, NAN, INF, -INF, 0.0, -0.0, 0.1, 1e150, 1.1e150, -1e151, 1e-150, 9e-151, 5e-324, 3]


def tamed(number: Any) -> float | None:
    if number is None or number != number or abs(number) > 1e150:  # noqa: PLR0124
        return None
    return float(number) if abs(number) >= 1e-150 else 0.0


@pytest.mark.parametrize("form", [list, lambda cells: np.array(cells, dtype=float)])
def test_arithmetic(form: Any) -> None:
    """Floats that are too large are missing, too small ones are zero, and so are results."""
    pairs = [(a, b) for a in FLOATS for b in FLOATS]
    columns = {"x": form([a for a, _ in pairs]), "y": form([b for _, b in pairs])}
    for expression, function in (
        (x + y, lambda a, b: a + b),
        (x - y, lambda a, b: a - b),
        (x * y, lambda a, b: a * b),
        (x / y, lambda a, b: a / b if b else None),
    ):
        results = [
            None if tamed(a) is None or tamed(b) is None else tamed(function(tamed(a), tamed(b)))
            for a, b in pairs
        ]
        assert found(expression, **columns) == results


def test_arithmetic_rounds_to_the_nearest_float() -> None:
    cells = [2**53 + 1, Decimal("0.1"), Fraction(1, 3), 10**200, True, "1", None, np.float32(0.1)]
    assert found(x + 0, x=cells) == [
        *(float(2**53), 0.1, 1 / 3, None, None, None, None),
        float(np.float32(0.1)),
    ]
    assert found(1 - x, x=[0.5]) == [0.5]
    assert found(2 / x, x=[4]) == [0.5]
    assert found(-x, x=[4]) == [-4.0]
    assert found(1e200 * x, x=[4]) == [None]


CASTS: dict[str, dict[Any, Any]] = {
    "integer": {
        "12": 12,
        "-3.00": -3,
        "+007": 7,
        "5.": 5,
        "0" * 399 + "1": 1,
        "9223372036854775807": 2**63 - 1,
        2.9: 2,
        -2.9: -2,
        Decimal("-12.99"): -12,
        9.223372036854774784e18: 9223372036854774784,
    },
    "number": {
        "12": 12.0,
        "1e5": 1e5,
        ".5": 0.5,
        "5.": 5.0,
        "inf": INF,
        "-Infinity": -INF,
        "1e999": INF,
        "1e-999": 0.0,
        "5e-324": 5e-324,
        2**53 + 1: float(2**53),
        Decimal("0.1"): 0.1,
    },
    "boolean": {"true": True, "F": False, "T": True, "1": True, "0": False},
    "date": {
        "2020-02-29": dt.date(2020, 2, 29),
        "2000-02-29": dt.date(2000, 2, 29),
        "0001-01-01": dt.date(1, 1, 1),
    },
    "timestamp": {
        "2020-02-29": dt.datetime(2020, 2, 29),  # noqa: DTZ001
        "2020-02-29T10:20": dt.datetime(2020, 2, 29, 10, 20),  # noqa: DTZ001
        "1969-12-31 23:59:59.9999999": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        dt.date(2020, 1, 2): dt.datetime(2020, 1, 2),  # noqa: DTZ001
    },
    "text": {12: "12", -(2**70): str(-(2**70)), dt.date(1, 2, 3): "0001-02-03", "a": "a"},
}
MISSING: dict[str, list[Any]] = {
    "integer": [
        *("0" * 400 + "1", "9223372036854775808", "-9223372036854775808", "", " 1", "1e5", "1.5"),
        *("\u0663", "12\n", 1e30, INF, 2.0**63, -(2**63)),
    ],
    "number": ["nan", "0x10", "1_0", "", "1,5"],
    "boolean": ["fal\u017fe", "yes", 7, 1.5],
    "date": [
        *("2021-02-29", "1900-02-29", "0000-01-01", "2020-04-31", "2020-1-1"),
        "2020-01-01 10:00",
    ],
    "timestamp": ["2020-01-01 24:00", "2020-01-01 10", "2020-01-01T00:00:00Z"],
    "text": [1.5, Decimal(1)],
}


@pytest.mark.parametrize("to", CASTS)
def test_casts(to: str) -> None:
    """A cell that does not fit becomes missing."""
    cells, missing = CASTS[to], MISSING[to]
    assert found(x.cast(to), x=[*cells, *missing]) == [*cells.values(), *[None] * len(missing)]


def test_casts_of_booleans_and_back() -> None:
    for cells in ([True, False, None], pa.array([True, False, None])):
        assert found(x.cast("integer"), x=cells) == [1, 0, None]
        assert found(x.cast("number"), x=cells) == [1.0, 0.0, None]
        assert found(x.cast("text"), x=cells) == ["true", "false", None]
        assert found(x.cast("integer").cast("boolean"), x=cells) == [True, False, None]


def test_values_by_predicates() -> None:
    """The first predicate that holds decides; a missing cell satisfies none."""
    cells = [1, 2, 3, None]
    chosen = when(x == 1).then("one").when(x <= 2).then(None).otherwise("more")
    assert found(chosen, x=cells) == ["one", None, "more", "more"]
    assert found(when(x > 1).then(x).otherwise(0), x=np.array([1, 2, 3])) == [0, 2, 3]
    assert found(when(x > 1).then(x).otherwise(0.5), x=np.array([1, 2**53 + 1])) == [0.5, 2.0**53]
    assert found(when(x.is_null()).then(dt.date(2020, 1, 1)).otherwise(x), x=DAYS[:2]) == [
        dt.date(2020, 1, 1),
        dt.date(1, 1, 1),
    ]
    with pytest.raises(TypeError, match="one type"):
        found(when(x.is_null()).then("a").otherwise(x), x=np.array([1, 2]))


def test_two_columns() -> None:
    """Integers are compared exactly, other numbers as the nearest floats."""
    big = 2**53
    columns = {
        "x": [big, big, "a", None, dt.date(2020, 1, 1), 1],
        "y": [big + 1, big + 0.5] + ["b"] * 4,
    }
    assert (x < y).holds(columns).tolist() == [True, False, True, False, False, False]
    assert (x == y).holds(columns).tolist() == [False, True, False, False, False, False]
    mixed = {"x": np.array([2**63 - 1]), "y": np.array([2**63], dtype=np.uint64)}
    assert (x < y).holds(mixed).tolist() == [True]
    times = {
        "x": np.array(["2020-01-01"], dtype="M8[D]"),
        "y": np.array(["2020-01-01T00"], dtype="M8[ns]"),
    }
    assert (x == y).holds(times).tolist() == [True]
    with pytest.raises(TypeError, match="do not compare"):
        (x == y).holds({"x": np.array([1]), "y": np.array(["a"])})


@pytest.mark.parametrize(
    "expression", [x + 1, x.lower(), x.year(), x.truncate("day"), x.cast("date")]
)
def test_a_column_of_another_type(expression: Column) -> None:
    """The type of a column is public; a cell of another type in a list is missing."""
    with pytest.raises(TypeError):
        found(expression, x=np.array([True, False]))
    assert found(expression, x=[b"\xff", object(), [1]]) == [None] * 3


class Hostile:
    """A cell whose methods all raise."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError

    __eq__ = __lt__ = __add__ = __bool__ = None  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "predicate",
    [
        x * 2 > 1,
        x.lower() == "a",
        x.month() == 1,
        x.cast("integer") == 1,
        x.contains("a"),
        x < x,  # noqa: PLR0124
        when(x > 1).then(x).otherwise(1) == 1,
        x - dt.date(2020, 1, 1) == 1,
    ],
)
def test_no_cell_makes_anything_fail(predicate: Any) -> None:
    """Nor does it decide about another record."""
    cells = [Hostile(), 10**5000, Decimal("sNaN"), Decimal("1e999999"), "\ud800", b"", (), 1e308]
    cells += [np.datetime64("NaT"), np.timedelta64(1, "D"), pd.NaT, pd.NA, dt.timedelta(1)]
    assert Count(predicate)({"x": cells}) in range(len(cells))
    alone = [Count(predicate)({"x": [cell]}) for cell in cells]
    assert sum(alone) == Count(predicate)({"x": cells})
