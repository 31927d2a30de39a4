"""The weighted Renyi filter, against the supremum it is about in 60-digit arithmetic."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import FiltCon, ViaRenyi, ViaZCDP, admitted
from queryable import RDP, ZCDP, ApproxDP, Launch, PureDP
from queryable.losses import RenyiCurve
from queryable.losses.conversions import concentrated_to_approx
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")
ORDERS = (2, 4, 8, 16, 32, 64)


def plan(random: Random) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...], Fraction, RenyiCurve]:
    """Random orders, weights (one may be zero), slack and loss."""
    count = random.randint(1, 6)
    orders = tuple(sorted(Fraction(o, 10) for o in random.sample(range(11, 900), count)))
    shares = [random.randint(0, 9) for _ in orders]
    shares[-1] += 1
    weights = tuple(Fraction(share, sum(shares)) for share in shares)
    rate = Fraction(random.randint(1, 500), 10**4)
    losses = [rate * order * Fraction(random.randint(50, 100), 100) for order in orders]
    slack = Fraction(random.randint(1, 99), 10 ** random.randint(3, 15))
    return orders, weights, slack, RenyiCurve(orders, losses)


def _loss(curve: RenyiCurve) -> Any:
    """As one order is stated, or as several are."""
    if len(curve.orders) > 1:
        return curve
    return RDP(curve.orders[0], curve.epsilons[0])


@pytest.mark.parametrize("alpha", ["1.5", 3, 17, 200])
def test_one_order_is_the_usual_conversion(alpha: Any) -> None:
    """With a single order the bound is that of Canonne, Kamath and Steinke 2020."""
    account = ViaRenyi([alpha]).open(ApproxDP(1000, "1e-6")).add(RDP(alpha, "0.7"))  # type: ignore[arg-type]
    usual = concentrated_to_approx(RDP(alpha, 0).alpha, Fraction(7, 10), Fraction(1, 10**6))
    assert abs(account.total().epsilon / usual - 1) < Fraction(1, 10**12)


def test_the_mixture_is_never_worse_than_a_union_over_orders() -> None:
    """Its epsilon is at most each order's usual conversion at delta times its weight."""
    random = Random(17)
    for _ in range(40):
        orders, weights, slack, curve = plan(random)
        reported = ViaRenyi(orders, weights).open(ApproxDP(10**6, slack)).add(_loss(curve)).total()
        points = list(zip(orders, weights, curve.epsilons, strict=True))
        unions = [concentrated_to_approx(a, r, slack * w) for a, w, r in points if w]
        assert reported.epsilon <= min(unions) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("epsilon", "each", "least"),
    [(1, "0.1", 9), (1, "0.01", 440), (2, "0.1", 20), (2, "0.01", 1600), (5, "0.1", 85)],
)
def test_how_many_fit(epsilon: int, each: str, least: int) -> None:
    """Close to the zCDP rule for many small launches, beyond it for few large ones."""
    budget = ApproxDP(epsilon, "1e-6")
    rule = ViaRenyi([2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256])
    found = admitted(budget, rule, PureDP(each))
    assert least <= found
    assert found >= Fraction(94, 100) * admitted(budget, ViaZCDP(), PureDP(each))


def test_the_default_weights_prefer_one_order() -> None:
    """Half is for the order that serves Gaussians best; the rest is even, and all sum to 1."""
    weights = ViaRenyi(ORDERS).open(BUDGET).mixture.weights
    assert sum(weights) == 1
    assert sorted(set(weights)) == [Fraction(1, 10), Fraction(1, 2)]
    assert ORDERS[weights.index(Fraction(1, 2))] == 32
    assert ViaRenyi([7]).open(BUDGET).mixture.weights == (1,)
    # An (epsilon, delta)-DP mechanism states no Renyi loss; the error names an alternative.
    filtered = FiltCon(BUDGET, ViaRenyi(ORDERS, slack="5e-7"))
    state, _ = filtered.init(None)
    with pytest.raises(Exception, match="Whitehouse2023"):
        filtered.step(state, Launch(Toy(ApproxDP("0.01", "1e-9"))))
    _, answer = filtered.step(state, Launch(Toy(ZCDP("0.001"))))
    assert answer.child == 0


def test_no_loss_at_all_costs_nothing() -> None:
    """Even with orders too low for the budget; any loss is then refused, and it says why."""
    account = ViaRenyi([2]).open(BUDGET)
    nothing, something = RDP(2, 0), RDP(2, "1e-9")
    assert account.add(nothing).within
    assert account.add(nothing).total().epsilon == 0
    assert not account.add(something).within
    assert "higher" in account.hint(something)
    assert account.remaining().parts == (0,)
    assert ViaRenyi(ORDERS).open(BUDGET).hint(something) == ""
    # Losses beyond the range of floats are refused without an error.
    account = ViaRenyi(ORDERS).open(BUDGET)
    huge = RenyiCurve(ORDERS, [Fraction(10**390)] * 6)
    assert not account.add(huge).within
    assert account.add(huge).total().epsilon >= 10**390
    mixed = RenyiCurve(ORDERS, [Fraction(1, 10)] * 5 + [Fraction(10**390)])
    assert account.add(mixed).total().epsilon < 10
