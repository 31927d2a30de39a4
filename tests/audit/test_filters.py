"""Filters against their worst adversary, exactly: adaptive launches, every interleaving.

The adversary chooses each launch, its parameters and each ask from its view so far.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest

from composition import Filt, FiltCon, FiltSeq, Rogers2016, ViaGDP, ViaZCDP, Whitehouse2023
from queryable import RDP, ZCDP, ApproxDP, Ask, Launch, PureDP
from queryable.audit import view_law
from tests.audit.toys import (
    F,
    PadReveal,
    Response,
    TwoRounds,
    excess,
    moment,
    nats,
    odds_below,
    reader,
    script,
    worst_case,
    worst_cases,
)

DIRECTIONS = [(0, 1), (1, 0)]
ASKS = [Ask(child, query) for child in (0, 1) for query in ("key", "sum", "read", "next")]
both = pytest.mark.parametrize(("x", "x_prime"), DIRECTIONS)
one_way = pytest.mark.parametrize(
    ("x", "x_prime"), [(0, 1), pytest.param(1, 0, marks=pytest.mark.slow)]
)
"""For larger searches; other tests here search in both directions."""


def log(value: Fraction) -> mpmath.mpf:
    """The natural logarithm at 60 digits."""
    with mpmath.workdps(60):
        return mpmath.log(mpmath.mpf(value.numerator) / value.denominator)


@one_way
@pytest.mark.parametrize("horizon", [5, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("compositor", [FiltCon, FiltSeq])
def test_pure_budget_is_kept(compositor: Any, horizon: int, x: int, x_prime: int) -> None:
    """No adversary exceeds epsilon; at any smaller epsilon one does."""
    launches = [Launch(PadReveal(3)), Launch(reader(2)), Launch(Response(2)), Launch(TwoRounds())]
    budget = PureDP(nats(3) + nats(2))
    exactly, below = worst_cases(
        compositor(budget), x, x_prime, launches + ASKS, horizon, [excess(6), excess(F(599, 100))]
    )
    assert exactly == 0
    assert below > 0 or compositor is FiltSeq  # there the next launch retires the pad


@one_way
@pytest.mark.parametrize("horizon", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_approximate_budget_is_kept(horizon: int, x: int, x_prime: int) -> None:
    """At epsilon no adversary exceeds delta, and one reaches it."""
    launches = [
        Launch(Response(2, delta="1/10")),
        Launch(reader(F(3, 2), delta="1/20")),
        Launch(PadReveal(2)),
    ]
    budget = ApproxDP(2 * nats(2), "1/10")
    (gain,) = worst_cases(FiltCon(budget), x, x_prime, launches + ASKS, horizon, [excess(4)])
    assert gain == budget.delta


def whitehouse(odds: tuple[Fraction, ...], capacity: Fraction, factor: Fraction) -> Fraction:
    """The worst case of launches of responses while the sum of epsilon squared fits.

    An independent recursion over the loss so far and the remaining capacity. Values are relative to
    the law under x.
    """
    weights = {each: nats(each) ** 2 for each in odds}

    @cache
    def worst(ratio: Fraction, left: Fraction) -> Fraction:
        best = max(1 - factor / ratio, F(0))
        for each, weight in weights.items():
            if weight <= left:
                up, down = worst(ratio * each, left - weight), worst(ratio / each, left - weight)
                best = max(best, (each * up + down) / (1 + each))
        return best

    return worst(F(1), capacity)


@both
@pytest.mark.parametrize(
    ("rule", "budget", "launch"),
    [
        (Whitehouse2023(), ApproxDP("0.85", "7/10"), Launch(Response(F(3, 2)))),
        (Whitehouse2023("3/5"), ApproxDP("0.85", "7/10"), Launch(Response(F(4, 3), delta="1/40"))),
        (ViaZCDP(), ApproxDP("1/2", "1/5"), Launch(Response(F(5, 4)))),
        (Rogers2016(), ApproxDP("4.2", "1/5"), Launch(Response(F(5, 4)))),
        (ViaGDP(), ApproxDP("1/2", "1/5"), Launch(Response(F(7, 6)))),
    ],
)
def test_advanced_rules_keep_the_budget(
    rule: Any, budget: Any, launch: Any, x: int, x_prime: int
) -> None:
    """Rules that admit more than basic composition still keep (epsilon, delta)."""
    filtered = Filt(budget, rule)
    gain = worst_case(filtered, x, x_prime, [launch], 40, excess(odds_below(budget.epsilon)))
    assert 4 * launch.mechanism.delta < gain <= budget.delta  # so the loss exceeds epsilon


def test_the_worst_case_of_whitehouse_is_the_dynamic_program() -> None:
    """The worst case through the compositor equals an independent recursion over losses."""
    odds, budget = (F(2), F(3, 2)), ApproxDP("2.2", "1/5")
    capacity = Whitehouse2023().open(budget).capacity
    filtered = Filt(budget, Whitehouse2023())
    launches = [Launch(Response(each)) for each in odds]
    for factor in (F(2), F(3), F(5)):
        found = worst_case(filtered, 0, 1, launches, 8, excess(factor))
        assert found == whitehouse(odds, capacity, factor) > 0


@one_way
@pytest.mark.parametrize(
    ("budget", "orders"),
    [
        pytest.param(ZCDP("9/10"), (2, 3, 8, 40), marks=pytest.mark.slow),
        (ZCDP("1/2"), (2, 3, 8, 40)),
        (RDP(3, "3/2"), (2, 3)),
        (RDP(8, "3/2"), (2, 5, 8)),
    ],
)
def test_renyi_budgets_are_kept(budget: Any, orders: Any, x: int, x_prime: int) -> None:
    """The worst Renyi divergence is within the budget at its own order and at others."""
    launches = [Launch(PadReveal(3)), Launch(reader(2)), Launch(Response(2)), Launch(Response(3))]
    filtered = FiltCon(budget)
    found = worst_cases(filtered, x, x_prime, launches + ASKS, 5, [moment(a) for a in orders])
    for alpha, value in zip(orders, found, strict=True):
        allowed = budget.to(RDP.at(alpha)).epsilon
        divergence = log(value) / (alpha - 1)
        assert 0 < divergence <= mpmath.mpf(allowed.numerator) / allowed.denominator


def test_a_renyi_budget_is_used_up() -> None:
    """One response, charged at its own order, loses exactly its charge."""
    claim = Response(3).privacy_map(1, RDP.at(3))
    value = worst_case(FiltCon(claim), 0, 1, [Launch(Response(3))], 3, moment(3))
    assert abs(log(value) / 2 - mpmath.mpf(claim.epsilon.numerator) / claim.epsilon.denominator) < (
        mpmath.mpf(10) ** -25
    )


@both
@pytest.mark.parametrize(
    "liar", [PadReveal(4, stated=3), reader(5, stated=3), Response(4, stated=3)]
)
def test_a_false_claim_is_caught(liar: Any, x: int, x_prime: int) -> None:
    """A filter relies on the claims of its children; the exact worst case refutes a false one."""
    budget = PureDP(nats(3) + nats(2))
    queries = [Launch(liar), Launch(Response(2)), *ASKS]
    assert worst_case(FiltCon(budget), x, x_prime, queries, 6, excess(6)) > 0


@one_way
@pytest.mark.parametrize("horizon", [5, pytest.param(7, marks=pytest.mark.slow)])
def test_nested_filters_keep_both_budgets(horizon: int, x: int, x_prime: int) -> None:
    """Launches into a child filter stay within its budget, and all within the root's."""
    inner = PureDP(nats(2))
    root = FiltCon(PureDP(nats(2) + nats(3)))
    deep = [Ask(0, Launch(each)) for each in (PadReveal(2), Response(2), Response(3))]
    deep += [Ask(0, Ask(0, "key")), Ask(0, Ask(0, "sum"))]
    child = worst_cases(FiltCon(inner), x, x_prime, [query.query for query in deep], 4, [excess(2)])
    assert child == (0,)
    queries = [Launch(FiltCon(inner)), Launch(PadReveal(3)), *deep, Ask(1, "key"), Ask(1, "sum")]
    exactly, below = worst_cases(root, x, x_prime, queries, horizon, [excess(6), excess(5)])
    assert exactly == 0
    assert below > 0


def test_launches_chosen_by_answers_are_charged() -> None:
    """An adversary that spends the rest adaptively stays within epsilon."""

    def adversary(view: Any) -> Any:
        match [exchange.answer for exchange in view]:
            case []:
                return Launch(Response(2))
            case [first]:
                return Launch(Response(3 if first.answer else F(3, 2)))
        return None

    filtered = FiltCon(PureDP(nats(2) + nats(3)))
    p, q = (view_law(filtered, bit, adversary) for bit in (0, 1))
    assert max(q[seen] / p[seen] for seen in p) == 6
    assert max(p[seen] / q[seen] for seen in p) == 3


def test_the_sum_is_needed() -> None:
    """Mutation: a filter that forgets the first charge is refuted."""
    twice = script(Launch(PadReveal(3)), Launch(PadReveal(3)), *ASKS[:2], *ASKS[4:6])
    p, q = (view_law(FiltCon(PureDP(2 * nats(3))), bit, twice) for bit in (0, 1))
    assert max(p[seen] / q[seen] for seen in p) == 9
