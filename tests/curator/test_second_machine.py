"""Two curators over one ledger in Postgres, each on a machine of its own as far as they can tell.

One is killed or stopped in the middle of an analysis. The other one takes the root over when the
lease has ended, and the client goes on without help. All exchanges are as an undisturbed run over a
copy of the same database gives them.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

from composition import FiltCon
from curator import commands
from curator.client import Connection, connect
from curator.codec import CODEC
from curator.owner import orders
from curator.owner.orders import RunningCurator
from curator.wire import UnavailableError
from mechanisms import BrownianNoiseReduction, Gaussian, Open, Refine, SparseVector, column
from queryable import ZCDP, Queryable
from queryable.errors import InteractiveError
from queryable.running.telling import is_poll
from tests.curator.serving import ROOT
from tests.postgres import POSTGRES, database

pytestmark = [pytest.mark.long, POSTGRES]

ROUNDS = 16
_LOG = logging.getLogger(__name__)
PROGRAM = "from curator.commands import main; main()"


def stated(ledger: str, data: str, more: str) -> str:
    """The configuration, the same on both machines."""
    return f"""
ledger = "{ledger}"
key = "noise.key"
{more}
[datasets.visits]
source = "{data}"
table = "visits"
privacy_unit = "patient"
max_rows = 4
budget = {{ zcdp = "10" }}
"""


@attrs.define(eq=False)
class Machine:
    """A folder with a configuration, and the curator that runs there.

    Its processes get a host name of their own, so that nobody can ask the system whether a process
    of another machine is alive.
    """

    folder: Path
    process: Any = None
    pids: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        return f"unix:{self.folder / 'curator.sock'}"

    def make(self, text: str, key: bytes | None) -> bytes:
        """Write the configuration; the key is that of the other machine, if there is one."""
        commands.init(self.folder)
        (self.folder / "curator.toml").write_text(text)
        if key is not None:
            (self.folder / "noise.key").write_bytes(key)
        (self.folder / "python").mkdir()
        named = f"import socket\nsocket.gethostname = lambda: {self.folder.name!r}\n"
        (self.folder / "python" / "sitecustomize.py").write_text(named)
        return (self.folder / "noise.key").read_bytes()

    def start(self, state: str) -> None:
        """Start the curator, and wait until its data set is in a state."""
        paths = f"{self.folder / 'python'}{os.pathsep}{ROOT}"
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "serve", str(self.folder)],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": paths},
            )
        self.wait(state)

    def state(self) -> str:
        health = RunningCurator(self.folder / "owner.sock").ask("GET", "/health")["datasets"][
            "visits"
        ]
        self.pids = tuple(filter(None, (self.process.pid, health["pid"])))
        return str(health["state"])

    def wait(self, state: str) -> None:
        """Wait until the data set is in a state."""
        for _ in range(2400):
            with suppress(OSError, InteractiveError):
                if self.state() == state:
                    return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to front and worker at once."""
        for pid in self.pids:
            os.kill(pid, number)
        if number == signal.SIGKILL:
            self.process.wait()

    def stop(self) -> None:
        """Stop it as its owner does. No error was logged but that the lease was lost."""
        self.process.terminate()
        assert self.process.wait(60) == 0
        log = (self.folder / "log").read_text()
        assert log.count("Traceback") == log.count("LeaseError: another writer took root 'visits'")

    def end(self) -> None:
        """Kill what is left."""
        if self.process is not None and self.process.poll() is None:
            for pid in self.pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()


@attrs.define(eq=False)
class Site:
    """Two machines, and a third one that serves a copy of their ledger.

    Attributes:
        token: the analyst's.
    """

    one: Machine
    two: Machine
    undisturbed: Machine
    token: str


def with_rows(url: str) -> str:
    """A database with a table."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT n / 3 AS patient, n % 90 AS age "
            "FROM generate_series(0, 899) AS n"
        )
    return url


def copied(url: str) -> str:
    """A copy of a database that nobody uses."""
    import psycopg

    name = url.partition("?")[0].rpartition("/")[2]
    there = url.replace(name, f"{name}_copy")
    with psycopg.connect(url.replace(name, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    return there


@contextmanager
def site(folder: Path, more: str = "") -> Iterator[Site]:
    """The root is open, and an analyst has a grant; no curator runs."""
    ledger, data = database(), with_rows(database())
    one, two, undisturbed = (Machine(folder / name) for name in ("one", "two", "undisturbed"))
    key = one.make(stated(ledger, data, more), None)
    two.make(stated(ledger, data, more), key)
    commands.init(one.folder)  # the ledger, now that the configuration names it
    try:
        one.start("ready")
        place = one.folder / "curator.toml"
        token = orders.add_analyst(place, "ada")
        orders.grant(place, "visits", "ada", zcdp="5")
        one.stop()
        undisturbed.make(stated(copied(ledger), data, more), key)
        yield Site(one, two, undisturbed, token)
    except BaseException as error:
        for each in (one, two):
            if (log := each.folder / "log").exists():
                error.add_note(log.read_text())
        raise
    finally:
        for each in (one, two, undisturbed):
            each.end()


def analysis(connection: Connection, said: Callable[[int], object] = int) -> list[str]:
    """Sparse vector, noise reduction and nested filters side by side; the view as texts.

    Args:
        said: called with the number of each round before it begins.
    """
    table, visits = connection["visits"], connection.table("visits")
    search = table.launch(SparseVector(100, epsilon="1/2", sensitivity=4, cutoff=100))
    person = table.launch(BrownianNoiseReduction() @ FiltCon(ZCDP(1)))
    outer = table.launch(FiltCon(ZCDP("1/2")), name="outer")
    inner = outer.launch(FiltCon(ZCDP("1/4")))
    for number in range(ROUNDS):
        said(number)
        where = visits.count(column("age") >= 7 * number)
        search(where)
        if number % 4 == 0:
            person(Open(where, (9000, 3000, 1000, 300)))
        else:
            person.children[[*person.children][-1]](Refine())
        inner.launch(Gaussian(where, rho="1/100"))
        table.launch_many([Gaussian(where, rho="1/100")] * 2)
        assert table.launch(FiltCon(ZCDP("1/2")), name="outer").privacy_loss() is not None
    return seen(table)


def seen(handle: Queryable) -> list[str]:
    """A view as texts, without polls."""
    return [
        str(CODEC.encode((each.path, each.query, each.answer, each.receipts)), "ascii")
        for each in handle.view
        if not is_poll(each)
    ]


class Client:
    """An analyst's program in a thread, which is given both addresses."""

    def __init__(self, site: Site, **more: Any) -> None:
        self._opened = ExitStack()
        urls = [site.one.url, site.two.url]
        self._connection = self._opened.enter_context(connect(urls, site.token, **more))
        self.began: list[float] = []
        self._allowed = 0
        self.view: list[str] = []
        self.error: BaseException | None = None
        self._round = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.view = analysis(self._connection, self._said)
        except BaseException as error:
            self.error = error
            with self._round:
                self._round.notify_all()

    def _said(self, number: int) -> None:
        with self._round:
            assert self._round.wait_for(lambda: self._allowed >= number, 300)
            self.began.append(time.monotonic())
            self._round.notify_all()

    def wait(self, number: int, most: int) -> None:
        """Wait until a round has begun; the client may go on until a later one begins."""
        with self._round:
            self._allowed = most
            self._round.notify_all()
            assert self._round.wait_for(lambda: self.error or len(self.began) > number, 120)
        assert self.error is None, self.error

    def resumed(self, moment: float) -> float:
        """The seconds from a moment until the client began a second further round."""
        return [each - moment for each in self.began if each > moment][1]

    def finish(self) -> list[str]:
        """What the analyst has seen."""
        self._thread.join(300)
        assert self.error is None, self.error
        assert not self._thread.is_alive(), "the client is stuck"
        self._opened.close()
        return self.view


def require_undisturbed(site: Site, view: list[str]) -> None:
    """Check that a view is what the analysis gives without any disturbance, and that it is kept."""
    with connect([site.one.url, site.two.url], site.token) as connection:
        assert seen(connection["visits"]) == view
    site.undisturbed.start("ready")
    with connect(site.undisturbed.url, site.token) as connection:
        assert analysis(connection) == view
    site.undisturbed.stop()


@pytest.mark.parametrize("more", ["", "lease = 5"])
def test_another_machine_goes_on_after_kill_9(tmp_path: Path, more: str) -> None:
    """One is killed; two goes on; one comes back and waits; two is killed; one goes on.

    It says how long that took (`--log-cli-level=INFO`).
    """
    with site(tmp_path, more) as here:
        here.one.start("ready")
        here.two.start("held")
        client = Client(here)
        for number, (killed, other) in ((2, (here.one, here.two)), (9, (here.two, here.one))):
            client.wait(number - 1, number - 1)
            assert (killed.state(), other.state()) == ("ready", "held")
            client.wait(number, number + 5)
            killed.send(signal.SIGKILL)
            moment = time.monotonic()
            other.wait("ready")
            ready = time.monotonic() - moment
            client.wait(number + 5, number + 5)
            resumed = client.resumed(moment)
            _LOG.info("ready after %.1f s, the client went on after %.1f s", ready, resumed)
            killed.start("held")
        client.wait(ROUNDS - 1, ROUNDS)
        view = client.finish()
        require_undisturbed(here, view)
        here.one.stop()
        here.two.stop()
        assert "visits: " in commands.check(str(here.one.folder))
        assert "visits" in commands.replay(str(here.two.folder))


def test_a_machine_that_was_stopped_commits_nothing_any_more(tmp_path: Path) -> None:
    """One sleeps for longer than its lease; when it wakes up, two is the writer and stays it."""
    with site(tmp_path, "lease = 5") as here:
        here.one.start("ready")
        here.two.start("held")
        client = Client(here, timeout=2)
        client.wait(1, 1)
        assert here.one.state() == "ready"
        client.wait(2, 6)
        here.one.send(signal.SIGSTOP)
        here.two.wait("ready")
        client.wait(4, 6)
        here.one.send(signal.SIGCONT)
        client.wait(6, ROUNDS)
        view = client.finish()
        with pytest.raises(UnavailableError), connect(here.one.url, here.token, patience=1) as old:
            old["visits"].launch(FiltCon(ZCDP("1/100")))
        here.one.wait("held")
        assert here.two.state() == "ready"
        require_undisturbed(here, view)
        here.one.stop()
        here.two.stop()
        assert "visits: " in commands.check(str(here.one.folder))
