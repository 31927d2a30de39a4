"""Rules against exact worst cases: every analyst that chooses its launches by the answers."""

import math
from functools import cache
from typing import Any

import pytest

from composition import Basic, GDPResidue, Menu, Rogers2016, ViaZCDP, Whitehouse2023
from composition.rules import Account
from queryable import ApproxDP, PureDP
from queryable.losses import Loss

SIZES = ("0.25", "0.5")
DELTA = ApproxDP(1, "0.05")


def worst(account: Account, stated: Any, epsilon: float) -> float:
    """The least delta at epsilon, over all adaptive launches of randomized response."""

    @cache
    def value(within: Account, loss: float, left: int) -> float:
        best = max(0.0, -math.expm1(epsilon - loss))
        for size in SIZES if left else ():
            after = within.add(stated(size))
            if after.within:
                e = float(size)
                truth = 1 / (1 + math.exp(-e))
                up, down = value(after, loss + e, left - 1), value(after, loss - e, left - 1)
                best = max(best, truth * up + (1 - truth) * down)
        return best

    return value(account, 0.0, 12)


@pytest.mark.parametrize(
    "rule", [Basic(), Whitehouse2023(), ViaZCDP(), GDPResidue(), Rogers2016(), Menu("0.25", [1, 2])]
)
def test_no_analyst_exceeds_the_claim(rule: Any) -> None:
    """Up to twelve launches of two sizes, in whatever order the answers suggest."""
    measure = rule.child_measure(DELTA)

    def stated(size: str) -> Loss:
        return PureDP(size).to(measure)

    assert worst(rule.open(DELTA), stated, 1.0) <= 0.05


def test_a_rule_that_admits_too_much_is_caught() -> None:
    """The same search finds an analyst where the budget is really larger."""
    rule = Whitehouse2023()
    generous = rule.open(ApproxDP(3, "0.05"))
    assert worst(generous, lambda size: ApproxDP(size, 0), 1.0) > 0.05


def test_the_menu_is_exact() -> None:
    """One unit more, and the worst analyst would be above the slack."""
    from composition.rules.worst_case import MOST_UNITS

    account = Menu("0.25", [1, 2]).open(DELTA)
    units = 0
    while account.add(ApproxDP("0.25", 0)).within:
        account, units = account.add(ApproxDP("0.25", 0)), units + 1
    assert 0 < units < MOST_UNITS

    @cache
    def value(loss: int, left: int) -> float:
        best = max(0.0, -math.expm1(1 - loss * 0.25))
        for u, cost in ((1, 1), (2, 4)):
            if cost <= left:
                truth = 1 / (1 + math.exp(-u * 0.25))
                later = truth * value(loss + u, left - cost)
                best = max(best, later + (1 - truth) * value(loss - u, left - cost))
        return best

    assert value(0, units) <= 0.05 < value(0, units + 1)
