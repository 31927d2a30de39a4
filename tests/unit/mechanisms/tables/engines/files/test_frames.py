"""Frames and arrays as Arrow tables: types are kept, missing cells too."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, Sum, Table, column
from mechanisms.tables.engines.files import frames
from mechanisms.tables.engines.files.frames import as_arrow
from queryable import ZCDP, Queryable, QueryError


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
    frame = as_arrow(source)
    assert not frame.written
    table = frame.table
    assert table.column("x").to_pylist() == [1, None, 3]
    assert table.schema.field("x").type == pa.int64()


def test_an_index_is_not_a_column() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=["secret", "hidden"])
    assert as_arrow(frame).table.column_names == ["x"]


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


TEXTS = ["", "a", "ab", "\u00e9", "a\0b", "\ud800", "longer"]


@pytest.mark.parametrize("dtype", ["U", "U6", ">U9", "S", "S9"])
@pytest.mark.parametrize("block", [1, 3, 2**16])
def test_each_text_of_a_fixed_width_is_read_alone(
    dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters beyond ASCII, zeros and lone surrogates in a cell change how no other one is read."""
    monkeypatch.setattr(frames, "_BLOCK", block)
    for texts in (TEXTS, TEXTS[:3], TEXTS[:4], TEXTS[:5], TEXTS[::-1], []):
        values = np.array([t.encode(errors="replace") for t in texts] if "S" in dtype else texts)
        values = values.astype(dtype)
        expected = [None if text == "\ud800" else text for text in values.tolist()]
        assert as_arrow({"x": values}).table["x"].to_pylist() == expected
        hidden = np.ma.MaskedArray(values, mask=[i % 2 for i in range(len(values))])
        some = [None if i % 2 else text for i, text in enumerate(expected)]
        assert as_arrow({"x": hidden}).table["x"].to_pylist() == some


def test_structured_arrays_are_copied_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_BLOCK", 2)
    rows = [(1, "a", np.datetime64("2020-01-01")), (2, "b\0c", np.datetime64("NaT"))] * 3
    kinds = [("n", ">i4"), ("t", "U3"), ("d", "M8[D]")]
    records = np.array(rows, dtype=kinds)
    for array in (records, records[::-1], records.view(np.recarray), records[:0]):
        table = as_arrow(array).table
        assert table.to_pylist() == [
            {"n": int(r[0]), "t": str(r[1]), "d": r[2].item()} for r in array
        ]
    masked = np.ma.MaskedArray(records, mask=[(False, True, False)] * 6)
    assert as_arrow(masked).table["t"].null_count == 6


def test_nan_stays_a_number() -> None:
    """It is missing to every question, but the choice of rows hashes it as it is."""
    numbers = np.array([1, np.nan])
    for values in (numbers, np.ma.MaskedArray(numbers, mask=[False, False])):
        assert as_arrow({"x": values}).table["x"].null_count == 0


def test_days_that_arrow_cannot_hold_are_missing() -> None:
    days = np.array([0, 2**31 - 1, -(2**31) + 1, 2**31 - 2, -(2**63)], dtype="M8[D]")
    assert as_arrow({"x": days}).table["x"].is_null().to_pylist() == [0, 1, 1, 0, 1]
    assert as_arrow({"x": days[[0, 3, 4]]}).table["x"].null_count == 1
    assert as_arrow({"x": days[[0, 3]]}).table["x"].null_count == 0


CATEGORIES: list[list[Any]] = [["b", "a", None], [1, 2, 2], [0.5, 2], [True, False]]
CATEGORIES += [[dt.date(2020, 1, 31), dt.date(2021, 1, 1)]]


@pytest.mark.parametrize("cells", CATEGORIES, ids=repr)
def test_one_category_decides_no_type(cells: list[Any]) -> None:
    """The cells of a categorical are read one by one, as those of a list.

    At 1b177ec one "x" makes `integer` of numbers `written`, so that a question is refused or not.
    """
    for more in ([], ["x"], [3]):
        frame = pd.DataFrame({"x": pd.Categorical([*cells, *more])})
        with Table(frame) as table, Table({"x": [*cells, *more]}) as listed:
            assert table.columns["x"].name == "written"
            for cell in filter(None, cells):
                statistic = Count(column("x") == cell)
                assert statistic.value(table) == statistic.value(listed) == cells.count(cell)
            sums = [Sum("x", 0, 5).value(each) for each in (table, listed)]
            assert sums[0] == sums[1]
            if cells[0] == 1 and cells[1] == 2:
                assert sums[0] == 5 + sum(each == 3 for each in more) * 3
                table.check(Count(column("x") > 1))


def test_a_batch_may_have_other_categories() -> None:
    """Also objects, and in a table of categories whose type is declared."""
    data, more = (pd.DataFrame({"x": pd.Categorical(each)}) for each in ([1, 2], ["x", 2]))
    for types in ({}, {"types": {"x": "BIGINT"}}):
        with Table(data, **types) as table:
            both = table.append(more).append({"x": [2, None]})
            assert Count(column("x") == 2).value(both) == 3


PERIODS = pd.period_range("2024-01", periods=3, freq="M")


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"p": PERIODS}),
        {"p": PERIODS},
        pa.table({"p": pa.array(PERIODS)}),
        pl.from_pandas(pd.DataFrame({"p": PERIODS})),
    ],
    ids=["pandas", "dict", "arrow", "polars"],
)
@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
def test_periods_are_refused(source: Any) -> None:
    """Arrow has the number of a period, 648 for January 2024, with which nothing compares."""
    with pytest.raises(TypeError, match=r"^convert column 'p' with \.dt\.to_timestamp\(\)"):
        Table(source)
    queryable = Queryable(FiltCon(ZCDP(1)), source)
    for statistic in (Count(column("p") >= 2024), Histogram("p", [648])):
        with pytest.raises(QueryError, match=r"^convert column 'p' with .* nothing is charged"):
            queryable.launch(Gaussian(statistic, rho="1/10"))
    assert queryable.privacy_loss() == ZCDP(0)
    queryable.launch(Gaussian(Count(), rho="1/10"))
    with Table({"p": [648]}) as table, pytest.raises(TypeError, match="to_timestamp"):
        table.append(source)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.array([1j]), "complex128"),
        (np.array([1], "longdouble"), str(np.dtype("longdouble"))),
        (np.array([1], "f2"), "halffloat"),
        (np.array(["2024-01"], "M8[M]"), r"datetime64\[M\]"),
        (np.ones((1, 2)), "float64"),
        (pd.Series(pd.arrays.SparseArray([7])), r"Sparse\[int64, 0\]"),
        (pl.Series([7], dtype=pl.Int128), "Int128"),
        (pa.array([7], pa.decimal256(50)), r"decimal256\(50, 0\)"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_column_of_a_type_that_cannot_be_read_is_named(cells: Any, kind: str) -> None:
    text = rf"^convert column 'p' \({kind}\) to a type that can be read"
    with pytest.raises(TypeError, match=text) as caught:
        Table({"n": [1], "p": cells})
    assert "7" not in str(caught.value)
