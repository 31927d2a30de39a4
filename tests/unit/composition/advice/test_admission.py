"""How many launches a rule admits, against launching them one by one."""

from fractions import Fraction
from random import Random

import pytest

from composition import (
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    admitted,
    filter_of,
)
from composition.advice.admission import taken
from composition.rules import Additive
from queryable import ZCDP, ApproxDP, Loss, PureDP
from tests.strategies import LOSSES

BUDGET = ApproxDP(1, "1e-6")


def in_turn(budget: Loss, rule: Rule, loss: Loss) -> int:
    """Count launches by adding them one by one until one does not fit."""
    account, count = rule.open(budget), 0
    stated = loss.to(rule.child_measure(budget))
    while (account := account.add(stated)).within:
        count += 1
    return count


@pytest.mark.parametrize(
    "rule",
    [
        Basic(),
        Rogers2016(),
        Whitehouse2023(),
        ViaZCDP(),
        ViaGDP(),
        ViaRenyi([2, 8, 32, 64]),
        GDPResidue(),
        Menu("0.005", [1, 4, 20, 40, 80]),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_admitted_equals_launching_one_by_one(rule: Rule) -> None:
    """The count equals the number found by adding one loss after the other."""
    random = Random(23)
    for _ in range(6):
        loss = PureDP(Fraction(random.randint(30, 300), 1000))
        assert admitted(BUDGET, rule, loss) == in_turn(BUDGET, rule, loss)


def test_admitted_counts_under_any_rule() -> None:
    """This includes a rule made from an accumulator, and budgets in other measures."""
    assert admitted(ZCDP(1), filter_of(Additive(ZCDP)), ZCDP("0.03")) == 33
    for loss in LOSSES:
        assert admitted(loss, Basic(), loss) == 1


def test_a_launch_that_never_fits_is_counted_as_none() -> None:
    """Zero, not an error."""
    assert admitted(BUDGET, Whitehouse2023(), PureDP(3)) == 0
    assert admitted(BUDGET, GDPResidue(), PureDP(3)) == 0


def test_launches_that_cost_nothing_are_refused() -> None:
    """A loss of zero, or a loss that the rule does not charge, has no largest count."""
    for rule in (Basic(), GDPResidue(), Menu("0.1", [1]), ViaZCDP(), ViaRenyi([2, 64])):
        with pytest.raises(ValueError, match="any number fits"):
            admitted(BUDGET, rule, PureDP(0))


def test_losses_that_a_rule_does_not_take_are_refused() -> None:
    """The conversion of the loss raises the error."""
    with pytest.raises(ValueError, match="delta"):
        admitted(BUDGET, Whitehouse2023(), ZCDP("0.01"))


def test_refused_launches_are_skipped() -> None:
    """Launches are tried in the given order; earlier ones use budget that later ones need."""
    losses = [PureDP("1/2"), PureDP(2), PureDP("1/4"), PureDP("1/2"), PureDP("1/4")]
    assert taken(PureDP(1), Basic(), losses) == 3
    assert taken(PureDP(1), Basic(), losses[::-1]) == 3
    assert taken(PureDP("1/2"), Basic(), losses) == 1
    assert taken(PureDP("1/2"), Basic(), losses[::-1]) == 2
    assert taken(PureDP(1), Basic(), []) == 0
