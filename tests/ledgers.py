"""Ledgers of the tests: events of a script, edited events, and chains that are made again."""

import json
from collections.abc import Callable, Iterable, Sequence
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

Change = Callable[[dict[str, Any]], object]
"""Of the body of an event, or of JSON in it."""


def events_of(mechanism: Any, script: Iterable[Any], dataset: Any) -> list[Event]:
    """The events of a root that was sent a script; refusals and failures are answers."""
    ledger = MemoryLedger()
    handle = curator.open(ledger, mechanism, dataset, name="a", key=KEY, codec=STORED)
    for query in script:
        try:
            if isinstance(query, LaunchMany | AskMany):
                handle._outcomes((), query, ())
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


def edited(event: Event, change: Change) -> Event:
    """The event with another body."""
    body = json.loads(event.body)
    change(body)
    return attrs.evolve(event, body=written(body))


def at(events: Sequence[Event], place: int, change: Change) -> list[Event]:
    """The events with one of them edited; the last one is at -1."""
    place %= len(events)
    return [*events[:place], edited(events[place], change), *events[place + 1 :]]


def inside(name: str, change: Change) -> Change:
    """A change of the JSON text in a field, or of the last charge's field `charges/...`."""

    def changed(body: dict[str, Any]) -> None:
        place, field = body, name
        if name.startswith("charges/"):
            place, field = body["charges"][-1], name.removeprefix("charges/")
        value = json.loads(place[field])
        change(value)
        place[field] = written(value)

    return changed


def of_charge(**parts: Any) -> Change:
    """A change of the last charge."""
    return lambda body: body["charges"][-1].update(parts)


def of_account(change: Change) -> Change:
    """A change of the account in the last charge."""
    return inside("charges/account", change)


def charges_in(events: Sequence[Event]) -> list[int]:
    """The places of the events with charges."""
    return [place for place, event in enumerate(events) if '"charges":' in event.body]
