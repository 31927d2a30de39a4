"""Who may ask: analysts, their tokens and their grants, as events of a root of the ledger.

- `tokens`: secrets that are shown once, and their hashes.
- `changes`: what may happen to the access: an analyst added or revoked, a grant, more
  tries of a message.
- `people`: `Access`, the analysts and grants as of now: a fold of changes.
- `store`: changes as events of the root "@access".
"""

from curator.access.changes import Added, Allowed, Change, Granted, Revoked
from curator.access.people import (
    Access,
    AccessChangeError,
    Analyst,
    Grant,
    ReachedRoot,
    analyst_row,
)
from curator.access.store import OWN, ROOT, AccessStore, access_of
from curator.access.tokens import hash_of, is_same, make_token

__all__ = [
    "OWN",
    "ROOT",
    "Access",
    "AccessChangeError",
    "AccessStore",
    "Added",
    "Allowed",
    "Analyst",
    "Change",
    "Grant",
    "Granted",
    "ReachedRoot",
    "Revoked",
    "access_of",
    "analyst_row",
    "hash_of",
    "is_same",
    "make_token",
]
