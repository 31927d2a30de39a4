"""The whole of `curator serve`, with real processes, from the first grant to the end."""

import os
import re
import socket
import ssl
import subprocess
import sys
import time
from asyncio.constants import SSL_SHUTDOWN_TIMEOUT
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import trustme

from curator import commands, connect
from curator.access import AccessChangeError
from curator.client import transport
from curator.client.transport import Patience, Transport
from curator.client.urls import address_of
from curator.ledgers import LedgerError, SQLiteLedger
from curator.owner import orders
from curator.owner.orders import OrderError
from curator.settings.configuration import open_configured
from curator.wire import UnavailableError, WireError
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, QueryRefusedError
from queryable.errors import InteractiveError
from tests.curator.serving import ROOT, STATED, Served, free_port, served, written


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    return written(tmp_path / "served")


def until(holds: Callable[[], bool]) -> None:
    """Wait for what has to come."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come in two minutes")


def older(age: int) -> Gaussian:
    return Gaussian(Count(column("age") >= age), rho="1/1000")


def test_a_curator_from_its_first_grant_to_its_end(stated: Path) -> None:
    """One story, since each process takes a second to start."""
    with pytest.raises(OrderError, match="add page ="):
        orders.page(stated)
    page = f"127.0.0.1:{free_port()}"
    stated.write_text(f'page = "{page}"\n{stated.read_text()}')
    with pytest.raises(OrderError, match="no curator runs"):
        orders.page(stated)
    ada = orders.add_analyst(stated, "ada")  # nothing runs yet
    assert "connect" in orders.grant(stated, "visits", "ada", zcdp="1/50")
    with served(stated) as curator:
        bo = orders.add_analyst(stated, "bo")
        orders.grant(stated, "visits", "bo", zcdp="1/100")
        orders.grant(stated, "visits", "ada", zcdp="1/200")
        orders.grant(stated, "calls", "ada", epsilon="1/10")
        with pytest.raises(OrderError, match="refused"):
            orders.grant(stated, "visits", "bo", zcdp="1/5")
        with pytest.raises(OrderError, match="give a budget, such as --zcdp 1/50"):
            orders.grant(stated, "visits", "bo")
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
        assert re.search(r"visits: served.*\n  \d+ messages since", commands.status(str(stated)))
        link = orders.page(stated)
        with urlopen(link) as reply:
            assert b"logged in as the owner" in reply.read()
        with pytest.raises(HTTPError, match="401"):
            urlopen(link)
        with pytest.raises(WireError, match="Is this the address of its pages"):
            connect(f"http://{page}", ada)
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


def start(stated: Path) -> "subprocess.CompletedProcess[str]":
    """What `curator serve` says where it does not start."""
    program = "from curator.commands import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, "serve", str(stated)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.slow
def test_a_second_curator_of_a_folder_does_not_start(stated: Path) -> None:
    with served(stated) as curator:
        run = start(stated)
        assert run.returncode == 1
        assert "a curator listens" in run.stderr
        assert "Traceback" not in run.stderr
        assert curator.health()["well"]


@pytest.mark.slow
def test_others_may_not_replace_the_owners_socket(stated: Path) -> None:
    stated.parent.chmod(0o777)
    run = start(stated)
    assert run.returncode == 1
    assert "chmod go-w" in run.stderr
    with socket.socket(socket.AF_UNIX) as asking, pytest.raises(FileNotFoundError):
        asking.connect(str(stated.parent / "owner.sock"))


class Waiting(Served):
    """A curator that cannot open all of its data sets yet."""

    def wait(self) -> None:
        until(self._answers)

    def _answers(self) -> bool:
        with suppress(OSError, InteractiveError):
            return bool(self.health())
        return False


@pytest.mark.slow
def test_a_missing_file_is_waited_for_and_said_once(stated: Path) -> None:
    """The curator began anew, and said the same, every few seconds, also while it was stopped."""
    csv = stated.parent / "visits.csv"
    rows = csv.read_text()
    csv.unlink()
    with served(stated, Waiting) as curator:
        worker_of = "visits: served, broken"
        until(lambda: worker_of in commands.status(str(stated)))
        workers = set[int]()

        def has_tried_again() -> bool:
            workers.add(curator.health()["datasets"]["visits"]["pid"])
            return len(workers) > 2

        until(has_tried_again)
        csv.write_text(rows)
        until(lambda: curator.health()["well"])
        csv.unlink()
        curator.kill_worker()
        until(lambda: worker_of in commands.status(str(stated)))
        assert curator.stop() == 0
        log = (curator.folder / "log").read_text()
        assert log.count("there is no file") == 2
        assert "The curator waits for that" in log


@pytest.mark.slow
def test_a_ledger_that_is_deleted_ends_the_curator(stated: Path) -> None:
    """It went on, and wrote to a file that nobody could read again."""
    ledger = stated.parent / "ledger.db"
    with served(stated) as curator:
        orders.add_analyst(stated, "ada")
        for each in stated.parent.glob("ledger.db*"):
            each.unlink()
        assert curator.process.wait(60) != 0
        assert "was deleted or replaced" in (curator.folder / "log").read_text()
    run = start(stated)
    assert run.returncode == 1
    assert "there is no ledger" in run.stderr
    assert not ledger.exists()
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_configured(stated, "visits")
    assert not ledger.exists()
    assert "knows nothing of what was spent" in commands.init(stated.parent)
    open_configured(stated, "visits")[0].close()


# On TCP with TLS: certificates, tokens in plain text, and other versions.


@pytest.mark.slow
def test_a_curator_with_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story, since each process takes a second to start."""
    port, owners, others = free_port(), trustme.CA(), trustme.CA()
    lines = f'listen = "127.0.0.1:{port}"\n{STATED}[tls]\ncertificate = "c.pem"\nkey = "k.pem"\n'
    stated = written(tmp_path / "served", lines)
    issued = owners.issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(stated.parent / "c.pem")
    issued.private_key_pem.write_to_path(stated.parent / "k.pem")
    trusting, wrong = ssl.create_default_context(), ssl.create_default_context()
    owners.configure_trust(trusting)
    others.configure_trust(wrong)
    token, url = orders.add_analyst(stated, "ada"), f"https://localhost:{port}"
    orders.grant(stated, "visits", "ada", zcdp="1/50")
    with served(stated) as curator:
        with connect(url, token, tls=trusting) as there:
            table = there["visits"]
            table.launch(Gaussian(Count(), rho="1/1000"), name="rows")
            assert table.privacy_loss() == ZCDP("1/1000")
        for context in (wrong, None):
            with pytest.raises(UnavailableError, match=r"is not trusted here.*cafile"):
                connect(url, token, tls=context)
        with pytest.raises(UnavailableError, match=r"is not trusted here.*127\.0\.0\.1"):
            connect(f"https://127.0.0.1:{port}", token, tls=trusting)  # a name of another machine
        with pytest.raises(UnavailableError, match="did not answer"):
            connect(f"http://127.0.0.1:{port}", token, patience=0.1)
        with pytest.raises(ValueError, match="write https"):
            connect(f"http://data.example:{port}", token)

        # A second curator's certificate is wrong: the first one is asked.
        with connect([f"https://127.0.0.1:{port}", url], token, tls=trusting) as there:
            assert there["visits"].launch(Gaussian(Count(), rho="1/1000"), name="rows") == (
                table.view[0].answer.answer
            )

        monkeypatch.setattr(transport, "VERSION", 2)
        with pytest.raises(WireError, match="is '2'; this curator speaks version 1"):
            connect(url, token, tls=trusting)
        with pytest.raises(WireError, match=r"not of version 2 .*'1'"):  # of one that answers
            transport._require_version("1")
        speaking = Transport([address_of(url)], token, Patience(), trusting)
        with pytest.raises(WireError, match="is '2'; this curator speaks version 1"):
            speaking.get("/v1/datasets")
        speaking.close()
        began = time.monotonic()  # the client has an idle connection, which it does not read
        assert curator.stop() == 0
        assert time.monotonic() - began < SSL_SHUTDOWN_TIMEOUT
        log = (curator.folder / "log").read_text()
        assert "Traceback" not in log
        assert token not in log
