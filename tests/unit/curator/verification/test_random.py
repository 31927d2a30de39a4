"""Launches of random losses under every rule and odometer: what the code wrote always passes."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

import composition as c
from queryable import GDP, ZCDP, ApproxDP, ApproxZCDP, Launch, Loss, PureDP
from queryable.losses import Dominated
from tests.strategies import RandomWord
from tests.unit.curator.verification.test_all_kinds import COMPOSITORS, holds

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

EXTREME = tuple(
    c.FiltCon(ApproxDP(epsilon, delta), rule)
    for epsilon, delta in (("1/2", "1e-7"), (10, "1e-3"), ("1/100", "1e-12"))
    for rule in (
        *(c.ViaZCDP(), c.ViaGDP(), c.Rogers2016(), c.Rogers2023(), c.Whitehouse2023()),
        *(c.GDPResidue(Fraction(delta) / 2), c.ViaRenyi([2**k for k in range(1, 11)])),
    )
)


def _loss(chance: Random, measure: Any) -> Loss:
    """A loss that converts to a measure: tiny or large, with few or many digits, or 0."""

    def number() -> Fraction:
        digits = chance.randrange(1, 13)
        size = chance.choice([5, 1, Fraction(1, 10), Fraction(1, 100), 0])
        return Fraction(chance.randrange(1, 10**digits), 10**digits) * size

    delta = chance.choice([0, 0, Fraction(1, 10**8), Fraction(1, 3 * 10**7)])
    losses = [PureDP(number()), ApproxDP(number(), delta), ZCDP(number()), GDP(number())]
    losses += [ApproxZCDP(number(), delta), Dominated(number(), number(), delta)]
    chance.shuffle(losses)
    for loss in losses:
        try:
            loss.to(measure)
        except ValueError:
            continue
        return loss
    raise AssertionError(measure)


@pytest.mark.parametrize("mechanism", [*COMPOSITORS, *EXTREME], ids=str)
@pytest.mark.parametrize(
    ("seed", "launches"),
    [(1, 4), *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(3))],
)
def test_random_launches_hold(mechanism: Any, seed: int, launches: int) -> None:
    chance = Random(seed)
    losses = (_loss(chance, mechanism.child_measure) for _ in range(launches))
    holds(mechanism, [Launch(RandomWord(loss)) for loss in losses], (1, 2, 3))
