"""What records become in the domain of an OpenDP measurement."""

from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.opendp.records import Atoms, OpenDPRecords
from queryable.streams.levels import DataLevel, EventLevel, UserLevel
from tests.unit.mechanisms.opendp.stand_in import Element, Unordered, Vectors

FLOATS = Atoms("f64")
CELLS = (
    *(st.integers(), st.floats(), st.text(max_size=3), st.booleans(), st.none()),
    st.sampled_from([np.float32(0.1), np.int8(3), np.bool_(True), 10**400, "\ud800", [1], -0.0]),
)
ATOMS = st.sampled_from(
    [
        *(FLOATS, Atoms("f64", nan=True), Atoms("f64", -1.5, 2.0), Atoms("f32", nan=True)),
        *(Atoms("i32"), Atoms("i8", 0, 5), Atoms("u16"), Atoms("bool"), Atoms("String")),
    ]
)


@pytest.mark.parametrize(
    ("atoms", "cells", "values"),
    [
        (FLOATS, [2, 0.5, nan, "1", None, True, np.float64(3), 10**400, inf], [0.5, 2.0, 3.0, inf]),
        (Atoms("f64", 0.0, 2.0), [-1, 0, 2, 2.5, -0.0], [0.0, 0.0, 2.0]),
        (Atoms("f32"), [0.1, 1e300], [float(np.float32(0.1)), inf]),
        (Atoms("f32", 0.0, 0.1), [0.1, 0.05], [float(np.float32(0.05))]),  # 0.1 is above there
        (Atoms("i8"), [127, 128, -128, -129, 0.5, True, np.int64(5), 2.0], [-128, 2, 5, 127]),
        (Atoms("i32"), [inf, -inf, nan, 1e300, 3.0], [3]),
        (Atoms("u8"), [0, 255, -1, 256], [0, 255]),
        (Atoms("i32", 1, 3), [0, 1, 3, 4], [1, 3]),
        (Atoms("bool"), [True, 1, "x", np.bool_(False)], [False, True]),
        (Atoms("String"), ["b", "a", 1, b"c", "\ud800", np.str_("d")], ["a", "b", "d"]),
    ],
)
def test_records_become_values_of_the_domain(atoms: Atoms, cells: Any, values: Any) -> None:
    """Others are left out; what is left is sorted."""
    found = atoms.values(cells)
    assert found == values
    assert [*map(type, found)] == [*map(type, values)]


def test_nan_is_one_value_where_it_is_one() -> None:
    found = Atoms("f64", nan=True).values([nan, 1.0, float("nan"), -nan, 0.5])
    assert found[:2] == [0.5, 1.0]
    assert len(found) == 5
    assert all(map(isnan, found[2:]))


@given(ATOMS, st.lists(st.one_of(*CELLS)), st.one_of(*CELLS), st.randoms())
def test_one_record_is_one_value_or_none(atoms: Atoms, cells: Any, more: Any, random: Any) -> None:
    """In whatever order the records are: no record decides about another one."""
    longer = [*cells, more]
    random.shuffle(longer)
    before, after = ([*map(repr, atoms.values(each))] for each in (cells, longer))
    for value in before:
        after.remove(value)
    assert len(after) <= 1


def test_zeros_are_alike() -> None:
    """A measurement that looks at the sign would tell apart lists at distance 0."""
    assert [*map(repr, FLOATS.values([-0.0, 0.0, -0]))] == ["0.0"] * 3


def test_domains_are_read() -> None:
    assert Atoms.of(Vectors("i32", Element((0, 5)))) == Atoms("i32", 0, 5)
    assert Atoms.of(Vectors("f64", Element(nan=True))) == Atoms("f64", nan=True)
    assert Atoms.of(Vectors(size=3), sized=True) == FLOATS
    for kind in ("bool", "String"):
        assert Atoms.of(Vectors(kind, Unordered())) == Atoms(kind)
    with pytest.raises(ValueError, match="its input domain has 3 records"):
        Atoms.of(Vectors(size=3))
    for domain in (Vectors("Option<f64>"), Vectors("ExtrinsicElement"), "VectorDomain", None):
        with pytest.raises(TypeError, match="it should be a vector_domain"):
            Atoms.of(domain)


def records(column: str | None = None, level: Any = EventLevel()) -> OpenDPRecords:  # noqa: B008
    return OpenDPRecords(FLOATS, column, level)


@pytest.mark.parametrize(
    ("reads", "dataset", "values"),
    [
        (records(), [3.0, 1.0], [1.0, 3.0]),
        (records(), (3, "x"), [3.0]),
        (records(), np.array([2.5, 1.5]), [1.5, 2.5]),
        (records("a"), {"a": [2, None, nan], "b": [1, 2, 3]}, [2.0]),
        (records("a"), {"a": np.array([2, 1])}, [1.0, 2.0]),
        (records("a"), [{"a": 4.5}, {}, {"a": "?"}], [4.5]),
        (records("a"), np.array([(1.5, 2)], dtype=[("a", float), ("b", int)]), [1.5]),
        (
            records("a", UserLevel("who", 2)),
            {"a": [1, 2, 3, 4, 5], "who": [1, 1, 1, 2, None]},
            [1.0, 2.0, 4.0],
        ),
    ],
)
def test_forms_of_data(reads: OpenDPRecords, dataset: Any, values: Any) -> None:
    reads.check(dataset)
    assert reads.values(dataset) == values


class LazyFrame:
    """By its name alone."""

    columns = ("a",)


@pytest.mark.parametrize(
    ("reads", "dataset", "words"),
    [
        (records(), {"a": [1]}, "name the column"),
        (records(), np.zeros((2, 2)), "name the column"),
        (records(), np.array([(1.5,)], dtype=[("a", float)]), "name the column"),
        (records(), 7, "name the column"),
        (records("b"), {"a": [1]}, "there is no column 'b'"),
        (records("a", UserLevel("who", 2)), {"a": [1]}, "there is no column 'who'"),
        (records("a"), np.zeros(3), "there is no column"),
        (records("a"), LazyFrame(), "collect the frame first"),
        (records("a"), 7, "collect the frame first"),
    ],
)
def test_other_data_are_refused_by_public_facts(
    reads: OpenDPRecords, dataset: Any, words: str
) -> None:
    with pytest.raises((KeyError, TypeError), match=words):
        reads.check(dataset)


def test_units_need_a_column() -> None:
    with pytest.raises(ValueError, match="give column= too"):
        records(None, UserLevel("who", 2))
    with pytest.raises(TypeError, match="neighbours is"):
        records("a", DataLevel())
    with pytest.raises(TypeError, match="column is 3"):
        OpenDPRecords(FLOATS, 3, EventLevel())  # type: ignore[arg-type]
