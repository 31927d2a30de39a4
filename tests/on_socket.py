"""Runs tests with every `Queryable(..)` of theirs behind a Unix socket; compares it with memory.

    python -m pytest -p tests.on_socket tests/unit/queryable/test_handle.py

Each root is on a ledger in memory, and the test's handle is one of a client. At the end of each
test the client's view, tree and ledger are compared with those of the root in the curator, of a new
client, and of a `Queryable` in memory with the same coins: byte for byte. Tests that cannot run
there are listed in `tests/not_on_socket.py`, and have to fail; those that would wait for themselves
are not run.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from curator.service import LocalService
from queryable import InteractiveMechanism, Queryable, SeededCoins, SystemCoins
from tests.not_on_socket import REASONS, WAITS
from tests.on_ledger import (
    LENIENT,
    NotOnLedgerError,
    OnLedger,
    Opened,
    _salt,
    in_memory,
    opened,
    played,
    said,
)
from tests.served import Served, serving


class OnSocket(OnLedger):
    """What `Queryable` is while a test runs."""

    def __init__(self) -> None:
        super().__init__(None)
        self.servers, self.served = ExitStack(), list[tuple[Opened, Served]]()

    def init(
        self,
        handle: Queryable,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        *,
        coins: Any = SystemCoins(),  # noqa: B008 (as in `Queryable`)
        allow_seeded: bool = False,
        on_fault: Any = None,
    ) -> None:
        """As `Queryable.__init__`."""
        wrong = not isinstance(mechanism, InteractiveMechanism)
        if wrong or not (allow_seeded or isinstance(coins, SystemCoins)):
            in_memory(handle, mechanism, dataset, coins, on_fault, allow_seeded=allow_seeded)
            raise AssertionError("this should have been refused")
        if not isinstance(coins, SystemCoins | SeededCoins):
            raise NotOnLedgerError(f"coins of its own: {type(coins).__name__}")
        ledger = self._ledger()
        with patch("curator.root.random_bytes", lambda count: _salt(coins, count)):
            there = opened(ledger, mechanism, dataset, on_fault)
        service = LocalService(there, codec=LENIENT, on_fault=on_fault)
        served = self.servers.enter_context(serving(service))
        handle._set(served.handle(codec=LENIENT, patience=0, timeout=60)._root)
        self.served.append((Opened(there, ledger, mechanism, dataset, []), served))
        self.opened.append(self.served[-1][0]._replace(handle=handle))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Open each queryable behind a socket; compare all of them at the end."""

        def init(handle: Queryable, *arguments: Any, **named: Any) -> None:
            self.init(handle, *arguments, **named)

        with self.servers:
            with patch.object(Queryable, "__init__", init):
                yield
            for client, (root, served) in zip(self.opened, self.served, strict=True):
                compare(client.handle, root, served)


def compare(client: Queryable, root: Opened, served: Served) -> None:
    """Compare a client with its root, a new client and memory."""
    told = said(client)
    assert said(root.handle) == told, "the curator has another view"
    assert said(served.handle(codec=LENIENT)) == told, "a new client has another view"
    assert said(played(root)) == told, "in memory the view is another one"


# The plugin


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Expect the listed tests to fail.

    Raises:
        UsageError: one of them is not there any more.
    """
    found = set()
    for item in items:
        alike = item.nodeid.partition("[")[0]
        for name in (item.nodeid, alike):
            if name in REASONS:
                found.add(name)
                why = REASONS[name]
                item.add_marker(pytest.mark.xfail(reason=why, strict=True, run=why != WAITS))
    files = {item.nodeid.partition("::")[0] for item in items}
    gone = {name for name in REASONS if name.partition("::")[0] in files} - found
    if gone and not any("::" in each for each in config.args):
        raise pytest.UsageError(f"tests/not_on_socket.py lists what is not there: {sorted(gone)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test behind sockets."""
    with OnSocket().running():
        return (yield)
