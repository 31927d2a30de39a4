"""kill -9 of a process in the middle of its analysis, on SQLite."""

import multiprocessing
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from queryable import ZCDP
from tests.curator import analyst

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def heard_until_killed(
    context: Any, ledger: Path, answers: int, seconds: float
) -> list[tuple[int, str]]:
    """Run the analysis, kill it so long after so many answers, and return what it said."""
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=analyst.run, args=(str(ledger), its), daemon=True)
    process.start()
    its.close()
    heard = []
    try:
        while len(heard) < answers:
            heard.append(mine.recv())
        process.join(seconds)
        process.kill()
        while True:
            heard.append(mine.recv())
    except EOFError:
        return heard
    finally:
        process.kill()
        process.join()


def survives(folder: Path, cycles: int, seed: int) -> int:
    """Kill an analysis so often. No answer is lost or changed, and the loss covers all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.curator.analyst"])
    ledger, chance = folder / "visits.db", random.Random(seed)
    heard: dict[int, str] = {}
    for _ in range(cycles):
        more, seconds = chance.randint(0, 3), chance.uniform(0, 0.02)
        for place, text in heard_until_killed(context, ledger, len(heard) + more, seconds):
            assert heard.setdefault(place, text) == text, "an answer has changed"
    table = analyst.opened(str(ledger))
    kept = analyst.answers(table)
    assert [place for place, text in heard.items() if kept[place : place + 1] != [text]] == []
    charged = sum(text.startswith('[[],{"@":"launch/1"') for text in heard.values())
    assert ZCDP(Fraction(charged - 2, 50)) <= table.privacy_loss()
    return len(heard)


def test_twenty_kills(tmp_path: Path) -> None:
    assert survives(tmp_path, 20, 1) > 20


@pytest.mark.slow
def test_fifty_kills(tmp_path: Path) -> None:
    assert survives(tmp_path, 50, 2) > 50


@pytest.mark.long
def test_a_thousand_kills(tmp_path: Path) -> None:
    assert survives(tmp_path, 1000, 3) > 1000
