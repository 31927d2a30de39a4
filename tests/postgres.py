"""A Postgres server of the tests' own, in a temporary folder, reached by a socket there.

`POSTGRES` skips a test where no server is installed, saying so; `server()` starts one and gives the
folder of its socket.
"""

import atexit
import importlib.util
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl, which Debian keeps off the path."""
    found = shutil.which("initdb")
    places = [Path(found)] if found else Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((place.resolve().parent for place in places), default=None)


def _missing() -> str | None:
    """Why Postgres cannot run here, if it cannot."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed (extra `postgres`)"
    return None if _programs() else "there is no initdb (Debian's postgresql)"


POSTGRES = pytest.mark.skipif(_missing() is not None, reason=f"no Postgres: {_missing()}")


@cache
def server() -> str:
    """Start a server, once, and give the folder of its socket, which is its host."""
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is short
    user = "postgres" if os.geteuid() == 0 else None  # it does not run as root
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
