"""`Individual` against all adversaries, exactly: three records, interleaved children, sums."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from composition import FiltCon, Individual
from queryable import ZCDP, Ask, Launch
from queryable.audit import audit
from tests.audit.cases import HALF_RHO, PERSONS, Tally, both
from tests.audit.toys import PadReveal, reader

F = Fraction
TALLIES = tuple(Launch(Tally(of)) for of in (0, 1))
PAD = Launch(PadReveal(2, bit=both))
ASKS = tuple(Ask(child, query) for child in (0, 1) for query in ("key", "sum"))
BITS = ((0, 0), (0, 1), (1, 0), (1, 1))


def held(mechanism: Any, pairs: Any, queries: Any, horizon: int) -> Any:
    """The largest divergence, after the claim was found to hold."""
    verdict = audit(mechanism, pairs, queries=queries, horizon=horizon)
    assert verdict.holds, verdict
    return max(finding.below for finding in verdict.findings)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PERSONS, ids=["first", "second", "last"])
def test_interleaved_children(pair: Any) -> None:
    """Two launches, and a child that is asked before, between and after them."""
    reached = held(Individual(HALF_RHO), [pair], (*TALLIES, PAD, *ASKS), 4)
    assert reached > HALF_RHO * F(999, 1000)


@pytest.mark.slow
def test_any_three_records() -> None:
    """Two launches over all data sets of up to three records with two entries each."""
    for records in product(BITS, repeat=3):
        if list(records) == sorted(records):
            pairs = [(records, records[:2]), (records, records[1:])]
            held(Individual(HALF_RHO), pairs, (*TALLIES, Launch(reader(2, bit=both))), 2)


@pytest.mark.slow
def test_records_that_add_more() -> None:
    """A record of 2 pays four times as much as a record of 1."""
    pairs = [(((2, 1), (1, 1)), ((1, 1),)), (((1, 2), (1, 1)), ((1, 1),))]
    launches = tuple(Launch(Tally(of, largest=2)) for of in (0, 1))
    for times in (1, 4, 5):
        held(Individual(times * HALF_RHO), pairs, launches, 3)


@pytest.mark.slow
def test_filters_inside_and_outside() -> None:
    """A filter that keeps the records of its launch, and an `Individual` in a filter."""
    inside = (*TALLIES, Launch(FiltCon(ZCDP(HALF_RHO))), Ask(0, TALLIES[0]), Ask(1, TALLIES[0]))
    assert held(Individual(HALF_RHO), PERSONS, inside, 3) > HALF_RHO * F(999, 1000)
    outside = (Launch(Individual(HALF_RHO)), *(Ask(0, each) for each in TALLIES), *TALLIES)
    held(FiltCon(ZCDP(2 * HALF_RHO)), PERSONS, outside, 3)


def test_two_records_that_differ() -> None:
    """The group bound, four times the budget."""
    mechanism, pairs = Individual(HALF_RHO), [(((1, 1), (1, 0), (0, 1)), ((0, 1),))]
    verdict = audit(mechanism, pairs, queries=TALLIES, horizon=2, d_in=2)
    assert verdict.holds, verdict
    assert verdict.findings[0].check.bound == 4 * HALF_RHO
