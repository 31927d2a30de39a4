"""A database that an earlier version of the package wrote: it replays, and goes on."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.verify import verify
from mechanisms import Count, SparseVector, column
from mechanisms.earlier import EarlierSparseVector
from queryable import ZCDP, QueryError
from tests.stored import KEY

STORED = (Path(__file__).parent / "earlier_sparse_vector.sql").read_text("utf-8")
"""Written by the last version before `SparseVector` got less noise, with `sqlite3`'s `iterdump`.

A sparse vector of cutoff 7 is asked 8 counts one by one, and then 6 in one message.
"""

ROWS = {"age": [*range(60)]}
BUDGET = FiltCon(ZCDP(5))
SINGLE = [Count(column("age") > age) for age in (50, 40, 10, 36, 30, 45, 20, 41)]
TOGETHER = [Count(column("age") > age) for age in (39, 37, 35, 33, 31, 29)]
INSERTED = re.compile(r'^INSERT INTO "events" VALUES\(\'a\',(\d+),.*\n', flags=re.MULTILINE)


def restored(folder: Path, events: int | None = None) -> Path:
    """A file with the stored database, or with its first events only."""
    script = STORED
    if events is not None:
        script = INSERTED.sub(lambda each: each[0] if int(each[1]) <= events else "", script)
    place = folder / "ledger.db"
    with sqlite3.connect(place) as connection:
        connection.executescript(script)
    return place


def opened(place: Path) -> Any:
    return curator.open(place, BUDGET, ROWS, name="a", key=KEY)


def answers(handle: Any) -> list[Any]:
    return [exchange.answer for exchange in handle.children[0].view]


def test_an_old_sparse_vector_replays_to_the_same_answers(tmp_path: Path) -> None:
    place = restored(tmp_path)
    found = curator.replay(place, BUDGET, ROWS, name="a", key=KEY)
    assert found.difference is None, found
    assert found.messages == 1 + len(SINGLE) + 1


def test_it_goes_on_with_the_noise_that_it_had(tmp_path: Path) -> None:
    """Cut off after the third question, it gives the answers that the old version gave."""
    (tmp_path / "whole").mkdir()
    whole = opened(restored(tmp_path / "whole"))
    assert {True, False} <= {*answers(whole)[: len(SINGLE)]}
    events = 2 + 2 * (1 + 3)  # the opening, the launch and three questions, each with its answer
    root = opened(restored(tmp_path, events))
    assert answers(root) == answers(whole)[:3]
    above = root.children[0]
    assert [above(each) for each in SINGLE[3:]] == answers(whole)[3 : len(SINGLE)]
    assert [*above.ask_many(TOGETHER)] == answers(whole)[len(SINGLE) :]
    for handle in (root, whole):
        curator.release(handle)


def test_its_charge_stays_and_its_name_is_taken(tmp_path: Path) -> None:
    """Today's sparse vector is another mechanism: under that name it is refused, for nothing."""
    place = restored(tmp_path)
    root = opened(place)
    before = root.privacy_loss()
    mechanism = SparseVector(20, epsilon=4, cutoff=7, sensitivity=2)
    with pytest.raises(QueryError, match="'search' belongs to another mechanism"):
        root.launch(mechanism, name="search")
    assert root.privacy_loss() == before
    root.launch(SparseVector(20, epsilon=1), name="new")
    curator.release(root)
    text = "".join(event.body for event in curator.SQLiteLedger(place).read("a"))
    assert [text.count(f"sparse-vector/{version}") for version in (1, 2)] == [1, 1]


def test_it_is_verified_without_data_and_key(tmp_path: Path) -> None:
    ledger = curator.SQLiteLedger(restored(tmp_path))
    found = verify(ledger.read("a"))
    ledger.close()
    assert not found.unchecked, found


def test_todays_noise_gives_other_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would see no difference."""
    monkeypatch.setattr(EarlierSparseVector, "_query_noise", lambda self, _: self.noises[1])
    found = curator.replay(restored(tmp_path), BUDGET, ROWS, name="a", key=KEY)
    assert found.difference is not None
    assert found.difference.what == "answer"
