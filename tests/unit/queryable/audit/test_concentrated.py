"""The zCDP supremum: never below a dense grid of orders, and tight."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryable import ZCDP, PureDP
from queryable.audit import renyi_divergence, zcdp
from queryable.audit.concentrated import GAP, concentration
from queryable.losses.conversions import log_up

F = Fraction
GRID = [F(101, 100) + F(k, 10) for k in range(60)] + [F(2**k) for k in range(3, 12)]


@st.composite
def laws(draw: Any) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Two laws on three outcomes, all of positive probability."""
    weights = [draw(st.lists(st.integers(1, 60), min_size=3, max_size=3)) for _ in range(2)]
    p, q = ({i: F(w, sum(each)) for i, w in enumerate(each)} for each in weights)
    return p, q


@settings(max_examples=25, deadline=None)
@given(laws())
def test_never_below_a_dense_grid(pair: Any) -> None:
    """The bound exceeds every order of the grid, and is close to the order that it returns."""
    p, q = pair
    found = concentration(p, q)
    for order in GRID:
        assert F(renyi_divergence(p, q, order)) / order <= F(found.above) + F(1, 10**20)
    assert F(found.above) <= F(found.below) * (1 + 2 * GAP) + F(1, 10**15)
    at_order = F(renyi_divergence(p, q, found.alpha)) / found.alpha
    assert abs(at_order - F(found.below)) < F(1, 10**10)


@pytest.mark.parametrize("odds", [F(101, 100), F(3), F(1000)])
def test_tight_for_randomized_response(odds: Fraction) -> None:
    """The supremum is at the lowest orders, where a grid alone is too low."""
    p = {True: odds / (1 + odds), False: 1 / (1 + odds)}
    q = {True: p[False], False: p[True]}
    exact = PureDP(log_up(odds)).to(ZCDP).rho  # type: ignore[attr-defined]
    assert exact * (1 - F(1, 10**20)) <= F(zcdp(p, q)) <= exact * (1 + GAP)


def test_both_directions_count() -> None:
    """An outcome impossible under q makes one direction, and the supremum, infinite."""
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    assert concentration(p, q).above == inf
    assert concentration(q, p).above < inf
    assert zcdp(p, q) == zcdp(q, p) == inf


def test_the_search_stops_once_the_claim_is_decided() -> None:
    """The search stops when the bounds decide whether the supremum exceeds `enough`."""
    p, q = {0: F(3, 4), 1: F(1, 4)}, {0: F(1, 4), 1: F(3, 4)}
    exact = F(zcdp(p, q))
    assert concentration(p, q, enough=2 * exact).above <= 2 * exact
    assert concentration(p, q, enough=exact / 2).below > exact / 2
