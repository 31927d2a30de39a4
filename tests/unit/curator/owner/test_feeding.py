"""The command `curator feed`: how long an order is sent, and what is said if no reply comes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curator import commands
from curator.ledgers import LeaseError
from curator.owner import feeding
from curator.owner.feeding import feed
from curator.owner.orders import BusyError, LostReplyError, OrderError, RefusedError

STATED = """
ledger = "ledger.db"
key = "noise.key"
[datasets.visits]
source = "visits.csv"
budget = { zcdp = "1/10" }
batches = "batches"
"""
FED = {"again": False, "batch": 1, "findings": ["age: 1 cells"]}
BUSY, LOST = BusyError("being opened"), LostReplyError("it has ended")
LEASED = LeaseError("another process has it")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    commands.init(tmp_path / "clinic")
    (tmp_path / "clinic" / "curator.toml").write_text(STATED)
    (tmp_path / "clinic" / "new.csv").write_text("age\n1\n")
    return tmp_path / "clinic"


def replies(monkeypatch: pytest.MonkeyPatch, *found: Any, last: Any = FED) -> list[str]:
    """Let orders have these replies, one after the other; time passes while they are waited for."""
    now, ids = [0.0], list[str]()

    def each() -> Iterator[Any]:
        yield from found
        while True:
            yield last

    coming = each()

    def sent(_: Any, __: Any, order: Any) -> Any:
        ids.append(order.id)
        reply = next(coming)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(feeding, "_sent", sent)
    monkeypatch.setattr(feeding.time, "sleep", sleep)
    monkeypatch.setattr(feeding.time, "monotonic", lambda: now[0])
    return ids


def test_an_order_is_sent_until_there_is_a_reply(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under one id, which is drawn or given."""
    ids = replies(monkeypatch, BUSY, LOST, ConnectionResetError(), LEASED)
    told = feed(folder, "visits", folder / "new.csv", "monday")
    assert len(ids) == 5
    assert len(set(ids)) == 1
    assert told == f"visits: {ids[0]} is batch 1 in block monday\n  age: 1 cells"
    assert [each.name for each in (folder / "batches").iterdir()] == [f"{ids[0]}.csv"]


@pytest.mark.parametrize("first", [BUSY, LOST, ConnectionResetError("reset")], ids=repr)
@pytest.mark.parametrize("last", [BUSY, LEASED, KeyboardInterrupt()], ids=repr)
def test_nothing_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch, first: Any, last: Any
) -> None:
    """The copy stays, and the text has the id to go on with."""
    ids = replies(monkeypatch, first, last=last)
    with pytest.raises(OrderError, match="give the command again with --id") as caught:
        feed(folder, "visits", folder / "new.csv")
    assert not isinstance(caught.value, RefusedError)
    assert ids[0] in str(caught.value)
    assert len(ids) < 100
    assert len([*(folder / "batches").iterdir()]) == 1


@pytest.mark.parametrize("reply", [LEASED, RefusedError("another column")], ids=repr)
def test_what_was_not_done_leaves_no_copy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reply: Any
) -> None:
    """But a file that was there before stays: it may have been fed."""
    replies(monkeypatch, last=reply)
    with pytest.raises(RefusedError, match=str(reply)):
        feed(folder, "visits", folder / "new.csv", identity="x")
    assert [*(folder / "batches").iterdir()] == []
    (folder / "batches" / "x.csv").write_text("age\n1\n")
    with pytest.raises(RefusedError):
        feed(folder, "visits", folder / "new.csv", identity="x")
    assert len([*(folder / "batches").iterdir()]) == 1


def test_a_file_in_another_encoding_is_copied_in_that_of_the_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is read by the options of the data set, at every start.

    At 1b177ec the command has no --encoding, and the cells would be missing.
    """
    replies(monkeypatch)
    new, copies = folder / "new.csv", folder / "batches"
    for encoding in ("cp1252", "utf-16", "shift_jis"):
        text = "age\n表\n" if encoding == "shift_jis" else "age\nMüller\n"
        new.write_bytes(text.encode(encoding))
        feed(folder, "visits", new, identity=encoding, encoding=encoding)
        assert (copies / f"{encoding}.csv").read_bytes() == text.encode()
        feed(folder, "visits", new, identity=encoding, encoding=encoding)  # the same file, again
    (folder / "curator.toml").write_text(STATED.replace("budget", 'encoding = "cp1252"\nbudget'))
    for text, encoding, message in (
        ("age\n表\n", "utf-8", "no text of utf-8 that can be written in cp1252"),
        ("age\nMüller\n", "ascii", "no text of ascii"),
        ("age\n", "utf-7", "none with shifts"),
        ("age\n", "no such", "should be a text encoding"),
    ):
        new.write_bytes(text.encode())
        with pytest.raises(OrderError, match=f"{message}.*nothing has changed"):
            feed(folder, "visits", new, identity="x", encoding=encoding)
    with pytest.raises(OrderError, match="leave --encoding out"):
        feed(folder, "visits", folder / "new.parquet", encoding="cp1252")
    assert not list(copies.glob("x*"))
