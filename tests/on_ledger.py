"""Runs tests with every `Queryable(..)` of theirs on a ledger, and compares it with memory.

    python -m pytest -p tests.on_ledger tests/unit/queryable/test_handle.py
    python -m pytest -p tests.on_ledger --ledger=sqlite tests/laws

At the end of each test, every root that it opened is opened again from its ledger, and its live
children are run again. Its messages are then sent to a `Queryable` in memory with the same coins.
The three views, trees and accounts have to be the same, byte for byte. Tests that cannot run on a
ledger are listed in `tests/not_on_ledger.py` and have to fail.

Seeds become salts: roots with equal seeds, mechanisms and data have equal coins. Objects of the
tests that the schema does not know, such as functions, are written as numbers of a list.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

import curator
from curator.codec import Entry
from curator.codec.codec import Codec
from curator.codec.fields import UnwritableError
from curator.identities import root_id
from curator.logs.batches import Batches, Marks
from curator.logs.journal import LedgerJournal
from curator.logs.story import Telling, message_of
from mechanisms import Table
from queryable import (
    InteractiveError,
    InteractiveMechanism,
    Queryable,
    QueryError,
    SeededCoins,
    SystemCoins,
    Update,
)
from queryable.conversation import Node
from queryable.conversation.recalling import Unplayed
from queryable.messages import Query, without_receipts
from queryable.randomness.entropy import random_bytes
from queryable.randomness.sealed import SealedCoins
from queryable.running.root import MemoryRoot
from queryable.running.telling import is_poll
from tests.not_on_ledger import COSTS, reasons_on
from tests.stored import KEY, STORED, MemoryLedger, Noted

NAME = "a"
STOPS = (InteractiveError, KeyboardInterrupt, SystemExit, GeneratorExit)


class NotOnLedgerError(Exception):
    """A test needs what no ledger has."""


class Objects:
    """Objects that stand in texts as their number in a list; equal ones have the same."""

    def __init__(self) -> None:
        self._found: list[Any] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no identity is used twice

    def __getitem__(self, place: int) -> Any:
        return self._found[place]

    def place(self, value: Any) -> int:
        if id(value) not in self._places:
            place = next((n for n, each in enumerate(self._found) if _equal(each, value)), None)
            if place is None:
                self._found.append(value)
            self._places[id(value)] = len(self._found) - 1 if place is None else place
            self._kept.append(value)
        return self._places[id(value)]


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    try:
        return bool(one == other)
    except Exception:
        return False


OBJECTS = Objects()


class Lenient(Codec):
    """Writes what has no tag as a number of `OBJECTS`."""

    def _first(self, value: Any) -> str:
        try:
            return super()._first(value)
        except UnwritableError:
            return f'{{"@":"tests.object/1","place":{OBJECTS.place(value)}}}'


LENIENT = Lenient(
    (
        *STORED.entries,
        Entry("tests.object/1", (), {"place": int}, lambda _: (), OBJECTS.__getitem__),
    )
)


class Opened(NamedTuple):
    """A root that a test opened."""

    handle: Queryable
    ledger: Any
    mechanism: InteractiveMechanism[Any]
    dataset: Any
    fed: list[Query]
    """The messages of the data's owner."""


class OnLedger:
    """What `Queryable` is while a test runs.

    Args:
        folder: where SQLite files are made; None for ledgers in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.opened = folder, list[Opened]()

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
            root = opened(ledger, mechanism, dataset, on_fault)._root
        handle._set(root)
        self.opened.append(Opened(handle, ledger, mechanism, dataset, []))

    def _ledger(self) -> Any:
        if self.folder is None:
            return MemoryLedger()
        return curator.SQLiteLedger(self.folder / f"{random_bytes(8).hex()}.db")

    def feed(self, root: MemoryRoot, message: Query) -> None:
        """As `MemoryRoot.feed`; a message that is not refused is kept for the comparison."""
        fed = [each.fed for each in self.opened if each.handle._root is root]
        try:
            FEED(root, message)
        except QueryError:
            fed = []
            raise
        finally:
            for each in fed:
                each.append(message)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Open each queryable on a ledger; compare all of them at the end."""

        def init(handle: Queryable, *arguments: Any, **named: Any) -> None:
            self.init(handle, *arguments, **named)

        def feed(root: MemoryRoot, message: Query) -> None:
            self.feed(root, message)

        with patch.object(Queryable, "__init__", init), patch.object(MemoryRoot, "feed", feed):
            yield
        for each in self.opened:
            compare(each)


def _salt(coins: Any, count: int) -> bytes:
    if isinstance(coins, SystemCoins):
        return random_bytes(count)
    return sha256(coins.spawn("salt", 0).bytes(32)).digest()[:count]


INIT, FEED = Queryable.__init__, MemoryRoot.feed


def in_memory(
    handle: Queryable,
    mechanism: Any,
    dataset: Any,
    coins: Any,
    on_fault: Any = None,
    *,
    allow_seeded: bool = True,
) -> Queryable:
    INIT(handle, mechanism, dataset, coins=coins, allow_seeded=allow_seeded, on_fault=on_fault)
    return handle


def opened(
    ledger: Any, mechanism: Any, dataset: Any, on_fault: Any = None, updates: Any = ()
) -> Queryable:
    """Make a handle on a ledger."""
    return curator.open(
        *(ledger, mechanism, dataset),
        name=NAME,
        key=KEY,
        codec=LENIENT,
        on_fault=on_fault,
        updates=updates,
    )


def compare(root: Opened) -> None:
    """Compare a root with itself after a restart, and with memory."""
    told = said(root.handle)
    batches = [each.records for each in root.fed if isinstance(each, Update)]
    again = opened(root.ledger, root.mechanism, root.dataset, updates=batches)
    assert said(again) == told, "after a restart the view is another one"
    run_again(again._root.state)
    assert said(played(root)) == told, "in memory the view is another one"


def run_again(state: Any) -> None:
    """Run every live child again; an answer that is not the logged one raises."""
    if isinstance(state, Unplayed):
        state.played()
    elif isinstance(state, Node):
        for child in state.children.values():
            run_again(child.state)


def played(root: Opened) -> Queryable:
    """A queryable in memory that was sent the messages of a ledger, with the same coins."""
    telling, fed = Telling(root.ledger.read(NAME)), iter(root.fed)
    begun = telling.opened
    assert begun is not None
    coins = SealedCoins(KEY, root_id(NAME, begun), canonical=LENIENT.encode)
    data = root.dataset
    if isinstance(data, Table):
        data = data.with_seed(int(begun["seed"]))
    handle = in_memory(Queryable.__new__(Queryable), root.mechanism, data, coins)
    if root.fed:  # the coins depend on the texts of the batches, which a journal makes
        batches = Batches(LENIENT, Marks(KEY, begun["salt"]))
        handle._root.journal = LedgerJournal(Noted(), NAME, 1, LENIENT, batches=batches)
    for each in telling.messages():
        with suppress(*STOPS):
            if each.fed:
                FEED(handle._root, next(fed))
                continue
            message = message_of(each.asked, coins, LENIENT)
            answer = handle._root.tell(message.path, message.query, message.names)
            handle._delivered(message.path, answer)
    return handle


def said(handle: Queryable) -> list[bytes]:
    """The view, the account and the tree as bytes, without polls, which no ledger keeps."""
    exchanges = [each for each in handle._root.exchanges() if not is_poll(each)]
    view = [(each.path, each.query, without_receipts(each.answer)) for each in exchanges]
    rows = [line.split(maxsplit=1)[1:] for line in str(handle.ledger()).splitlines()[1:]]
    tree = [line for line in handle.tree().splitlines() if "last reported" not in line]
    return [
        LENIENT.encode(each) for each in (without_receipts(handle._root.opening), *view, rows, tree)
    ]


# The plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ledger", choices=("memory", "sqlite"), default="memory")


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Expect the listed tests to fail.

    Raises:
        UsageError: one of them is not there any more.
    """
    reasons, found = reasons_on(config.getoption("--ledger")), set()
    for item in items:
        alike = item.nodeid.partition("[")[0]
        for name in (item.nodeid, alike):
            if name in reasons:
                found.add(name)
                strict = reasons[name] != COSTS
                item.add_marker(pytest.mark.xfail(reason=reasons[name], strict=strict))
    files = {item.nodeid.partition("::")[0] for item in items}
    gone = {name for name in reasons if name.partition("::")[0] in files} - found
    if gone and not any("::" in each for each in config.args):
        raise pytest.UsageError(f"tests/not_on_ledger.py lists what is not there: {sorted(gone)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test on ledgers."""
    with TemporaryDirectory() as folder:
        sqlite = item.config.getoption("--ledger") == "sqlite"
        with OnLedger(Path(folder) if sqlite else None).running():
            return (yield)
