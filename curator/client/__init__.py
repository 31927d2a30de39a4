"""The analyst's side of the protocol: data sets of a curator as queryables.

Needs no database and no engine.

- `connecting`: `connect`. `asynchronous`: `connect_async`. `urls`: addresses.
- `remote`: the root of a tree that runs in a curator. `mirror`: its log, as far as it is known.
- `persons`: persons in the middle that run here. `transport`: requests, sent again until answered.
- `replies`: a request and its reply on a connection.
"""

from curator.client.asynchronous import AsyncConnection, AsyncQueryable, connect_async
from curator.client.connecting import Connection, connect

__all__ = ["AsyncConnection", "AsyncQueryable", "Connection", "connect", "connect_async"]
