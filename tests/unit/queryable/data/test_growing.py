"""Data sets that grow: values in every form, which share what they have in common."""

import copy
import gc
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from queryable import PureDP, Queryable, QueryError
from queryable.data.forms import store_of
from queryable.data.growing import Grown, growable, grown, over, snapshot
from queryable.data.stores import Columns, ListedRecords

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


def test_snapshots_of_arrays_are_read_only_and_no_copies() -> None:
    state = grown(np.arange(1000), np.arange(10))
    one = snapshot(state)
    assert not one.flags.writeable
    assert np.shares_memory(one, snapshot(grown(state, np.arange(3))))


def test_nothing_is_read_before_a_batch_arrives() -> None:
    """What cannot grow is an opaque value until then."""

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
