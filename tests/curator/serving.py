"""`curator serve` with real processes, for tests: a configuration in a folder, and its curator."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from curator import commands
from curator.client.connecting import Connection, connect
from curator.owner.orders import RunningCurator
from queryable.errors import InteractiveError

ROOT = Path(__file__).parents[2]
STATED = """
ledger = "ledger.db"
key = "noise.key"
[datasets.visits]
source = "visits.csv"
budget = { zcdp = "1/10" }
types = { patient = "integer", age = "integer" }
[datasets.calls]
source = "calls.csv"
budget = { zcdp = "1/10" }
"""


def written(folder: Path, text: str = STATED) -> Path:
    """The configuration of two small tables in a new folder."""
    commands.init(folder)
    rows = "".join(f"{number},{number % 90}\n" for number in range(500))
    for name in ("visits", "calls"):
        (folder / f"{name}.csv").write_text(f"patient,age\n{rows}")
    (folder / "curator.toml").write_text(text)
    return folder / "curator.toml"


def growing(folder: Path) -> Path:
    """The configuration of one table that may grow, with a large budget.

    A data set less is a process less to start.
    """
    text = STATED.replace(
        'budget = { zcdp = "1/10"', 'batches = "batches"\nbudget = { zcdp = "10000000000"'
    )
    return written(folder, text.partition("[datasets.calls]")[0])


def free_port() -> int:
    """A port that stays free, since it is none of those that the system gives out."""
    while True:
        port = 20_000 + int.from_bytes(os.urandom(2)) % 12_000
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Served:
    """A curator that runs."""

    program = "from curator.commands import main; main()"

    def __init__(self, stated: Path) -> None:
        self.stated, self.folder = stated, stated.parent
        self.opened = ExitStack()
        self.start()

    def connect(self, token: str | None, patience: float = 300) -> Connection:
        """An analyst's connection; the owner's without a token."""
        url = f"unix:{self.folder / ('curator.sock' if token else 'owner.sock')}"
        return self.opened.enter_context(connect(url, token=token, patience=patience))

    def start(self) -> None:
        log = (self.folder / "log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.program, "serve", str(self.stated)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        log.close()
        self.wait()

    def health(self) -> Any:
        return RunningCurator(self.folder / "owner.sock").ask("GET", "/health")

    def wait(self) -> None:
        for _ in range(6000):
            try:
                if self.health()["well"]:
                    return
            except (OSError, InteractiveError):
                assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def kill_worker(self, dataset: str = "visits") -> None:
        os.kill(self.health()["datasets"][dataset]["pid"], signal.SIGKILL)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)


@contextmanager
def served(stated: Path, kind: type[Served] = Served) -> Iterator[Served]:
    found = kind(stated)
    try:
        yield found
    except BaseException as error:
        error.add_note((found.folder / "log").read_text())
        raise
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.wait()
        found.opened.close()
