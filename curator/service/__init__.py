"""The curator's side of the protocol: what answers messages of analysts in other processes.

- `services`: `Service`, what a server asks of one data set.
- `local`: `LocalService`, in the process that has the data.
- `reading`: what a token may read. `places`: which exchanges it sees. `pages`: for people.
"""

from curator.service.local import LocalService
from curator.service.services import Reply, Service

__all__ = ["LocalService", "Reply", "Service"]
