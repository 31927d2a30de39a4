"""Rules with a weight and a slack, against 60-digit arithmetic and reference counts."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import Rule, ViaGDP, ViaZCDP, Whitehouse2023, admitted
from queryable import GDP, ApproxDP, ApproxZCDP, Loss, PureDP
from tests.reference import mp, real


def whitehouse(epsilons: list[Fraction], slack: Fraction) -> Any:
    """sqrt(2 V log(1/slack)) + V/2."""
    v = real(sum(epsilon**2 for epsilon in epsilons))
    return mp.sqrt(-2 * v * mp.log(real(slack))) + v / 2


def zcdp(rhos: list[Fraction], slack: Fraction) -> Any:
    """Canonne et al. 2020, Proposition 12, at rho*alpha and the best alpha, by thirds."""
    rho, delta = real(sum(rhos)), real(slack)

    def bound(log_excess: Any) -> Any:
        alpha = 1 + mp.exp(log_excess)
        return rho * alpha + mp.log1p(-1 / alpha) - mp.log(delta * alpha) / (alpha - 1)

    low, high = mp.mpf(-15), mp.mpf(30)
    for _ in range(150):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return max(mp.mpf(0), bound((low + high) / 2))


def gaussian(mus: list[Fraction], slack: Fraction) -> Any:
    """The epsilon at which the profile is the slack, by bisection."""
    mu = mp.sqrt(real(sum(each**2 for each in mus)))

    def profile(epsilon: Any) -> Any:
        below = mp.ncdf(-epsilon / mu - mu / 2)
        return mp.ncdf(-epsilon / mu + mu / 2) - mp.exp(epsilon) * below

    low, high = mp.mpf(0), mp.mpf(1000)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > real(slack) else (low, middle)
    return low


CASES: list[tuple[type[Any], Callable[[Fraction], Loss], Callable[..., Any], int]] = [
    (Whitehouse2023, lambda x: ApproxDP(x, 0), whitehouse, 150),
    (ViaZCDP, lambda x: ApproxZCDP(x, 0), zcdp, 60),
    (ViaGDP, GDP, gaussian, 60),
]


@pytest.mark.parametrize(("make", "loss", "formula", "count"), CASES)
def test_the_reported_epsilon_is_the_formula_from_above(
    make: Any, loss: Any, formula: Any, count: int
) -> None:
    """On random plans the total is at or a hair above the 60-digit value, never below."""
    random = Random(7)
    for _ in range(count):
        slack = Fraction(random.randint(1, 99), 10 ** random.randint(3, 15))
        weights = [Fraction(random.randint(1, 2000), 10**4) for _ in range(random.randint(1, 9))]
        account = make(slack).open(ApproxDP(500, Fraction(1, 5)))
        for weight in weights:
            account = account.add(loss(weight))
        true, reported = formula(weights, slack), real(account.total().epsilon)
        assert true <= reported + real("1e-30")  # below that the reference has no digits
        assert reported <= true * (1 + real("1e-9"))


def test_what_fits_is_within_epsilon() -> None:
    """At the largest weight that fits the total, at 60 digits, is within epsilon by a hair."""
    random = Random(11)
    for make, loss, formula, _ in CASES:
        for _ in range(12):
            budget = ApproxDP(
                Fraction(random.randint(1, 600), 100), Fraction(1, 10 ** random.randint(1, 12))
            )
            account = make().open(budget)
            most = account.remaining().parts[0] if make is not ViaGDP else account.remaining().mu
            assert account.add(loss(most)).within
            true, epsilon = formula([most], budget.delta), real(budget.epsilon)
            assert epsilon * (1 - real("1e-6")) <= true <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "each", "whitehouse_admits", "zcdp_admits"),
    [
        (1, "0.1", 3, 4),
        (1, "0.01", 349, 487),
        (2, "0.1", 13, 17),
        (2, "0.01", 1351, 1763),
        (5, "0.1", 77, 92),
        (5, "0.01", 7706, 9261),
    ],
)
def test_reference_counts(
    epsilon: int, each: str, whitehouse_admits: int, zcdp_admits: int
) -> None:
    """How many equal mechanisms fit at delta = 1e-6, computed elsewhere."""
    budget = ApproxDP(epsilon, "1e-6")
    assert admitted(budget, Whitehouse2023(), PureDP(each)) == whitehouse_admits
    assert admitted(budget, ViaZCDP(), PureDP(each)) == zcdp_admits


@pytest.mark.parametrize("rule", [Whitehouse2023("5e-7"), ViaZCDP("5e-7"), ViaGDP("5e-7")], ids=str)
def test_many_at_once_are_as_many_in_turn(rule: Rule) -> None:
    """Adding five at once gives the account of five, deltas included."""
    budget = ApproxDP(1, "1e-6")
    loss: Loss = GDP("0.01")
    if not isinstance(rule, ViaGDP):
        loss = ApproxDP("0.01", "1e-9").to(rule.child_measure(budget))
    account = rule.open(budget)
    one_by_one = account
    for _ in range(5):
        one_by_one = one_by_one.add(loss)
    assert account.add_many(loss, 5) == one_by_one
