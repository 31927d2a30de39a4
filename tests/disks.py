"""A simulated disk for SQLite, which loses power at any moment.

A `Disk` keeps files in memory and logs every write, truncation, flush, creation and deletion.
`Disk.crashed` gives the disk after a loss of power before or during any entry of that log: what was
flushed is there; of what was not, any part may be: writes are dropped, torn at any block or byte,
and reordered. `connect` opens a database on such a disk with SQLite's own interface for virtual
file systems (apsw), and looks like a connection of `sqlite3`.

SQLite runs as in production except for one thing: the index of its write-ahead log, which no crash
survives anyway, is in the process's memory (`locking_mode=EXCLUSIVE`).
"""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, Self

import apsw

_NUMBERS = itertools.count()

Entry = tuple[str, str, int, bytes]
"""What happened, to which file, where, with which bytes."""


class File:
    """A file: its bytes now, those that were flushed, and what was done since."""

    def __init__(self, content: bytes = b"") -> None:
        self.now, self.flushed = bytearray(content), content
        self.pending: list[tuple[int, bytes | None]] = []
        self.is_new = True

    def do(self, offset: int, data: bytes | None) -> None:
        """Write bytes, or truncate where they are None."""
        self.pending.append((offset, data))
        _apply(self.now, offset, data)

    def flush(self) -> None:
        self.flushed, self.pending, self.is_new = bytes(self.now), [], False

    def survivor(self, chance: Random) -> bytes:
        """What a loss of power may leave of the file."""
        content, pending = bytearray(self.flushed), list(self.pending)
        match chance.randrange(4):
            case 0:
                pending = []
            case 1:
                pass
            case 2:
                pending = pending[: chance.randrange(len(pending) + 1)]
                if pending and pending[-1][1]:
                    offset, data = pending[-1]
                    pending[-1] = (offset, data[: chance.randrange(len(data))])
            case _:
                kept, size = chance.random(), chance.choice((64, 512, 4096))
                pending = [
                    piece
                    for offset, data in pending
                    for piece in _pieces(offset, data, size)
                    if chance.random() < kept
                ]
                if chance.randrange(2):
                    chance.shuffle(pending)
        for offset, data in pending:
            _apply(content, offset, data)
        return bytes(content)


class Disk:
    """Files in memory and the log of what was done to them.

    Args:
        files: names and contents, all flushed.
        fault: called before each entry of the log is carried out; may raise.
    """

    def __init__(
        self, files: dict[str, bytes] | None = None, fault: Callable[[Entry], None] | None = None
    ) -> None:
        self.start = dict(files or {})
        self.files = {name: File(content) for name, content in self.start.items()}
        self.log: list[Entry] = []
        self.fault = fault or (lambda _: None)

    def do(self, what: str, name: str, offset: int = 0, data: bytes = b"") -> None:
        entry = (what, name, offset, data)
        self.fault(entry)
        self.log.append(entry)
        _perform(self.files, entry)

    def crashed(self, moment: int, chance: Random) -> Self:
        """The disk after a loss of power before or during entry number `moment` of the log."""
        files = {name: File(content) for name, content in self.start.items()}
        folder, unsaved = dict(files), []  # what a flushed folder lists, and its later changes
        entries = self.log[: moment + chance.randrange(2)]
        for entry in entries:
            what, name, _, _ = entry
            saves = what == "flush" and files[name].is_new and name.endswith(("-wal", "-journal"))
            _perform(files, entry)
            if what in {"create", "delete"}:
                unsaved.append((name, files.get(name)))
            if saves or (what == "delete" and entry[2]):
                folder, unsaved = dict(files), []
        for name, file in unsaved[: chance.randrange(len(unsaved) + 1)]:
            folder.pop(name, None)
            if file is not None:
                folder[name] = file
        return type(self)({name: file.survivor(chance) for name, file in folder.items()})

    def killed(self, moment: int) -> Self:
        """The disk when the process ends before entry number `moment` and the power stays on."""
        disk = type(self)(self.start)
        for entry in self.log[:moment]:
            disk.do(*entry)
        return disk

    @contextmanager
    def mounted(self) -> Iterator[Callable[[str], sqlite3.Connection]]:
        """The function that opens databases here; what is open at the end writes no more."""
        name, opened = f"simulated-{next(_NUMBERS)}", []
        system = _System(name, self)

        def connect(path: str) -> Any:
            opened.append(_Connection(path, name))
            return opened[-1]

        try:
            yield connect
        finally:
            self.fault = _gone
            for connection in opened:
                with suppress(apsw.Error):
                    connection.close()
            system.unregister()


def _gone(_: Entry) -> None:
    raise apsw.exception_for(apsw.SQLITE_IOERR)


def _perform(files: dict[str, File], entry: Entry) -> None:
    match entry:
        case ("create", name, _, _):
            files[name] = File()
        case ("delete", name, _, _):
            del files[name]
        case ("flush", name, _, _):
            files[name].flush()
        case ("truncate", name, size, _):
            files[name].do(size, None)
        case (_, name, offset, data):
            files[name].do(offset, data)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
    else:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


def _pieces(offset: int, data: bytes | None, size: int) -> Iterator[tuple[int, bytes | None]]:
    if data is None:
        yield offset, data
    else:
        for start in range(0, len(data), size):
            yield offset + start, data[start : start + size]


class _System(apsw.VFS):
    """SQLite's view of a disk."""

    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> "_Open":  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path not in self._disk.files:
            if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                raise apsw.CantOpenError(path)
            self._disk.do("create", path)
        flags[1] = flags[0]
        return _Open(self._disk, path)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        if name in self._disk.files:
            self._disk.do("delete", name, int(syncdir))

    def xAccess(self, name: str, flags: int) -> bool:  # noqa: N802
        return name in self._disk.files

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name


class _Open:
    """An open file of a simulated disk."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk, self._name, self._file = disk, name, disk.files[name]

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._file.now[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.do("write", self._name, offset, bytes(data))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.do("truncate", self._name, size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.do("flush", self._name)

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._file.now)

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE  # as SQLite assumes on Unix

    def xSectorSize(self) -> int:  # noqa: N802
        return 4096

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xClose(self) -> None:  # noqa: N802
        pass


class _Connection:
    """What a ledger uses of `sqlite3.Connection`, for apsw."""

    def __init__(self, path: str, system: str) -> None:
        self._connection = apsw.Connection(path, vfs=system)
        self.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, arguments: Any = ()) -> Any:
        try:
            return _Rows(self._connection.execute(statement, arguments).fetchall())
        except apsw.Error as error:
            raise _translated(error) from error

    def executemany(self, statement: str, arguments: Any) -> Any:
        try:
            return _Rows(self._connection.executemany(statement, arguments).fetchall())
        except apsw.Error as error:
            raise _translated(error) from error

    def close(self) -> None:
        self._connection.close(force=True)


class _Rows:
    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchall(self) -> list[Any]:
        return self._rows


def _translated(error: apsw.Error) -> sqlite3.Error:
    translated = sqlite3.OperationalError(str(error))
    translated.sqlite_errorcode = error.extendedresult
    return translated
