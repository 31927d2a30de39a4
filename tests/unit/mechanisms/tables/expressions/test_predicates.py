"""Predicates: what they say of records, and that they are data."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import Count, GroupBy, Histogram, Sum, column
from mechanisms.tables.expressions.comparisons import OPERATORS
from mechanisms.tables.expressions.operands import MOST_NESTED
from mechanisms.tables.expressions.predicates import (
    And,
    Comparison,
    IsIn,
    Not,
    Or,
    Predicate,
    selected,
)
from queryable import MechanismFault

TABLE = {"age": [17, 30, None, 64], "state": ["NY", "CA", "NY", None]}
FRAMES = {
    "lists": TABLE,
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "arrays": {
        "age": np.array([17, 30, np.nan, 64]),
        "state": np.array(["NY", "CA", "NY", None], dtype=object),
    },
}
age, state = column("age"), column("state")

CASES = (
    (age == 30, "0100"),
    (age != 30, "1001"),
    (age < 30, "1000"),
    (age <= 30, "1100"),
    (age > 30, "0001"),
    (age >= 30, "0101"),
    (30 <= age, "0101"),  # noqa: SIM300 (the reflected operator)
    (state == "NY", "1010"),
    (state < "D", "0100"),
    (age.is_in([17, 64, 99]), "1001"),
    (state.is_in(["CA"]), "0100"),
    (state.is_in([]), "0000"),
    ((age >= 18) & (state == "NY"), "0000"),
    ((age < 18) | (state == "CA"), "1100"),
    (~(age >= 30), "1010"),
    (~~(age >= 30), "0101"),
)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize(("predicate", "expected"), CASES, ids=str)
def test_truth(predicate: Predicate, expected: str, frame: Any) -> None:
    """Each predicate holds for the same records of every kind of table."""
    mask = predicate.holds(frame)
    assert mask.dtype == bool
    assert "".join(str(int(each)) for each in mask) == expected


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("frame", ["lists", "pandas", "polars", "arrays"])
def test_missing_cells_satisfy_no_comparison(operator: str, frame: str) -> None:
    """Not even `!=`; the plain negation of a comparison does hold."""
    comparison = Comparison("age", operator, 30)
    assert not comparison.holds(FRAMES[frame])[2]
    assert (~comparison).holds(FRAMES[frame])[2]


@given(
    st.lists(
        st.one_of(st.none(), st.floats(), st.integers(-3, 3), st.text(max_size=2)), max_size=8
    ),
    st.integers(0, 7),
)
def test_each_record_is_decided_on_its_own(records: list[Any], dropped: int) -> None:
    """Taking a record out changes no other record's truth."""
    predicate = ((age > 0) & (age != 2)) | ~age.is_in([1, "a"])
    whole = predicate.holds({"age": records}).tolist()
    rest = predicate.holds({"age": records[:dropped] + records[dropped + 1 :]}).tolist()
    assert rest == whole[:dropped] + whole[dropped + 1 :]


def test_times_and_durations_compare() -> None:
    """In a column of objects a cell of another kind compares False, and nothing is raised."""
    assert (age < 5).holds({"age": [1, "x", [2], {3}, 4j]}).tolist() == [True] + [False] * 4
    # A typed column does not compare with another kind, whatever it holds, even nothing.
    for length in (0, 3):
        with pytest.raises(TypeError):
            (age < "x").holds({"age": np.zeros(length)})
    spans = np.array([1, 10**12], dtype="timedelta64[ns]")
    assert (age > dt.timedelta(seconds=1)).holds({"age": spans}).tolist() == [False, True]


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_compare_with_every_resolution(unit: str) -> None:
    """Dates and datetimes compare with numpy's times, nanoseconds too."""
    times = np.array(["2020-01-01", "2021-01-01"], dtype=f"datetime64[{unit}]")
    for start in (dt.date(2020, 6, 1), dt.datetime(2020, 6, 1)):  # noqa: DTZ001
        assert (age >= start).holds({"age": times}).tolist() == [False, True]


def test_predicates_are_data() -> None:
    """Equal trees are equal and hash alike; each node says what it is made of."""
    tree = (age >= 30) & ~state.is_in(["NY"]) | (age == 1)
    assert tree == Or(
        And(Comparison("age", ">=", 30), Not(IsIn("state", ("NY",)))), Comparison("age", "==", 1)
    )
    assert hash(tree) == hash((age >= 30) & ~state.is_in(["NY"]) | (age == 1))
    assert tree != (age >= 30)
    # A constant from an array is kept as plain data.
    assert type((age == np.int64(3)).value) is int


def test_no_truth_value() -> None:
    """`and`, `or`, `not`, `in` and chained comparisons are caught, as each would drop a part."""
    for wrong in (
        lambda: (age > 1) and (age < 3),
        lambda: (age > 1) or (age < 3),
        lambda: not (age > 1),
        lambda: age in [1, 2],
        lambda: 1 < age < 3,
    ):
        with pytest.raises(TypeError, match="use &"):
            wrong()


def test_selecting() -> None:
    """No `where` selects all; a predicate and a function select what they say."""
    assert selected(None, TABLE).tolist() == [True] * 4
    assert selected(age >= 30, TABLE).tolist() == [False, True, False, True]
    assert selected(lambda table: np.array([True, False, False, True]), TABLE).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert selected(lambda frame: frame["age"] >= 30, FRAMES["pandas"]).sum() == 2


@pytest.mark.parametrize(
    "result",
    [None, True, {1, 2}, [True] * 5, np.ones((4, 1), bool), np.ones(3), [], pd.DataFrame([1] * 4)],
    ids=repr,
)
def test_a_function_gives_one_entry_a_record(result: Any) -> None:
    """No sequence and a wrong length are refused, whatever the entries are."""
    with pytest.raises((TypeError, ValueError, AttributeError)):
        selected(lambda table: result, TABLE)


class Odd:
    """An entry that nothing can be done with."""

    def __bool__(self) -> bool:
        raise RuntimeError("the patient is 47")

    __eq__ = __array__ = __hash__ = __bool__  # type: ignore[assignment]


ODD = [None, float("nan"), pd.NA, pd.NaT, 1, 0, 1.0, "True", [True], np.ones(2, bool), Odd()]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_only_true_itself_selects(odd: Any) -> None:
    """An entry that is no boolean selects nothing and changes no other one, alone or in company."""
    for entries, expected in (
        ([odd], [False]),
        ([True, odd, np.True_, False], [True, False, True, False]),
    ):
        table = {"x": range(len(entries))}
        array = np.fromiter(entries, dtype=object, count=len(entries))
        for result in (entries, tuple(entries), array, pd.Series(entries, dtype=object)):
            assert selected(lambda _, result=result: result, table).tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([31, None, 29], dtype=pl.Int64),
        pd.Series([31, None, 29], dtype="Int64"),
        pd.Series([31, None, 29], dtype="int64[pyarrow]"),
        pd.Series([31, None, 29]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]} {column.dtype}",
)
def test_a_missing_cell_is_not_selected(column: Any) -> None:
    """Frames compare it to null; other records are selected all the same, and none of none is."""
    older = lambda table: table["x"] > 30  # noqa: E731
    assert selected(older, {"x": column}).tolist() == [True, False, False]
    assert selected(older, {"x": column[:0]}).tolist() == []


@pytest.mark.parametrize(
    "nothing", [[], (), np.zeros(0), pl.Series([]), pd.Series([], dtype=object)]
)
def test_without_records_there_are_no_entries(nothing: Any) -> None:
    assert selected(lambda table: nothing, {"x": []}).shape == (0,)


def test_a_mask_is_copied_and_only_true_selects() -> None:
    """A 1 is no True, and a masked entry is missing."""
    masked = np.ma.array([True, True, False], mask=[False, True, False])
    for result, expected in ((np.ones(3), [False] * 3), (masked, [True, False, False])):
        assert selected(lambda _, result=result: result, {"x": [1, 2, 3]}).tolist() == expected
    # It may be a column of the data, which grouping must not write to.
    flags = np.array([True, True])
    table = {"x": np.array([1, 2]), "flag": flags}
    Histogram("x", [1], where=lambda data: data["flag"])(table)
    assert flags.tolist() == [True, True]
    # The function may return the data's own array, which may change.
    data = {"chosen": np.array([True, False, True])}
    there = selected(lambda table: table["chosen"], data)
    data["chosen"][:] = False
    assert there.tolist() == [True, False, True]


@given(
    st.integers(-(2**63), 2**63 - 1) | st.integers(2**53 - 2, 2**53 + 2),
    st.floats(allow_nan=False) | st.integers(-(2**65), 2**65) | st.integers(2**53 - 2, 2**53 + 2),
    st.sampled_from(sorted(OPERATORS)),
)
def test_integers_and_floats_compare_exactly(cell: int, constant: float, operator: str) -> None:
    """As in Python and in tables; numpy alone would round one of them to the other's type."""
    for value, dtype in ((cell, np.int64), (float(cell), np.float64)):
        data = {"x": np.array([value], dtype=dtype)}
        predicate = Comparison("x", operator, constant)
        assert predicate.holds(data)[0] == OPERATORS[operator](value, constant)
        assert predicate.holds({"x": [value]})[0] == OPERATORS[operator](value, constant)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "f8", "i1", "u8"])
def test_integers_beyond_every_cell_compare(dtype: str) -> None:
    """numpy has no such integers: comparing with them raised an OverflowError."""
    cells = {"x": np.array([0, 1], dtype)}
    for large in (2**64, 10**399):
        assert Count(column("x") < large).value(cells) == 2
        assert Count(column("x") > -large).value(cells) == 2
        assert Count(column("x").is_in([large, -large, 1])).value(cells) == 1


def test_predicates_nest_up_to_the_limit() -> None:
    """What is deeper is refused when it is made: evaluating it would exhaust the stack."""
    chain: Predicate = age == 0
    for value in range(1, MOST_NESTED):
        chain |= age == value
    assert chain.holds(TABLE).tolist() == [True, True, False, True]
    for deeper in (lambda: chain & (age > 1), lambda: chain | (age > 1), lambda: ~chain):
        with pytest.raises(ValueError, match="nests 101 deep"):
            deeper()


@pytest.mark.parametrize("dtype", ["f2", "f4", "longdouble", "c16", "?", "U1", "S1", "M8[Y]", "f8"])
@pytest.mark.parametrize("constant", [dt.datetime(2020, 1, 1), "a", b"a", 3])  # noqa: DTZ001
@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_whether_a_column_compares_depends_on_its_type(
    dtype: str, constant: Any, operator: str
) -> None:
    """Without rows too: numpy asks the cells of some types, and of no cells none fails."""

    def fails(length: int) -> bool:
        try:
            Comparison("x", operator, constant).holds({"x": np.zeros(length, dtype=dtype)})
        except TypeError:
            return True
        return False

    assert fails(0) == fails(1) == fails(2)


def test_a_column_that_cannot_be_added_up_fails_without_rows() -> None:
    """Whether a group has a row must not decide whether the sum fails."""
    for keys in ([0], [1]):
        table = {"x": np.zeros(1, dtype=complex), "k": np.array([1])}
        with pytest.raises(MechanismFault):
            GroupBy({"k": keys}, Sum("x", 0, 1))(table)
