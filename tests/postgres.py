"""A temporary Postgres server for tests, reached by a socket in a temporary folder.

`POSTGRES` skips a test with a reason where no server is installed. `server()` starts the server and
returns the folder of its socket. `database()` makes a database and returns its URL. A test that
kills its server makes a `Server` of its own. `collated()`
connects to a database with collations of ICU.
"""

import atexit
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_NUMBERS = itertools.count()


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl. Debian does not put it on the path."""
    found = shutil.which("initdb")
    places = [Path(found)] if found else Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((place.resolve().parent for place in places), default=None)


def _missing() -> str | None:
    """The reason why Postgres cannot run here, or None."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed (extra `postgres`)"
    return None if _programs() else "there is no initdb (Debian's postgresql)"


POSTGRES = pytest.mark.skipif(_missing() is not None, reason=f"no Postgres: {_missing()}")


class Server:
    """A server with a database folder and a socket of its own."""

    def __init__(self) -> None:
        programs = _programs()
        assert programs is not None
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # socket paths are short
        self._user = "postgres" if os.geteuid() == 0 else None  # Postgres refuses to run as root
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        atexit.register(self.stop)

    def start(self) -> None:
        """Start it, also after a crash."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def kill(self) -> None:
        """Kill all its processes with signal 9."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(main, signal.SIGSTOP)  # it starts no further ones
        left = {main, *_children(main)}
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(map(is_running, left)):
            time.sleep(0.01)
        # A process that has ended and was not waited for would keep the next server from starting.
        for path in (self.folder / "data" / "postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            path.unlink()

    def stop(self) -> None:
        """Stop it, and delete its folder."""
        with suppress(OSError):  # it was stopped before
            self._run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        url, name = f"postgresql://postgres@/{{}}?host={self.folder}", f"database_{next(_NUMBERS)}"
        with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return url.format(name)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, user=self._user, cwd=self.folder, check=False
        )
        if done.returncode:
            log = self.folder / "log"
            told = log.read_text()[-2000:] if log.exists() else ""
            raise OSError(f"{program} failed: {done.stderr}{told}")


def _children(process: int) -> list[int]:
    """The child processes of a process, read from /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


def is_running(process: int) -> bool:
    """Whether a process has not ended. One that has ended may wait for its parent to see it."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@cache
def shared() -> Server:
    """The server that tests share; it is started once."""
    return Server()


def server() -> str:
    """The folder of the socket of the shared server."""
    return str(shared().folder)


def database() -> str:
    """The URL of a new, empty database of the shared server."""
    return shared().database()


@cache
def collated() -> Any:
    """Connect to a database that orders text as ICU does.

    In its collation `alike` texts are equal that differ in case only.
    """
    import ibis

    first = ibis.postgres.connect(host=server(), user="postgres", database="postgres")
    first.con.autocommit = True
    with first.con.cursor() as cursor:
        cursor.execute(
            "CREATE DATABASE collated TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de'"
        )
    first.disconnect()
    connection = ibis.postgres.connect(host=server(), user="postgres", database="collated")
    with connection.con.cursor() as cursor:
        cursor.execute(
            "CREATE COLLATION alike "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
    connection.con.commit()
    return connection
