"""Losses declared in advance are converted to a common measure."""

from typing import Any

import pytest

from composition.rules.declared import common_measure, maps_at
from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PrivacyClaimError, PureDP
from queryable.losses import RenyiCurve
from tests.strategies import LOSSES, Toy


def maps(*losses: Loss) -> Any:
    return maps_at([Toy(loss) for loss in losses], 1)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_one_measure_stays(loss: Loss) -> None:
    """Losses of one measure are not converted."""
    assert common_measure(maps(loss, loss)) == loss.measure


@pytest.mark.parametrize(
    ("losses", "measure"),
    [
        ((), PureDP),
        ((PureDP(1), ApproxDP(1, "0.1")), ApproxDP),
        ((PureDP(1), GDP(1)), GDP),
        ((PureDP(1), ZCDP(1)), ZCDP),
        ((GDP(1), ZCDP(1)), ZCDP),
        ((ZCDP(1), ApproxDP(1, "0.1")), ApproxZCDP),
        ((RDP(3, 1), RDP(2, 1)), RDP.at(2)),
        ((RenyiCurve((2, 3, 8), (1, 1, 1)), ZCDP(1), PureDP(1)), RDP.at(2, 3, 8)),
        ((RenyiCurve((2, 3, 8), (1, 1, 1)), RDP(4, 1)), RDP.at(2, 3)),
    ],
)
def test_mixed_measures_have_a_common_measure(losses: Any, measure: Any) -> None:
    """It is the first measure to which theorems convert all of them."""
    assert common_measure(maps(*losses)) == measure


def test_some_measures_have_no_common_measure() -> None:
    """Curves of different orders have no common measure here."""
    with pytest.raises(PrivacyClaimError, match="no measure"):
        common_measure(maps(RenyiCurve((2,), (1,)), RenyiCurve((3,), (1,))))
