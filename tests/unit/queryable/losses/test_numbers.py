"""Exact parameters, directed rounding, and numbers as text."""

from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable.losses.numbers import (
    LONGEST_TOTAL,
    at_least_one,
    at_most,
    bounded_total,
    exact,
    named,
    natural,
    positive,
    probability,
    round_down,
    round_up,
    shown,
    sqrt_down,
    sqrt_up,
    sum_of,
)

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    "written",
    [0.1, "0.1", "1/10", " .1 ", "1e-1", "+0.1", Decimal("0.1"), TENTH, np.float64(0.1)],
    ids=repr,
)
def test_every_way_to_write_one_tenth_is_exact(written: object) -> None:
    assert exact(written) == TENTH


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (3, 3),
        (np.int64(3), 3),
        (np.uint8(200), 200),
        (np.float32(0.5), Fraction(1, 2)),
        (5e-324, Fraction(5, 10**324)),
        (1.7976931348623157e308, Fraction("1.7976931348623157e308")),
        ("1e400", 10**400),
        ("1e-400", Fraction(1, 10**400)),
        (0.0, 0),
    ],
)
def test_numbers_are_read_exactly(written: object, meant: object) -> None:
    """Integers and floats at the ends of their range are read exactly."""
    assert exact(written) == meant


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_floats_stand_for_their_shortest_repr(value: float) -> None:
    """A float is the decimal that Python prints for it."""
    assert exact(value) == Fraction(repr(value))


def test_scales_probabilities_and_counts_are_checked() -> None:
    """A scale of 0 and a delta above 1 are refused; a delta of 0 or 1 is accepted."""
    with pytest.raises(ValueError, match="greater than zero"):
        positive(0)
    assert probability(1) == 1
    assert probability(0) == 0
    with pytest.raises(ValueError, match="at most 1"):
        probability("1.0000000001")
    assert at_least_one(7, "rounds") == at_least_one(7, "rounds", 7) == 7
    with pytest.raises(ValueError, match="rounds is 0; it should be at least 1"):
        at_least_one(0, "rounds")
    for wrong in (0, 8):
        with pytest.raises(ValueError, match=f"rounds is {wrong}; it should be between 1 and 7"):
            at_least_one(wrong, "rounds", 7)
    # numpy's integers are turned into Python's.
    assert type(natural(np.int32(4))) is int
    # A numpy integer becomes a Python one, so that later products are exact.
    assert exact(np.int64(3)) * 2**62 == 3 * 2**62


FUNCTIONS = {
    "log1p": (lambda x: x.log1p(), mpmath.log1p),
    "sqrt": (lambda x: x.sqrt(), mpmath.sqrt),
    "exp(-x)": (lambda x: (-x).exp(), lambda x: mpmath.exp(-x)),
    "tanh": (lambda x: x.tanh(), mpmath.tanh),
    "-cosh": (lambda x: -x.cosh(), lambda x: -mpmath.cosh(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=50)
@given(x=st.fractions(min_value=0, max_value=300, max_denominator=10**9))
def test_rounding_is_directed_and_tight(name: str, x: Fraction) -> None:
    formula, reference = FUNCTIONS[name]
    below, above = round_down(formula, x), round_up(formula, x)
    with mpmath.workdps(400):
        true = reference(mpmath.mpf(x.numerator) / x.denominator)
        assert mpmath.mpf(below.numerator) / below.denominator <= true * (1 + 0)
        assert true <= mpmath.mpf(above.numerator) / above.denominator
    assert above - below <= abs(above) / 10**25


def test_a_tiny_result_is_rounded_outward_without_filling_the_memory() -> None:
    """exp(-10**30) is bounded by zero and a small positive rational, both computed quickly."""
    above = round_up(lambda x: (-x).exp(), Fraction(10**30))
    assert 0 < above < Fraction(1, 2**1000)
    assert round_down(lambda x: (-x).exp(), Fraction(10**30)) == 0
    below = round_down(lambda x: -(-x).exp(), Fraction(10**30))
    assert -Fraction(1, 2**1000) < below < 0
    assert round_up(lambda x: -(-x).exp(), Fraction(10**30)) == 0
    # flint's working precision is global; after a call it has its old value.
    before = flint.ctx.prec
    round_up(flint.arb.exp, Fraction(1))
    assert flint.ctx.prec == before
    # A total of too many bits is replaced by a slightly larger one of few bits.
    long = Fraction(1, 3**4000)
    short = bounded_total(long)
    assert long < short < long * (1 + Fraction(1, 2**1000))


@given(st.fractions(min_value=0, max_value=10**6, max_denominator=10**6))
def test_square_roots_bracket_and_squares_are_exact(x: Fraction) -> None:
    assert sqrt_down(x) ** 2 <= x <= sqrt_up(x) ** 2
    assert sqrt_down(x * x) == x == sqrt_up(x * x)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=400))
def test_totals_are_never_below_the_sum_and_stay_short(denominators: list[int]) -> None:
    """A running total is exact while it is short, and above the exact sum when it is long."""
    total = true = Fraction(0)
    for denominator in denominators:
        step = Fraction(1, denominator**20 + 1)
        total, true = bounded_total(total + step), true + step
        assert total >= true
        assert total.denominator.bit_length() <= LONGEST_TOTAL
    assert total - true <= true / 2**1000


@given(st.fractions(), st.fractions())
def test_sums_and_comparisons_in_integers_are_those_of_fractions(
    one: Fraction, other: Fraction
) -> None:
    """The sum is in lowest terms, which equality and hashes of fractions rely on."""
    total = sum_of(one, other)
    assert total.as_integer_ratio() == (one + other).as_integer_ratio()
    assert type(total) is Fraction
    assert at_most(one, other) is (one <= other)
    assert at_most(one, one)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(3), "3"),
        (Fraction(1, 3), "≈0.333333"),
        (Fraction(1, 10**6), "1e-06"),
        (Fraction(10) ** 399, "more than 1e308"),
    ],
)
def test_numbers_are_shown_short_and_marked_when_inexact(value: Fraction, text: str) -> None:
    """A person can tell a short exact decimal from an approximation."""
    assert shown(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1/10", "rho=0.1"),
        ("0.018357", "rho=0.018357"),
        ("1/3", "rho≈0.333"),
        ("0.01835704123", "rho≈0.0184"),
        ("1234567/1000", "rho=1234.567"),
        (10**13, "rho≈1e+13"),
    ],
)
def test_named_numbers_are_rounded_to_three_digits(value: object, text: str) -> None:
    """A short exact value has `=`; a rounded one has `≈` instead."""
    assert named("rho", Fraction(value)) == text  # type: ignore[arg-type]
