import os
import sqlite3
import tempfile
from pathlib import Path

import pytest

from curator.ledgers import (
    BrokenChainError,
    Event,
    LedgerError,
    LedgerFullError,
    SQLiteLedger,
    chained,
    following,
    sqlite,
)


def filled(path: Path, count: int = 5) -> list[Event]:
    """A closed ledger with some events."""
    ledger = SQLiteLedger(path)
    epoch, events = ledger.lease("visits", "one", 60), list[Event]()
    for number in range(count):
        body = f'{{"number":{number},"text":"{chr(65 + number % 26) * 40}"}}'
        events.append(following(events[-1] if events else None, "visits", epoch, "intent", body))
    ledger.append("visits", events)
    ledger.close()
    return events


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE events SET body = '' WHERE seq = 2", "cannot be changed"),
        ("DELETE FROM events WHERE seq = 5", "cannot be deleted"),
        (
            "REPLACE INTO events SELECT root, seq, epoch, kind, '', hash FROM events",
            "cannot be changed",
        ),
        (
            (
                "INSERT OR REPLACE INTO events (rowid, root, seq, epoch, kind, body, hash) "
                "SELECT 1, 'visits', 6, 1, kind, body, hash FROM events WHERE seq = 1"
            ),
            "cannot be changed",
        ),
        ("REPLACE INTO leases VALUES ('visits', 1, 'other', 0, 0)", "epochs only grow"),
        ("UPDATE leases SET epoch = epoch - 1", "epochs only grow|CHECK"),
        ("DELETE FROM leases", "cannot be deleted"),
        ("INSERT INTO events VALUES ('a', 0, 1, 'intent', '', 'x')", "CHECK"),
        ("INSERT INTO events VALUES ('a', 'one', 1, 'intent', '', 'x')", "cannot store TEXT"),
    ],
)
def test_statements_of_other_programs_change_nothing(
    tmp_path: Path, statement: str, told: str
) -> None:
    events = filled(tmp_path / "ledger.db")
    other = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError, match=told):
        other.execute(statement)
    other.close()
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    assert list(ledger.read("visits")) == events
    ledger.close()


def test_the_file_is_in_the_safe_mode(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    assert ledger._one("PRAGMA journal_mode") == ("wal",)
    assert ledger._one("PRAGMA synchronous") == (2,)
    assert ledger._one("SELECT count(*) FROM pragma_table_list WHERE strict") == (2,)
    ledger.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (name)")
    connection.close()


def of_version(number: int, path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (foreign, "is a database of another program, not a ledger"),
        (lambda path: of_version(2, path), "has schema version 2; this curator reads version 1"),
        (lambda path: of_version(0, path), "has schema version 0"),
        (lambda path: path.write_text("age,name\n" * 100), "not an SQLite database"),
        (lambda path: path.mkdir(), "cannot be opened for writing"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path: Path, make, told: str) -> None:
    path = tmp_path / "ledger.db"
    make(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(LedgerError, match=told):
        SQLiteLedger(path)
    assert (path.is_file() and path.read_bytes()) == before


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_may_not_be_written(exists: bool) -> None:
    """Root may write everywhere, so the test is another user for a moment."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name) / "folder"
        folder.mkdir()
        if exists:
            filled(folder / "ledger.db")
            (folder / "ledger.db").chmod(0o444)
        Path(name).chmod(0o755)
        folder.chmod(0o555)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            with pytest.raises(LedgerError, match="cannot be opened for writing"):
                SQLiteLedger(folder / "ledger.db")
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_little_room_refuses_intents_and_keeps_answers(tmp_path: Path) -> None:
    """An intent is refused before data are read; the answer of an earlier one is stored."""
    free = 1 << 30
    ledger = SQLiteLedger(tmp_path / "ledger.db", free=lambda _: free)
    epoch = ledger.lease("visits", "one", 60)
    first = following(None, "visits", epoch, "intent", "{}")
    ledger.append("visits", [first])
    free = 1 << 20
    with pytest.raises(LedgerFullError, match="less than 16 MB are free"):
        ledger.append("visits", [following(first, "visits", epoch, "intent", "{}")])
    ledger.append("visits", [following(first, "visits", epoch, "answer", "{}")])
    assert len(list(ledger.read("visits"))) == 2
    ledger.close()


def test_a_clock_that_was_set_back_does_not_prolong_a_lease(tmp_path: Path) -> None:
    now = 1000.0
    ledger = SQLiteLedger(tmp_path / "ledger.db", clock=lambda: now)
    ledger.lease("visits", "one", 60)
    now = 10.0
    assert ledger.lease("visits", "two", 60) == 2
    ledger.close()


def test_a_writer_that_never_ends_is_named(tmp_path: Path) -> None:
    """A second curator is refused within a second, even while another process writes."""
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="another process is writing"):
        ledger.lease("visits", "one", 60)
    assert ledger._one("PRAGMA busy_timeout")[0] < 1000  # milliseconds
    other.execute("ROLLBACK")
    other.close()
    assert ledger.lease("visits", "one", 60) == 1
    ledger.close()


def test_a_truncated_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    events = filled(path, 200)
    whole = path.read_bytes()
    for size in range(4096, len(whole), 4096):
        path.write_bytes(whole[:size])
        with pytest.raises(LedgerError):
            _read_all(path, events)


def _read_all(path: Path, events: list[Event]) -> None:
    ledger = SQLiteLedger(path)
    try:
        ledger.check()
        assert list(chained(ledger.read("visits"))) == events
    finally:
        ledger.close()


def test_an_index_that_differs_from_its_table_is_found(tmp_path: Path) -> None:
    """Each copy of a root's name in the file is changed in turn. Reading does not find all."""
    path = tmp_path / "ledger.db"
    filled(path, 3)
    whole = path.read_bytes()
    places = [place for place in range(len(whole)) if whole.startswith(b"visits", place)]
    assert len(places) == 8  # three events and a lease, and the index of each
    for place in places:
        path.write_bytes(whole[:place] + b"w" + whole[place + 1 :])
        ledger = SQLiteLedger(path)
        with pytest.raises(BrokenChainError, match="is damaged"):
            ledger.check()
        ledger.close()


def test_the_log_is_written_from_its_beginning_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was copied, so that it does not grow with the ledger."""
    monkeypatch.setattr(sqlite, "_CHECKPOINT", 10)
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    epoch, event, sizes = ledger.lease("visits", "one", 60), None, list[int]()
    for _ in range(100):
        event = following(event, "visits", epoch, "intent", "x" * 600)
        ledger.append("visits", [event])
        sizes.append((tmp_path / "ledger.db-wal").stat().st_size)
    ledger.close()
    assert max(sizes[20:]) <= max(sizes[:20]) * 1.5


@pytest.mark.parametrize("lost", ["ledger.db", "ledger.db-wal"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_or_replaced_ends_the_process(
    tmp_path: Path, lost: str, replaced: bool
) -> None:
    """SQLite goes on with the file that is gone, and a later process reads nothing of it."""
    reasons: list[str] = []
    ledger = SQLiteLedger(tmp_path / "ledger.db", end=reasons.append)
    epoch = ledger.lease("visits", "one", 60)
    first = following(None, "visits", epoch, "intent", "{}")
    ledger.append("visits", [first])
    copy = (tmp_path / lost).read_bytes()
    (tmp_path / lost).rename(tmp_path / "elsewhere")
    if replaced:
        (tmp_path / lost).write_bytes(copy)
    with pytest.raises(LedgerError):
        ledger.append("visits", [following(first, "visits", epoch, "intent", "{}")])
    [reason] = reasons
    assert "was deleted or replaced" in reason
    with pytest.raises(LedgerError):
        list(ledger.read("visits"))


def test_a_ledger_that_is_not_there_is_made_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        SQLiteLedger(tmp_path / "ledger.db", make=False)
    assert list(tmp_path.iterdir()) == []
    filled(tmp_path / "ledger.db")
    SQLiteLedger(tmp_path / "ledger.db", make=False).close()
