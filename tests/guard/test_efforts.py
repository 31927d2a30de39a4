"""No admitted message costs a served curator more than 2 s, or 100 times its bytes of the ledger.

What is admitted is decided by estimates, so they are compared with what is measured. The estimate
of steps is of microseconds, and a machine may be four times as slow here.
"""

import pytest

from tests.guard.efforts import worst


def check(count: int) -> None:
    costs, refused = worst(count)
    assert refused > 100
    assert len(costs) > count
    for each in costs:
        assert each.growth <= 100, each
        assert each.seconds <= 8, each


@pytest.mark.slow
def test_messages_near_the_limits_are_within_them() -> None:
    check(8)


@pytest.mark.long
def test_many_messages_are_within_the_limits() -> None:
    check(150)
