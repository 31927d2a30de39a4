"""The demo runs, is refused once, continues, and its account adds up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def story() -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", "notebooks/demo.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_is_refused_once_and_shows_the_amounts(story: str) -> None:
    assert story.count("is refused: insufficient budget") == 1
    refusal = story.split("is refused")[1].split("The analysis continues", maxsplit=1)[0]
    assert "requested  ZCDP(rho=0.01)" in refusal
    assert "spent      ZCDP(rho=0.002)" in refusal
    assert "remaining  ZCDP(rho=0.006)" in refusal


def test_continues_after_the_refusal(story: str) -> None:
    after = story.split("The analysis continues")[1].split("6. Summary", maxsplit=1)[0]
    assert "[sparse vector]" in after
    assert "[colleague]" in after
    assert "The colleague has used ZCDP(rho=0.008), all of it." in after


def test_takes_turns(story: str) -> None:
    """The sparse vector is asked before, between and after questions to the nested filter."""
    turns = [line for line in story.splitlines() if line.endswith("]")]
    askers = [line.rpartition("[")[2] for line in turns]
    changes = [asker for asker, last in zip(askers, ["", *askers], strict=False) if asker != last]
    assert changes.count("sparse vector]") >= 3
    assert changes.count("colleague]") == 2


def test_the_account_adds_up(story: str) -> None:
    assert story.rstrip().endswith("Do the table's payments add up to it exactly? Yes.")


def test_answers_are_near_what_was_published(story: str) -> None:
    """Angrist and Evans's table has 31,857 mothers; the noise of that count has scale 32."""
    line = next(line for line in story.splitlines() if line.startswith("  mothers: "))
    assert abs(int(line.split()[1].replace(",", "")) - 31_857) < 10 * 32
