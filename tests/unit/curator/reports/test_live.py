"""A review is made while a curator serves: of one moment, and without disturbing anybody."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curator import commands
from curator.access import ROOT as ACCESS
from curator.access import access_of
from curator.ledgers import Event, SQLiteLedger
from curator.owner import orders
from curator.reports.facts import snapshot_of
from curator.reports.reviewing import document_of
from curator.reports.snapshot import LedgerSnapshot
from curator.settings.configuration import read_configuration
from queryable import ZCDP
from tests.curator.serving import served, written
from tests.reporting import NOW, clinic, key_file


def leases(folder: Path) -> list[Any]:
    with sqlite3.connect(f"file:{folder / 'ledger.db'}?mode=ro", uri=True) as ledger:
        return ledger.execute("SELECT root, epoch, holder FROM leases ORDER BY root").fetchall()


def test_a_review_writes_nothing(tmp_path: Path) -> None:
    stated = clinic(tmp_path / "clinic", rows=20)
    before = {each: each.read_bytes() for each in stated.parent.iterdir() if each.is_file()}
    held = leases(stated.parent)
    assert commands.report(str(stated)).startswith("# Review")
    assert {each: each.read_bytes() for each in stated.parent.iterdir() if each.is_file()} == before
    assert leases(stated.parent) == held


class Growing:
    """A ledger in which a grant is given between the reading of two roots."""

    def __init__(self, ledger: SQLiteLedger, stated: Path) -> None:
        self._ledger, self._stated, self._given = ledger, stated, False

    def roots(self) -> tuple[str, ...]:
        return self._ledger.roots()

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        yield from self._ledger.read(root, after)
        if not self._given:
            self._given = True
            orders.grant(self._stated, "visits", "ada", zcdp="1/1000")


def test_a_grant_that_is_given_meanwhile_has_its_launch(tmp_path: Path) -> None:
    """Whatever is read first: each grant that the review knows has an account in it."""
    stated = clinic(tmp_path / "clinic", rows=20)
    with_grant = Growing(SQLiteLedger(stated.parent / "ledger.db"), stated)
    snapshot = LedgerSnapshot.of(with_grant)  # type: ignore[arg-type]
    known = {g.child for g in access_of(snapshot.read(ACCESS)).analysts["ada"].on("visits")}
    launched = {
        event.seq for event in snapshot.read("visits") if '\\"@\\":\\"filt-con/1\\"' in event.body
    }
    assert known == {0, 1}
    assert len(launched) >= len(known) + 2  # the root, the two, and the one that came meanwhile


@pytest.mark.slow
def test_a_curator_that_serves_is_not_disturbed(tmp_path: Path) -> None:
    """Questions are answered all the while, leases stay, and every review holds later."""
    stated = written(tmp_path / "clinic")
    key = key_file(tmp_path)
    made: list[Path] = []
    failed: list[BaseException] = []
    with served(stated) as running:
        token = orders.add_analyst(stated, "ada")
        orders.grant(stated, "visits", "ada", zcdp="1/20")
        held = leases(stated.parent)

        def review() -> None:
            try:
                for number in range(8):
                    out = tmp_path / f"review{number}.html"
                    commands.report(str(stated), out=str(out), sign=str(key))
                    made.append(out)
            except BaseException as error:  # it is shown below
                failed.append(error)

        reviewing = threading.Thread(target=review)
        connection = running.connect(token)
        table = connection["visits"]
        about = connection.about("visits")
        assert about
        reviewing.start()
        answers = 0
        while reviewing.is_alive() or answers < 5:
            table.release(connection.table("visits").count(), loss=ZCDP("1/10000"))
            answers += 1
        reviewing.join()
        assert failed == []
        assert answers >= 5
        assert [row for row in leases(stated.parent) if row[0] != ACCESS] == [
            row for row in held if row[0] != ACCESS
        ]
        assert running.health()["well"]
        for each in made:
            assert "visits: the ledger has event" in commands.report(str(stated), check=str(each))
        last = document_of(read_configuration(stated), NOW)
        assert last["facts"]["data_sets"]["visits"]["messages"] >= answers
        assert running.stop() == 0
    assert "visits" in snapshot_of(read_configuration(stated)).heads()
