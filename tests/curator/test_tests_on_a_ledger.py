"""The tests of handles and laws run on ledgers, with the views of memory: `tests/on_ledger.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT, LAWS = "tests/unit/queryable", "tests/laws"
QUICK = (f"{UNIT}/test_handle.py", f"{UNIT}/test_receipts.py")
HANDLES = (
    *(
        f"{UNIT}/{name}"
        for name in ("display", "running", "checks/test_datasets.py", "verbs/test_several.py")
    ),
    *(f"{UNIT}/test_{name}.py" for name in ("handle", "postprocessing", "receipts", "view")),
)
TOGETHER = {
    "the handle": HANDLES,
    "hostile values": (f"{LAWS}/test_hostile_values.py",),
    "nested trees": (f"{LAWS}/test_state_machine.py",),
}


def run_on(ledger: str, *arguments: str) -> None:
    """Run tests on ledgers. Those that are listed have to fail, and all others to pass."""
    options = ("-q", "-p", "no:cacheprovider", "-p", "tests.on_ledger", f"--ledger={ledger}")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]


@pytest.mark.slow  # `test_same_views.py` compares ledgers with memory in the quick suite
def test_the_handle_on_a_ledger() -> None:
    run_on("memory", *QUICK)


@pytest.mark.long
@pytest.mark.parametrize("ledger", ["memory", "sqlite"])
@pytest.mark.parametrize("part", TOGETHER)
def test_handles_and_laws_on_a_ledger(part: str, ledger: str) -> None:
    run_on(ledger, *TOGETHER[part])


@pytest.mark.long
def test_costs_do_not_grow_on_a_ledger() -> None:
    run_on("memory", "-m", "", f"{LAWS}/test_cost.py")
