"""Leases are renewed while a root is open, and by nobody else."""

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.codec import CODEC
from curator.leases import KEEPER, LeaseKeeper
from curator.ledgers import LeaseError, SQLiteLedger
from curator.logs.journal import TTL, LedgerJournal
from queryable import ZCDP, Queryable
from queryable.errors import HandleError
from tests.stored import KEY, MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}


class Clocked:
    """A keeper whose looks are steps of a test, on a ledger whose clock is the test's."""

    def __init__(self, path: Path) -> None:
        self.now = 0.0
        self.ledger = SQLiteLedger(path, clock=lambda: self.now)
        self.go, self.looked = threading.Semaphore(0), threading.Semaphore(0)
        self.keeper = LeaseKeeper(TTL / 6, self._wait)
        self._first = True

    def _wait(self, seconds: float) -> None:
        if not self._first:
            self.looked.release()
        self._first = False
        self.go.acquire()

    def journal(self, root: str = "visits") -> LedgerJournal:
        epoch = self.ledger.lease(root, "one", TTL)
        return LedgerJournal(self.ledger, root, epoch, CODEC, clock=lambda: self.now)

    def pass_by(self, seconds: int) -> None:
        for _ in range(seconds // 5):
            self.now += 5
            self.go.release()
            self.looked.acquire()

    def end(self) -> None:
        self.keeper.forget()
        self.go.release()
        self.ledger.close()


def test_a_root_that_is_gone_is_renewed_no_more(tmp_path: Path) -> None:
    """Collected, released, or taken over: the others are renewed."""
    clocked = Clocked(tmp_path / "a.db")
    kept = [clocked.journal(name) for name in ("collected", "released", "lost", "stays")]
    for journal in kept:
        clocked.keeper.hold(journal)
    clocked.ledger.release("lost", 1)
    clocked.ledger.lease("lost", "two", 10**6)
    kept[1].release()
    assert clocked.ledger.lease("released", "two", TTL) == 2
    stays, journal = kept[-1], None
    del kept[0]
    gc.collect()
    clocked.pass_by(300)
    assert clocked.keeper.held() == [stays]
    assert clocked.ledger.lease("collected", "two", TTL) == 2
    with pytest.raises(LeaseError, match="is held by one"):
        clocked.ledger.lease("stays", "two", TTL)
    clocked.end()


def test_a_ledger_that_is_away_is_tried_again(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path / "a.db")
    journal, renew, tries = clocked.journal(), clocked.ledger.renew, list[int]()

    def away(*arguments: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("away")
        renew(*arguments)

    clocked.ledger.renew = away  # type: ignore[method-assign]
    clocked.keeper.hold(journal)
    clocked.pass_by(40)
    assert len(tries) == 3  # at 15 s, again at 20 s, and at 35 s
    with pytest.raises(LeaseError, match="is held by one"):
        clocked.ledger.lease("visits", "two", TTL)
    clocked.end()


def test_a_lease_that_another_writer_took_is_found_while_nothing_is_asked(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path / "a.db")
    journal = clocked.journal()
    clocked.now += TTL + 1  # as after sleep
    clocked.ledger.lease("visits", "two", TTL)
    clocked.keeper.hold(journal)
    assert not journal.lost
    clocked.go.release()
    while not journal.lost:
        time.sleep(0.001)
    clocked.end()


def opened(ledger: Any) -> Queryable:
    key = KEY if isinstance(ledger, MemoryLedger) else None
    return curator.open(ledger, FiltCon(ZCDP(1)), DATA, name="visits", key=key)


def journal_of(handle: Queryable) -> Any:
    return handle._root.journal  # type: ignore[attr-defined]


def test_an_open_root_is_held_until_it_is_collected() -> None:
    table = opened(MemoryLedger())
    journal = journal_of(table)
    assert any(each is journal for each in KEEPER.held())
    known = id(journal)
    del table, journal
    gc.collect()
    assert not any(id(each) == known for each in KEEPER.held())


def test_the_thread_does_not_keep_the_process_alive() -> None:
    first = opened(MemoryLedger())
    thread = KEEPER._thread
    second = opened(MemoryLedger())
    assert thread is not None
    assert thread.daemon
    assert KEEPER._thread is thread  # one for all roots
    assert len({journal_of(first), journal_of(second)} & set(KEEPER.held())) == 2


def test_a_released_root_is_free_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    table = opened(path)
    ledger = SQLiteLedger(path)
    with pytest.raises(LeaseError):
        ledger.lease("visits", "elsewhere 1", TTL)
    curator.release(table)
    assert ledger.lease("visits", "elsewhere 1", TTL) == 2
    curator.release(table)  # again: nothing happens
    with pytest.raises(HandleError, match="open root 'visits' again: it was released"):
        table.privacy_loss()
    ledger.release("visits", 2)
    ledger.close()
    assert opened(path).view == table.view


def test_only_a_root_on_a_ledger_is_released() -> None:
    with pytest.raises(TypeError, match=r"curator\.open gave"):
        curator.release(Queryable(FiltCon(ZCDP(1)), DATA))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_renews_nothing() -> None:
    table = opened(MemoryLedger())
    child = os.fork()
    if not child:
        os._exit(len(KEEPER.held()) + threading.active_count() - 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert journal_of(table) in KEEPER.held()
