"""Rogers et al. 2016, Theorem 5.1: its charges and its valid budgets."""

from fractions import Fraction

from composition import Rogers2016
from composition.rules.rogers import drift
from queryable import ApproxDP, PureDP

BUDGET = ApproxDP(1, "1e-6")


def test_variance_and_drift_add_up() -> None:
    """V and S, each loss by itself; the bound is no privacy loss, so the report is the budget."""
    account = Rogers2016().open(BUDGET).add(PureDP("0.1")).add(PureDP("0.05"))
    assert account.variance == Fraction(125, 10**4)
    assert account.drift == drift(Fraction(1, 10)) + drift(Fraction(1, 20))
    assert account.total() == BUDGET


def test_adding_many_at_once_equals_adding_in_turn() -> None:
    """Adding five at once gives the account of five."""
    account, loss = Rogers2016().open(BUDGET), PureDP("0.01")
    assert account.add_many(loss, 2).add_many(loss, 3) == account.add_many(loss, 5)
