"""Rules with a weight and a slack: the largest weight that fits, and many launches at once.

Values and roundings are in tests/audit/test_reference_values.py and test_rounding.py.
"""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import Rogers2023, Rule, ViaGDP, ViaZCDP, Whitehouse2023
from queryable import GDP, ApproxDP, ApproxZCDP, Loss
from queryable.losses import conversions
from queryable.losses.numbers import sqrt_down
from tests.reference import gaussian_profile, mp, real, zcdp_epsilon


def whitehouse(epsilons: list[Fraction], slack: Fraction) -> Any:
    """sqrt(2 V log(1/slack)) + V/2."""
    v = real(sum(epsilon**2 for epsilon in epsilons))
    return mp.sqrt(-2 * v * mp.log(real(slack))) + v / 2


def zcdp(rhos: list[Fraction], slack: Fraction) -> Any:
    """Canonne et al. 2020, Proposition 12, at rho*alpha and the best alpha."""
    return zcdp_epsilon(real(sum(rhos)), real(slack))


def rogers(rhos: list[Fraction], slack: Fraction) -> Any:
    """Bun and Steinke 2016, Proposition 1.3."""
    rho = real(sum(rhos))
    return rho + 2 * mp.sqrt(-rho * mp.log(real(slack)))


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


CASES: list[tuple[type[Any], Callable[[Fraction], Loss], Callable[..., Any]]] = [
    (Whitehouse2023, lambda x: ApproxDP(x, 0), whitehouse),
    (ViaZCDP, lambda x: ApproxZCDP(x, 0), zcdp),
    (ViaGDP, GDP, gaussian),
    (Rogers2023, lambda x: ApproxZCDP(x, 0), rogers),
]


def test_what_fits_is_within_epsilon() -> None:
    """At the largest weight that fits, the total at 60 digits is just below epsilon."""
    random = Random(11)
    for make, loss, formula in CASES:
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
    "rule",
    [Whitehouse2023("5e-7"), ViaZCDP("5e-7"), ViaGDP("5e-7"), Rogers2023("5e-7")],
    ids=str,
)
def test_adding_many_at_once_equals_adding_in_turn(rule: Rule) -> None:
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


def test_the_constant_of_the_accuracy_first_experiments() -> None:
    """2 rho for epsilon = 10 and delta = 1e-6: 2.70603, and by the tight conversion 3.0786."""
    budget = (Fraction(10), Fraction("1e-6"))
    assert round(2 * Rogers2023().capacity(*budget), 5) == Fraction("2.70603")
    assert round(2 * ViaZCDP().capacity(*budget), 4) == Fraction("3.0786")


def test_the_gaussian_report_is_of_a_root_rounded_up() -> None:
    """Where the root from below would fit an epsilon exactly, the true one needs more.

    The search for epsilon tries 1 at its start. The slack is what a mu of 96 bits has there, and
    the weight is the square of a mu that is larger by less than those bits can say.
    """
    random = Random(11)
    for _ in range(20):
        mu = sqrt_down(Fraction(random.randint(3, 90), 1000))
        slack = conversions.gdp_delta(mu, Fraction(1))
        weight = mu**2 * (1 + Fraction(4, 5 * 2**96))
        epsilon = ViaGDP().epsilon(weight, slack)
        assert gaussian_profile(mp.sqrt(real(weight)), real(epsilon)) <= real(slack)
