"""Cells of every kind of table, and data that grow."""

import builtins
import copy
import datetime as dt
import gc
import pickle
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Histogram, column
from queryable import PureDP, Queryable, QueryError
from queryable.data.cells import cells, count_records
from queryable.data.forms import store_of
from queryable.data.growing import Grown, growable, grown, over, snapshot
from queryable.data.rows import column_values
from queryable.data.stores import Columns, ListedRecords

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
    present, values = cells(table, "age")
    assert present.tolist() == [True, False, True]
    assert values.tolist() == [30, 10.5]
    assert count_records(table) == 3


def test_counting_needs_only_a_length() -> None:
    """Arrays and lists have their length; a mapping has the length of its columns."""
    assert count_records(np.zeros((4, 2))) == 4
    assert count_records(["a", "b"]) == 2
    assert count_records({}) == 0
    # The number of records would be ambiguous.
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
    present, values = cells({"x": ["a", missing]}, "x")
    assert present.tolist() == [True, False]
    assert values.tolist() == ["a"]


def test_cells_of_dates_times_and_lists() -> None:
    dates = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    assert cells({"x": dates}, "x").present.tolist() == [True, False]
    # Python's times have no nanoseconds, so Arrow refuses to convert the whole column.
    times = pa.chunked_array([[1, 10**9]], type=pa.time64("ns"))
    assert column_values({"x": times}, "x")[1] == dt.time(0, 0, 1)
    # An integer beside a float stays an integer.
    _, values = cells({"x": [BIG, 0.5]}, "x")
    assert values[0] == BIG


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


FORMS: dict[str, Any] = {
    "list": lambda *values: list(values),
    "tuple": lambda *values: tuple(values),
    "array": lambda *values: np.array(values, dtype=np.int64),
    "masked": lambda *values: np.ma.array(np.array(values, dtype=np.int64)),
    "columns": lambda *values: {"a": np.array(values, dtype=np.int64), "b": list(values)},
    "series": lambda *values: {
        "a": pd.Series(values, dtype="int64"),
        "b": pl.Series(values, dtype=pl.Int64),
    },
    "pandas": lambda *values: pd.DataFrame({"a": pd.Series(values, dtype="int64")}),
    "polars": lambda *values: pl.DataFrame({"a": values}, schema={"a": pl.Int64}),
    "arrow": lambda *values: pa.table({"a": pa.array(values, pa.int64())}),
}


def values(data: Any) -> list[int]:
    """The records, whatever form they have."""
    if isinstance(data, dict):
        columns = {tuple(values(column)) for column in data.values()}
        assert len(columns) == 1
        return list(columns.pop())
    if isinstance(data, pa.Table | pl.DataFrame | pd.DataFrame):
        return [
            int(each)
            for each in (data["a"].to_pylist() if isinstance(data, pa.Table) else data["a"])
        ]
    return [int(each) for each in data]


@pytest.mark.parametrize("form", FORMS)
def test_a_value_never_changes(form: str) -> None:
    """Batch after batch, every earlier value and every snapshot of it is what it was."""
    make = FORMS[form]
    base = make(1, 2)
    states, parts = [growable(base)], []
    for place in range(3, 8):
        states.append(grown(states[-1], make(*range(place)[place - 1 :], place)))
        parts.append(snapshot(states[-1]))
    for count, state in enumerate(states):
        expected = [1, 2]
        for place in range(3, 3 + count):
            expected += [place - 1, place]
        assert values(snapshot(state)) == expected
        assert type(snapshot(state)) is type(base)
    assert [len(values(each)) for each in parts] == [4, 6, 8, 10, 12]
    assert snapshot(states[0]) is base


@pytest.mark.parametrize("form", FORMS)
def test_two_ways_from_one_moment(form: str) -> None:
    """Values that go on differently from the same moment do not see each other's records."""
    make = FORMS[form]
    first = grown(make(1), make(2))
    left, right = grown(first, make(3)), grown(first, make(4, 5))
    again = grown(left, make(6))
    assert values(snapshot(left)) == [1, 2, 3]
    assert values(snapshot(right)) == [1, 2, 4, 5]
    assert values(snapshot(again)) == [1, 2, 3, 6]
    assert values(snapshot(first)) == [1, 2]
    assert values(snapshot(grown(first, make()))) == [1, 2]


@pytest.mark.parametrize("form", FORMS)
def test_blocks(form: str) -> None:
    """The records of named blocks, also of one that batches without a name interrupted."""
    make = FORMS[form]
    state = growable(make(1))
    for batch, block in (
        ((2,), "mon"),
        ((3,), "mon"),
        ((4,), None),
        ((5, 6), "tue"),
        ((7,), "mon"),
    ):
        state = grown(state, make(*batch), block)
    assert values(over(state, ["mon"])) == [2, 3, 7]
    assert values(over(state, ["tue", "mon"])) == [5, 6, 2, 3, 7]
    assert values(over(state, ["tue"])) == [5, 6]
    assert values(over(state, [])) == []
    for data, block in ((state, "wed"), (make(1), "mon")):
        with pytest.raises(KeyError):
            over(data, [block])


@pytest.mark.parametrize("form", FORMS)
def test_many_small_batches(form: str) -> None:
    """More batches than pieces are kept apart."""
    make = FORMS[form]
    state = growable(make(0))
    for place in range(1, 600):
        state = grown(state, make(place))
    assert values(snapshot(state)) == list(range(600))


@pytest.mark.parametrize("form", FORMS)
def test_values_are_compared_copied_and_pickled_by_what_is_in_them(form: str) -> None:
    make = FORMS[form]
    one = grown(grown(make(1), make(2), "mon"), make(3))
    other = grown(grown(make(1), make(2), "mon"), make(3))
    assert one == other
    assert hash(one) == hash(other)
    assert one != grown(one, make(4))
    assert one != grown(grown(make(1), make(2)), make(3))
    assert one != 3
    for copied in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert copied == one
        assert values(over(copied, ["mon"])) == [2]
        assert values(snapshot(grown(copied, make(9)))) == [1, 2, 3, 9]
    assert repr(one) == "Grown(..)"


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "series", "columns", "masked"])
def test_a_frame_with_other_columns_is_refused(form: str) -> None:
    make = FORMS[form]
    wrong: list[Any] = [[1], pd.DataFrame({"b": [1]}), pl.DataFrame({"b": [1]})]
    wrong += [pa.table({"a": ["x"]}), {"a": ["x"]}, pd.DataFrame({"a": ["x"]}), None]
    state = growable(make(1))
    for batch in wrong:
        with pytest.raises(QueryError):
            grown(state, batch)
    assert values(snapshot(grown(state, make(2)))) == [1, 2]


def test_texts_may_get_longer() -> None:
    """The width of an array's text is no part of its type."""
    state = grown(np.array(["a"]), np.array(["abc"]))
    assert list(snapshot(grown(state, np.array(["abcde"])))) == ["a", "abc", "abcde"]
    with pytest.raises(QueryError):
        grown(state, np.array([1]))
    assert list(snapshot(grown(np.array([[1, 2]]), np.array([[3, 4]]))).__getitem__(1)) == [3, 4]
    state = grown(np.arange(1000), np.arange(10))
    one = snapshot(state)
    assert not one.flags.writeable
    assert np.shares_memory(one, snapshot(grown(state, np.arange(3))))


def test_nothing_is_read_before_a_batch_arrives() -> None:

    class Opaque:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    opaque = Opaque()
    value = growable(opaque)
    assert snapshot(value) is opaque
    assert growable(value) is value
    assert hash(growable(7)) == hash(growable(8))
    with pytest.raises(QueryError, match="cannot grow"):
        grown(value, [1])
    with pytest.raises(QueryError, match="cannot grow"):
        grown({"a": {"b": [1]}}, {"a": {"b": [1]}})


def test_the_same_batch_is_stored_once() -> None:
    """Values of one moment that get the same batch share it; it is what nested filters do."""
    parent = growable([1])
    child, batch = parent, [2, 3]
    first, second = grown(parent, batch), grown(child, batch)
    assert isinstance(first, Grown)
    assert first._shared is second._shared
    store = first._shared.store
    assert isinstance(store, ListedRecords)
    assert store.records == [1, 2, 3]


def test_an_interrupted_write_leaves_nothing() -> None:
    """One column has been written and the other has not: the next batch replaces it."""
    store = store_of({"a": [1], "b": [2]})
    assert isinstance(store, Columns)
    store.columns["a"].write(1, [9], 1)
    store.put(1, {"a": [3], "b": [4]}, 1, None)
    assert store.part(0, 2) == {"a": [1, 3], "b": [2, 4]}
    frames = store_of(pd.DataFrame({"a": [1]}))
    frames.write(1, pd.DataFrame({"a": [9, 9]}), 2)
    frames.put(1, pd.DataFrame({"a": [3]}), 1, None)
    assert list(frames.part(0, 2)["a"]) == [1, 3]


@pytest.mark.parametrize("depth", [0, 3])
def test_memory_is_that_of_the_records(depth: int) -> None:
    """2,000 batches of one record: a few words each, however deep filters are nested."""
    gc.freeze()  # what other tests left is not looked through
    tracemalloc.start()
    handle = root = Queryable(FiltCon(PureDP(10)), [0])
    for _ in range(depth):
        handle = handle.launch(FiltCon(PureDP(9)))
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2_000):
        root.feed([0])
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used <= 2_000 * 16
