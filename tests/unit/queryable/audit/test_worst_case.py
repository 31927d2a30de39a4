"""The public search for the worst adversary, against the independent one of the audits."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest

from composition import ConComp, FiltCon
from queryable import Ask, Launch, PureDP
from queryable.audit import HockeyStick, Renyi, hockey_stick, view_law, worst_case
from queryable.conversions import log_up
from tests.audit.toys import (
    PadReveal,
    Response,
    TwoRounds,
    excess,
    moment,
    nats,
    reader,
    worst_cases,
)

F = Fraction

GAMES: tuple[tuple[Any, tuple[Any, ...], int], ...] = (
    (
        ConComp([PadReveal(3), TwoRounds()]),
        (Ask(0, "key"), Ask(0, "sum"), Ask(1, "next")),
        4,
    ),
    (
        FiltCon(PureDP(nats(3) + nats(2))),
        (Launch(reader(3)), Launch(PadReveal(2)), Launch(Response(3)), Ask(0, "read")),
        4,
    ),
    (reader(3, delta="1/10"), ("read",), 3),
)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
@pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])
def test_two_searches_agree(
    mechanism: Any, queries: Any, horizon: int, x: int, x_prime: int
) -> None:
    """Written apart, they find the same suprema, hockey sticks to within the rounding of e^eps."""
    odds = (1, 2, 3)
    found = worst_cases(mechanism, x, x_prime, queries, horizon, [excess(each) for each in odds])
    for factor, value in zip(odds, found, strict=True):
        epsilon = log_up(F(factor)) if factor > 1 else 0
        ours = worst_case(mechanism, x, x_prime, queries, horizon, HockeyStick(epsilon)).value
        assert abs(ours - value) < F(1, 10**25)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
def test_renyi_suprema_agree(mechanism: Any, queries: Any, horizon: int) -> None:
    """The same at an order; infinite where the bit may be given away."""
    (value,) = worst_cases(mechanism, 0, 1, queries, horizon, [moment(3)])
    found = worst_case(mechanism, 0, 1, queries, horizon, Renyi(3)).value
    if value == inf:
        assert found == inf
    else:
        assert abs(2 * F(found) - log_up(value)) < F(1, 10**25)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
def test_the_adversary_reaches_the_value(mechanism: Any, queries: Any, horizon: int) -> None:
    """Replayed, the strategy that is handed back has exactly the divergence that was found."""
    worst = worst_case(mechanism, 0, 1, queries, horizon, HockeyStick("1/2"))
    laws = [view_law(mechanism, bit, worst.adversary) for bit in (0, 1)]
    assert hockey_stick(*laws, "1/2") == worst.value > 0
