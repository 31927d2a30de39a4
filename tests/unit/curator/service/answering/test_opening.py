"""What a worker does before its data set is ready."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from curator.keys import make_key
from curator.ledgers import LedgerError, SQLiteLedger
from curator.logs.batch_files import BatchFolder
from curator.service.answering.opening import configured
from curator.settings.configuration import read_configuration
from curator.wire.feeds import Feeding
from mechanisms import Table

STATED = """
ledger = "l.db"
key = "noise.key"
[datasets.visits]
source = "visits.csv"
privacy_unit = "patient"
max_rows = 2
budget = { zcdp = "1/10" }
"""


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tables whose rows were chosen."""
    make_key(tmp_path / "noise.key")
    SQLiteLedger(tmp_path / "l.db").close()
    (tmp_path / "visits.csv").write_text("patient,age\n" + "1,31\n" * 9)
    found: list[Any] = []

    def choose(table: Table) -> None:
        found.append(table)

    monkeypatch.setattr(Table, "choose_rows", choose)
    return found


@pytest.mark.parametrize(
    ("line", "count"),
    [("", 1), ('choose_rows = "at opening"', 1), ('choose_rows = "at the first question"', 0)],
)
def test_rows_are_chosen_at_opening(
    tmp_path: Path, chosen: list[Any], line: str, count: int
) -> None:
    """Before the data set is ready, so in the time of no question; unless the owner says so."""
    (tmp_path / "c.toml").write_text(STATED + line)
    configured(str(tmp_path / "c.toml"), "visits").close()
    assert len(chosen) == count


def test_rows_that_cannot_be_chosen_are_told_to_the_owner_only(
    tmp_path: Path,
    chosen: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The data set is ready all the same, so this shows to nobody else."""
    (tmp_path / "c.toml").write_text(STATED)

    def choose(_: Table) -> None:
        raise TimeoutError("too many rows")

    monkeypatch.setattr(Table, "choose_rows", choose)
    with caplog.at_level(logging.ERROR):
        opened = configured(str(tmp_path / "c.toml"), "visits")
    assert opened.service.describe(()).status == 200
    opened.close()
    assert "too many rows" in caplog.text


def test_rows_are_chosen_among_all_batches(tmp_path: Path, chosen: list[Any]) -> None:
    """At opening, with the seed of the root, so that no question has to choose."""
    (tmp_path / "c.toml").write_text(f'{STATED}batches = "b"\n')
    BatchFolder(tmp_path / "b").copy(tmp_path / "visits.csv", "x")
    order = Feeding("x", "null", close=False).written()
    for again in (False, True):
        opened = configured(str(tmp_path / "c.toml"), "visits")
        assert json.loads(opened.service.feed(order).body)["again"] is again
        opened.close()
    assert len({each.seed for each in chosen}) == 1
    assert [each.as_opened for each in chosen] == [True, False]
    with pytest.raises(LedgerError, match="updates"):
        read_configuration(tmp_path / "c.toml").open("visits", updates=())
