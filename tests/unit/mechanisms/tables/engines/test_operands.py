"""Computed columns on every engine give what they give on lists, whatever cells hold."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, GroupBy, Histogram, Mean, Quantile, Sum, Variance, column, when
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.computed import operand_cells
from mechanisms.tables.expressions.predicates import Predicate
from tests.engines import ENGINES, FEW, mostly, opened

NAN, INF = float("nan"), float("inf")
LAST, FIRST = 2**63 - 1, -(2**63)
STEPS = {
    "duckdb": 1,
    "ibis on duckdb": 11,
    "ibis on sqlite": 5,
    "ibis on sqlite, collated": 5,
    "ibis on postgres": 7,
    "ibis on postgres, collated": 7,
    "ibis on spark": 9,
}
"""Of the long lists an engine tries one in so many; a `slow` test tries the rest."""

every_dialect = pytest.mark.parametrize("engine", FEW)
every_collation = pytest.mark.parametrize(
    "engine",
    mostly("duckdb", "ibis on duckdb", "ibis on sqlite, collated", "ibis on postgres, collated"),
)

DAYS = [
    None,
    *(dt.date(*day) for day in ((1, 1, 1), (1582, 10, 4), (1582, 10, 15), (1900, 2, 28))),
    *(dt.date(*day) for day in ((1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (9999, 12, 31))),
]
CLOCKS = (dt.time(), dt.time(23, 59, 59, 999999))
TIMES = [day and dt.datetime.combine(day, clock) for day in DAYS for clock in CLOCKS]
TEXTS = [
    *("12", "-3.00", "+007", "5.", "9223372036854775808", "-9223372036854775808", "1e5", ".5"),
    *("-.5e-3", "inf", "-Infinity", "nan", "1e999", "-1e-999999999", "5e-324", "1e308", "5.e3"),
    *("2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623159e308", "0e99999"),
    *("0" * 399 + "1", "0" * 400 + "1", "9" * 400, "." + "1" * 399, "\u0663", "12\n", " 1", "1_0"),
    *("true", "F", "fAlse", "fal\u017fe", "1", "0", "2020-02-29", "2021-02-29", "1900-02-29"),
    *("0000-01-01", "0001-01-01", "9999-12-31 23:59:59.9999999", "2020-02-29T10:20"),
    *("1969-12-31 23:59:59.9999999", "2020-02-29 24:00", "2020-02-29 10:20:60", "2020-04-31"),
    *(
        "\u00c4 \u00df \u0130 \u0131 \u03c2 \u03a3 \u017f \u00b5 \u042f",
        "\u00ff \u0178 \u0100 \u0101 \u017d \u017e \u0149",
        "\u0386 \u03ac \u03ce \u038f \u0390",
        "\u0400 \u0450 \u04c0 \u04cf \u052e \u052f",
        "\u10a0 \u01c4 \uff21 \u0500 \U00010400",
        "\U0001f30d \ud55c \u6f22",
    ),
    *(
        " a \t\n\v\f\r",
        "\u00a0a",
        "a%_b\\",
        "ab",
        "aXb",
        "a\nb",
        "a" * 50,
        "\u00e9",
        "e\u0301",
        "",
        None,
    ),
]
NUMBERS = [None, 0, 1, -1, 7, -7, 2**53, 2**53 + 1, LAST, FIRST, FIRST + 1, 10**15 + 1]
FLOATS = [
    *(None, NAN, INF, -INF, 0.0, -0.0, 0.1, 1.5, -2.5, 9.3e18, 2.0**63, -(2.0**63)),
    *(9.223372036854774784e18, 1e150, 1.0000000000000002e150, 1e-150, 9.9e-151, 5e-324, 1e300),
]
PATTERNS = ["", "a", "%", "_", "a%", "%b", "a_b", "a%_b\\", "%_%_", "\\", "\u00c9", "%%a%a%a"]
COMPUTED: dict[str, list[Any]] = {
    "date": DAYS,
    "timestamp": TIMES,
    "instant": [each and each.replace(tzinfo=dt.UTC) for each in TIMES],
    "text": TEXTS,
    "integer": NUMBERS,
    "float": FLOATS,
    "money": [None, *map(Decimal, ("0.00", "12.34", "-0.57", "-12.99", "9999999999.99"))],
    "boolean": [None, True, False],
}


def computed(kind: str) -> Iterator[Column]:
    """Columns computed from a column of a kind."""
    x = column("x")
    if kind in ("date", "timestamp", "instant"):
        yield from (x.year(), x.quarter(), x.month(), x.day(), x.weekday())
        yield from (x.truncate(unit) for unit in ("year", "quarter", "month", "week", "day"))
        yield from (x.cast("date"), x.cast("timestamp"), x.truncate("month").cast("text"))
        yield x.cast("date") - dt.date(2000, 2, 29)
        yield when(x.is_not_null()).then(x).otherwise(None)
        if kind != "date":
            yield from (x.hour(), x.truncate("hour"))
    if kind == "text":
        yield from (x.lower(), x.upper(), x.strip(), x.strip().lower().upper())
        yield from (x.cast(to) for to in ("integer", "number", "text", "boolean"))
        yield from (x.cast("date"), x.cast("timestamp"), x.cast("number") * 2 + 1)
        yield when(x.is_null()).then("?").otherwise(x.strip().lower())
    if kind in ("integer", "float", "money"):
        yield from (x + 1, x - 0.1, x * x, x * x * x / x, 1 / x, -x, x / 3, x + x + x + x + x)
        yield from (x.cast("integer"), x.cast("number"), (x * 0.5).cast("integer"))
        yield from (x.cast("integer").cast("text"), x.cast("integer").cast("boolean"))
        yield when(x > 1).then(x).otherwise(0)
        yield when(x > 1).then(x).otherwise(0.5)
        yield when(x > 1).then("a").when(x == 1).then(None).otherwise("b")
        yield when(x > 1).then(x).otherwise(0).cast("integer")
    if kind == "boolean":
        yield from (x.cast(to) for to in ("integer", "number", "text", "boolean"))
        yield when(x == True).then(x).otherwise(False)  # noqa: E712


def about_cells(kind: str) -> Iterator[Predicate]:
    """Predicates without constants, and about text."""
    x = column("x")
    yield from (x.is_null(), x.is_not_null(), x == x, x < x)  # noqa: PLR0124
    if kind == "text":
        for pattern in (
            "",
            "a",
            "%",
            "_",
            "a%",
            "%b",
            "a_b",
            "a%_b\\",
            "%_%_",
            "\\",
            "\u00c9",
            "%%a%a%a",
        ):
            yield from (x.contains(pattern), x.starts_with(pattern), x.ends_with(pattern))
            yield from (x.like(pattern), x.lower().like(pattern))
        yield from (x.lower() == x, x.lower() < x, x.upper() > x, x.upper() < "\u00c9")
    if kind in ("integer", "float", "money"):
        yield from (x * 2 > x, x.cast("number") == x, x.cast("integer") == x, x + 0 <= x)
    if kind in ("date", "timestamp"):
        yield from (x.cast("date") < x, x.truncate("month") == x)


def check_columns(engine: str, kind: str, step: int) -> None:
    """Each cell is computed as on lists: one predicate compares all rows with their results.

    It states each result once, for all rows that have it, as statements are slow to build.
    """
    cells = COMPUTED[kind]
    rows = [(cell, row) for row, cell in enumerate(cells)]
    table, row = opened(engine, {"x": kind, "row": "integer"}, rows), column("row")
    for expression in list(computed(kind))[::step]:
        present, values = operand_cells({"x": cells}, expression.operand)
        given = iter([as_float(each) for each in values.tolist()])
        results = [next(given) if there else None for there in present]
        alike: dict[tuple[type, Any], list[int]] = {}  # truth values are not the numbers 0 and 1
        for i, result in enumerate(results):
            alike.setdefault((type(result), result), []).append(i)
        right: list[Predicate] = [
            row.is_in(places) & (expression.is_null() if result is None else expression == result)
            for (_, result), places in alike.items()
        ]
        assert Count(either(right)).value(table) == len(cells), expression.operand
    for predicate in list(about_cells(kind))[::step]:
        expected = Count(predicate)({"x": cells})
        assert Count(predicate).value(table) == expected, predicate.text


def as_float(cell: Any) -> Any:
    return float(cell) if isinstance(cell, Decimal) else cell


def either(predicates: list[Predicate]) -> Predicate:
    """Any of the predicates, nested as little as possible."""
    if len(predicates) == 1:
        return predicates[0]
    middle = len(predicates) // 2
    return either(predicates[:middle]) | either(predicates[middle:])


@every_dialect
@pytest.mark.parametrize("kind", [kind for kind in COMPUTED if kind != "text"])
def test_computed_columns(engine: str, kind: str) -> None:
    """On DuckDB everything, on other engines some of it."""
    check_columns(engine, kind, STEPS[engine])


@every_collation
def test_computed_texts(engine: str) -> None:
    """The same of text, which a collation may compare otherwise."""
    check_columns(engine, "text", STEPS[engine])


@pytest.mark.slow
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "duckdb"])
@pytest.mark.parametrize("kind", COMPUTED)
def test_all_computed_columns(engine: str, kind: str) -> None:
    check_columns(engine, kind, 1)


@every_collation
def test_a_choice_between_texts_is_searched(engine: str) -> None:
    """On Postgres it failed as soon as there was a row, if a column's collation has no search."""
    x, y = column("x"), column("y")
    chosen = when(x == "Ab").then(x).otherwise(when(y.is_null()).then(x).otherwise(y))
    with opened(engine, {"x": "text", "y": "text"}, [("Ab", "c"), ("12", None), ("d", "a1")]) as t:
        for where, found in (
            (chosen.starts_with("a"), 1),
            (chosen.ends_with("b"), 1),
            (chosen.contains("2"), 1),
            (chosen.like("_1"), 1),
            (chosen.upper().contains("A"), 2),
            (chosen.strip().starts_with("A"), 1),
            (chosen.cast("integer") == 12, 1),
        ):
            assert Count(where).value(t) == found, where


@every_dialect
def test_statistics_of_computed_columns(engine: str) -> None:
    """Sums, groups, bins and bounds of a person."""
    types = {"p": "integer", "day": "date", "x": "float", "n": "integer", "g": "text"}
    rows = [
        (i % 5, dt.date(2020, 1 + i % 12, 1 + i % 28), i / 8, i, ["Ab ", "aB", None][i % 3])
        for i in range(60)
    ]
    x, n, day, g = (column(name) for name in ("x", "n", "day", "g"))
    statistics = [
        Sum(x * 2, 0, 10, unit="1/4"),
        Sum(n - 3, -5, 20, n / 2 > x),
        Mean(day.month(), 1, 12),
        Variance(when(n > 7).then(n).otherwise(0), 0, 30),
        Histogram(g.strip().lower(), ["ab", "c"]),
        Histogram(day.truncate("month"), [dt.date(2020, 2, 1), dt.date(2021, 1, 1)]),
        Quantile(x * x, "1/2", [0, 1, 5, 20]),
        GroupBy({"g": ["aB", "Ab "]}, Sum(n * 0.5, 0, 9)),
    ]
    lists = {name: [row[i] for row in rows] for i, name in enumerate(types)}
    whole = opened(engine, types, rows)
    for statistic in statistics:
        assert np.array_equal(statistic.value(whole), statistic(lists)), statistic
    table = opened(engine, types, rows, privacy_unit="p", max_rows=2, keep="n")
    assert Sum(n + 1, 0, 100, per=table.unit).value(table) == sum(i + 1 for i in range(10))
    assert Histogram(day.month(), range(1, 13), per=table.unit).value(table).sum() == 10


@pytest.mark.parametrize("engine", ["duckdb", "ibis on sqlite"])
def test_a_missing_computed_cell_satisfies_no_comparison(engine: str) -> None:
    """Also where every truth value compares with the constant."""
    with opened(engine, {"n": "integer"}, [(0,), (5,), (None,)]) as table:
        truth = column("n").cast("boolean")
        for where in (truth <= 2**64, truth != 0.5, truth >= -1):
            assert Count(where).value(table) == 1
            assert Count(~where).value(table) == 2


@pytest.mark.parametrize("engine", ["duckdb", "ibis on sqlite"])
def test_a_comparison_that_no_cell_satisfies(engine: str) -> None:
    """DuckDB refused a statement without the parameters of the cell that was left out of it."""
    with opened(engine, {"x": "text"}, [("5",), ("0",), ("é",)]) as table:
        number = column("x").upper().cast("integer")
        for where in (number == 0.5, number > 2**64, number.is_in([]), number.is_in([0.5])):
            assert Count(where).value(table) == 0
            assert Count(~where & (column("x") != "5")).value(table) == 2
