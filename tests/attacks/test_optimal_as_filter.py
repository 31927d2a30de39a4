"""An optimal accountant used as a filter: each path fits, but an adaptive choice does not.

One attack on both rules, in exact sums of Gaussian tails: a small response, then the largest
response that is admitted after a yes, and the largest Gaussian after a no.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import attrs
import pytest

from composition import FiltCon, GDPResidue, Rule
from composition.rules import Account
from composition.rules.optimal import optimal_delta
from queryable import ApproxDP, PureDP, UnprovenCompositionError
from queryable.losses import Dominated
from tests.reference import beside_response, gaussian_profile, likelier, mp, real, response_profile

BUDGET = ApproxDP(1, "1e-6")
FIRST = Fraction(1, 1000)


@attrs.frozen
class OptimalAccount(Account):
    """Naive: goes on while the exact composition of what was launched fits the budget."""

    losses: tuple[Dominated, ...] = ()

    def add(self, loss: Dominated) -> "OptimalAccount":
        return OptimalAccount((*self.losses, loss))

    @property
    def within(self) -> bool:
        mu = mp.sqrt(sum(real(loss.mu) ** 2 for loss in self.losses))
        delta = mp.mpf(0)
        epsilons = [loss.epsilon for loss in self.losses if loss.epsilon]
        for signs in product((1, -1), repeat=len(epsilons)):
            chances = [
                likelier(e) if s > 0 else 1 - likelier(e)
                for s, e in zip(signs, epsilons, strict=True)
            ]
            gone = sum(real(s * e) for s, e in zip(signs, epsilons, strict=True))
            at = real(BUDGET.epsilon) - gone
            delta += mp.fprod(chances) * gaussian_profile(Fraction(str(mu)), at)
        return bool(delta <= real(BUDGET.delta))

    def total(self) -> ApproxDP:
        return BUDGET

    def remaining(self) -> Any:
        raise AssertionError


class Optimal(Rule):
    """Naive."""

    def child_measure(self, budget: Any) -> Any:
        return Dominated

    def open(self, budget: Any) -> OptimalAccount:
        return OptimalAccount()


def largest(account: Account, of: Callable[[Fraction], Dominated]) -> Fraction:
    """The largest launch of a kind that is admitted."""
    low, high = Fraction(0), Fraction(2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if account.add(of(middle)).within else (low, middle)
    return low


def attack(rule: Rule) -> tuple[Any, Fraction, Fraction]:
    """The true delta at the budget's epsilon, and what was launched after a yes and after a no."""
    account = rule.open(BUDGET).add(Dominated(FIRST, 0, 0))
    response = largest(account, lambda epsilon: Dominated(epsilon, 0, 0))
    gaussian = largest(account, lambda mu: Dominated(0, mu, 0))

    def best(t: Any) -> Any:
        return max(response_profile(response, t), gaussian_profile(gaussian, t))

    return beside_response(FIRST, best, real(BUDGET.epsilon)), response, gaussian


def test_the_optimal_accountant_as_a_filter_breaks_its_claim() -> None:
    """Each path is within (1, 1e-6); choosing by the first answer reaches 1.49e-6."""
    true, response, gaussian = attack(Optimal())
    assert real("1.485e-6") < true < real("1.495e-6")
    assert abs(response - Fraction("0.999003")) < Fraction(1, 10**6)
    assert abs(gaussian - Fraction("0.2367")) < Fraction(1, 10**4)


def test_each_path_alone_is_within_the_budget() -> None:
    """So the accountant does as it says: fixed in advance, both responses together do fit."""
    _, response, gaussian = attack(Optimal())
    rounded = Fraction(int(response * 10**9), 10**9)
    assert optimal_delta([PureDP(FIRST), PureDP(rounded)], 1) <= BUDGET.delta
    alone = beside_response(FIRST, lambda t: gaussian_profile(gaussian, t), 1)
    assert alone <= real(BUDGET.delta)


@pytest.mark.parametrize("slack", ["1e-6", "5e-7"])
def test_the_residue_filter_keeps_its_claim(slack: str) -> None:
    """The same attack stays within the slack, and the Gaussian it may launch nearly reaches it."""
    true, response, _ = attack(GDPResidue(slack))
    assert real(slack) * real("0.99") < true <= real(slack)
    assert response < Fraction(2, 10)


def test_no_compositor_takes_the_optimal_accountant() -> None:
    """It has no theorem, so no row, and its author states none either."""
    with pytest.raises(UnprovenCompositionError, match="vouched_for"):
        FiltCon(BUDGET, Optimal())
