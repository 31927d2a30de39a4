"""A service on a ledger in memory, for tests and measurements of what is around it."""

from typing import Any

import curator
from composition import FiltCon
from curator.service.answering.local import LocalService
from curator.service.workers.recipes import Opened
from queryable import ZCDP
from tests.stored import KEY, MemoryLedger

DATA = {"age": list(range(100))}


def opened(budget: str = "1000000", *, give_up: bool = False) -> Opened:
    """A service of 100 ages under a large budget."""
    root: Any = curator.open(
        MemoryLedger(), FiltCon(ZCDP(budget)), DATA, name="visits", key=KEY, give_up=give_up
    )
    return Opened(LocalService(root), {"columns": {"age": "integer"}}, lambda: None)
