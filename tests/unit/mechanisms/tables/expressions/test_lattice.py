"""Whole units: clipped and truncated exactly, on every path."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.tables.expressions.lattice import Lattice


def lattice(lower: Any, upper: Any, unit: Any = 1) -> Lattice:
    return Lattice(Fraction(lower), Fraction(upper), Fraction(unit))


def objects(*cells: Any) -> Any:
    return np.fromiter(cells, object, len(cells))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_truncates_toward_zero(dtype: Any) -> None:
    """Neither half-even nor down: -1.9 is -1, 0.5 and 1.5 are 0 and 1."""
    values = np.array([-1.9, -0.5, 0.5, 1.5, 2.5, 1.99], dtype=dtype)
    assert lattice(-10, 10).units(values).tolist() == [-1, 0, 0, 1, 2, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, np.float64, object])
def test_clips_on_every_path(dtype: Any) -> None:
    """Every type of column is clipped to the same bounds, though they do not fit the type."""
    values = np.array([0, 1, 100, 127], dtype=dtype)
    assert lattice(-1000, 1000).units(values).tolist() == [0, 1, 100, 127]
    assert lattice(1, 100).units(values).tolist() == [1, 1, 100, 100]


def test_extremes_of_types() -> None:
    """The ends of 64 bits and infinities are clipped, not wrapped."""
    within = lattice(-5, 7)
    assert within.units(np.array([-(2**63), 2**63 - 1])).tolist() == [-5, 7]
    assert within.units(np.array([2**64 - 1], np.uint64)).tolist() == [7]
    assert within.units(np.array([-np.inf, np.inf, 1e308, 5e-324])).tolist() == [-5, 7, 7, 0]
    assert lattice(-5, 7, "1/4").units(np.array([1e308])).tolist() == [28]


def test_booleans_are_numbers() -> None:
    """True counts one."""
    assert lattice(0, 1).total(np.array([True, False, True])) == 2


@given(
    st.lists(st.floats(allow_nan=False), max_size=5),
    st.fractions(-20, 20, max_denominator=10),
    st.fractions(0, 20, max_denominator=10),
    st.sampled_from(["1", "1/4", "8", "1/1024"]),
)
def test_fast_and_exact_paths_agree(
    values: list[float], lower: Fraction, width: Fraction, unit: str
) -> None:
    """Floats at a power of two give, at numpy speed, what rational arithmetic gives."""
    within = Lattice(lower, lower + width, Fraction(unit))
    slow = within.units(np.array(values, dtype=object)).tolist()
    assert within.units(np.array(values, dtype=np.float64)).tolist() == slow
    exact = [
        int(max(lower, min(Fraction(value), lower + width)) / Fraction(unit))
        if np.isfinite(value)
        else (within.low if value < 0 else within.high)
        for value in values
    ]
    assert slow == exact


def test_floats_stand_for_their_shortest_decimal() -> None:
    """0.29 is 29 hundredths though its bits are just below; in single precision too."""
    hundredths = lattice(0, 1, "1/100")
    for dtype in (np.float64, np.float32, object):
        assert hundredths.units(np.array([0.29, 0.57, 0.999], dtype=dtype)).tolist() == [29, 57, 99]


def test_numbers_of_every_kind() -> None:
    """A column of objects may mix exact numbers; what is no number adds nothing."""
    cells = objects(1, 2.5, Fraction(7, 2), Decimal("4.9"), np.float32(5.5), 10**400, "6", 7j, [8])
    assert lattice(0, 9).units(cells).tolist() == [1, 2, 3, 4, 5, 9, 0, 0, 0]


def test_a_cell_without_a_number_adds_zero_even_below_the_lower_bound() -> None:
    """A cell that is no number is left out, not clipped up."""
    assert lattice(3, 9).units(objects("x", 1)).tolist() == [0, 3]


def test_extreme_decimals_are_fast() -> None:
    """Decimals that would fill the memory when written out are clipped or zero."""
    cells = objects(Decimal("1e999999999"), Decimal("-1e999999999"), Decimal("1e-999999999"))
    assert lattice(-5, 7, "1/3").units(cells).tolist() == [21, -15, 0]
    assert lattice("1/2", 7, "1/2").units(cells[2:]).tolist() == [1]


def test_sum_does_not_overflow() -> None:
    """Totals beyond 64 bits are exact, with bounds below and above 2^53."""
    many = np.full(3000, 2**62)
    assert lattice(0, 2**52).total(many) == 3000 * 2**52
    assert lattice(0, 2**62).total(many) == 3000 * 2**62


def test_wide_bounds_are_not_rounded() -> None:
    """Between bounds that floats cannot hold numbers stay exact."""
    wide = lattice(-(2**60) - 1, 2**60 + 1)
    assert wide.units(np.array([2**60 + 5, 2**60])).tolist() == [2**60 + 1, 2**60]
    assert wide.units(np.array([2.0**70])).tolist() == [2**60 + 1]


@pytest.mark.parametrize("dtype", ["U1", "datetime64[s]", complex, "timedelta64[s]"])
def test_other_columns_are_refused(dtype: Any) -> None:
    """A column whose type holds no numbers is an error whatever it holds."""
    for length in (0, 2):
        with pytest.raises(TypeError, match="cannot be added up"):
            lattice(0, 1).units(np.zeros(length, dtype=dtype))
