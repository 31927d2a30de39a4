"""The curator's side of the protocol: what answers messages of analysts in other processes.

- `services`: `Service`, what a server asks of one data set, wherever the data are.
- `answering`: in the process that has the data. `LocalService`, and what a token may read.
- `workers`: the processes that have the data, and what the front sends them.
- `web`: the front, in the process that analysts reach: tokens, messages, connections.
- `pages`: for people.
- `routes`: the table of routes. `openapi`: the file that describes them. `serve`: the server.
"""

from typing import TYPE_CHECKING, Any

from curator.service.services import HTTPReply, Service

if TYPE_CHECKING:
    from curator.service.answering.local import LocalService

__all__ = ["LocalService", "HTTPReply", "Service"]


def __getattr__(name: str) -> Any:
    """`LocalService`, imported when it is used: the front does not need what it needs."""
    if name != "LocalService":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from curator.service.answering.local import LocalService

    return LocalService
