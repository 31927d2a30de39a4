"""Rows and columns of every kind of table."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from queryable.data.rows import column_values, rows_of, take

COLUMNS = {"age": [30, 40, 50], "city": ["a", "b", "a"]}
ROWS = [{"age": age, "city": city} for age, city in zip(*COLUMNS.values(), strict=True)]
FORMS: dict[str, Any] = {
    "list": ROWS,
    "tuple": tuple(ROWS),
    "dict of lists": COLUMNS,
    "dict of arrays": {name: np.array(values) for name, values in COLUMNS.items()},
    "pandas": pd.DataFrame(COLUMNS),
    "pandas, odd index": pd.DataFrame(COLUMNS, index=[7, 7, 3]),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "structured array": np.array(
        [(30, "a"), (40, "b"), (50, "a")], dtype=[("age", "i8"), ("city", "U1")]
    ),
}
forms = pytest.mark.parametrize("dataset", FORMS.values(), ids=FORMS)


@forms
def test_a_column_is_python_values(dataset: Any) -> None:
    """No kind of table gives numpy scalars."""
    ages = column_values(dataset, "age")
    assert ages == [30, 40, 50]
    assert {type(age) for age in ages} == {int}
    assert column_values(dataset, "city") == ["a", "b", "a"]


@forms
def test_records_are_rows(dataset: Any) -> None:
    """Each row has the values of all columns."""
    rows = list(rows_of(dataset))
    assert [row["age"] for row in rows] == [30, 40, 50]
    assert [row["city"] for row in rows] == ["a", "b", "a"]


@forms
@pytest.mark.parametrize("rows", [[0, 2], [], [1], [2, 0]])
def test_some_rows_keep_the_form(dataset: Any, rows: list[int]) -> None:
    """The rows at these positions, in this order, in the form of the dataset."""
    taken = take(dataset, rows)
    assert type(taken) is type(dataset)
    assert column_values(taken, "age") == [[30, 40, 50][row] for row in rows]


def test_rows_of_an_array_are_its_elements() -> None:
    """A plain array has no columns, so its elements are the rows."""
    assert list(rows_of(np.array([3, 1]))) == [3, 1]
    assert [list(row) for row in rows_of(np.array([[1, 2], [3, 4]]))] == [[1, 2], [3, 4]]


def test_missing_values_are_returned() -> None:
    """A missing cell is None, in frames and in lists of records."""
    assert column_values(pl.DataFrame({"k": ["a", None]}), "k") == ["a", None]
    assert column_values([{"k": None}], "k") == [None]


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"list", "tuple"}))
def test_an_unknown_column_is_an_error(form: str) -> None:
    """A table with public column names raises an error of its own kind."""
    dataset = FORMS[form]
    with pytest.raises(Exception, match="height"):
        column_values(dataset, "height")


@pytest.mark.parametrize("record", [{}, {"age": None}, None, 3, "text", [1], {"age": np.zeros(2)}])
def test_a_record_without_the_field_misses_it(record: Any) -> None:
    """No such record changes the value of another record or raises an error."""
    assert column_values([{"age": 30}, record], "age") == [30, None]
    assert column_values([record], "age") == [None]


@pytest.mark.parametrize("form", ["pandas", "pandas, odd index", "series"])
def test_a_part_has_an_index_of_its_own(form: str) -> None:
    """The old index would reveal how many rows of other parts are between the taken rows."""
    series = {"age": pd.Series(COLUMNS["age"])}
    taken = take(series if form == "series" else FORMS[form], [0, 2])
    assert taken["age"].index.tolist() == [0, 1]


@pytest.mark.parametrize("form", ["structured array", "dict of arrays"])
def test_taken_arrays_are_read_only(form: str) -> None:
    """A part of the data cannot be changed through it."""
    taken = take(FORMS[form], [0, 1])
    array = taken["age"] if isinstance(taken, dict) else taken
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[1]
