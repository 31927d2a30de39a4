"""Constants moved into a column's domain: the comparison stays exactly the same."""

import datetime as dt
import operator
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind, member, placed
from mechanisms.tables.expressions.comparisons import OPERATORS

operators = st.sampled_from(sorted(OPERATORS))
constants = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.integers(-3, 3), st.booleans()
)


def holds(kind: Kind, name: str, cell: Any, constant: Any) -> bool:
    """The moved comparison, of a cell that is given in the column's domain."""
    outcome = placed(kind, name, constant)
    return outcome if isinstance(outcome, bool) else bool(OPERATORS[outcome[0]](cell, outcome[1]))


@given(operators, st.integers(-130, 130), constants)
def test_integers(name: str, cell: int, constant: Any) -> None:
    eight = column_types.integer(8)
    if eight.low <= cell <= eight.high:
        assert holds(eight, name, cell, constant) == OPERATORS[name](cell, constant)


@given(operators, st.integers(-9999, 9999), constants)
def test_decimals(name: str, cell: int, constant: Any) -> None:
    """A cell of 1234 at scale 2 is 12.34, and compares as that number does, with floats too."""
    value = Fraction(cell, 100)
    right = constant if constant in (inf, -inf) else Fraction(constant)
    assert holds(column_types.decimal(4, 2), name, cell, constant) == OPERATORS[name](value, right)


@given(operators, st.floats(allow_nan=False), constants)
def test_floats(name: str, cell: float, constant: Any) -> None:
    """Python compares floats with integers exactly; numpy does not."""
    assert holds(column_types.real(64), name, cell, constant) == OPERATORS[name](cell, constant)


@given(operators, st.floats(allow_nan=False, width=32), st.floats(allow_nan=False))
def test_singles(name: str, cell: float, constant: float) -> None:
    """As numpy has it: the constant is rounded to a single first."""
    with np.errstate(all="ignore"):
        expected = OPERATORS[name](np.array([cell], dtype=np.float32), constant)[0]
    assert holds(column_types.real(32), name, cell, constant) == expected


def test_times() -> None:
    """Dates and timestamps of any resolution compare as moments."""
    noon = dt.datetime(1970, 1, 2, 12)  # noqa: DTZ001
    assert placed(column_types.DATE, "<", noon) == ("<=", 1)
    assert placed(column_types.DATE, ">=", noon) == (">=", 2)
    assert placed(column_types.DATE, "==", noon) is False
    seconds, micros = (
        column_types.moments("timestamp", 10**9),
        column_types.moments("timestamp", 1000),
    )
    assert placed(seconds, "==", dt.date(1970, 1, 2)) == ("==", 86_400)
    assert placed(seconds, ">", np.datetime64("1970-01-01T00:00:00.5")) == (">=", 1)
    assert placed(micros, "==", np.datetime64(1500, "ns")) is False
    instant = column_types.moments("instant", 1000)
    east = dt.datetime(1970, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert placed(instant, "==", east) == ("==", 0)
    duration = column_types.moments("duration", 1000)
    assert placed(duration, "<", np.timedelta64(3, "ms")) == ("<", 3000)


@pytest.mark.parametrize(
    ("kind", "constant"),
    [
        (column_types.TEXT, 3),
        (column_types.real(64), "3"),
        (column_types.BYTES, "a"),
        (column_types.moments("timestamp", 1000), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (column_types.moments("instant", 1000), dt.date(2020, 1, 1)),
        (column_types.OTHER, "x"),
    ],
)
def test_constants_of_another_family_do_not_compare(kind: Kind, constant: Any) -> None:
    with pytest.raises(TypeError, match="does not compare"):
        placed(kind, "==", constant)
    assert member(kind, constant) is None


def test_members_are_equal_as_python_values() -> None:
    """A single is in the category that it equals, not in the one that rounds to it."""
    assert member(column_types.real(32), 0.1) is None
    assert member(column_types.real(32), float(np.float32(0.1))) == np.float32(0.1)
    assert member(column_types.integer(8), 300) is None
    assert member(column_types.BOOLEAN, 1) == 1
    assert member(column_types.DATE, dt.datetime(2020, 1, 1)) is None  # noqa: DTZ001
    assert member(column_types.DATE, dt.date(1970, 1, 3)) == 2


def test_all_operators_are_supported() -> None:
    """The infinities of lattices are looked up by operator."""
    for name, compare in OPERATORS.items():
        assert placed(column_types.integer(64), name, inf) == compare(0, inf)
        assert placed(column_types.integer(64), name, -inf) == compare(0, -inf)
    assert OPERATORS["=="] is operator.eq
