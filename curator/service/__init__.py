"""The curator's side of the protocol: what answers messages of analysts in other processes.

In the process that has the data:

- `services`: `Service`, what a server asks of one data set.
- `growing`: the tree of a page, made further at each look.
- `local`: `LocalService`, one on a ledger. `reading`: what a token may read. `places`: which
  exchanges it sees. `pages`: for people.
- `recipes`, `opening`: how a worker makes the service of a data set.
- `worker`: a worker's main program. `isolation`: what it may not do.

In the process that analysts reach, the front:

- `workers`: `WorkerService`, a worker as the front sees it. `frames`: what the two send each other.
- `ticks`, `metrics`, `problems`, `keeper`, `callers`: times, numbers, errors, access, who asks.
- `granting`: what a grant does. `front`, `owner`: the routes. `routes`: their table. `openapi`.
- `sockets`, `protocols`, `serve`: the server.
"""

from typing import TYPE_CHECKING, Any

from curator.service.services import Reply, Service

if TYPE_CHECKING:
    from curator.service.local import LocalService

__all__ = ["LocalService", "Reply", "Service"]


def __getattr__(name: str) -> Any:
    """`LocalService`, imported when it is used: the front does not need what it needs."""
    if name != "LocalService":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from curator.service.local import LocalService

    return LocalService
