"""The better of two bounds, measure by measure."""

from fractions import Fraction
from typing import Any

import pytest

from mechanisms.privacy_maps import with_zcdp
from queryable import FDP, GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP

SMALL, LARGE = Fraction(1, 100), Fraction(100)


@pytest.mark.parametrize("measure", [ZCDP, ApproxZCDP, RDP.at(3)])
def test_the_smaller_is_stated(measure: Any) -> None:
    """Whichever it is."""
    converted = PureDP(1).to(measure)
    assert with_zcdp(converted, lambda: LARGE, measure) == converted
    assert with_zcdp(converted, lambda: SMALL, measure) == ZCDP(SMALL).to(measure) <= converted


def test_curves_are_compared_order_by_order() -> None:
    """Concentrated noise is better at low orders, pure privacy at high ones."""
    orders = RDP.at(2, 64)
    told: Any = with_zcdp(PureDP(1).to(orders), lambda: Fraction(1, 8), orders)
    assert told.epsilons[0] == Fraction(1, 4)
    assert told.to(RDP.at(64)) == PureDP(1).to(RDP.at(64))


@pytest.mark.parametrize("measure", [None, PureDP, ApproxDP, GDP, FDP])
def test_elsewhere_it_is_not_even_computed(measure: Any) -> None:
    """A concentrated bound says nothing there."""

    def never() -> Fraction:
        raise AssertionError

    converted = PureDP(1) if measure is None else PureDP(1).to(measure)
    assert with_zcdp(converted, never, measure) is converted
