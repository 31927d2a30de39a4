"""Partitions: every record is in exactly one part, by construction."""

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import Partition
from queryable.data.rows import rows_of

KEYS = st.one_of(
    st.sampled_from(["a", "b", "other", "c", 0, 1, 2, True, False, None, 1.0, (), float("nan")]),
    st.text(max_size=2),
    st.integers(-2, 3),
    st.just([]),
    st.just({}),
)


def itself(record: Any) -> Any:
    return record


def raising(record: Any) -> Any:
    raise RuntimeError(record)


@given(st.lists(KEYS), st.sampled_from([itself, raising, "k"]))
def test_every_record_is_in_exactly_one_part(keys: list[Any], key: Any) -> None:
    """Whatever the keys are: missing, unhashable, of a wrong type, or raised over."""
    data: list[Any] = [{"k": each} for each in keys] if key == "k" else keys
    partition = Partition(key, ["a", "b", 1])
    parts = partition.split(data, partition.parts)
    assert sum(map(len, parts.values())) == len(data)
    found = Counter(id(record) for part in parts.values() for record in part)
    assert found == Counter(map(id, data))


@given(st.lists(KEYS, max_size=6), KEYS)
def test_one_record_more_changes_one_part(keys: list[Any], added: Any) -> None:
    """By that record: where a record goes does not depend on the others."""
    partition = Partition(itself, ["a", "b", 1])
    before = partition.split(keys, partition.parts)
    after = partition.split([*keys, added], partition.parts)
    longer = [name for name in partition.parts if len(after[name]) != len(before[name])]
    assert len(longer) == 1
    assert [id(each) for each in after[longer[0]][:-1]] == [id(each) for each in before[longer[0]]]


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("a", "a"),
        (1, 1),
        (np.int64(1), 1),
        (np.str_("a"), "a"),
        (1.0, 1),
        (np.float64(1.5), "other"),
        (float("nan"), "other"),
        (True, "other"),
        (np.True_, "other"),
        ("z", "other"),
        (None, "other"),
        ([], "other"),
    ],
)
def test_where_a_record_goes(key: Any, part: Any) -> None:
    """By equality with a name, numpy's scalars and whole floats too; a bool is no number."""
    parts = Partition(itself, ["a", 1]).split([key], ["a", 1, "other"])
    assert [name for name, records in parts.items() if len(records)] == [part]


@pytest.mark.parametrize(
    "dataset",
    [
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}, {"k": None, "v": 4}],
        {"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]},
        pd.DataFrame({"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]}),
        pl.DataFrame({"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]}),
    ],
    ids=["records", "columns", "pandas", "polars"],
)
@pytest.mark.parametrize("key", ["k", lambda row: row["k"]], ids=["column", "function"])
def test_every_form_of_data(dataset: Any, key: Any) -> None:
    """A part has the form of the whole; a missing key is in the other part."""
    parts = Partition(key, ["a", "b"]).split(dataset, ["a", "b", "other"])
    assert all(type(part) is type(dataset) for part in parts.values())
    values = {name: [row["v"] for row in rows_of(part)] for name, part in parts.items()}
    assert values == {"a": [1, 3], "b": [2], "other": [4]}


def test_entries_of_an_array_are_records() -> None:
    """Their keys are numpy scalars and name parts all the same."""
    parts = Partition(itself, [0, 1]).split(np.array([0, 1, 1, 2]), [0, 1, "other"])
    assert {name: part.tolist() for name, part in parts.items()} == {
        0: [0],
        1: [1, 1],
        "other": [2],
    }


def test_only_wanted_parts_are_made() -> None:
    """`split` computes the requested parts only."""
    assert dict(Partition(itself, ["a", "b"]).split(["a", "b"], ["b"])) == {"b": ["b"]}


@pytest.mark.parametrize(
    ("names", "error", "reason"),
    [
        (["a", "b", "a"], ValueError, "overlap"),
        ([1, True], TypeError, "True"),
        ([], ValueError, "at least one"),
        ("ab", TypeError, "list of part names"),
        ([["a"]], TypeError, "int or a string"),
        ([None], TypeError, "int or a string"),
        ([1.5], TypeError, "int or a string"),
        (set, TypeError, "public"),
        (np.array(["a", "b"]), TypeError, "public"),
        (pd.Series(["a", "b"]).unique(), TypeError, "public"),
        (pd.DataFrame({"k": ["a", "b"]})["k"], TypeError, "public"),
        (pl.Series(["a", "b"]), TypeError, "public"),
        (None, TypeError, "NoneType"),
    ],
)
def test_bad_names_are_refused(names: Any, error: type[Exception], reason: str) -> None:
    """Overlapping, no names at all, or categories that are read off the data."""
    with pytest.raises(error, match=reason):
        Partition(itself, names)


@pytest.mark.parametrize("other", ["a", None, True, ["x"]])
def test_the_other_part_has_a_name_of_its_own(other: Any) -> None:
    """One that is a name, and no other part's."""
    with pytest.raises((TypeError, ValueError)):
        Partition(itself, ["a"], other)


@pytest.mark.parametrize("name", ["c", 3, True, None, ["a"]])
def test_an_unknown_part_is_refused(name: Any) -> None:
    """With the parts that there are."""
    with pytest.raises(ValueError, match="'a', 1, 'other'"):
        Partition(itself, ["a", 1]).require_part(name)


def test_parts_are_the_names_and_the_other() -> None:
    """Public, before any data are seen."""
    partition = Partition("k", ["a", 1], "rest")
    assert partition.parts == ("a", 1, "rest")
    for name in partition.parts:
        partition.require_part(name)


class Lying(int):
    """A number whose comparison fails."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("the patient is 47")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "record",
    [{}, {"k": None}, {"k": Decimal("sNaN")}, {"k": np.zeros(2)}, {"k": Lying(1)}, None, 3, pd.NA],
    ids=str,
)
@pytest.mark.parametrize("key", ["k", lambda record: record["k"]], ids=["column", "function"])
def test_a_record_without_a_key_is_in_the_other_part(record: Any, key: Any) -> None:
    """In a list of records and in a column of objects, alone and among others."""
    rows = [{"k": "a"}, record]
    for data in (rows, rows[1:]):
        parts = Partition(key, ["a", 1]).split(data, ["a", 1, "other"])
        assert [len(part) for part in parts.values()] == [len(data) - 1, 0, 1]
    if isinstance(record, dict) and record:
        column = np.fromiter(("a", record["k"]), dtype=object, count=2)
        for table in ({"k": column}, pd.DataFrame({"k": pd.Series(column, dtype=object)})):
            parts = Partition(key, ["a", 1]).split(table, ["a", 1, "other"])
            assert [len(part["k"]) for part in parts.values()] == [1, 0, 1]


def test_a_part_does_not_tell_where_its_rows_were() -> None:
    """Otherwise the pandas index would reveal how many records of other parts come first."""
    lengths = {
        tuple(Partition("k", ["a"]).split(pd.DataFrame({"k": keys}), ["a"])["a"].index)
        for keys in (["a", "a"], ["b", "a", "a"], ["a", "b", "b", "a"])
    }
    assert lengths == {(0, 1)}
