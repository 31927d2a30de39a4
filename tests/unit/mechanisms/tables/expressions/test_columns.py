"""Columns: their types, texts and lattices."""

import datetime as dt
import operator
import re
import sys
from decimal import Decimal
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
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.texts import (
    LOWER,
    UPPER,
    expression_of,
    function_of_text,
    matcher,
)

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


CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def test_cases_of_letters() -> None:
    """What changes, changes as in Python, and back."""
    assert len(set(UPPER + LOWER)) == 2 * len(UPPER)
    assert "".join(each.lower() for each in UPPER) == LOWER
    assert "".join(each.upper() for each in LOWER) == UPPER
    assert {"A", "Z", "\u00c4", "\u0160", "\u03a9", "\u042f"} <= set(UPPER)
    assert not {"\u00df", "\u0130", "\u0131", "\u03c2", "\u017f", "\u00b5"} & set(UPPER + LOWER)
    for function, given_letters, wanted in (("lower", UPPER, LOWER), ("upper", LOWER, UPPER)):
        changed = function_of_text(function, "".join(CHARACTERS))
        pairs = {(a, b) for a, b in zip(CHARACTERS, changed, strict=True) if a != b}
        assert pairs == set(zip(given_letters, wanted, strict=True))
    assert function_of_text("strip", " \t\n\v\f\r a \u00a0 ") == "a \u00a0"


def like(text: str, pattern: str) -> bool:
    """The definition, by recursion."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and like(text[1:], pattern[1:])


@given(st.text("ab\n\\.", max_size=7), st.text("ab\n\\.%_", max_size=6))
def test_like(text: str, pattern: str) -> None:
    """With atomic groups and without."""
    assert matcher("like", pattern)(text) == like(text, pattern)
    plain = re.compile(expression_of(pattern, atomic=False), re.DOTALL)
    assert (plain.fullmatch(text) is not None) == like(text, pattern)


@pytest.mark.parametrize(
    ("how", "expected"), [("contains", 3), ("starts with", 2), ("ends with", 2)]
)
def test_parts_of_texts(how: str, expected: int) -> None:
    assert sum(map(matcher(how, "a%"), ["a%", "a%b", "ba%", "ab"])) == expected


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


def test_extremes_are_clipped_and_not_wrapped() -> None:
    """The ends of 64 bits and infinities are clipped, not wrapped."""
    within = lattice(-5, 7)
    assert within.units(np.array([-(2**63), 2**63 - 1])).tolist() == [-5, 7]
    assert within.units(np.array([2**64 - 1], np.uint64)).tolist() == [7]
    assert within.units(np.array([-np.inf, np.inf, 1e308, 5e-324])).tolist() == [-5, 7, 7, 0]
    assert lattice(-5, 7, "1/4").units(np.array([1e308])).tolist() == [28]
    # Between bounds that floats cannot hold numbers stay exact.
    wide = lattice(-(2**60) - 1, 2**60 + 1)
    assert wide.units(np.array([2**60 + 5, 2**60])).tolist() == [2**60 + 1, 2**60]
    assert wide.units(np.array([2.0**70])).tolist() == [2**60 + 1]
    # Totals beyond 64 bits are exact, with bounds below and above 2^53.
    many = np.full(3000, 2**62)
    assert lattice(0, 2**52).total(many) == 3000 * 2**52
    assert lattice(0, 2**62).total(many) == 3000 * 2**62
    # Decimals that would fill the memory when written out are clipped or zero.
    cells = objects(Decimal("1e999999999"), Decimal("-1e999999999"), Decimal("1e-999999999"))
    assert lattice(-5, 7, "1/3").units(cells).tolist() == [21, -15, 0]
    assert lattice("1/2", 7, "1/2").units(cells[2:]).tolist() == [1]


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


def test_numbers_of_every_kind() -> None:
    """A column of objects may mix exact numbers; what is no number adds nothing."""
    cells = objects(1, 2.5, Fraction(7, 2), Decimal("4.9"), np.float32(5.5), 10**400, "6", 7j, [8])
    assert lattice(0, 9).units(cells).tolist() == [1, 2, 3, 4, 5, 9, 0, 0, 0]
    # True counts one.
    assert lattice(0, 1).total(np.array([True, False, True])) == 2
    # A cell that is no number is left out, not clipped up.
    assert lattice(3, 9).units(objects("x", 1)).tolist() == [0, 3]
    # 0.29 is 29 hundredths though its bits are just below; in single precision too.
    hundredths = lattice(0, 1, "1/100")
    for dtype in (np.float64, np.float32, object):
        assert hundredths.units(np.array([0.29, 0.57, 0.999], dtype=dtype)).tolist() == [29, 57, 99]


@pytest.mark.parametrize("dtype", ["U1", "datetime64[s]", complex, "timedelta64[s]"])
def test_other_columns_are_refused(dtype: Any) -> None:
    """A column whose type holds no numbers is an error whatever it holds."""
    for length in (0, 2):
        with pytest.raises(TypeError, match="cannot be added up"):
            lattice(0, 1).units(np.zeros(length, dtype=dtype))


def test_kinds_of_numpy_types() -> None:
    """A type of days whose values are weeks apart, or have no fixed length, keeps its own step."""
    of = {
        name: column_types.kind_of(np.dtype(name)) for name in ("u1", "f2", ">f8", "U3", "O", "V")
    }
    assert of["u1"] == column_types.integer(8, signed=False)
    assert of["f2"] == column_types.real(32)
    assert of[">f8"] == column_types.real(64)
    assert (of["U3"], of["O"], of["V"]) == (column_types.TEXT, column_types.ANY, column_types.OTHER)
    times = [column_types.kind_of(np.dtype(f"M8[{unit}]")) for unit in ("D", "W", "Y", "us", "fs")]
    assert [each.name for each in times] == ["date"] * 3 + ["timestamp"] * 2
    day = column_types.DAY
    assert [each.step for each in times] == [day, 7 * day, None, 1000, None]


@pytest.mark.parametrize(
    ("names", "one"),
    [
        (["integer", "float"], "float"),
        (["decimal"], "float"),
        (["any", "float"], "float"),
        (["any", "integer"], "any"),
        (["date", "timestamp"], "timestamp"),
        (["date", "any", "timestamp"], "timestamp"),
        (["date", "any"], "any"),
        (["text", "text"], "text"),
    ],
)
def test_the_kind_of_several(names: list[str], one: str) -> None:
    assert column_types.united(names) == one


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9),
    st.lists(st.fractions(-100, 100, max_denominator=9), min_size=2, max_size=2).map(sorted),
    st.integers(1, 7),
)
def test_integers_in_parts_of_one_are_those_of_objects(
    cells: list[int], ends: list[Fraction], parts: int
) -> None:
    lattice = Lattice(*ends, Fraction(1, parts))
    fast, exact = (lattice.units(np.array(cells, dtype=kind)) for kind in ("int64", object))
    assert fast.tolist() == exact.tolist()
