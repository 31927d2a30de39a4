"""Divergences as sums over views: their terms, and functions that are not such sums."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable.audit import (
    HockeyStick,
    MaxDivergence,
    Renyi,
    hockey_stick,
    max_divergence,
    renyi_divergence,
)
from queryable.audit.claims import HockeyStickBelow, RenyiBelow
from queryable.audit.objectives import Divergence, Settled, Summed, Unbounded
from queryable.losses.conversions import log_up
from tests.reference import mp, real
from tests.strategies import among

F = Fraction
chances = among(0, F(1, 2), 30)
MEASURES: tuple[Divergence, ...] = (
    HockeyStick(0),
    HockeyStick("1/2"),
    HockeyStickBelow(F(1, 2)),
    Renyi(2),
    Renyi(5),
    Settled(),
    Summed(lambda p, q: hockey_stick(p, q, "1/2")),
)


def term(measure: Divergence, p: Fraction, q: Fraction) -> Any:
    try:
        return measure.term(p, q)
    except Unbounded:
        return inf


@settings(max_examples=40)
@given(chances, chances, st.integers(1, 9))
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: type(measure).__name__)
def test_terms_are_homogeneous(measure: Divergence, p: Fraction, q: Fraction, factor: int) -> None:
    """Scaling both probabilities scales the term, so beliefs can be normalised."""
    assert term(measure, p, q) == factor * term(measure, p / factor, q / factor)


@settings(max_examples=40)
@given(chances, chances)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: type(measure).__name__)
def test_terms_are_linear_where_one_law_is_zero(measure: Divergence, p: Any, q: Any) -> None:
    """Further queries change nothing once one dataset is ruled out."""
    whole, nothing = p + q, F(0)
    for one, other, together in (
        (term(measure, p, nothing), term(measure, q, nothing), term(measure, whole, nothing)),
        (term(measure, nothing, p), term(measure, nothing, q), term(measure, nothing, whole)),
    ):
        assert one + other == together


@settings(max_examples=40)
@given(chances, chances)
def test_the_hockey_stick_has_close_bounds(p: Any, q: Any) -> None:
    """The bound from above is at or above the bound from below, and close to it."""
    above, below = (kind(F(1, 2)).term(p, q) for kind in (HockeyStick, HockeyStickBelow))
    assert 0 <= above - below <= F(1, 10**40)


def test_the_total_is_the_divergence_of_laws() -> None:
    """The total over two laws, converted by `value`, is the divergence."""
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    for measure, exact in (
        (HockeyStick("1/2"), hockey_stick(p, q, "1/2")),
        (Renyi(3), renyi_divergence(p, q, 3)),
    ):
        total = sum((measure.term(p[i], q[i]) for i in p), F(0))
        assert abs(F(measure.value(total)) - F(exact)) < F(1, 10**25)


@settings(max_examples=40)
@given(chances, among(F(1, 50), 1, 50))
@pytest.mark.parametrize("alpha", [F(1) + F(1, 2**24), F(3, 2), F(9, 4), F(40)])
def test_irrational_terms_are_enclosed(alpha: Any, p: Any, q: Any) -> None:
    """For orders that are not small integers, terms and divergences have close bounds."""
    above, below = (kind(alpha).term(p, q) for kind in (Renyi, RenyiBelow))
    assert 0 <= above - below <= above / 10**25
    exact = real(p) ** real(alpha) * real(q) ** (1 - real(alpha))
    digits = 1 + mp.mpf(10) ** -50
    assert real(below) <= exact * digits
    assert exact <= real(above) * digits
    assert Renyi(alpha).value(above + 1) - RenyiBelow(alpha).value(below + 1) >= 0


@given(chances, chances, st.integers(1, 9))
def test_the_largest_ratio_does_not_depend_on_the_scale(p: Any, q: Any, factor: int) -> None:
    """It is not a sum: scaling a belief does not change its value."""
    largest = MaxDivergence()
    assert not largest.additive
    assert term(largest, p, q) == term(largest, p / factor, q / factor)
    assert largest.value(F(3)) == log_up(F(3))
    assert largest.value(F(1, 3)) == 0


def test_a_function_that_is_not_a_sum_is_refused() -> None:
    """The check compares with the complete laws, including infinite values."""
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    largest = Summed(lambda one, other: max(one.values()))
    total = sum((largest.term(p[i], q[i]) for i in p), F(0))
    with pytest.raises(ValueError, match="not a sum"):
        largest.require_sum(p, q, total)
    with pytest.raises(ValueError, match="not a sum"):
        largest.require_sum(p, q, inf)
    Summed(max_divergence).require_sum(p, {0: F(1)}, inf)


def test_a_division_by_probability_zero_is_infinite() -> None:
    """As in the sum of p*p/q; a division by zero of the function itself is raised."""
    squares = Summed(lambda p, q: sum(p[i] * p[i] / q[i] for i in p))
    assert squares.term(F(1, 2), F(1, 4)) == 1
    with pytest.raises(Unbounded):
        squares.term(F(1, 2), F(0))
    with pytest.raises(ZeroDivisionError):
        Summed(lambda p, q: F(1) / 0).term(F(1, 2), F(1, 4))
