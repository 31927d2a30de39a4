"""Ledgers: stores of events that only grow.

- `events`: events and the chain of hashes.
- `ledger`: the protocol `Ledger`, with leases.
- `sqlite`: `SQLiteLedger`, one file. `groups`: several appends share one flush.
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
from curator.ledgers.sqlite import SQLiteLedger

__all__ = [
    "KINDS",
    "BrokenChainError",
    "Event",
    "LeaseError",
    "Ledger",
    "LedgerError",
    "LedgerFullError",
    "SQLiteLedger",
    "UnknownOutcomeError",
    "chained",
    "following",
    "ledger_of",
    "this_process",
]


def ledger_of(place: str | os.PathLike[str]) -> Ledger:
    """Open the ledger at a path, which is made if it is not there."""
    return SQLiteLedger(place)
