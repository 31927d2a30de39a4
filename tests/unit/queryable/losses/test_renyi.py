"""Renyi privacy: the order across orders, and how measures are named."""

import pytest

from queryable import RDP, PureDP
from queryable.losses import RenyiCurve, as_measure


def test_a_higher_order_implies_a_lower_one() -> None:
    """(alpha, r) <= (alpha', r') if and only if alpha >= alpha' and r <= r'."""
    assert RDP(8, 1) <= RDP(4, 1)
    assert not RDP(4, 1) <= RDP(8, 1)
    assert not RDP(8, 2) <= RDP(4, 1)
    assert RDP(8, 1) <= RDP(8, 1)


def test_bare_rdp_is_not_a_measure() -> None:
    """RDP needs an order, and the message shows how to name one."""
    with pytest.raises(ValueError, match=r"RDP\.at\(8\)"):
        as_measure(RDP)
    with pytest.raises(ValueError, match="above 1"):
        RDP.at(1)


@pytest.mark.parametrize("family", [RDP, RenyiCurve])
def test_a_family_of_losses_is_not_a_measure(family: type) -> None:
    """The class alone names no order, and the error shows how to name one."""
    with pytest.raises(ValueError, match=r"family of measures.*RDP\.at\("):
        PureDP(1).to(family)
