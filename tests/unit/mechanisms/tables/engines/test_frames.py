"""Frames and arrays as Arrow tables: types are kept, missing cells too."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mechanisms.tables.engines.frames import as_arrow


def test_structured_arrays() -> None:
    """Text, bytes, numbers of either byte order, times: each column keeps its type."""
    fields = [("t", "U3"), ("b", "S2"), ("n", ">i2"), ("f", "<f4"), ("d", "M8[D]"), ("u", "u8")]
    array = np.array([("é", b"x", 3, 0.5, "2020-01-01", 2**64 - 1)], dtype=fields)
    table = as_arrow(array).table
    assert table.to_pylist() == [
        {"t": "é", "b": b"x", "n": 3, "f": 0.5, "d": dt.date(2020, 1, 1), "u": 2**64 - 1}
    ]
    assert table.schema.field("f").type == pa.float32()
    assert table.schema.field("n").type == pa.int16()


@pytest.mark.parametrize(
    "source",
    [
        {"x": np.ma.masked_array([1, 2, 3], [False, True, False])},
        pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64")}),
        pl.DataFrame({"x": [1, None, 3]}),
        pa.table({"x": [1, None, 3]}),
        np.ma.masked_array([(1,), (2,), (3,)], [(False,), (True,), (False,)], dtype=[("x", int)]),
    ],
    ids=["masked", "pandas", "polars", "arrow", "masked structure"],
)
def test_missing_cells_stay_missing_and_integers_integers(source: Any) -> None:
    table, written = as_arrow(source)
    assert not written
    assert table.column("x").to_pylist() == [1, None, 3]
    assert table.schema.field("x").type == pa.int64()


def test_an_index_is_not_a_column() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=["secret", "hidden"])
    assert as_arrow(frame).table.column_names == ["x"]


@pytest.mark.parametrize("source", [3, [1, 2], np.zeros(3), np.zeros((2, 2)), "text", None])
def test_sources_that_are_not_tables_are_rejected(source: Any) -> None:
    with pytest.raises(TypeError, match="source is a"):
        as_arrow(source)


@pytest.mark.parametrize(
    "coarse", [pa.timestamp("s", "UTC"), pa.timestamp("ms", "UTC"), pa.duration("s")]
)
def test_a_time_that_has_no_microseconds_is_missing(coarse: Any) -> None:
    """DuckDB would convert the cells and fail on it; the others are what they were."""
    counts = pa.array([5, 2**63 - 1, -(2**63), None, -7])
    cells = as_arrow(pa.table({"x": counts.view(coarse)})).table["x"]
    assert cells.type.unit == "us"
    times = 1000 if coarse.unit == "ms" else 10**6
    assert cells.cast(pa.int64()).to_pylist() == [5 * times, None, None, None, -7 * times]
