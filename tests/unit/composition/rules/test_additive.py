"""Additive rules: curves at every Renyi order, and many launches in one step."""

from fractions import Fraction

import attrs
import pytest

from composition import Basic, admitted
from composition.rules.additive import AdditiveAccount, RunningSum
from queryable import RDP, Loss, PureDP
from queryable.losses import AdditiveLoss, RenyiCurve
from tests.strategies import LOSSES

ORDERS = (2, 8, 32)


def test_a_budget_of_curves_holds_at_every_order() -> None:
    """A launch is refused if any order exceeds the budget, even if another order fits."""
    budget = RenyiCurve(ORDERS, ("1", "1", "1"))
    account = Basic().open(budget).add(RenyiCurve(ORDERS, ("0.1", "0.2", "0.9")))
    assert account.within
    assert account.remaining() == RenyiCurve(ORDERS, ("0.9", "0.8", "0.1"))
    for over in range(3):
        most = list(account.remaining().parts)
        most[over] += Fraction(1, 10**30)
        assert not account.add(RenyiCurve(ORDERS, most)).within
    assert account.add(account.remaining()).within


def test_the_most_expensive_order_decides_how_many_curves_fit() -> None:
    """The count of equal mechanisms is that of the most expensive order."""
    budget = RenyiCurve(ORDERS, ("0.1", "0.1", "0.1"))
    loss = PureDP("0.1").to(RDP.at(*ORDERS))
    assert isinstance(loss, RenyiCurve)
    fewest = min(Fraction(1, 10) // part for part in loss.parts)
    assert admitted(budget, Basic(), loss) == fewest < Fraction(1, 10) // loss.parts[0]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_an_account_after_a_launch_is_one_that_the_constructor_takes(loss: Loss) -> None:
    """Adding leaves the constructor's checks out, and gives what it would have given."""
    account = Basic().open(loss)
    for _ in range(3):
        account = account.add(loss)
        made = AdditiveAccount(
            RunningSum(account.sum.zero, account.sum.parts), account.budget, account.most
        )
        assert (made, hash(made), repr(made)) == (account, hash(account), repr(account))
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            account.most = ()  # type: ignore[misc]


def test_a_loss_of_a_class_of_ones_own_is_checked_when_it_is_added() -> None:
    """Its constructor may have checked nothing."""

    class Gift(AdditiveLoss):
        """Epsilon may be below 0."""

        measure = PureDP
        parts = (Fraction(-1),)
        of_parts = room = _to = None  # type: ignore[assignment]

    with pytest.raises(ValueError, match="from 0 on"):
        Basic().open(PureDP(1)).add(Gift())  # type: ignore[abstract]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_adding_many_at_once_equals_adding_in_turn(loss: Loss) -> None:
    """Adding seven at once gives the account of seven."""
    account = Basic().open(loss)
    one_by_one = account
    for _ in range(7):
        one_by_one = one_by_one.add(loss)
    assert account.add_many(loss, 7) == one_by_one
