"""A process that holds data and states, with a durable ledger of queries and answers.

- `root`: `open`, a `Queryable` whose log is its state; `release`, `close`. `journal`: its events.
- `views`: `view`, a look at a root without data and key. `leases`: roots that nobody asks.
- `codec`: every query and answer as canonical JSON, by a closed schema.
- `ledgers`: stores of events that only grow.
- `configuration`: the same from a file of TOML; `datasets`, `budgets`, `sections`: its parts.
- `replaying`: the whole analysis again, compared with its log.
- `anchors`: files elsewhere that tell old copies of a ledger.
- `keys`: the key of the noise. `fingerprints`: whether data are those of the first time.
"""

from curator.anchors import Anchor, AnchorError, SealedError
from curator.configuration import (
    Configuration,
    open_configured,
    read_configuration,
)
from curator.datasets import Dataset
from curator.ledgers import Ledger, LedgerError, SQLiteLedger
from curator.replaying import Difference, Replayed, replay
from curator.root import close, open, release  # noqa: A004 (`curator.open`)
from curator.sections import ConfigurationError
from curator.views import view
from queryable.randomness.sealed import SealedCoins

__all__ = [
    "Anchor",
    "AnchorError",
    "Configuration",
    "ConfigurationError",
    "Dataset",
    "Difference",
    "Ledger",
    "LedgerError",
    "Replayed",
    "SQLiteLedger",
    "SealedCoins",
    "SealedError",
    "close",
    "open",
    "open_configured",
    "read_configuration",
    "release",
    "replay",
    "view",
]
