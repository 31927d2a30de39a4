"""Ledgers: stores of events that only grow.

- `events`: events and the chain of hashes.
- `ledger`: the protocol `Ledger`, with leases.
- `sqlite`: `SQLiteLedger`, one file. `groups`: several appends share one flush.
- `postgres`: `PostgresLedger`, a database that several machines share (extra `postgres`).
"""

import os

from curator.ledgers.errors import (
    BrokenChainError,
    LeaseError,
    LedgerError,
    LedgerFullError,
    UnknownOutcomeError,
)
from curator.ledgers.events import KINDS, Event, chained, following
from curator.ledgers.ledger import Ledger, this_process
from curator.ledgers.postgres import PostgresLedger
from curator.ledgers.sqlite import SQLiteLedger

__all__ = [
    "KINDS",
    "BrokenChainError",
    "Event",
    "LeaseError",
    "Ledger",
    "LedgerError",
    "LedgerFullError",
    "PostgresLedger",
    "SQLiteLedger",
    "UnknownOutcomeError",
    "chained",
    "following",
    "ledger_of",
    "this_process",
]


def ledger_of(place: str | os.PathLike[str]) -> Ledger:
    """Open the ledger in a file or, for `postgresql://...`, in a database; make it if needed."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return PostgresLedger(place)
    if isinstance(place, str) and "://" in place:
        scheme = place.partition("://")[0]
        raise LedgerError(
            f"a ledger is a path or a postgresql:// URL; got a URL that starts with {scheme}://"
        )
    return SQLiteLedger(place)
