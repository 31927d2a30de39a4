"""Through a socket, the handle gives the views, trees and ledgers that it gives in process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from queryable import InteractiveError, Queryable
from queryable.messages import AskMany, Launched, LaunchMany
from tests.laws.subjects import ASKED, DATA, Subject
from tests.served import ROOT, Served, opened, serving
from tests.stored import STORED, MemoryLedger, coins_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def told(handle: Queryable, query: Any) -> Any:
    """What the analyst gets: an answer, or the class and text of an exception."""
    try:
        if isinstance(query, LaunchMany | AskMany):
            return plain(handle._told((), query, ()))
        return plain(handle.ask(query))
    except InteractiveError as error:
        return type(error).__name__, str(error)


def plain(value: Any) -> Any:
    """A value without handles, as text."""
    if isinstance(value, Queryable):
        return ["a handle", value._path, plain(value.opening)]
    if type(value) is tuple:
        return list(map(plain, value))
    return str(STORED.encode(value), "ascii")


def everything(handle: Queryable) -> dict[str, Any]:
    """All that a handle shows, with every receipt."""
    exchanges = [
        STORED.encode((each.path, each.query, each.answer, each.receipts)) for each in handle.view
    ]
    return {
        "view": exchanges,
        "tree": handle.tree(),
        "ledger": handle.ledger().to_json(),
        "csv": handle.ledger().to_csv(),
        "explanation": handle.explain(),
        "html": handle._repr_html_(),
        "children": sorted(map(str, handle.children)),
        "repr": repr(handle),
    }


@contextmanager
def both(subject: Subject) -> Iterator[tuple[Served, Queryable, Queryable]]:
    """A handle through a socket, and one in memory with the same coins."""
    ledger = MemoryLedger()
    with serving(opened(ledger, subject.mechanism, DATA)) as served:
        coins = coins_of(ledger, ROOT)
        memory = Queryable(subject.mechanism, DATA, coins=coins, allow_seeded=True)
        yield served, served.handle(), memory


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, id=str(each), marks=() if place % 6 == 0 else pytest.mark.slow)
        for place, each in enumerate(ASKED)
    ],
)
def test_a_socket_gives_what_memory_gives(subject: Subject) -> None:
    """Byte for byte: answers, errors, views with polls and receipts, trees, ledgers, HTML."""
    with both(subject) as (served, remote, memory):
        for query in subject.script:
            assert told(remote, query) == told(memory, query)
        assert everything(remote) == everything(memory)
        for child in memory.children:
            assert everything(remote.children[child]) == everything(memory.children[child])
        fresh = served.handle()
        kept = [each for each in everything(remote)["view"] if each in everything(fresh)["view"]]
        assert kept == everything(fresh)["view"]


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, id=str(each), marks=() if place % 2 == 0 else pytest.mark.slow)
        for place, each in enumerate(ASKED[::4])
    ],
)
def test_clients_that_come_and_go(subject: Subject) -> None:
    """A new client for each message: the same answers, and at the end the same exchanges."""
    with both(subject) as (served, remote, memory):
        for query in subject.script:
            assert told(served.handle(), query) == told(memory, query)
        assert everything(served.handle())["view"] == everything(remote)["view"]
        launched = [each for each in remote.view if isinstance(each.answer, Launched)]
        assert len(launched) == sum(isinstance(each.answer, Launched) for each in memory.view)
