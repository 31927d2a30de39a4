"""Two curators over one ledger in Postgres at the same time, each of which holds one data set.

Analysts give both addresses and reach both data sets. What the owner orders at one curator holds at
the other one within the time that is documented.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curator import commands
from curator.client import connect
from curator.owner import orders
from curator.owner.orders import RunningCurator
from curator.wire import AccessError
from mechanisms import Gaussian
from queryable import ZCDP
from tests.curator.test_second_machine import Machine, stated, with_rows
from tests.postgres import POSTGRES, database

pytestmark = [pytest.mark.long, POSTGRES]

DOCUMENTED = 30.0


def both(ledger: str, data: str) -> str:
    """A configuration with two data sets."""
    text = stated(ledger, data, "")
    _, head, table = text.partition("[datasets.visits]")
    return text + head.replace("visits", "checks") + table


def workers(machine: Machine) -> dict[str, tuple[str, int]]:
    """The state and the process of each data set."""
    told = RunningCurator(machine.folder / "owner.sock").ask("GET", "/health")["datasets"]
    return {name: (each["state"], each["pid"]) for name, each in told.items()}


def waited(found: Callable[[], Any], seconds: float = 60.0) -> float:
    """The seconds until something is found."""
    began = time.monotonic()
    while not found():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)
    return time.monotonic() - began


def is_let_in(url: str, token: str) -> bool:
    """Whether one curator on its own knows a token."""
    try:
        with connect(url, token) as connection:
            return len(connection) > 0
    except AccessError:
        return False


def states(machine: Machine) -> dict[str, str]:
    return {name: state for name, (state, _) in workers(machine).items()}


def test_two_curators_serve_a_data_set_each(tmp_path: Path) -> None:
    ledger, data = database(), with_rows(database())
    one, two = Machine(tmp_path / "one"), Machine(tmp_path / "two")
    key = one.make(both(ledger, data), None)
    two.make(both(ledger, data), key)
    commands.init(one.folder)  # the ledger, now that the configuration names it
    try:
        one.start("ready")
        waited(lambda: states(one)["checks"] == "ready")
        two.start("held")
        # The worker of one that has `checks` ends, and the next one waits until two has taken it.
        _, pid = workers(one)["checks"]
        os.kill(one.process.pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        waited(lambda: states(two)["checks"] == "ready", 120)
        os.kill(one.process.pid, signal.SIGCONT)
        waited(lambda: states(one) == {"visits": "ready", "checks": "held"})
        assert states(two) == {"visits": "held", "checks": "ready"}

        token = orders.add_analyst(one.folder / "curator.toml", "ada")
        orders.grant(one.folder / "curator.toml", "visits", "ada", zcdp="1")
        orders.grant(two.folder / "curator.toml", "checks", "ada", zcdp="1")
        for machine in (one, two):
            assert waited(lambda url=machine.url: is_let_in(url, token)) < DOCUMENTED
        with connect([one.url, two.url], token) as connection:
            waited(lambda: set(connection) == {"visits", "checks"}, DOCUMENTED)
            for _ in range(3):
                for name in ("visits", "checks"):
                    count = connection.table(name).count()
                    connection[name].launch(Gaussian(count, rho="1/1000"))
            losses = [connection[name].privacy_loss() for name in ("visits", "checks")]
            assert losses[0] == losses[1] != ZCDP(0)
        assert states(one) == {"visits": "ready", "checks": "held"}

        orders.revoke_analyst(two.folder / "curator.toml", "ada")
        for machine in (one, two):
            assert waited(lambda url=machine.url: not is_let_in(url, token)) < DOCUMENTED
    except BaseException as error:
        for each in (one, two):
            if (log := each.folder / "log").exists():
                error.add_note(log.read_text())
        raise
    finally:
        for each in (one, two):
            each.end()
