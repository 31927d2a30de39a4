"""Rows of data, their keys and pieces, and values that are frozen."""

import datetime as dt
import enum
import itertools
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable import QueryError
from queryable.data.cells import objects
from queryable.data.constants import python_constant
from queryable.data.frozen import by_value, read_only
from queryable.data.growing import growable, grown, snapshot
from queryable.data.keys import common_type, key_of, keys_of, plain_cell, plain_cells
from queryable.data.rows import column_keys, column_values, rows_of, take
from tests.attacks.hostile_units import POOL, SAME_HASH

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
    taken = take(dataset, rows)
    assert type(taken) is type(dataset)
    assert column_values(taken, "age") == [[30, 40, 50][row] for row in rows]


def test_rows_of_an_array_are_its_elements() -> None:
    assert list(rows_of(np.array([3, 1]))) == [3, 1]
    assert [list(row) for row in rows_of(np.array([[1, 2], [3, 4]]))] == [[1, 2], [3, 4]]
    # A missing cell is None, in frames and in lists of records.
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


def test_cells_have_one_key_if_they_name_one_unit() -> None:
    """All pairs of a pool in which people have written down what is equal."""
    found = [(label, key_of(cell)) for label, cell in POOL]
    for (label, key), (other, another) in itertools.combinations(found, 2):
        assert (key is None) == (label is None), label
        if key is not None and another is not None:
            assert (key == another) == (label == other), (label, other)
            assert key != another or hash(key) == hash(another), (label, other)
    # Values of exactly known types; others stay as they are.
    cells = [cell for _, cell in POOL]
    plain = plain_cells(objects(cells, len(cells)))
    for (label, cell), each in zip(POOL, plain, strict=True):
        assert (plain_cell(cell) is None) == (each is cell and label is None) or label is not None
        if label is None and plain_cell(cell) is None:
            assert each is cell


def test_the_common_type_of_cells() -> None:
    """Without code of a metaclass, which may call all types equal."""

    class Meta(type):
        def __eq__(cls, other: object) -> bool:
            return True

        def __hash__(cls) -> int:
            raise ZeroDivisionError

    class Odd(metaclass=Meta):
        pass

    assert common_type([1, 2]) is int
    assert common_type([True, False]) is bool
    assert common_type([Odd(), Odd()]) is Odd
    for several in ([], [1, True], [1, None], [1, Odd()], [Odd(), 1]):
        assert common_type(several) is None


def test_a_key_is_made_of_the_cell_alone() -> None:
    """Whatever was read before, and among whatever other cells."""
    cells = [cell for _, cell in POOL]
    alone = [key_of(cell) for cell in cells]
    for turn in range(0, len(cells), 7):
        turned = [*cells[turn:], *cells[:turn]]
        assert keys_of(turned) == [*alone[turn:], *alone[:turn]]
    for count in (1, 2, 5):
        for first in range(len(cells)):
            some = cells[first : first + count]
            assert list(keys_of(some)) == alone[first : first + count]


PLAIN = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.booleans(),
    st.text(max_size=2),
    st.binary(max_size=2),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
)


@given(PLAIN, PLAIN)
def test_cells_of_pythons_own_types_are_equal_as_in_python(one: Any, other: Any) -> None:
    """On these `==` is an equivalence."""
    assert (key_of(one) == key_of(other)) == (one == other)
    assert key_of(one) is not None


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["us", "ns", "s", "D", "h", "M", "Y"]))
def test_times_of_numpy(count: int, unit: str) -> None:
    for kind in ("M8", "m8"):
        one, other = np.array([count, count ^ 1]).view(f"{kind}[{unit}]")
        if not np.isnat(one) and not np.isnat(other):
            assert key_of(one) != key_of(other)
            assert key_of(one) not in (count, None)


@pytest.mark.parametrize(
    "column",
    [
        lambda cells: cells,
        tuple,
        lambda cells: objects(cells, len(cells)),
        lambda cells: pd.Series(objects(cells, len(cells)), dtype=object),
    ],
    ids=["list", "tuple", "array", "pandas"],
)
def test_every_column_of_objects_is_read_so(column: Any) -> None:
    cells = [cell for _, cell in POOL]
    assert list(column_keys({"u": column(cells)}, "u")) == list(map(key_of, cells))
    records = [{"u": cell} for cell in cells]
    assert list(column_keys([*records, {}, None], "u"))[:-2] == list(map(key_of, cells))


def test_typed_columns() -> None:
    """Their cells have the keys of the values that they stand for."""
    table = {
        "float": np.array([1.0, np.nan, 0.5, -0.0]),
        "moment": np.array([1, -(2**63), 2, 2**62]).view("M8[ns]"),
        "text": np.array(["a", "b", "", "é"]),
        "masked": np.ma.array([1, 2, 3, 4], mask=[False, True, False, False]),
    }
    assert list(column_keys(table, "float")) == [1, None, 0.5, 0]
    assert list(column_keys(table, "text")) == ["a", "b", "", "é"]
    assert list(column_keys(table, "masked")) == [1, None, 3, 4]
    moments = list(column_keys(table, "moment"))
    assert moments[1] is None
    assert len(set(moments)) == 4
    assert moments[0] == key_of(np.datetime64(1, "ns"))
    # `numpy.float64(2**100)` equals an int that another int of its hash is not equal to.
    keys = set(keys_of([np.float64(2**100), *SAME_HASH]))
    assert len(keys) == len(SAME_HASH)  # one of them is 2**100


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


class Colour(enum.StrEnum):
    RED = "red"


EAST = dt.timezone(dt.timedelta(hours=-5))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (Colour.RED, "red"),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.bool_(True), True),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-01")),
        (pd.Timestamp("2020-01-01 05:00"), dt.datetime(2020, 1, 1, 5)),  # noqa: DTZ001
        (pd.Timedelta("1h"), dt.timedelta(hours=1)),
        (
            dt.datetime(2020, 11, 1, 1, 30, tzinfo=ZoneInfo("US/Eastern"), fold=1),
            dt.datetime(2020, 11, 1, 1, 30, tzinfo=EAST),
        ),
        (
            dt.datetime.max.replace(tzinfo=ZoneInfo("US/Eastern")),
            dt.datetime.max.replace(tzinfo=EAST),
        ),
    ],
)
def test_the_same_value(value: Any, expected: Any) -> None:
    taken = python_constant(value)
    assert (type(taken), taken) == (type(expected), expected)


@pytest.mark.parametrize("value", [pd.Timestamp("2020-01-01") + pd.Timedelta("1ns"), pd.NaT])
def test_values_that_would_be_rounded_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not equal to any datetime"):
        python_constant(value)


@pytest.mark.parametrize("value", [None, pd.NA, 1j, [1], np.longdouble(1), object()])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is not a number, string or date"):
        python_constant(value)


def test_arrays_as_values_are_read_only_and_compared() -> None:
    array = np.zeros(3)
    assert read_only(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1

    @attrs.frozen
    class Answer:
        value: object = attrs.field(eq=by_value)

    assert Answer(np.arange(4)) == Answer(np.arange(4))
    assert Answer(np.arange(4)) != Answer(np.arange(4).reshape(2, 2))
    assert Answer(3) == Answer(3) != Answer(4)
