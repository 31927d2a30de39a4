"""Renyi privacy: the order across orders, and how measures are named."""

from queryable import RDP


def test_a_higher_order_implies_a_lower_one() -> None:
    """(alpha, r) <= (alpha', r') if and only if alpha >= alpha' and r <= r'."""
    assert RDP(8, 1) <= RDP(4, 1)
    assert not RDP(4, 1) <= RDP(8, 1)
    assert not RDP(8, 2) <= RDP(4, 1)
    assert RDP(8, 1) <= RDP(8, 1)
