"""A queryable on a ledger gives the view that one in memory gives with the same coins."""

import re
from typing import Any

import pytest

import curator
from queryable import (
    AskMany,
    InteractiveError,
    LaunchMany,
    Queryable,
)
from queryable.messages import bare
from queryable.running.log import is_poll
from tests.laws.subjects import DATA, SUBJECTS, Subject
from tests.stored import KEY, STORED, MemoryLedger, coins_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def told(handle: Queryable, query: Any) -> None:
    """Send a query; refusals and failures are in the view."""
    try:
        if isinstance(query, LaunchMany | AskMany):
            handle._told((), query, ())
        else:
            handle.ask(query)
    except InteractiveError:
        pass


def opened(ledger: MemoryLedger, subject: Subject) -> Queryable:
    return curator.open(ledger, subject.mechanism, DATA, name="a", key=KEY, codec=STORED)


def view_of(handle: Queryable) -> list[bytes]:
    """The view as texts, without polls, which no ledger keeps."""
    kept = [each for each in handle.view if not is_poll(each)]
    texts = [STORED.encode((each.path, each.query, bare(each.answer))) for each in kept]
    return [STORED.encode(bare(handle.view.opening)) if not kept else b"", *texts]


def charges_of(handle: Queryable) -> list[str]:
    """The rows of the ledger, without the number of each among all exchanges, polls included."""
    return [re.sub(r"^\d+ *", "", line) for line in str(handle.ledger()).splitlines()[1:]]


def tree_of(handle: Queryable) -> list[str]:
    """The tree without what polls reported."""
    return [line for line in handle.tree().splitlines() if "last reported" not in line]


def in_memory(ledger: MemoryLedger, subject: Subject) -> Queryable:
    coins = coins_of(ledger, "a")
    return Queryable(subject.mechanism, DATA, coins=coins, allow_seeded=True)


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_a_ledger_gives_the_view_of_memory(subject: Subject) -> None:
    """Byte for byte; and with a restart after each message, the same again."""
    once, often = MemoryLedger(), MemoryLedger()
    on_ledger = opened(once, subject)
    opened(often, subject)
    often.events["a"], often.epochs = [*once.events["a"]], {"a": once.epochs["a"]}
    memory = in_memory(once, subject)
    for query in subject.script:
        told(memory, query)
        told(on_ledger, query)
        restarted = opened(often, subject)
        told(restarted, query)
        assert view_of(restarted) == view_of(memory)
    assert view_of(on_ledger) == view_of(memory)
    last = opened(often, subject)
    assert view_of(last) == view_of(opened(once, subject)) == view_of(memory)
    assert charges_of(last) == charges_of(memory)
    assert tree_of(last) == tree_of(memory)
    assert {*last.children} == {*memory.children}
