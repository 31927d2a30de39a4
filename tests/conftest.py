"""Settings that every test runs under."""

import gc
import os
import signal
import sys

# Before numpy is loaded. Workers side by side wait for each other's threads otherwise: products of
# small matrices took up to 40 times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Sequence

import pytest
from hypothesis import settings

IS_LATE = "numpy" in sys.modules  # it has started its threads then

# No deadline: a shared machine may pause for longer than any example takes. In CI the examples are
# derived from the test itself, so that a change is judged by the change alone.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


# A shell starts what runs in its background with interrupts ignored, and all that this starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Ignore warnings of ours, and derive the coins of a test from the test in CI.

    pytest imports the classes that pyproject.toml names before it reads this file, and with them
    numpy, which then has as many threads as it likes.
    """
    for line in (
        "ignore:these data, or a part of them:queryable.PrivacyWarning",  # they share small tables
        "ignore::queryable.errors.AccuracyWarning",  # of small tables, and of much noise
        "ignore::queryable.errors.MisreadWarning",  # many open data that cannot be read
    ):
        config.addinivalue_line("filterwarnings", line)
    if os.environ.get("CI"):
        from tests.own_coins import OwnCoins  # it loads numpy

        config.pluginmanager.register(OwnCoins())


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Require names that are the same in every process, as `pytest -n` does.

    Raises:
        UsageError: a name has an address.
    """
    if moving := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these tests ids of their own: {moving}")


def pytest_collection_finish() -> None:
    """Keep the tests themselves, a million objects, out of every later garbage collection."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Give them back, and let go of Ibis's own database: DuckDB tells of what lives longer."""
    gc.unfreeze()
    if "ibis" in sys.modules:
        sys.modules["ibis"].options.default_backend = None
