"""What is public about a frame: the names and types of its columns, and no cell."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from queryable import QueryError
from queryable.data.growing import growable, grown, snapshot


@pytest.mark.parametrize(
    ("data", "batch", "why"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]}), "a: float64, .* a: int64;"),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]}), "b: Int64, .* a: Int64;"),
        (pa.table({"a": [1]}), pa.table({}), "no column, .* a: int64;"),
        (pd.Series([1]), pd.Series([1.0]), "float64, .* have int64;"),
    ],
)
def test_columns_that_differ_are_named(data: Any, batch: Any, why: str) -> None:
    with pytest.raises(QueryError, match=f"the batch has {why}"):
        grown(growable(data), batch)


def test_categories_are_no_part_of_the_form() -> None:
    """At 1b177ec: "the batch has who: category, and the data have who: category"."""
    kinds = [["a"], ["a", "b"], ["b", "a"], [1], [None], []]
    batches = [pd.DataFrame({"a": pd.Categorical(each)}) for each in kinds]
    for first in batches:
        data = growable(first)
        for batch in batches:
            data = grown(data, batch)
        data = grown(growable(snapshot(data)), batches[1])
        cells = [None if each != each else each for each in snapshot(data)["a"]]  # noqa: PLR0124
        assert cells == [*first["a"].replace({np.nan: None}), *sum(kinds, []), "a", "b"]  # noqa: RUF017
        assert snapshot(data)["a"].dtype == object


ALIKE: list[Any] = [
    *(pd.StringDtype(*each) for each in (("python",), ("pyarrow",), ("python", np.nan))),
    *(np.dtype(each) for each in ("int64", "float64", "bool", "object", "M8[ns]", "M8[us]")),
    *(pd.CategoricalDtype(["a"]), pd.Int64Dtype(), pd.BooleanDtype()),
    *(pd.ArrowDtype(each) for each in (pa.int64(), pa.string(), pa.large_string())),
    *(pd.DatetimeTZDtype("ns", zone) for zone in ("UTC", "Europe/Vienna")),
    *(pd.PeriodDtype("D"), pd.SparseDtype("int64"), pd.IntervalDtype("int64")),
]
"""Types of pandas, of which some have the same name."""


def test_types_that_differ_are_written_differently() -> None:
    """For all pairs of types, and names that are written alike. No refusal says twice the same."""
    frames = [pd.DataFrame({"a": pd.Series([], dtype=each)}) for each in ALIKE]
    frames += [frame.rename(columns={"a": 1}) for frame in frames[:2]]
    frames += [frame.rename(columns={"a": "1"}) for frame in frames[:2]]
    taken = 0
    for first in frames:
        for batch in frames:
            try:
                grown(growable(first), batch)
            except QueryError as refused:
                told = str(refused)
            else:
                taken += 1
                continue
            theirs, ours = told.partition("the batch has ")[2].split(", and the data have ")
            assert theirs != ours.partition("; nothing")[0]
    assert taken == len(frames) + 2  # objects and categoricals are one type
