"""A temporary Postgres server for tests, reached by a socket in a temporary folder.

`POSTGRES` skips a test with a reason where no server is installed. `server()` starts the server and
returns the folder of its socket. `database()` makes a database and returns its URL. `collated()`
connects to a database with collations of ICU.
"""

import atexit
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
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


@cache
def server() -> str:
    """Start the server once and return the folder of its socket, to be passed as the host."""
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # socket paths have a length limit
    user = "postgres" if os.geteuid() == 0 else None  # Postgres refuses to run as root
    if user:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)

    def stop() -> None:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    atexit.register(stop)
    return str(folder)


def database() -> str:
    """The URL of a new, empty database."""
    import psycopg

    url, name = f"postgresql://postgres@/{{}}?host={server()}", f"database_{next(_NUMBERS)}"
    with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.format(name)


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
