"""The tests of handles and laws run behind a socket: see `tests/on_socket.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.curator.test_tests_on_a_ledger import TOGETHER

ROOT = Path(__file__).parents[2]


def run_on_a_socket(*arguments: str) -> None:
    """Run tests behind sockets. Those that are listed have to fail, and all others to pass."""
    options = ("-q", "-p", "no:cacheprovider", "-p", "tests.on_socket")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]


@pytest.mark.slow  # `test_served_views.py` compares views with all receipts in the quick suite
def test_receipts_on_a_socket() -> None:
    run_on_a_socket("tests/unit/queryable/test_receipts.py")


@pytest.mark.long
@pytest.mark.parametrize("part", TOGETHER)
def test_handles_and_laws_on_a_socket(part: str) -> None:
    run_on_a_socket(*TOGETHER[part])
