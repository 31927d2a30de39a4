"""What all tests run under."""

import os
import ssl

import pytest

from tests.own_coins import OwnCoins


def test_the_number_of_threads_is_limited_before_numpy_is_loaded(
    pytestconfig: pytest.Config,
) -> None:
    """Otherwise a run in one process takes ten times as long beside others."""
    plugins = pytestconfig.pluginmanager.get_plugins()
    late = {each.IS_LATE for each in plugins if hasattr(each, "IS_LATE")}
    assert late == {False}


def test_the_coins_of_a_test_are_the_same_in_each_run_in_ci(request: pytest.FixtureRequest) -> None:
    """A test that fails by chance would fail for another change than its own."""
    assert isinstance(getattr(ssl.RAND_bytes, "__self__", None), OwnCoins) == bool(
        os.environ.get("CI")
    )
    drawn = []
    for _ in range(2):
        coins = OwnCoins()
        before = coins._bytes(8)
        coins.pytest_runtest_call(request.node)
        drawn.append(coins._bytes(8))
        assert before != drawn[-1]
    assert drawn[0] == drawn[1]
