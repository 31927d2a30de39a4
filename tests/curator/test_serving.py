"""The whole of `curator serve`, with real processes: analysts, grants, kills, restarts, the end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from curator import commands, orders
from curator.access import AccessChangeError
from curator.client.connecting import Connection, connect
from curator.ledgers import SQLiteLedger
from curator.orders import OrderError, Running
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, QueryRefusedError
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


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    commands.init(folder)
    rows = "".join(f"{number},{number % 90}\n" for number in range(500))
    for name in ("visits", "calls"):
        (folder / f"{name}.csv").write_text(f"patient,age\n{rows}")
    (folder / "curator.toml").write_text(STATED)
    return folder / "curator.toml"


class Served:
    """A curator that runs."""

    def __init__(self, stated: Path) -> None:
        self.stated, self.folder = stated, stated.parent
        self.opened = ExitStack()
        self.start()

    def connect(self, token: str | None) -> Connection:
        """An analyst's connection; the owner's without a token."""
        name = "curator.sock" if token else "owner.sock"
        return self.opened.enter_context(connect(f"unix:{self.folder / name}", token=token))

    def start(self) -> None:
        log = (self.folder / "log").open("a")
        program = "from curator.commands import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "serve", str(self.stated)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        log.close()
        self.wait()

    def health(self) -> Any:
        return Running(self.folder / "owner.sock").ask("GET", "/health")

    def wait(self) -> None:
        for _ in range(1200):
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
        return self.process.wait(60)


@contextmanager
def served(stated: Path) -> Iterator[Served]:
    found = Served(stated)
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


def older(age: int) -> Gaussian:
    return Gaussian(Count(column("age") >= age), rho="1/1000")


def test_a_curator_from_its_first_grant_to_its_end(stated: Path) -> None:
    """One story, since each process takes a second to start."""
    ada = orders.add_analyst(stated, "ada")  # nothing runs yet
    assert "connect" in orders.grant(stated, "visits", "ada", zcdp="1/50")
    with served(stated) as curator:
        bo = orders.add_analyst(stated, "bo")
        orders.grant(stated, "visits", "bo", zcdp="1/100")
        orders.grant(stated, "visits", "ada", zcdp="1/200")
        orders.grant(stated, "calls", "ada", epsilon="1/10")
        with pytest.raises(OrderError, match="refused"):
            orders.grant(stated, "visits", "bo", zcdp="1/5")
        with pytest.raises(OrderError, match="has a token"):
            orders.add_analyst(stated, "bo")
        assert orders.list_analysts(stated) == (
            "ada: has a token; visits, visits/2, calls\nbo: has a token; visits"
        )
        assert "visits: served, ready" in commands.status(str(stated))

        mine, others = curator.connect(ada), curator.connect(bo)
        assert sorted(mine) == ["calls", "visits", "visits/2"]
        assert list(others) == ["visits"]
        assert mine.about("visits")["columns"] == {"patient": "integer", "age": "integer"}
        table = mine["visits"]
        first = table.launch(older(40), name="first")
        search = table.launch(SparseVector(300, epsilon="1/100", cutoff=3), name="search")
        search(Count(column("age") >= 10))
        with pytest.raises(QueryRefusedError):
            others["visits"].launch(Gaussian(Count(), rho="1/50"))
        assert others["visits"].privacy_loss() == ZCDP(0)
        whole = curator.connect(None)
        assert whole["visits"].privacy_loss() == ZCDP("7/200")

        # A worker is killed, and then the front: tokens, answers and children stay.
        curator.kill_worker()
        search(Count(column("age") >= 20))
        curator.process.kill()
        curator.process.wait()
        curator.start()
        assert table.launch(older(40), name="first") == first
        search(Count(column("age") >= 30))
        again = curator.connect(ada)["visits"]
        assert list(map(str, again.view)) == list(map(str, table.view))
        assert len(again.view) >= 5

        # A revoked token ends, also for those who are connected; the grants stay.
        orders.revoke_analyst(stated, "bo")
        with pytest.raises(InteractiveError):
            others["visits"].launch(older(50))
        bo = orders.add_analyst(stated, "bo")
        curator.connect(bo)["visits"].launch(older(50))

        assert curator.stop() == 0
        assert not list(curator.folder.glob("*.sock"))
        log = (curator.folder / "log").read_text()
        assert "Traceback" not in log
        assert not [token for token in (ada, bo, "qy_") if token in log]

    # The leases were given back, and the ledger holds.
    assert "@access: 9 events, 2 analysts, 4 grants" in commands.check(str(stated))
    assert "visits: " in commands.status(str(stated))
    orders.revoke_analyst(stated, "ada")
    with pytest.raises(AccessChangeError):
        orders.revoke_analyst(stated, "ada")
    ledger = SQLiteLedger(stated.parent / "ledger.db")
    assert ledger.roots() == ("@access", "calls", "visits")
    ledger.close()
    commands.replay(str(stated))
    commands.close(str(stated), "calls")


@pytest.mark.slow
def test_a_second_curator_of_a_folder_does_not_start(stated: Path) -> None:
    with served(stated) as curator:
        program = "from curator.commands import main; main()"
        run = subprocess.run(
            [sys.executable, "-c", program, "serve", str(stated)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert run.returncode == 1
        assert "a curator listens" in run.stderr
        assert "Traceback" not in run.stderr
        assert curator.health()["well"]


@pytest.mark.slow
def test_others_may_not_replace_the_owners_socket(stated: Path) -> None:
    stated.parent.chmod(0o777)
    program = "from curator.commands import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "serve", str(stated)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 1
    assert "chmod go-w" in run.stderr
    with socket.socket(socket.AF_UNIX) as asking, pytest.raises(FileNotFoundError):
        asking.connect(str(stated.parent / "owner.sock"))
