"""`tests.slowly`: what fails among others runs again alone, and what begins too late is listed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = """
from pathlib import Path
import pytest
import tests.slowly

pytestmark = pytest.mark.slow

def test_passes():
    pass

@pytest.mark.parametrize("text", ["a::b [c] line\\nline '"])
def test_fails_among_others(text):
    tried = Path(__file__).with_name("tried")
    first = not tried.exists()
    tried.touch()
    assert not first

def test_is_not_there():
    pytest.skip("no such thing")

@pytest.fixture
def fails_at_its_end():
    yield
    assert FINE

def test_passes_with_a_fixture(fails_at_its_end):
    pass

def test_after_which_the_time_is_over():
    tests.slowly.time = lambda: float("inf")

@pytest.fixture
def asked_for():
    raise ValueError

def test_begins_too_late(asked_for):
    raise ValueError
"""
ALONE = r"test_fails_among_others[a::b [c] line\nline ']"


def ran(folder: Path, cases: str, *arguments: str) -> tuple[int, list[str]]:
    """The status of a run over a file with these tests, and the lines that it printed last."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow: a slow test\n")
    (folder / "test_cases.py").write_text(cases)
    done = subprocess.run(
        [sys.executable, "-m", "tests.slowly", "-n", "1", *arguments],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return done.returncode, lines


def below(lines: list[str], heading: str) -> str:
    """The name of the first test that is listed below a heading."""
    return lines[lines.index(heading) + 1].removeprefix("test_cases.py::")


@pytest.mark.slow
def test_what_fails_runs_again_and_what_is_late_does_not(tmp_path: Path) -> None:
    status, lines = ran(tmp_path, CASES.replace("FINE", "False"))
    assert status == 1
    assert lines[-1] == "3 passed, 1 failed, 1 skipped, 1 not reached"
    assert below(lines, "failed among others, and passed alone:") == ALONE
    assert below(lines, "not reached in 50 minutes:") == "test_begins_too_late"
    assert below(lines, "failed twice, or could not run again:") == "test_passes_with_a_fixture"
    assert any("SKIPPED" in line and "no such thing" in line for line in lines)


@pytest.mark.slow
def test_only_what_failed_twice_is_a_failure(tmp_path: Path) -> None:
    status, lines = ran(tmp_path, CASES.replace("FINE", "True"))
    assert (status, lines[-1]) == (0, "4 passed, 0 failed, 1 skipped, 1 not reached")


@pytest.mark.slow
def test_a_test_without_end_is_stopped(tmp_path: Path) -> None:
    cases = "import pytest, time\n@pytest.mark.slow\n@pytest.mark.parametrize('n', range(3))\n"
    cases += "def test_sleeps(n): time.sleep(1000 * n)\n"
    status, lines = ran(tmp_path, cases, "--minutes", str(-5 + 10 / 60))
    assert status == 0
    assert lines[-1] in {f"{n} passed, 0 failed, 0 skipped, {3 - n} not reached" for n in (0, 1)}


@pytest.mark.slow
def test_what_cannot_be_collected_is_a_failure(tmp_path: Path) -> None:
    status, lines = ran(tmp_path, "import nothing_of_this_name\n")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed, 0 skipped, 0 not reached")
