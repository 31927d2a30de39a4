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
from queryable.wording.quoting import quoted

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


def ledger_of(place: Ledger | str | os.PathLike[str], *, make: bool = True) -> Ledger:
    """Open the ledger in a file or, for `postgresql://...`, in a database.

    Args:
        place: where it is; an open ledger is returned as it is.
        make: whether to make it if it is not there.

    Raises:
        TypeError: it is neither a place nor a ledger.
        LedgerError: it cannot be opened, or is not there and not to be made.
    """
    if not isinstance(place, str | os.PathLike):
        if not all(callable(getattr(place, name, None)) for name in _METHODS):
            raise TypeError(
                "give ledger as the path of a file, a postgresql:// URL or an open Ledger, not "
                f"{quoted(type(place))}"
            )
        return place
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return PostgresLedger(place, make=make)
    if isinstance(place, str) and "://" in place:
        scheme = place.partition("://")[0]
        raise LedgerError(
            f"a ledger is a path or a postgresql:// URL; got a URL that starts with {scheme}://"
        )
    return SQLiteLedger(place, make=make)


_METHODS = ("append", "read", "lease", "renew", "release", "roots", "close")
