"""Errors of the disk and damaged files, from the disk up to `curator.open`."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("apsw", reason="apsw is not installed (extra `test`)")

import apsw

import curator
from composition import FiltCon
from curator import LedgerError
from curator.ledgers import BrokenChainError, Ledger, LedgerFullError, SQLiteLedger, chained
from curator.verify import Verified, verify
from mechanisms import Gaussian
from queryable import ZCDP, Queryable
from queryable.errors import HandleError
from tests.curator import analyses
from tests.curator.analyses import DATA, WATCHED, Watched
from tests.curator.processes import FORKED
from tests.disks import Disk, Entry
from tests.stored import KEY

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def opened(ledger: Ledger | str) -> Queryable:
    budget = FiltCon(ZCDP(1))
    return curator.open(ledger, budget, DATA, name="visits", key=KEY, codec=WATCHED)


def noisy(number: int) -> Gaussian:
    return Gaussian(Watched(number), rho="1/50")


def until_an_error(flush: int, tell: "Connection[Any, Any]") -> None:
    """Launch on a disk whose so manieth flush from now on fails, and tell what happens."""
    flushes = 10**6

    def fault(entry: Entry) -> None:
        nonlocal flushes
        flushes -= entry[0] == "flush"
        if not flushes:
            tell.send("error")
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
        tell.send(entry[0])

    disk = Disk()
    with disk.mounted() as connect:
        table = opened(SQLiteLedger("/a.db", connect=connect, free=lambda _: 1 << 40))
        analyses.SEEN.append(lambda _: tell.send("read"))
        flushes, disk.fault = flush, fault
        for number in range(9):
            tell.send(table.launch(noisy(number)))


@pytest.mark.parametrize("flush", [1, 4])
def test_an_error_of_a_flush_ends_the_process(flush: int) -> None:
    """In a process of its own. Odd flushes are those of intents, even ones those of answers."""
    mine, its = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=until_an_error, args=(flush, its))
    process.start()
    its.close()
    heard = []
    with mine, suppress(EOFError):
        while True:
            heard.append(mine.recv())
    process.join()
    assert process.exitcode == os.EX_IOERR
    assert heard[-1] == "error", "something was done after the error"
    assert heard.count("flush") == flush - 1
    assert heard.count("read") == flush // 2
    assert sum(isinstance(each, int) for each in heard) == (flush - 1) // 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 20 MB, of which a ledger keeps 16 free."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_file_system_refuses_before_data_are_read(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handle goes on when there is room."""
    reads: list[Watched] = []
    monkeypatch.setattr(analyses, "SEEN", [reads.append])
    ledger = SQLiteLedger(small_disk / "a.db")
    table = opened(ledger)
    table.launch(noisy(1))
    (small_disk / "other").write_bytes(bytes(8 << 20))
    with pytest.raises(LedgerFullError, match="less than 16 MB are free"):
        table.launch(noisy(2))
    assert (len(reads), table.privacy_loss()) == (1, ZCDP("1/50"))
    (small_disk / "other").unlink()
    table.launch(noisy(2))
    assert (len(reads), table.privacy_loss()) == (2, ZCDP("1/25"))
    ledger.close()


def test_a_file_system_that_fills_up_while_data_are_read(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is not given. It is given, the same, when the root is opened again."""
    path, other, reads = small_disk / "a.db", small_disk / "other", list[Watched]()

    def fill(statistic: Watched) -> None:
        reads.append(statistic)
        if len(reads) == 1:
            with pytest.raises(OSError, match="No space left"):
                other.write_bytes(bytes(30 << 20))

    monkeypatch.setattr(analyses, "SEEN", [fill])
    ledger = SQLiteLedger(path)
    table = opened(ledger)
    with pytest.raises(LedgerFullError):
        table.launch(noisy(1))
    with pytest.raises(HandleError, match="open root 'visits' again"):
        table.launch(noisy(2))
    other.unlink()
    ledger.close()
    ledger = SQLiteLedger(path)
    again = opened(ledger)
    assert [type(each.query.mechanism) for each in again.view] == [Gaussian]
    assert again.privacy_loss() == ZCDP("1/50")
    assert len(reads) == 2
    ledger.close()


def verified(path: Path) -> Verified:
    """What `curator ledger verify` does."""
    ledger = SQLiteLedger(path)
    try:
        ledger.check()
        return verify(ledger.read("visits"), codec=WATCHED)
    finally:
        ledger.close()


def flipped(folder: Path, changes: int, seed: int) -> int:
    """Flip random bits in the file of a root, one at a time; returns how many were found.

    A bit that is not found belongs to no event: the events are all there, unchanged.
    """
    path, chance, found = folder / "a.db", Random(seed), 0
    ledger = SQLiteLedger(path)
    table = opened(ledger)
    for number in range(9):
        table.launch(noisy(number))
    events = list(chained(ledger.read("visits")))
    curator.release(table)
    ledger.close()
    whole = path.read_bytes()
    for _ in range(changes):
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            assert verified(path).head == events[-1].hash
            ledger = SQLiteLedger(path)
            assert list(ledger.read("visits")) == events
            ledger.close()
        except LedgerError:
            found += 1
            with pytest.raises(LedgerError):
                verified(path)
    return found


@pytest.mark.parametrize("changes", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_a_flipped_bit_of_a_file_is_found(tmp_path: Path, changes: int) -> None:
    assert flipped(tmp_path, changes, 1) > changes // 5


def test_a_changed_event_is_found_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any data are read."""
    path, reads = tmp_path / "a.db", list[Watched]()
    ledger = SQLiteLedger(path)
    opened(ledger).launch(noisy(1))
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'\\"1/50\\"', b'\\"1/90\\"'))
    monkeypatch.setattr(analyses, "SEEN", [reads.append])
    with pytest.raises(BrokenChainError, match="is not the one that was appended"):
        opened(str(path))
    assert reads == []
