"""Expressions as data: what they say, their limits, and wrong arguments."""

import datetime as dt
from contextlib import suppress
from typing import Any

import pytest

from mechanisms import Count, GroupBy, Histogram, Quantile, Sum, column, when
from mechanisms.tables.expressions.operands import (
    MOST_COMPUTED,
    MOST_NESTED,
    Arithmetic,
    Literal,
    columns_of,
    operand_name,
)
from mechanisms.tables.expressions.predicates import describe
from tests.hostile import MAKERS

x, y, day = column("x"), column("y"), column("day")

TEXTS: list[tuple[Any, str]] = [
    (x * 2 > 1, "x * 2 > 1"),
    ((x + y) * 2 == y, "(x + y) * 2 == y"),
    (-x >= 1, "-x >= 1"),
    (day.month() == 3, "month of day == 3"),
    (day.truncate("month") == dt.date(2024, 1, 1), "day truncated to month == 2024-01-01"),
    (day < dt.datetime(2024, 1, 1, 12), "day < 2024-01-01 12:00:00"),  # noqa: DTZ001
    (x.strip().lower().starts_with("a"), "lower(strip(x)) starts with 'a'"),
    (x.cast("integer") == 1, "x as integer == 1"),
    (x.is_null(), "x is missing"),
    (x.is_not_null() & (y > 1), "x is not missing and y > 1"),
    (x.like("a%") | ~x.contains("b"), "x like 'a%' or not (x contains 'b')"),
    (when(x > 1).then(0).otherwise(None) == 0, "when x > 1 then 0 otherwise missing == 0"),
    (x.is_in([1, 2]), "x in [1, 2]"),
]


@pytest.mark.parametrize(("predicate", "text"), TEXTS)
def test_texts(predicate: Any, text: str) -> None:
    assert describe(predicate) == text


def test_texts_of_operands() -> None:
    assert operand_name("x") == "x"
    assert Sum(x * 2, 0, 1).public_name == "Sum(x * 2)"
    assert Histogram(day.month(), [1]).public_name == "Histogram(month of day)"
    assert describe(None) == "every row"
    assert describe(len) == "len(data)"


def test_expressions_are_values() -> None:
    """Equal expressions are equal, and have the columns that they read."""
    assert (x * 2).operand == Arithmetic("*", "x", Literal(2))
    assert hash((x * 2).operand) == hash(Arithmetic("*", "x", Literal(2)))
    assert sorted(columns_of((x + y).operand, day.year() == 1)) == ["day", "x", "y"]
    request = Count(when(x > 1).then(y).otherwise(day.year()) == 1).request
    assert request.columns == ("day", "x", "y")


@pytest.mark.parametrize("maker", MAKERS)
def test_hostile_constants(maker: str) -> None:
    """A constant is accepted, or refused by an error of ours."""
    value = MAKERS[maker]()
    for write in (
        lambda: x.__add__(value),
        lambda: x.__rsub__(value),
        lambda: x.contains(value),
        lambda: x.cast(value),
        lambda: x.truncate(value),
        lambda: when(x > 1).then(value).otherwise(1),
        lambda: when(value),
        lambda: column(value),
    ):
        with suppress(TypeError, ValueError):
            write()


def test_limits() -> None:
    """Depth and size are limited, as engines limit them."""
    deep = x
    for _ in range(MOST_NESTED - 1):
        deep = deep + 1
    with pytest.raises(ValueError, match="nested"):
        deep + 1
    with pytest.raises(ValueError, match="deep"):
        deep > 1  # noqa: B015
    wide = x + x
    while 2 * wide.operand.size < MOST_COMPUTED:  # type: ignore[union-attr]
        wide = wide + wide
    with pytest.raises(ValueError, match=str(MOST_COMPUTED)):
        wide + wide


@pytest.mark.parametrize("pattern", ["%a" * 400, "_%" * 400 + "b", "%" * 999 + "b"])
def test_patterns_take_linear_time(pattern: str) -> None:
    """A regular expression that backtracks would take more than a lifetime."""
    assert Count(x.like(pattern))({"x": ["a" * 399 + "c"]}) == 0


def test_keys_by_expression() -> None:
    data = {"day": [dt.date(2024, 1, 5), dt.date(2024, 2, 1), None], "x": [1, 2, 3]}
    statistic = Histogram(day.truncate("month"), [dt.date(2024, 1, 1), dt.date(2024, 2, 1)])
    assert statistic(data).tolist() == [1, 1]
    assert Quantile(x * 2, "1/2", [1, 4, 9])(data).argmax() == 1
    assert GroupBy({"x": [1, 2]}, Sum(day.month(), 0, 12))(data).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "instead"),
    [("isna", r"\.is_null\(\)"), ("isin", r"\.is_in"), ("mean", r"table\.mean")],
)
def test_the_names_of_pandas_are_translated(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(x, name)
    assert not hasattr(x, "nonsense")
