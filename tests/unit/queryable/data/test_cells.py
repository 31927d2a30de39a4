"""Reading columns of every kind of table; records do not influence each other."""

import builtins
import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mechanisms import Histogram, column
from queryable.data.cells import cells, count_records
from queryable.data.rows import column_values

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
    "arrow": pa.table({"age": [30.0, None, 10.5]}),
    "arrow dtype": pd.DataFrame({"age": pd.array([30.0, None, 10.5], dtype="double[pyarrow]")}),
    "records": [{"age": 30.0}, {}, {"age": 10.5}],
    "polars NaN": pl.DataFrame({"age": [30.0, float("nan"), 10.5]}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_tables(table: Any) -> None:
    """Every kind of table gives the same cells and the same missing cell."""
    present, values = cells(table, "age")
    assert present.tolist() == [True, False, True]
    assert values.tolist() == [30, 10.5]
    assert count_records(table) == 3


def test_counting_needs_only_a_length() -> None:
    """Arrays and lists have their length; a mapping has the length of its columns."""
    assert count_records(np.zeros((4, 2))) == 4
    assert count_records(["a", "b"]) == 2
    assert count_records({}) == 0


def test_columns_of_different_lengths_are_refused() -> None:
    """The number of records would be ambiguous."""
    ragged = {"a": [1], "b": [1, 2]}
    with pytest.raises(ValueError, match="lengths"):
        count_records(ragged)
    with pytest.raises(ValueError, match="lengths"):
        cells(ragged, "a")


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
def test_a_missing_cell_does_not_change_other_cells(column: Any, other: Any) -> None:
    """An integer beyond 2^53 stays exact beside a null, where libraries would use floats."""
    _, values = cells({"x": column(BIG, other)}, "x")
    assert int(values[0]) == BIG


def test_cells_of_lists_keep_their_types() -> None:
    """An integer beside a float stays an integer."""
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
        pd.Series([dt.date(2020, 1, 1), None], dtype=pd.ArrowDtype(pa.date32())).astype("category"),
        pd.Series([dt.date(2020, 1, 1), None], dtype=pd.ArrowDtype(pa.date32())),
        pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())),
        pd.Series(["2020-01-01", None], dtype="datetime64[ns, UTC]"),
        pa.chunked_array([["a", None]], type=pa.string_view()),
        pa.chunked_array([[1, None]], type=pa.time64("us")),
        pa.chunked_array([[1, None]]).dictionary_encode(),
        pa.chunked_array([[[1], None]]),
        pl.Series([[1], None]),
        pl.Series([2**100, None], dtype=pl.Int128),
        pl.Series([{"a": 1}, None]),
        pd.Series([True, None], dtype="boolean"),
        pd.to_datetime(pd.Series(["2020-01-01", None])),
    ],
    ids=lambda each: f"{type(each).__module__.split('.')[0]} {getattr(each, 'dtype', None)}",
)
def test_types_do_not_depend_on_the_data(series: Any) -> None:
    """A column's type is the same with a null, without it, and with no records at all."""
    tables = [{"x": series}, {"x": series[:1]}, {"x": series[:0]}]
    assert len({cells(table, "x").values.dtype for table in tables}) == 1


@pytest.mark.parametrize("plain", [[1, 2], [0.5], [True], ["a"], [dt.date(2020, 1, 1)]], ids=repr)
@pytest.mark.parametrize("more", [None, "x", 3, 0.5])
def test_one_cell_decides_no_type_of_categories(plain: list[Any], more: Any) -> None:
    """`astype("category")` takes the categories from the cells, so they say no type publicly.

    At 1b177ec one "x" makes numbers objects, and a question is answered that was refused.
    """
    one, both = (pd.Series(each).astype("category") for each in (plain, [*plain, more]))
    found = [cells({"x": each}, "x").values for each in (one, both, both[:0])]
    assert {each.dtype for each in found} == {np.dtype(object)}
    assert found[0].tolist() == found[1].tolist()[: len(plain)] == plain


class Hostile:
    """A cell whose comparison with itself fails."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("the patient is 47")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "missing",
    [None, float("nan"), np.datetime64("NaT"), pd.NaT, pd.NA, np.zeros(2), Hostile()],
    ids=lambda value: type(value).__name__,
)
def test_missing_objects(missing: Any) -> None:
    """A cell without a value, or not a scalar, is missing and does not fail."""
    present, values = cells({"x": ["a", missing]}, "x")
    assert present.tolist() == [True, False]
    assert values.tolist() == ["a"]


def test_missing_dates() -> None:
    """NaT in a typed column is missing."""
    dates = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    assert cells({"x": dates}, "x").present.tolist() == [True, False]


NOT_UTF8 = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers())
UNREADABLE: dict[str, Any] = {
    "text in arrow": pa.chunked_array([NOT_UTF8]),
    "text in pandas": pd.Series(NOT_UTF8, dtype=pd.ArrowDtype(pa.string())),
    "str in pandas": pd.Series(pd.array(NOT_UTF8, dtype="str")),
    "text in polars": pl.from_arrow(NOT_UTF8),
    "category in polars": pl.from_arrow(NOT_UTF8.dictionary_encode()),
    "code points": np.array([0x110000, ord("a")], dtype="u4").view("U1"),
    "signalling NaN": pd.Series([Decimal("sNaN"), "a"], dtype=object),
}


@pytest.mark.parametrize("column", UNREADABLE.values(), ids=UNREADABLE)
def test_a_cell_that_cannot_be_read_is_missing(column: Any) -> None:
    """If a library cannot convert one cell, the other cells are still read."""
    assert column_values({"x": column}, "x") == [None, "a"]
    assert Histogram("x", ["a"])({"x": column}).tolist() == [1]


def test_a_time_with_nanoseconds_does_not_hide_others() -> None:
    """Python's times have no nanoseconds, so Arrow refuses to convert the whole column."""
    times = pa.chunked_array([[1, 10**9]], type=pa.time64("ns"))
    assert column_values({"x": times}, "x")[1] == dt.time(0, 0, 1)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_far_moments_compare_correctly(unit: str) -> None:
    """numpy compares moments of two resolutions modulo 2**64."""
    ends = np.array([-(2**63) + 1, 0, 2**63 - 1]).astype(f"M8[{unit}]")
    for constant in (dt.datetime(1800, 1, 1), np.datetime64("1800-01-01T00:00:00.000001")):  # noqa: DTZ001
        outcomes = (column("x") > constant).holds({"x": ends}).tolist()
        assert outcomes == [False, True, True]
    found = Histogram("x", [dt.date(1970, 1, 1), dt.datetime(1970, 1, 1)])({"x": ends})  # noqa: DTZ001
    assert found.sum() == 1


@pytest.mark.parametrize("values", [[30, 40] * 500, ["a", "b"] * 500, [30, None] * 500])
def test_cells_of_usual_types_raise_no_audit_events(
    monkeypatch: pytest.MonkeyPatch, values: list[Any]
) -> None:
    """`id` raises one, and a worker of a curator has a hook in Python that each of them calls."""
    asked: list[object] = []
    own = builtins.id
    monkeypatch.setattr(builtins, "id", lambda value: asked.append(value) or own(value))
    table = {"age": values}
    where = column("age") == values[0]
    assert where.holds(table).sum() == 500
    assert len(asked) < 10
