"""Reading columns: every kind of table, and that records do not influence each other."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from queryable.cells import cells, count_records

AGES = np.array([(30.0,), (np.nan,), (10.5,)], dtype=[("age", float)])
TABLES = {
    "structured": AGES,
    "masked": np.ma.array([30.0, 99.0, 10.5], mask=[False, True, False]).view([("age", float)]),
    "arrays": {"age": AGES["age"]},
    "lists": {"age": [30.0, None, 10.5]},
    "series": {"age": pd.Series([30.0, None, 10.5])},
    "pandas": pd.DataFrame({"age": [30.0, None, 10.5]}),
    "nullable": pd.DataFrame({"age": pd.array([30.0, None, 10.5], dtype="Float64")}),
    "polars": pl.DataFrame({"age": [30.0, None, 10.5]}),
    "polars NaN": pl.DataFrame({"age": [30.0, float("nan"), 10.5]}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_tables(table: Any) -> None:
    """Every kind of table gives the same cells, and its missing one is missing."""
    present, values = cells(table, "age")
    assert present.tolist() == [True, False, True]
    assert values.tolist() == [30, 10.5]
    assert count_records(table) == 3


def test_counting_needs_a_length_only() -> None:
    """Arrays and lists of anything can be counted; a mapping counts its columns' records."""
    assert count_records(np.zeros((4, 2))) == 4
    assert count_records(["a", "b"]) == 2
    assert count_records({}) == 0


def test_ragged_columns_are_no_table() -> None:
    """Columns of different lengths have no records."""
    ragged = {"a": [1], "b": [1, 2]}
    with pytest.raises(ValueError, match="lengths"):
        count_records(ragged)
    with pytest.raises(ValueError, match="lengths"):
        cells(ragged, "a")


def test_a_column_is_one_cell_a_record() -> None:
    """A column of rows is refused."""
    with pytest.raises(ValueError, match="one cell"):
        cells({"a": np.zeros((3, 2))}, "a")


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "column",
    [
        lambda *values: pl.Series(values, dtype=pl.Int64),
        lambda *values: pd.Series(values, dtype="Int64"),
        lambda *values: list(values),
    ],
    ids=["polars", "pandas", "list"],
)
@pytest.mark.parametrize("other", [None, 7])
def test_a_missing_cell_changes_no_other(column: Any, other: Any) -> None:
    """An integer beyond 2^53 stays itself beside a null, where libraries would give floats."""
    _, values = cells({"x": column(BIG, other)}, "x")
    assert int(values[0]) == BIG


def test_lists_get_no_common_type() -> None:
    """A float beside an integer does not make it a float."""
    _, values = cells({"x": [BIG, 0.5]}, "x")
    assert values[0] == BIG


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([1, None], dtype=pl.Int8),
        pl.Series(["a", None]),
        pl.Series([True, None]),
        pl.Series([dt.date(2020, 1, 1), None]),
        pd.Series([1, None], dtype="Int8"),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="category"),
        pd.Series([True, None], dtype="boolean"),
        pd.to_datetime(pd.Series(["2020-01-01", None])),
    ],
    ids=lambda series: f"{type(series).__module__.split('.')[0]} {series.dtype}",
)
def test_types_do_not_depend_on_the_data(series: Any) -> None:
    """A column's type is the same with a null, without it, and with no records at all."""
    tables = [{"x": series}, {"x": series[:1]}, {"x": series[:0]}]
    assert len({cells(table, "x").values.dtype for table in tables}) == 1


class Hostile:
    """A cell that does not even compare with itself."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("the patient is 47")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "missing",
    [None, float("nan"), np.datetime64("NaT"), pd.NaT, pd.NA, np.zeros(2), Hostile()],
    ids=lambda value: type(value).__name__,
)
def test_missing_objects(missing: Any) -> None:
    """What has no value, or is no scalar, is missing and no fault."""
    present, values = cells({"x": ["a", missing]}, "x")
    assert present.tolist() == [True, False]
    assert values.tolist() == ["a"]


def test_missing_dates() -> None:
    """NaT in a typed column is missing."""
    dates = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    assert cells({"x": dates}, "x").present.tolist() == [True, False]
