"""Valid calls of the curator, beside those in `tests/instances`, which the tests' codec needs."""

from typing import Any

import numpy as np

import curator
from composition import FiltCon
from queryable import PureDP
from tests.stored import KEY, STORED, MemoryLedger, Noted

LEDGER = MemoryLedger()
ROOT = {
    "ledger": LEDGER,
    "mechanism": FiltCon(PureDP(1)),
    "dataset": np.arange(20),
    "key": KEY,
    "codec": STORED,
    "on_fault": None,
}
HANDLE = curator.open(**ROOT, name="released")
for name in ("closed", "shown"):
    curator.open(**ROOT, name=name)

CURATOR: dict[str, dict[str, Any]] = {
    "Anchor": {"path": "anchor", "block": None},
    "SealedCoins": {"key": KEY, "root": "a", "canonical": repr},
    "close": {"ledger": LEDGER, "name": "closed", "key": KEY},
    "open": {
        **ROOT,
        "ledger": Noted(),  # so that it is new each time, whatever was opened before
        "name": "opened",
        "anchor": None,
        "charge_to_anchor": False,
    },
    "release": {"handle": HANDLE},
    "replay": {**{name: ROOT[name] for name in ROOT if name != "on_fault"}, "name": "shown"},
    "view": {"ledger": LEDGER, "name": "shown", "codec": STORED},
}
"""By name: arguments of a valid call."""
