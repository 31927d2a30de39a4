"""Randomized response: its exact law, and the claim against it."""

from fractions import Fraction
from typing import Any

import pytest

from mechanisms import RandomizedResponse
from mechanisms.randomized_response import Revealed
from mechanisms.sampling.laws import BernoulliExp, TruthfulAnswer
from queryable import RDP, ZCDP, ApproxDP, ApproxZCDP, Bit, MechanismFault, PureDP, Queryable
from queryable.audit import view_law
from queryable.losses.conversions import log_down, log_up
from tests.strategies import NotedCoins

BIT = Bit(lambda dataset: dataset)


def law(mechanism: RandomizedResponse, bit: bool) -> dict[Any, Fraction]:
    views = view_law(mechanism, bit, lambda view: None)
    return {answers[0]: chance for answers, chance in views.items()}  # type: ignore[index]


def test_laws_are_exact() -> None:
    """Odds 3 tell the truth with probability 3/4; with probability delta the bit is revealed."""
    mechanism = RandomizedResponse(BIT, odds=3)
    assert law(mechanism, True) == {True: Fraction(3, 4), False: Fraction(1, 4)}
    assert law(mechanism, False) == {False: Fraction(3, 4), True: Fraction(1, 4)}
    # Odds 1 answer a fair coin and lose nothing.
    mechanism = RandomizedResponse(BIT, odds=1)
    assert law(mechanism, True) == law(mechanism, False)
    assert mechanism.privacy_map(1) == PureDP(0)
    mechanism = RandomizedResponse(BIT, odds=3, delta="1/5")
    assert law(mechanism, True) == {
        Revealed(True): Fraction(1, 5),
        True: Fraction(3, 5),
        False: Fraction(1, 5),
    }
    assert mechanism.privacy_map(1) == ApproxDP(log_up(Fraction(3)), "1/5")
    assert law(RandomizedResponse(BIT, odds=3, delta=1), True) == {Revealed(True): 1}
    # The claim is at or above the largest log-ratio of the exact law, and close to it.
    claimed = RandomizedResponse(BIT, odds="7/2").privacy_map(1).epsilon  # type: ignore[attr-defined]
    assert log_down(Fraction(7, 2)) <= claimed == log_up(Fraction(7, 2))


@pytest.mark.parametrize("delta", [0, "1/5"])
def test_the_claim_is_tight(delta: Any) -> None:
    """The exact law exceeds e^epsilon times its neighbour by delta and by nothing more."""
    mechanism = RandomizedResponse(BIT, odds=3, delta=delta)
    yes, no = law(mechanism, True), law(mechanism, False)
    excess = sum(max(Fraction(0), chance - 3 * no.get(view, 0)) for view, chance in yes.items())
    assert excess == Fraction(delta)


def test_epsilon_is_sampled_exactly() -> None:
    """A rational epsilon is drawn by its own exact law, never through a rounded probability."""
    coins = NotedCoins()
    RandomizedResponse(BIT, epsilon="0.1").release(True, coins)
    assert coins.laws == [TruthfulAnswer("1/10")]
    assert BernoulliExp("1/10") not in coins.laws


@pytest.mark.parametrize("d_in", [1, 2, 1000])
def test_loss_does_not_grow_with_records(d_in: int) -> None:
    """However many records differ, the bit flips once at most."""
    assert RandomizedResponse(BIT, epsilon=2).privacy_map(d_in) == PureDP(2)
    assert RandomizedResponse(BIT, epsilon=2, delta="0.1").privacy_map(d_in) == ApproxDP(2, "0.1")


def test_other_measures() -> None:
    """The claim converts; with delta only to measures that have one."""
    assert RandomizedResponse(BIT, epsilon=1).privacy_map(1, ZCDP) == PureDP(1).to(ZCDP)
    approximate = RandomizedResponse(BIT, epsilon=1, delta="0.1")
    assert approximate.privacy_map(1, ApproxZCDP).delta == Fraction(1, 10)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="no theorem"):
        approximate.privacy_map(1, RDP.at(2))
    # Equal data sets lose nothing.
    assert RandomizedResponse(BIT, epsilon=2, delta="0.1").privacy_map(0) == ApproxDP(0, 0)


def test_a_function_is_wrapped() -> None:
    """A function of the data may stand for a Bit; a non-boolean result is a fault."""
    mechanism = RandomizedResponse(len, odds=3)
    assert mechanism.bit == Bit(len)
    with pytest.raises(MechanismFault):
        Queryable(mechanism, [1, 2]).opening  # noqa: B018
