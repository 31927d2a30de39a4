"""A subject of the laws as what a worker serves: see `test_served_views.py`."""

import curator
from curator.service.answering.local import LocalService
from curator.service.workers.recipes import Opened
from tests.laws.subjects import ASKED, DATA
from tests.stored import KEY, STORED


def opened(folder: str, number: int, *, give_up: bool = False) -> Opened:
    """The subject of this number, on a ledger in a file."""
    mechanism = ASKED[number].mechanism
    ledger = f"{folder}/{number}.db"
    root = curator.open(
        ledger, mechanism, DATA, name="visits", key=KEY, codec=STORED, give_up=give_up
    )
    return Opened(LocalService(root, codec=STORED), {}, lambda: curator.release(root))
