"""Counts, sums and histograms: their values, and that their sensitivities hold."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import Count, Histogram, Sum, column
from queryable import MechanismFault
from queryable.statistics import IntegerStatistic

TABLE = {"age": [17, 30, None, 64], "state": ["NY", "CA", "NY", None]}
TABLES = {
    "lists": TABLE,
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "structured": np.array(
        [(17, "NY"), (30, "CA"), (np.nan, "NY"), (64, "")], dtype=[("age", float), ("state", "U2")]
    ),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_values(table: Any) -> None:
    """Every kind of table gives the same counts, sums and histograms."""
    assert Count()(table) == 4
    assert Count(column("age") >= 30)(table) == 2
    assert Count(lambda data: np.array([True, False, True, True]))(table) == 3
    assert Sum("age", 0, 50)(table) == 17 + 30 + 50
    assert Sum("age", 20, 50, column("state") == "NY")(table) == 20
    assert Sum(column("age"), 0, 50, unit=10)(table) == 1 + 3 + 5
    assert Histogram("state", ["CA", "TX", "NY"])(table).tolist() == [1, 0, 2]
    assert Histogram(column("age"), [17, 18])(table).tolist() == [1, 0]


def test_a_count_needs_a_length_only() -> None:
    """Any array can be counted."""
    assert Count()(np.zeros((5, 2))) == 5


def test_values_are_integers() -> None:
    """What noise is added to is an exact Python int."""
    assert type(Count(column("age") > 0)(TABLE)) is int
    assert type(Sum("age", 0, 9)({"age": np.array([1.5])})) is int


cells = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=2),
    st.booleans(),
    st.decimals(allow_nan=True),
    st.lists(st.integers(), max_size=2),
)
bounds = st.fractions(-(10**6), 10**6, max_denominator=100)
units = st.sampled_from(["1", "1/4", "3/7", "100"])


def norms(statistic: IntegerStatistic, one: Any, other: Any) -> tuple[int, int]:
    """The L1 and squared L2 norms of the change between two datasets."""
    change = np.asarray(statistic(one), dtype=object) - np.asarray(statistic(other), dtype=object)
    moves = np.atleast_1d(change)
    return int(abs(moves).sum()), int((moves**2).sum())


def check(statistic: IntegerStatistic, one: Any, other: Any) -> None:
    l1, l2_squared = norms(statistic, one, other)
    assert l1 <= statistic.l1
    assert l2_squared <= statistic.l2**2


def without(values: list[Any], index: int) -> list[Any]:
    return values[:index] + values[index + 1 :]


@given(st.lists(cells, min_size=1, max_size=6), bounds, bounds, units, st.data())
def test_sensitivity_on_objects(
    values: list[Any], one: Fraction, other: Fraction, unit: str, data: st.DataObject
) -> None:
    """Whatever cells hold, nothing fails and removing a record moves no statistic too far."""
    rest = without(values, data.draw(st.integers(0, len(values) - 1)))
    for statistic in (
        Sum("x", min(one, other), max(one, other), unit=unit),
        Sum("x", min(one, other), max(one, other), column("x") != 3, unit=unit),
        Count(column("x") > 1),
        Count(~(column("x") == "a")),
        Histogram("x", [0, True, "a", 0.5]),
    ):
        check(statistic, {"x": values}, {"x": rest})


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=6),
    st.integers(1, 2**62),
    units,
    st.data(),
)
def test_sensitivity_on_nullable_integers(
    values: list[Any], bound: int, unit: str, data: st.DataObject
) -> None:
    """A null in a frame moves no other record, though a library would turn all into floats."""
    rest = without(values, data.draw(st.integers(0, len(values) - 1)))
    threshold = next((value for value in values if value is not None), 0)
    for frame in (
        lambda each: pl.DataFrame({"x": pl.Series(each, dtype=pl.Int64)}),
        lambda each: pd.DataFrame({"x": pd.array(each, dtype="Int64")}),
    ):
        for statistic in (
            Sum("x", -bound, bound, unit=unit),
            Count(column("x") == threshold),
            Histogram("x", [threshold]),
        ):
            check(statistic, frame(values), frame(rest))


@given(st.lists(st.floats(width=32), min_size=1, max_size=6), bounds, bounds, units, st.data())
def test_sensitivity_on_float_arrays(
    values: list[float], one: Fraction, other: Fraction, unit: str, data: st.DataObject
) -> None:
    """The same for arrays of floats, with NaN and infinities, in both precisions."""
    index = data.draw(st.integers(0, len(values) - 1))
    statistic = Sum("x", min(one, other), max(one, other), unit=unit)
    for dtype in (np.float32, np.float64):
        array = np.array(values, dtype=dtype)
        check(statistic, {"x": array}, {"x": np.delete(array, index)})


def test_rounding_half_even_would_break_the_sensitivity() -> None:
    """Rounding the total to even moves by 2 for one record; units truncated one by one do not."""
    whole, rest = np.array([0.5, 1.0]), np.array([0.5])
    assert round(whole.sum()) - round(rest.sum()) == 2
    assert norms(Sum("x", 0, 1), {"x": whole}, {"x": rest}) == (1, 1)


def test_a_float_sum_would_break_the_sensitivity() -> None:
    """Beside a large number a float total moves by 2 for a record of 1; the exact one by 1."""
    whole, rest = np.array([2.0**53, 1, 1, 1]), np.array([2.0**53, 1, 1])
    floats = (sum(whole[::-1]) - sum(rest[::-1]), sum(whole) - sum(rest))
    assert max(map(abs, floats)) != 1
    assert norms(Sum("x", 0, 2**53), {"x": whole}, {"x": rest}) == (1, 1)


def test_a_record_is_in_one_category_only() -> None:
    """Categories that a column's type cannot tell apart do not count a record twice."""
    singles = {"x": np.array([0.1], dtype=np.float32)}
    near = [0.1, float(np.float32(0.1))]
    assert (column("x").is_in(near[:1])).holds(singles).all()  # numpy takes both for equal
    assert Histogram("x", near)(singles).sum() == 1
    large = {"x": np.array([2.0**53])}
    assert Histogram("x", [2**53, 2**53 + 1])(large).tolist() == [1, 0]


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_histogram_of_dates(unit: str) -> None:
    """Dates are counted in date columns, datetimes in columns of any finer resolution."""
    day = dt.datetime(2020, 1, 1)  # noqa: DTZ001
    category = day.date() if unit == "D" else day
    table = {"x": np.array(["2020-01-01", "2021-01-01", "NaT"], dtype=f"datetime64[{unit}]")}
    assert Histogram("x", [category])(table).tolist() == [1]


@pytest.mark.parametrize(
    ("lower", "upper", "unit", "sensitivity"),
    [
        (0, 10, 1, 10),
        (-10, 3, 1, 10),
        (5, 10, 1, 10),
        (0, "9.99", 1, 9),
        (0, 10, "1/4", 40),
        (0, 10, 3, 3),
        ("-0.5", "0.5", 1, 0),
    ],
)
def test_sum_sensitivity(lower: Any, upper: Any, unit: Any, sensitivity: int) -> None:
    """The larger bound in units, truncated as the records are."""
    statistic = Sum("x", lower, upper, unit=unit)
    assert statistic.l1 == statistic.l2 == sensitivity


def test_sensitivities_of_counts() -> None:
    """One record is counted once."""
    for statistic in (Count(), Count(column("x") == 1), Histogram("x", [1, 2, 3])):
        assert statistic.l1 == statistic.l2 == 1
    assert Histogram("x", [1, 2, 3]).shape == (3,)


def test_equal_queries_are_equal() -> None:
    """Queries are data: two that say the same compare and hash equal."""
    assert Sum(column("x"), 0, "0.5", column("y") == 1) == Sum("x", 0, 0.5, column("y") == 1)
    assert len({Count(column("x") > 1), Count(column("x") > 1), Count(column("x") > 2)}) == 2


def test_a_missing_column_is_a_fault_not_a_value() -> None:
    """What the data do not have fails inside the boundary."""
    with pytest.raises(MechanismFault):
        Sum("height", 0, 1)(TABLE)


def test_signaling_decimals_are_missing() -> None:
    """A number that raises when compared is left out."""
    assert Sum("x", 0, 9)({"x": [Decimal("sNaN"), Decimal(3)]}) == 3
