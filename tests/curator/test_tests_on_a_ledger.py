"""The tests of handles and laws run on ledgers and behind a socket, with the views of memory.

See `tests/on_ledger.py` and `tests/on_socket.py`.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests import not_on_ledger, not_on_socket

ROOT = Path(__file__).parents[2]
UNIT, LAWS = "tests/unit/queryable", "tests/laws"
QUICK = (f"{UNIT}/test_handle.py", f"{UNIT}/test_receipts.py")
HANDLES = (
    *(f"{UNIT}/{name}" for name in ("display", "running", "checks")),
    *(f"{UNIT}/verbs/test_{name}.py" for name in ("several", "releasing")),
    *(f"{UNIT}/test_{name}.py" for name in ("handle", "postprocessing", "receipts", "view")),
)
TOGETHER = {
    "the handle": HANDLES,
    "hostile values": (f"{LAWS}/test_hostile_values.py",),
    "nested trees": (f"{LAWS}/test_state_machine.py",),
}


def run(*arguments: str) -> None:
    """Run tests elsewhere. Those that are listed have to fail, and all others to pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]


def run_on(ledger: str, *arguments: str) -> None:
    run("tests.on_ledger", f"--ledger={ledger}", *arguments)


def gone(names: Iterable[str]) -> list[str]:
    """Those that name no test: its file, class or function is not there. No parameter is read."""
    return [name for name in names if not _is_there(name.partition("[")[0])]


def _is_there(name: str) -> bool:
    file, *inside = name.split("::")
    module = file.removesuffix(".py").replace("/", ".")
    try:
        return callable(resolve_name(f"{module}:{'.'.join(inside)}"))
    except (ImportError, AttributeError):
        return False


def test_what_is_listed_is_there() -> None:
    """A test that moves takes its entry along."""
    assert gone({**not_on_ledger.REASONS, **not_on_socket.REASONS}) == []
    moved = [f"{UNIT}/test_view.py::test_that_has_moved", f"{UNIT}/test_moved.py::test_of_it[1]"]
    assert gone(moved) == moved


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


@pytest.mark.slow  # `test_served_views.py` compares views with all receipts in the quick suite
def test_receipts_on_a_socket() -> None:
    run("tests.on_socket", f"{UNIT}/test_receipts.py")


@pytest.mark.long
@pytest.mark.parametrize("part", TOGETHER)
def test_handles_and_laws_on_a_socket(part: str) -> None:
    run("tests.on_socket", *TOGETHER[part])
