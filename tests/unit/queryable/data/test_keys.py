"""Keys of cells are an equivalence, and no cell makes them fail."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable.data.cells import objects
from queryable.data.keys import common_type, key_of, keys_of, plain_cell, plain_cells
from queryable.data.rows import column_keys
from tests.attacks.hostile_units import POOL, SAME_HASH


def test_cells_have_one_key_if_they_name_one_unit() -> None:
    """All pairs of a pool in which people have written down what is equal."""
    found = [(label, key_of(cell)) for label, cell in POOL]
    for (label, key), (other, another) in itertools.combinations(found, 2):
        assert (key is None) == (label is None), label
        if key is not None and another is not None:
            assert (key == another) == (label == other), (label, other)
            assert key != another or hash(key) == hash(another), (label, other)


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
    """Of one unit, they are equal if their counts are; a count is no time."""
    for kind in ("M8", "m8"):
        one, other = np.array([count, count ^ 1]).view(f"{kind}[{unit}]")
        if not np.isnat(one) and not np.isnat(other):
            assert key_of(one) != key_of(other)
            assert key_of(one) not in (count, None)


def test_the_numbers_that_numpy_confuses() -> None:
    """`numpy.float64(2**100)` equals an int that another int of its hash is not equal to."""
    keys = set(keys_of([np.float64(2**100), *SAME_HASH]))
    assert len(keys) == len(SAME_HASH)  # one of them is 2**100


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


def test_plain_cells() -> None:
    """Values of exactly known types; others stay as they are."""
    cells = [cell for _, cell in POOL]
    plain = plain_cells(objects(cells, len(cells)))
    for (label, cell), each in zip(POOL, plain, strict=True):
        assert (plain_cell(cell) is None) == (each is cell and label is None) or label is not None
        if label is None and plain_cell(cell) is None:
            assert each is cell
