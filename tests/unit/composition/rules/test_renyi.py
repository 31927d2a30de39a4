"""The weighted Renyi filter, against the supremum it is about in 60-digit arithmetic."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import FiltCon, ViaRenyi, ViaZCDP, admitted
from queryable import RDP, ZCDP, ApproxDP, Launch, PureDP
from queryable.losses import RenyiCurve
from queryable.losses.conversions import rdp_to_approx
from tests.reference import mp, real
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")
ORDERS = (2, 4, 8, 16, 32, 64)


def supremum(orders: Any, weights: Any, losses: Any, epsilon: Fraction) -> Any:
    """sup of (1 - e^(epsilon-l))/m(l) over l > epsilon: its logarithm is concave, so by thirds."""

    def log_ratio(log_excess: Any) -> Any:
        level = real(epsilon) + mp.exp(log_excess)
        mass = sum(
            real(w) * mp.exp((real(a) - 1) * (level - real(r)))
            for a, w, r in zip(orders, weights, losses, strict=True)
        )
        return mp.log(-mp.expm1(-mp.exp(log_excess))) - mp.log(mass)

    low, high = mp.mpf(-20), mp.mpf(8)
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if log_ratio(left) < log_ratio(right) else (low, right)
    return mp.exp(log_ratio((low + high) / 2))


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


def test_what_is_admitted_keeps_the_slack() -> None:
    """At the last launch that fits the supremum is within the slack; with one more it is above."""
    for each in ("0.1", "0.03", "0.01"):
        loss: Any = PureDP(each).to(RDP.at(*ORDERS))
        weights = [Fraction(1, 6)] * 6
        count = admitted(BUDGET, ViaRenyi(ORDERS, weights), loss)
        last, over = ([n * part for part in loss.parts] for n in (count, count + 1))
        assert supremum(ORDERS, weights, last, BUDGET.epsilon) <= real(BUDGET.delta)
        assert supremum(ORDERS, weights, over, BUDGET.epsilon) > real(BUDGET.delta)


@pytest.mark.parametrize("alpha", ["1.5", 3, 17, 200])
def test_one_order_is_the_usual_conversion(alpha: Any) -> None:
    """With a single order the bound is that of Canonne, Kamath and Steinke 2020."""
    account = ViaRenyi([alpha]).open(ApproxDP(1000, "1e-6")).add(RDP(alpha, "0.7"))  # type: ignore[arg-type]
    usual = rdp_to_approx(RDP(alpha, 0).alpha, Fraction(7, 10), Fraction(1, 10**6))
    assert abs(account.total().epsilon / usual - 1) < Fraction(1, 10**12)


def test_the_mixture_is_never_worse_than_a_union_over_orders() -> None:
    """Its epsilon is at most each order's usual conversion at delta times its weight."""
    random = Random(17)
    for _ in range(40):
        orders, weights, slack, curve = plan(random)
        reported = ViaRenyi(orders, weights).open(ApproxDP(10**6, slack)).add(_loss(curve)).total()
        points = list(zip(orders, weights, curve.epsilons, strict=True))
        unions = [rdp_to_approx(a, r, slack * w) for a, w, r in points if w]
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


def test_what_remains_fits_and_more_does_not() -> None:
    """The largest Gaussian's curve that still fits is admitted, one larger at all orders is not."""
    account = ViaRenyi(ORDERS).open(BUDGET)
    loss: Any = PureDP("0.05").to(RDP.at(*ORDERS))
    for _ in range(15):
        remaining: Any = account.remaining()
        assert account.add(remaining).within
        larger = remaining.of_parts(
            tuple(part * (1 + Fraction(1, 10**6)) for part in remaining.parts)
        )
        assert not account.add(larger).within
        assert remaining.parts[0] > 0
        account = account.add(loss)
        if not account.add(loss).within:
            break


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


def test_huge_losses_are_refused() -> None:
    """Losses beyond the range of floats are refused without an error."""
    account = ViaRenyi(ORDERS).open(BUDGET)
    huge = RenyiCurve(ORDERS, [Fraction(10**390)] * 6)
    assert not account.add(huge).within
    assert account.add(huge).total().epsilon >= 10**390
    mixed = RenyiCurve(ORDERS, [Fraction(1, 10)] * 5 + [Fraction(10**390)])
    assert account.add(mixed).total().epsilon < 10


@pytest.mark.parametrize("slack", [0, -1, "1e-5", 2, True, float("nan")])
def test_a_bad_slack_is_refused(slack: Any) -> None:
    """Above 0 and at most the budget's delta."""
    with pytest.raises(ValueError, match="slack"):
        ViaRenyi(ORDERS, slack=slack).open(BUDGET)


def test_a_delta_of_their_own_has_no_theorem() -> None:
    """An (epsilon, delta)-DP mechanism states no Renyi loss; the error names an alternative."""
    filtered = FiltCon(BUDGET, ViaRenyi(ORDERS, slack="5e-7"))
    state, _ = filtered.init(None)
    with pytest.raises(Exception, match="Whitehouse2023"):
        filtered.step(state, Launch(Toy(ApproxDP("0.01", "1e-9"))))
    _, answer = filtered.step(state, Launch(Toy(ZCDP("0.001"))))
    assert answer.child == 0


def test_adding_many_at_once_equals_adding_in_turn() -> None:
    """Adding five at once gives the account of five."""
    account = ViaRenyi(ORDERS).open(BUDGET)
    loss: Any = PureDP("0.01").to(RDP.at(*ORDERS))
    one_by_one = account
    for _ in range(5):
        one_by_one = one_by_one.add(loss)
    assert account.add_many(loss, 5) == one_by_one
