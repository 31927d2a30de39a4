"""A menu filter whose units are recomputed as deltas arrive: nearly twice the claimed delta.

One attack on both rules, by dynamic programming: choose each launch by the answers so far, and
whenever stopping is best, spend all the delta that is admitted on one reveal.
"""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon, Menu, Rule
from composition.rules import Account, MenuAccount
from queryable import ApproxDP, UnprovenCompositionError
from tests.attacks.menus import COSTS, EPSILON, UNIT, Lattice

BUDGET = ApproxDP(EPSILON, "1e-6")


@attrs.frozen
class RecomputedAccount(Account):
    """Naive: the worst case of the units used, and the deltas so far, within delta."""

    ours: MenuAccount
    deltas: Fraction = Fraction(0)

    def add(self, loss: ApproxDP) -> "RecomputedAccount":
        launched = self.ours.add(ApproxDP(loss.epsilon, 0))
        return RecomputedAccount(launched, self.deltas + loss.delta)

    @property
    def within(self) -> bool:
        return self.ours.within and self.deltas <= self.left

    def total(self) -> ApproxDP:
        return BUDGET

    def remaining(self) -> ApproxDP:
        return ApproxDP(0, self.left - self.deltas)

    @property
    def left(self) -> Fraction:
        """What the units used have left of delta."""
        return BUDGET.delta - Fraction(self.ours.terms.worst[self.ours.used])


class Recomputed(Rule):
    """Naive."""

    def child_measure(self, budget: Any) -> Any:
        return ApproxDP

    def open(self, budget: Any) -> RecomputedAccount:
        return RecomputedAccount(Menu(UNIT, COSTS).open(budget))


def attack(rule: Rule) -> float:
    """The true delta at the budget's epsilon."""
    lattice = Lattice()
    # squares of counts: every number of units is reached by launches of the smallest entry
    accounts = [rule.open(BUDGET)]
    while (more := accounts[-1].add(ApproxDP(UNIT, 0))).within:
        accounts.append(more)
    values: list[np.ndarray] = [np.empty(0)] * len(accounts)
    for used in reversed(range(len(accounts))):
        room: Any = accounts[used].remaining()
        assert accounts[used].add(ApproxDP(0, room.delta)).within
        best = float(room.delta) + (1 - float(room.delta)) * lattice.stop
        for move, cost in COSTS.items():
            if used + cost < len(accounts):
                best = np.maximum(best, lattice.launch(move, values[used + cost]))
        values[used] = best
    return lattice.at_zero(values[0])


def test_spending_the_delta_that_is_left_breaks_the_claim() -> None:
    """What launches have not used yet is taken as a delta: 1.98 times the claim in all."""
    assert 1.97e-6 < attack(Recomputed()) < 1.99e-6


@pytest.mark.parametrize("slack", ["1e-6", "5e-7", "1e-9"])
def test_a_share_fixed_in_advance_keeps_the_claim(slack: str) -> None:
    """The same attack comes to delta and no more, whatever the shares."""
    true = attack(Menu(UNIT, COSTS, slack=slack))
    assert 0.98e-6 < true <= 1e-6


def test_no_compositor_takes_the_recomputed_menu() -> None:
    """It has no theorem, so no row, and its author states none either."""
    with pytest.raises(UnprovenCompositionError, match="vouched_for"):
        FiltCon(BUDGET, Recomputed())
