"""Request keys and times: what was sent under each key and when, and what of the log answers it.

Responsible for answering a message once, however often it is sent. A client draws a key for a
message and sends it again with a retry. Keys are in the events of the ledger, so they are known
after a restart.
"""

from array import array
from bisect import bisect_right

import attrs

_DIGEST = 32
_UNKNOWN = -(2**63)


@attrs.frozen
class RequestKey:
    """A key and a SHA-256 of what is sent under it, both in hexadecimal digits."""

    key: str
    body: str


@attrs.frozen
class Answered:
    """The answer to a request: `count` entries of the log from number `first`, from 0."""

    body: str
    first: int
    count: int


class Requests:
    """The requests of one root, in the order of their answers.

    Attributes:
        entries: the number of entries of the log, those without a request included.
    """

    def __init__(self) -> None:
        self.entries = 0
        self._places: dict[bytes, int] = {}
        self._bodies = bytearray()
        self._firsts, self._counts = array("q"), array("i")
        self._times, self._since = array("q"), array("q")

    def add(self, request: RequestKey | None, count: int, on: int | None = None) -> None:
        """Note that the next `count` entries of the log are the answer to a request.

        Args:
            on: the second in which the request came; None if the ledger does not have it.
        """
        time = _UNKNOWN if on is None else on
        if count and (not self._times or self._times[-1] != time):
            self._times.append(time)
            self._since.append(self.entries)
        if request is not None and count:
            self._places[bytes.fromhex(request.key)] = len(self._firsts)
            self._bodies += bytes.fromhex(request.body)
            self._firsts.append(self.entries)
            self._counts.append(count)
        self.entries += count

    def time_of(self, entry: int) -> int | None:
        """The second, since 1970, in which the message of an entry came; None if it is unknown."""
        place = bisect_right(self._since, entry) - 1
        return None if place < 0 or self._times[place] == _UNKNOWN else self._times[place]

    def find(self, key: str) -> Answered | None:
        """The answer to the request with this key; None if there was none."""
        place = self._places.get(bytes.fromhex(key))
        if place is None:
            return None
        body = self._bodies[place * _DIGEST : (place + 1) * _DIGEST].hex()
        return Answered(body, self._firsts[place], self._counts[place])
