"""The odometer over Renyi losses."""

from fractions import Fraction

import pytest

from composition import RenyiOdometer
from queryable import RDP, ZCDP
from tests.reference import mp


def test_renyi_of_one_order_is_a_line() -> None:
    """With zCDP children the bound is alpha*rho + log(1/delta)/(alpha - 1)."""
    odometer = RenyiOdometer("0.01", [3])
    rise = odometer.bound([ZCDP("0.2")]) - odometer.bound([ZCDP("0.1")])
    assert rise == 3 * Fraction(1, 10)
    assert float(odometer.bound([ZCDP("0.1")])) == pytest.approx(0.3 + float(mp.log(100)) / 2)


def test_renyi_accepts_children_known_at_one_order() -> None:
    """The child is charged at that order."""
    odometer = RenyiOdometer("0.01", [8])
    assert odometer.measure == RDP.at(8)
    assert float(odometer.bound([RDP(8, "0.5")])) == pytest.approx(0.5 + float(mp.log(100)) / 7)
