"""A menu filter that charges 0.04 as 0.02 twice: far above the claimed delta.

Randomized response at 0.04 reveals more than two responses at 0.02, and in units of squares the two
cost half as much.
"""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from composition import Menu
from composition.rules.menus.worst_case import worst_cases
from queryable import ApproxDP
from tests.attacks.menus import COSTS, EPSILON, UNIT, Lattice

BUDGET = ApproxDP(EPSILON, "1e-6")
ENTRY = 4


def attack(price: int, units: int) -> float:
    """The true delta when launches of 0.04 cost so much, beside the menu's own."""
    lattice = Lattice()
    values: list[np.ndarray] = []
    for left in range(units + 1):
        best = lattice.stop
        for move, cost in (*COSTS.items(), (ENTRY, price)):
            if cost <= left:
                best = np.maximum(best, lattice.launch(move, values[left - cost]))
        values.append(best)
    return lattice.at_zero(values[-1])


def test_a_parameter_charged_in_two_pieces_breaks_the_claim() -> None:
    """0.04 as 0.02 + 0.02 costs 8 units and not 25, nor even 16: 170 times the claim."""
    units = Menu(UNIT, COSTS).open(BUDGET).terms.units
    assert units == 551
    assert attack(2 * COSTS[2], units) == pytest.approx(170.08e-6, rel=1e-4)


def test_the_next_entry_above_keeps_the_claim() -> None:
    """Ours charges 0.04 as 0.05, and the same analyst stays within delta."""
    account = Menu(UNIT, COSTS).open(BUDGET)
    price = account.add(ApproxDP(ENTRY * UNIT, 0)).used
    assert price == COSTS[5]
    assert attack(price, account.terms.units) <= 1e-6


@pytest.mark.parametrize("price", [8, 16, 25])
def test_the_attack_is_the_worst_case_of_its_prices(price: int) -> None:
    """A table made for that price has the same worst case, so the price is at fault."""
    priced = tuple(sorted([*COSTS.items(), (ENTRY, price)]))
    table = worst_cases(EPSILON, UNIT, priced, Fraction(1, 10**6))
    for units in islice(range(0, len(table), 60), 1, None):
        assert attack(price, units) == pytest.approx(table[units], rel=1e-3, abs=1e-13)
