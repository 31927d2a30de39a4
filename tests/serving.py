"""`curator serve` as its owner runs it, for the tests of pages: commands, and a process."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from curator.commands import application
from curator.owner.orders import RunningCurator
from queryable.errors import InteractiveError

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-c", "from curator.commands import main; main()")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def typed(*arguments: str) -> str:
    """What a command of the owner prints."""
    with redirect_stdout(StringIO()) as printed:
        application()(arguments, standalone_mode=False)
    return printed.getvalue().strip()


@contextmanager
def running(folder: str | Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A curator of a folder, while the block runs; it ends without an error."""
    log = Path(folder, "log")
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*PROGRAM, "serve", str(folder)],
            stdout=written,
            stderr=written,
            env=ENVIRONMENT | variables,
        )
    try:
        for _ in range(6000):
            with suppress(OSError, InteractiveError):
                if health(folder)["well"]:
                    break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield process
        process.terminate()
        assert process.wait(300) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()


def health(folder: str | Path) -> Any:
    """How the curator is, as its owner sees it."""
    return RunningCurator(Path(folder, "owner.sock").absolute()).ask("GET", "/health")
