"""What all tests run under."""

import pytest


def test_the_number_of_threads_is_limited_before_numpy_is_loaded(
    pytestconfig: pytest.Config,
) -> None:
    """Otherwise a run in one process takes ten times as long beside others."""
    plugins = pytestconfig.pluginmanager.get_plugins()
    late = {each.IS_LATE for each in plugins if hasattr(each, "IS_LATE")}
    assert late == {False}
