"""A process that holds data and states, with a durable ledger of queries and answers.

- `root`: `open`, a `Queryable` whose log is its state; `release`, `close`. `journal`: its events.
- `views`: `view`, a look at a root without data and key. `leases`: roots that nobody asks.
- `codec`: every query and answer as canonical JSON, by a closed schema.
- `batches`: batches of data that grow, by their fingerprints.
- `ledgers`: stores of events that only grow.
- `configuration`: the same from a file of TOML; `datasets`, `budgets`, `sections`: its parts.
- `replaying`: the whole analysis again, compared with its log.
- `anchors`: files elsewhere that tell old copies of a ledger.
- `client`: `connect`, the data sets of a curator in another process. `wire`: its protocol.
- `service`: the curator's side of it. `access`: analysts, tokens and grants.
- `keys`: the key of the noise. `fingerprints`: whether data are those of the first time.

Names are imported when they are used: a client needs no database and no engine.
"""

from typing import TYPE_CHECKING

try:
    from queryable.installed import require_own
except ImportError as error:
    raise ImportError("`queryable` on the path is another project's, not queryable-dp's") from error
else:
    require_own("queryable")

from queryable.lazily import lazily

if TYPE_CHECKING:
    from curator.anchors import Anchor, AnchorError, SealedError
    from curator.client import (
        AsyncConnection,
        AsyncQueryable,
        Connection,
        connect,
        connect_async,
    )
    from curator.closing import close
    from curator.ledgers import Ledger, LedgerError, SQLiteLedger
    from curator.replaying import Difference, Replayed, replay
    from curator.root import open, release  # noqa: A004 (`curator.open`)
    from curator.settings.configuration import (
        Configuration,
        open_configured,
        read_configuration,
    )
    from curator.settings.datasets import Dataset
    from curator.settings.sections import ConfigurationError
    from curator.views import view
    from queryable.randomness.sealed import SealedCoins

else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "curator.anchors": "Anchor AnchorError SealedError",
            "curator.client": "AsyncConnection AsyncQueryable Connection connect connect_async",
            "curator.closing": "close",
            "curator.ledgers": "Ledger LedgerError SQLiteLedger",
            "curator.replaying": "Difference Replayed replay",
            "curator.root": "open release",
            "curator.settings.configuration": "Configuration open_configured read_configuration",
            "curator.settings.datasets": "Dataset",
            "curator.settings.sections": "ConfigurationError",
            "curator.views": "view",
            "queryable.randomness.sealed": "SealedCoins",
        },
    )

__distribution__ = "queryable-dp"

__all__ = [
    "Anchor",
    "AnchorError",
    "AsyncConnection",
    "AsyncQueryable",
    "Configuration",
    "ConfigurationError",
    "Connection",
    "Dataset",
    "Difference",
    "Ledger",
    "LedgerError",
    "Replayed",
    "SQLiteLedger",
    "SealedCoins",
    "SealedError",
    "close",
    "connect",
    "connect_async",
    "open",
    "open_configured",
    "read_configuration",
    "release",
    "replay",
    "view",
]
