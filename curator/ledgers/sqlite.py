"""`SQLiteLedger`: a ledger in one file.

Theory of operation. The file is in WAL mode with `synchronous=FULL`: a commit appends pages to the
write-ahead log and flushes it once. Copying the log into the file takes three more flushes; it
happens after the appends that caused it have returned. After that the log is written from its
beginning again. To flush a log that does not grow takes a quarter less time, so it is copied before
it is large.

After an error of the disk nobody knows what it holds, and a second flush may report success for
pages that were dropped. So such an error ends the process before anything else is written; the next
process reads what is really there. A full disk is different: SQLite takes the transaction back and
the ledger goes on.

A file that was deleted or replaced while it is open still takes commits, which nobody reads again.
So each look at the ledger compares the file and its log with those that were opened, and the
process ends if they are others.
"""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from curator.ledgers.errors import (
    BrokenChainError,
    LeaseError,
    LedgerError,
    LedgerFullError,
    UnknownOutcomeError,
)
from curator.ledgers.events import Event, fields_of
from curator.ledgers.groups import Group, Wish
from curator.ledgers.ledger import SCHEMA, admit, is_gone, missing, paged

_APPLICATION = 0x71627279  # "qbry" in the file's header marks a ledger
_LEASE_PATIENCE, _PATIENCE = 0.8, 20.0  # seconds to wait for other processes' transactions
_CHECKPOINT = 250  # commits between two copies of the log into the file
_RESERVE = 1 << 24  # bytes that are kept free for the answers of intents
_FROM_RESERVE = {"answer", "again", "retired", "closed"}

_T = TypeVar("_T")

_EVENTS = """
    SELECT root, seq, epoch, kind, body, hash FROM events
    WHERE root = ? AND seq > ? ORDER BY seq LIMIT ?
"""
_HEAD = """
    SELECT seq, hash, (SELECT epoch FROM leases WHERE root = ? AND holder IS NOT NULL)
    FROM (SELECT 1) LEFT JOIN
        (SELECT seq, hash FROM events WHERE root = ? ORDER BY seq DESC LIMIT 1)
"""
_TABLES = (
    """CREATE TABLE events (
        root TEXT NOT NULL,
        seq INTEGER NOT NULL CHECK (seq > 0),
        epoch INTEGER NOT NULL CHECK (epoch > 0),
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL CHECK (length(hash) = 64),
        PRIMARY KEY (root, seq)
    ) STRICT""",
    """CREATE TABLE leases (
        root TEXT NOT NULL PRIMARY KEY,
        epoch INTEGER NOT NULL CHECK (epoch > 0),
        holder TEXT,
        since REAL NOT NULL,
        until REAL NOT NULL
    ) STRICT""",
    """CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be changed'); END""",
    """CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
        WHEN EXISTS (SELECT 1 FROM events WHERE root = new.root AND seq = new.seq)
            OR EXISTS (SELECT 1 FROM events WHERE rowid = new.rowid)
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be changed'); END""",
    """CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be deleted'); END""",
    """CREATE TRIGGER epochs_grow BEFORE UPDATE ON leases WHEN new.epoch < old.epoch
        BEGIN SELECT RAISE(ABORT, 'epochs only grow'); END""",
    """CREATE TRIGGER epochs_grow_by_replacing BEFORE INSERT ON leases
        WHEN new.epoch <= (SELECT epoch FROM leases WHERE root = new.root)
        BEGIN SELECT RAISE(ABORT, 'epochs only grow'); END""",
    """CREATE TRIGGER leases_are_not_deleted BEFORE DELETE ON leases
        BEGIN SELECT RAISE(ABORT, 'leases cannot be deleted'); END""",
    f"PRAGMA user_version = {SCHEMA}",
    f"PRAGMA application_id = {_APPLICATION}",
)


def _die(reason: str) -> None:
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    os._exit(os.EX_IOERR)  # exit handlers could write


def _free(folder: str) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


class SQLiteLedger:
    """A ledger in one file, which is made if it is not there.

    Threads may share it. Other processes may use the same file at the same time.

    Args:
        path: the file. Two more files beside it, of the same name with `-wal` and `-shm`, belong to
            it while it is open and after a crash.
        end: ends the process after an error of the disk. It is given the reason.
        clock: seconds, the same in all processes of the machine.
        connect: opens the file in autocommit mode.
        free: the bytes that are free in a folder.
        make: whether to make the file if it is not there.

    Raises:
        LedgerError: it cannot be opened, or is not there and not to be made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        end: Callable[[str], None] = _die,
        clock: Callable[[], float] = time.time,
        connect: Callable[[str], sqlite3.Connection] = _connect,
        free: Callable[[str], int] = _free,
        make: bool = True,
    ) -> None:
        self.path, self._name = Path(path), os.fspath(path)
        self._folder, self._log_name = os.fspath(self.path.parent), f"{self._name}-wal"
        self._end, self._clock, self._free, self._closed = end, clock, free, False
        self._using = threading.RLock()
        self._group = Group(self._commit)
        self._commits = 0
        self._file: tuple[int, int] | None = None  # which file it is, once it is prepared
        self._log: tuple[int, int] | None = None  # and its write-ahead log, once there is one
        self._patience = -1.0  # seconds that the connection waits for others
        if not make and not self.path.exists():
            raise missing(self.path)
        try:
            self._connection = connect(str(self.path))
        except sqlite3.Error as error:
            raise self._error(error) from error
        try:
            self._prepare()
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.Error):
                raise self._error(error) from error
            raise

    def __repr__(self) -> str:
        return f"SQLiteLedger({str(self.path)!r})"

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Store events; see `Ledger.append`."""
        self._group.append(root, events)
        if self._commits >= _CHECKPOINT:
            self._checkpoint()

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        """The events of a root; see `Ledger.read`."""
        return paged(after, lambda start, count: self._read(_EVENTS, (root, start, count)))

    def lease(self, root: str, holder: str, ttl: float) -> int:
        """Become the writer of a root; see `Ledger.lease`."""

        def take() -> int:
            now = self._clock()
            lease = self._one("SELECT epoch, holder, since, until FROM leases WHERE root = ?", root)
            epoch, other, since, until = lease or (0, None, 0.0, 0.0)
            if other not in {None, holder} and since <= now < until and not is_gone(other):
                raise LeaseError(
                    f"root {root!r} is held by {other} for another {until - now:.1f} s; stop it, "
                    "or wait until the lease has ended"
                )
            self._connection.execute(
                "INSERT INTO leases VALUES (?, ?, ?, ?, ?) ON CONFLICT (root) DO UPDATE SET "
                "epoch = excluded.epoch, holder = excluded.holder, since = excluded.since, "
                "until = excluded.until",
                (root, epoch + 1, holder, now, now + ttl),
            )
            return int(epoch) + 1

        return self._transact(_LEASE_PATIENCE, take)

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        """Hold the lease longer; see `Ledger.renew`."""

        def hold() -> None:
            now = self._clock()
            if self._epoch(root) != epoch:
                raise LeaseError(f"another writer took root {root!r} over, or it was released")
            self._connection.execute(
                "UPDATE leases SET since = ?, until = ? WHERE root = ?", (now, now + ttl, root)
            )

        self._transact(_PATIENCE, hold)

    def release(self, root: str, epoch: int) -> None:
        """Give the lease back; see `Ledger.release`."""

        def free() -> None:
            if self._epoch(root) == epoch:
                self._connection.execute("UPDATE leases SET holder = NULL WHERE root = ?", (root,))

        self._transact(_PATIENCE, free)

    def roots(self) -> tuple[str, ...]:
        """The names of the roots, sorted."""
        return tuple(root for (root,) in self._read("SELECT DISTINCT root FROM events ORDER BY 1"))

    def check(self) -> None:
        """Look for damage of the file; see `Ledger.check`."""
        found = self._read("PRAGMA integrity_check")
        if found != [("ok",)]:
            raise BrokenChainError(f"{self} is damaged: {found[0][0]}")

    def close(self) -> None:
        """Close the file."""
        with self._using:
            if not self._closed:
                self._closed = True
                self._connection.close()

    def _prepare(self) -> None:
        (application,) = self._one("PRAGMA application_id")
        (version,) = self._one("PRAGMA user_version")
        if application != _APPLICATION:
            if application or version or self._one("SELECT name FROM sqlite_schema"):
                raise LedgerError(f"{self.path} is a database of another program, not a ledger")
        elif version != SCHEMA:
            raise LedgerError(
                f"{self.path} has schema version {version}; this curator reads version {SCHEMA}"
            )
        if self._one("PRAGMA journal_mode = WAL") != ("wal",):
            raise LedgerError(f"{self.path}: SQLite has no write-ahead log on this file system")
        self._rows("PRAGMA synchronous = FULL")
        self._rows("PRAGMA wal_autocheckpoint = 0")
        if application != _APPLICATION:
            self._transact(_LEASE_PATIENCE, self._create)

    def _create(self) -> None:
        if self._one("PRAGMA application_id") == (_APPLICATION,):
            return  # another process was faster
        for statement in _TABLES:
            self._connection.execute(statement)

    def _commit(self, wishes: Sequence[Wish]) -> None:
        def store() -> None:
            crowded = self._free(self._folder) < _RESERVE
            for wish in wishes:
                try:
                    if crowded and any(each.kind not in _FROM_RESERVE for each in wish.events):
                        raise LedgerFullError(f"less than {_RESERVE >> 20} MB are free for {self}")
                    *head, epoch = self._one(_HEAD, wish.root, wish.root)
                    admit(wish.root, wish.events, (head[0] or 0, head[1] or ""), epoch)
                except LedgerError as error:
                    wish.error = error
                    continue
                self._connection.executemany(
                    "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
                    map(fields_of, wish.events),
                )

        self._transact(_PATIENCE, store)
        self._commits += 1

    def _checkpoint(self) -> None:
        """Copy the log into the file. What it holds is durable already."""
        self._commits = 0
        with self._using:
            if self._closed:
                return
            try:
                self._rows("PRAGMA wal_checkpoint(PASSIVE)")
            except sqlite3.Error as error:
                self._die_of(error)

    def _epoch(self, root: str) -> int | None:
        """The epoch of the root's present lease; None where nobody has one."""
        lease = self._one("SELECT epoch FROM leases WHERE root = ? AND holder IS NOT NULL", root)
        return lease and int(lease[0])

    def _read(self, statement: str, arguments: Sequence[Any] = ()) -> list[Any]:
        if self._closed:
            raise LedgerError(f"{self} is closed")
        self._require_there()
        try:
            return self._rows(statement, arguments)
        except sqlite3.Error as error:
            if "decode to UTF-8" in str(error):
                raise BrokenChainError(f"{self} is damaged: a text is not UTF-8") from error
            raise self._error(error) from error

    def _one(self, statement: str, *arguments: Any) -> Any:
        return next(iter(self._rows(statement, arguments)), None)

    def _rows(self, statement: str, arguments: Sequence[Any] = ()) -> list[Any]:
        with self._using:
            try:
                rows = self._connection.execute(statement, arguments).fetchall()
            except UnicodeDecodeError as error:  # in SQLite's message about a damaged schema
                raise BrokenChainError(f"{self} is damaged: a text is not UTF-8") from error
        return rows

    def _transact(self, patience: float, work: Callable[[], _T]) -> _T:
        """Do the work in one transaction, or not at all.

        This is no context manager of a generator: one that an interrupt leaves suspended would hold
        the lock for as long as somebody keeps the traceback.
        """
        with self._using:
            if self._closed:
                raise LedgerError(f"{self} is closed")
            self._require_there()
            connection = self._connection
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")  # its thread was interrupted twice
                if patience != self._patience:
                    connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")
                    self._patience = patience
                connection.execute("BEGIN IMMEDIATE")
                done = work()
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._die_of(error)
                raise self._error(error) from error
            finally:
                if not self._closed and connection.in_transaction:
                    connection.execute("ROLLBACK")
        return done

    def _require_there(self) -> None:
        """End the process if the file, or its log, is no longer the one that was opened."""
        file, log = _identity(self._name), _identity(self._log_name)
        self._file, self._log = self._file or file, self._log or log
        if (file, log) != (self._file, self._log):
            self._closed = True
            self._end(
                f"{self} was deleted or replaced while it was open; the process ends, since what "
                "it writes would be lost. Put the file back, or the last copy of it"
            )
            raise UnknownOutcomeError(f"{self} was deleted or replaced")

    def _die_of(self, error: sqlite3.Error) -> None:
        """End the process after an error of the disk."""
        if _code(error) == sqlite3.SQLITE_IOERR:
            self._closed = True
            self._end(f"{self}: {error}; the process ends, since nobody knows what the disk holds")

    def _error(self, error: sqlite3.Error) -> LedgerError:
        match _code(error):
            case sqlite3.SQLITE_FULL:
                return LedgerFullError(f"the disk of {self} is full")
            case sqlite3.SQLITE_BUSY:
                return LedgerError(f"another process is writing to {self} for too long")
            case sqlite3.SQLITE_IOERR:
                return UnknownOutcomeError(f"{self}: {error}")
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY:
                return LedgerError(
                    f"{self} cannot be opened for writing. The folder has to exist, and this "
                    "process has to be allowed to write the file and to make files beside it"
                )
            case sqlite3.SQLITE_NOTADB:
                return LedgerError(f"{self.path} is not a ledger: it is not an SQLite database")
            case sqlite3.SQLITE_CORRUPT:
                return BrokenChainError(f"{self} is damaged: {error}")
            case _:
                return LedgerError(f"{self}: {error}")


def _identity(path: str) -> tuple[int, int] | None:
    """Which file this is; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 (a third of the time; each look needs two)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
