"""Ledgers of the tests: events of a script, edited events, and chains that are made again."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import attrs

import curator
from curator.identities import root_id
from curator.ledgers import Event, following
from curator.logs.journal import written
from queryable import InteractiveError, Update
from queryable.messages import AskMany, CloseBlock, LaunchMany
from queryable.randomness.sealed import SealedCoins
from tests.stored import KEY, STORED, MemoryLedger


def events_of(mechanism: Any, script: Iterable[Any], dataset: Any) -> list[Event]:
    """The events of a root that was sent a script; refusals and failures are answers."""
    ledger = MemoryLedger()
    handle = curator.open(ledger, mechanism, dataset, name="a", key=KEY, codec=STORED)
    for query in script:
        try:
            if isinstance(query, LaunchMany | AskMany):
                handle._told((), query, ())
            elif isinstance(query, Update):
                handle.feed(query)
            elif isinstance(query, CloseBlock):
                handle.feed.close(query.block)
            else:
                handle.ask(query)
        except InteractiveError:
            pass
    return ledger.events["a"]


def retold(events: Iterable[Event]) -> list[Event]:
    """The events with the histories of coins that fit their queries and answers."""
    told, coins, asked = list[Event](), SealedCoins(KEY, "a", canonical=_text), dict[str, Any]()
    for event in events:
        body = json.loads(event.body)
        if event.kind == "opened":
            coins = SealedCoins(KEY, root_id(event.root, body), canonical=_text)
            asked = {}
        if "query" in body:
            asked = body
            body["history"] = coins.asked(body["path"], body["query"]).history.hex()
        if "answer" in body:
            if asked:
                coins = coins.asked(asked["path"], asked["query"])
            coins = coins.answered_with(body["answer"].encode())
        told.append(attrs.evolve(event, body=written(body)))
    return told


def _text(message: tuple[Any, str]) -> bytes:
    path, query = message
    return f"[{written(path)},{query}]".encode()


def chained_again(events: Iterable[Event]) -> list[Event]:
    """The events with numbers and hashes that fit, as somebody would write who edits a ledger."""
    chain: list[Event] = []
    for event in events:
        last = chain[-1] if chain else None
        chain.append(following(last, event.root, event.epoch, event.kind, event.body))
    return chain


def edited(event: Event, change: Callable[[dict[str, Any]], object]) -> Event:
    """The event with another body."""
    body = json.loads(event.body)
    change(body)
    return attrs.evolve(event, body=written(body))
